// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDTransport
import Testing

@Suite("Wrong configurations", .serialized)
struct ConfigurationTests {
    @Test func aRejectedReloadIsInTheStatusUntilOneSucceeds() throws {
        let manager = try NotifySocket(abstract: true)
        let broker = try BrokerProcess(environment: ["NOTIFY_SOCKET": manager.address])
        let serving = "STATUS=Serving 0 sessions."
        try broker.configure("MaxSessions=5\nMaxSession=7\nStallTimeout=soon\n")
        try broker.child.kill(SIGHUP)
        let fault = "\(broker.folder)/config/hwdaemon.conf:2: there is no key MaxSession"
        try manager.wait(
            for: "\(serving) The configuration was rejected, the one before stays: \(fault) (and 1 more)")
        manager.forget()
        try broker.configure("MaxSessions=5\n")
        try broker.child.kill(SIGHUP)
        try manager.wait(for: serving)
    }

    @Test("A second daemon says which process has the socket")
    func secondDaemon() throws {
        let broker = try BrokerProcess()
        let path = "\(broker.folder)/second"
        let log = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(log) }
        let child = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon",
            arguments: ["--socket", broker.socket, "--config", "\(broker.folder)/config"],
            files: [.init(log, as: 2)])
        #expect(try child.waitForExit() == .exited(69))
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(
            text.contains(": process \(broker.child.pid) (hwdaemon) of user \(getuid()) listens there"), "\(text)")
    }

    @Test(
        "The configuration can be checked without a daemon",
        arguments: [
            ("MaxSessions=5", "the configuration is valid"),
            ("MaxSessions=5\nMaxSession=7", "/config/hwdaemon.conf:2: there is no key"),
            ("SandboxPaths=/", "SandboxPaths opens all of / to drivers"),
            ("LogLevel=error\nSandboxPaths=/opt/a:/home:/etc", "SandboxPaths opens all of /home, /etc to drivers"),
        ])
    func checksAConfiguration(_ configuration: String, _ line: String) throws {
        let broker = try BrokerProcess()
        try broker.configure(configuration + "\n")
        let isValid = !line.contains("there is no key")
        let path = "\(broker.folder)/check"
        let output = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(output) }
        let child = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon",
            arguments: ["--check-config", "--config", "\(broker.folder)/config"],
            files: [.init(output, as: 1), .init(output, as: 2)])
        #expect(try child.waitForExit() == .exited(isValid ? 0 : 78))
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains(line) && text.contains("the configuration is valid") == isValid, "\(text)")
    }

    @Test func warnsOfTreesThatAreOpenToDriversAtTheStartAndAtAReload() throws {
        let broker = try BrokerProcess(configuration: "SandboxPaths=/var\n")
        #expect(broker.log.contains("SandboxPaths opens all of /var to drivers"))
        try broker.configure("SandboxPaths=/run/\n")
        try broker.child.kill(SIGHUP)
        try waitFor("the warning") { broker.log.contains("SandboxPaths opens all of /run/ to drivers") }
    }

    @Test func refusesADirectoryThatDoesNotExist() throws {
        let child = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon", arguments: ["--check-config", "--config", "/nonexist"])
        #expect(try child.waitForExit() == .exited(78))
    }

    @Test func refusesToStartWithAWrongLine() throws {
        let folder = "/tmp/hwdaemon-test-\(getpid())-wrong"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try "MaxSessions=3\nStallTimeout=soon\n".write(
            toFile: "\(folder)/hwdaemon.conf", atomically: false, encoding: .utf8)
        let log = open("\(folder)/log", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        defer { close(log) }
        let child = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon",
            arguments: ["--socket", "\(folder)/socket", "--config", folder], files: [.init(log, as: 2)])
        #expect(try child.waitForExit() == .exited(78))
        let text = try String(contentsOfFile: "\(folder)/log", encoding: .utf8)
        #expect(text.contains("\(folder)/hwdaemon.conf:2: StallTimeout takes"))
        #expect(access("\(folder)/socket", F_OK) != 0)
    }
}
