// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite("A broker on a service manager's socket", .serialized)
struct ActivationTests {
    private func start(_ listener: borrowing OwnedFD, _ log: Int32) throws -> ChildProcess {
        try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon",
            arguments: ["--listen-fd", "3", "--config", "/proc/tty", "--libexec", BrokerProcess.products],
            environment: ["HWDAEMON_DEVICES": ""], files: [.init(listener.rawValue, as: 3), .init(log, as: 2)])
    }

    @Test func servesWaitingClientsAfterARestart() throws {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        // This process acts as the service manager, which keeps the socket.
        let listener = try UnixSocket.listenAbstractAutobind()
        let address = try UnixSocket.address(of: listener.rawValue)
        let first = try start(listener, null)
        var running: TestClient? = try TestClient(address)
        _ = try running?.create()
        let before = try TestClient(address)
        _ = try before.ask("org.varlink.service.GetInfo")
        try first.kill(SIGTERM)
        try waitFor("the drain") {
            try before.ask(Probe.method).error == "org.hwdaemon.VideoEncoderNotAvailableNow"
        }
        let waiting = try TestClient(address)
        try waiting.call(
            CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        #expect(running != nil)
        running = nil
        #expect(try first.waitForExit() == .exited(0))
        let second = try start(listener, null)
        #expect(try waiting.reply()["session"] != nil)
        try second.kill(SIGKILL)
        _ = try second.wait()
    }

    private static let activator = "/usr/bin/systemd-socket-activate"

    @Test(.enabled(if: access(activator, X_OK) == 0, "skipped: systemd-socket-activate is not installed"))
    func startsThroughSystemdSocketActivate() throws {
        let socket = "/tmp/hwdaemon-test-activate-\(getpid())"
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer {
            close(null)
            unlink(socket)
        }
        let child = try ChildProcess(
            spawning: Self.activator,
            arguments: ["-l", socket, "\(BrokerProcess.products)/hwdaemon", "--config", "/proc/tty"],
            files: [.init(null, as: 2)])
        try waitFor("the socket") { access(socket, F_OK) == 0 }
        var client: TestClient?
        try waitFor("a connection") {
            client = try? TestClient(socket)
            return client != nil
        }
        #expect(try client?.ask("org.varlink.service.GetInfo").error == nil)
        // The tool has become the daemon, which does not remove a socket that it did not create.
        try child.kill(SIGTERM)
        #expect(try child.waitForExit() == .exited(0))
        #expect(access(socket, F_OK) == 0)
    }
}
