// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite("A broker's start, limits and end", .serialized)
struct LifecycleTests {
    private func run(_ arguments: [String], files: [ChildProcess.File] = []) throws -> ChildProcess.Exit? {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let child = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon", arguments: arguments,
            files: files + [.init(null, as: 1), .init(null, as: 2)])
        return try child.waitForExit()
    }

    @Test(
        "Stops on a signal", arguments: [SIGTERM, SIGINT])
    func stopsOnASignal(_ signal: Int32) throws {
        let broker = try BrokerProcess(["--set", "DrainTimeout=0"])
        let clients = try (0..<4).map { _ in try broker.connect() }
        for client in clients { _ = try client.create() }
        let waiting = try broker.connect()
        try waitFor("the sessions' processes alone") { broker.children.count == 4 }
        try broker.child.kill(signal)
        #expect(try broker.child.waitForExit() == .exited(0))
        #expect(access(broker.socket, F_OK) != 0)
        for client in clients { #expect(try client.isClosed()) }
        #expect(try waiting.isClosed())
        #expect(broker.log.contains("the daemon is shutting down"))
    }

    @Test func killsAWorkerThatIgnoresSIGTERM() throws {
        let script = "#!/bin/sh\ntrap '' TERM\n: >$0.ready\nwhile :; do sleep 1; done\n"
        let broker = try BrokerProcess(["--set", "DrainTimeout=0"], workers: ["hwdaemon-encoder": script])
        let client = try broker.connect()
        try client.call(CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        try waitFor("the worker") { access("\(broker.folder)/hwdaemon-encoder.ready", F_OK) == 0 }
        let start = MonotonicTime.now
        try broker.child.kill(SIGTERM)
        #expect(try broker.child.waitForExit() == .exited(0))
        #expect(MonotonicTime.now >= start + .seconds(5))
        #expect(broker.log.contains("did not end when asked to; killing it"))
    }

    @Test func doesNotTakeOverAnotherBrokersSocket() throws {
        let broker = try BrokerProcess()
        #expect(try run(["--socket", broker.socket]) == .exited(69))
        #expect(try broker.connect().ask("org.varlink.service.GetInfo").error == nil)
    }

    @Test func replacesAStaleSocket() throws {
        let broker = try BrokerProcess()
        try broker.child.kill(SIGKILL)
        _ = try broker.child.wait()
        #expect(access(broker.socket, F_OK) == 0)
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let next = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon", arguments: ["--socket", broker.socket],
            files: [.init(null, as: 2)])
        // A reply: a child that the first broker was starting may hold its socket, and take connections, for a moment.
        try waitFor("the next broker") {
            guard let client = try? broker.connect(), (try? client.call("org.varlink.service.GetInfo")) != nil
            else {
                return false
            }
            return (try? client.receive()) ?? nil != nil
        }
        try next.kill(SIGTERM)
        let exit = try next.waitForExit()
        #expect(exit == .exited(0))
    }

    @Test(
        "Exits with 64 for a wrong command line",
        arguments: [
            ["--private"], ["--listen-fd", "0"], ["--socket", "/tmp/a", "--listen-fd", "3"], ["--parent", "1"],
            ["--lifetime-fd", "4"], ["--private", "--listen-fd", "3", "--lifetime-fd", "3"],
            ["--max-sessions", "0"], ["--set", "Nonsense=1"], ["--set", "MaxSessions"], ["--stall-timeout", "nan"],
            ["--log-level", "loud"], ["--nonsense"],
        ])
    func exitsWith64ForAWrongCommandLine(_ arguments: [String]) throws {
        #expect(try run(arguments) == .exited(64))
    }

    @Test func listensOnASocketFromTheServiceManager() throws {
        let listener = try UnixSocket.listenAbstractAutobind()
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        // exec keeps the shell's process id, which LISTEN_PID must contain.
        let broker = try ChildProcess(
            spawning: "/bin/sh",
            arguments: ["-c", "LISTEN_FDS=1 LISTEN_PID=$$ exec \(BrokerProcess.products)/hwdaemon"],
            files: [.init(listener.rawValue, as: 3), .init(null, as: 2)])
        let client = try TestClient(UnixSocket.address(of: listener.rawValue))
        #expect(try client.ask("org.varlink.service.GetInfo").error == nil)
        try broker.kill(SIGTERM)
        #expect(try broker.waitForExit() == .exited(0))
    }

    @Test func refusesADescriptorThatDoesNotListen() throws {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        #expect(try run(["--listen-fd", "3"], files: [.init(null, as: 3)]) == .exited(70))
    }

    @Test func servesAnInheritedSocketAndEndsWithItsParentIfPrivate() throws {
        let listener = try UnixSocket.listenAbstractAutobind()
        let address = try UnixSocket.address(of: listener.rawValue)
        // The shell is the parent; it ends when its standard input does.
        let pipe = try UnixSocket.pair()
        try pipe.first.setNonblocking(false)
        let script = "\(BrokerProcess.products)/hwdaemon --private --listen-fd 3 --parent $$ & echo $! >&4; read x"
        let answer = try UnixSocket.pair()
        let shell = try ChildProcess(
            spawning: "/bin/sh", arguments: ["-c", script],
            files: [
                .init(pipe.first.rawValue, as: 0), .init(listener.rawValue, as: 3),
                .init(answer.first.rawValue, as: 4),
            ])
        var text = ""
        try waitFor("the broker's number") {
            var buffer = [UInt8](repeating: 0, count: 64)
            let count = recv(answer.second.rawValue, &buffer, buffer.count, 0)
            if count > 0 { text += String(decoding: buffer.prefix(count), as: UTF8.self) }
            return text.hasSuffix("\n")
        }
        let pid = try #require(Int32(text.dropLast()))
        #expect(try TestClient(address).ask("org.varlink.service.GetInfo").error == nil)
        try shell.kill(SIGKILL)
        _ = try shell.wait()
        try waitFor("the broker to end") {
            // An orphan may not be reaped yet; a zombie has ended too.
            let state = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            return state == nil || state?.contains(") Z ") == true
        }
        _ = pipe.second.rawValue
    }

    @Test func endsAtOnceIfPrivateAndWithoutItsParent() throws {
        let listener = try UnixSocket.listenAbstractAutobind()
        let exit = try run(
            ["--private", "--listen-fd", "3", "--parent", "1"], files: [.init(listener.rawValue, as: 3)])
        #expect(exit == .exited(0))
    }

    @Test func outlivesTheThreadThatStartedItAndEndsWithItsOwner() throws {
        let listener = try UnixSocket.listenAbstractAutobind()
        let address = try UnixSocket.address(of: listener.rawValue)
        let lifetime = try UnixSocket.pair()
        let (listening, inherited) = (listener.rawValue, lifetime.first.rawValue)
        let started = Started()
        let thread = try HWDTransport.Thread.spawn(name: "starter") {
            started.thread = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
            started.child = try? ChildProcess(
                spawning: "\(BrokerProcess.products)/hwdaemon",
                arguments: ["--private", "--listen-fd", "3", "--lifetime-fd", "4"],
                files: [.init(listening, as: 3), .init(inherited, as: 4)])
        }
        thread.join()
        _ = consume listener
        let child = try #require(started.child)
        #expect(started.thread.contains("/task/"))
        // A signal for the thread's end would have been sent before the kernel forgets the thread.
        try waitFor("the thread to be gone") { access("/proc/\(started.thread)", F_OK) != 0 }
        #expect(try TestClient(address).ask("org.varlink.service.GetInfo").error == nil)
        #expect(try child.tryReap() == nil)
        shutdown(lifetime.second.rawValue, Int32(SHUT_RDWR))
        #expect(try child.waitForExit() == .exited(0))
    }

    private final class Started: @unchecked Sendable {
        var child: ChildProcess?
        /// Its folder in /proc.
        var thread = ""
    }

    @Test func boundsAFloodOfConnections() throws {
        let broker = try BrokerProcess()
        // After the first probe, whose descriptors would count.
        _ = try broker.connect().ask(ListEncoders.method)
        let before = broker.openFiles
        let keeping = try broker.connect()
        var clients: [TestClient] = []
        for _ in 0..<300 { clients.append(try broker.connect()) }
        try waitFor("the refusals") { broker.log.contains("64 connections already open") }
        #expect(try clients[299].isClosed())
        try waitFor("the refused connections to be closed") { broker.openFiles <= before + 65 }
        // The first refusal, and a line for those of each second; never one for each.
        #expect(broker.log.split(separator: "\n").count(where: { $0.contains("refused") }) < 100)
        #expect(try keeping.ask("org.varlink.service.GetInfo").error == nil)
        clients = []
        try waitFor("the connections to be closed") { broker.openFiles <= before + 1 }
        #expect(try broker.connect().ask("org.varlink.service.GetInfo").error == nil)
    }

    @Test(.enabled(if: access("/usr/bin/prlimit", X_OK) == 0, "skipped: prlimit is not installed"))
    func recoversFromAFullDescriptorTable() throws {
        let broker = try BrokerProcess(prefix: ["/usr/bin/prlimit", "--nofile=24:24"])
        var clients: [TestClient] = []
        for _ in 0..<40 { clients.append(try broker.connect()) }
        try waitFor("descriptors to run out") { broker.log.contains("cannot accept connections") }
        let ticks = broker.processorTicks
        usleep(500_000)
        #expect(broker.processorTicks - ticks < 20)
        #expect(broker.log.split(separator: "\n").count(where: { $0.contains("cannot accept connections") }) == 1)
        #expect(try clients[0].ask("org.varlink.service.GetInfo").error == nil)
        clients = []
        try waitFor("service") { try broker.connect().ask("org.varlink.service.GetInfo").error == nil }
    }

    @Test(
        "A limit of file sizes is named where a session exceeds it, and raised where that is possible",
        .enabled(if: access("/usr/bin/prlimit", X_OK) == 0, "skipped: prlimit is not installed"),
        arguments: [1 << 20, 48 << 20], [true, false])
    func survivesALimitOfFileSizes(_ bytes: Int, _ isHard: Bool) throws {
        let broker = try BrokerProcess(
            prefix: ["/usr/bin/prlimit", "--fsize=\(bytes):\(isHard ? "\(bytes)" : "")"])
        #expect(broker.log.contains("RLIMIT_FSIZE limits shared memory too") == isHard)
        let reply = try broker.connect().ask(
            CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        #expect((reply.error == nil) == !isHard, "\(reply)")
        if isHard {
            let reason = reply["reason"]?.description ?? ""
            #expect(reason.contains("RLIMIT_FSIZE (ulimit -f) allows \(bytes)"), "\(reason)")
        }
        #expect(try broker.connect().ask("org.varlink.service.GetInfo").error == nil)
    }

    @Test(
        "Other processes of its user can neither trace it nor read its memory",
        .enabled(if: access("/usr/bin/setpriv", X_OK) == 0, "needs setpriv"))
    func isNotDumpable() throws {
        // Root without CAP_SYS_PTRACE has the rights of any other user here.
        let drop = "--bounding-set=-sys_ptrace --inh-caps=-sys_ptrace".split(separator: " ").map(String.init)
        let prefix = getuid() == 0 ? ["/usr/bin/setpriv"] + drop : ["/usr/bin/env"]
        let broker = try BrokerProcess(prefix: prefix)
        let other = try ChildProcess(spawning: prefix[0], arguments: prefix.dropFirst() + ["sleep", "60"])
        defer {
            try? other.kill(SIGKILL)
            _ = try? other.wait()
        }
        // The link of `exe` needs the rights of PTRACE_MODE_READ (proc(5)).
        func canTrace(_ pid: Int32) throws -> Bool {
            let null = open("/dev/null", O_RDWR | O_CLOEXEC)
            defer { close(null) }
            let reader = try ChildProcess(
                spawning: prefix[0], arguments: prefix.dropFirst() + ["readlink", "/proc/\(pid)/exe"],
                files: [.init(null, as: 1), .init(null, as: 2)])
            return try reader.waitForExit() == .exited(0)
        }
        // Until its exec, the process still has setpriv's rights.
        try waitFor("a process that can be traced") { try canTrace(other.pid) }
        #expect(try !canTrace(broker.child.pid))
    }

    @Test("Programs that only the broker starts name themselves", arguments: ["hwdaemon-probe", "hwdaemon-verify"])
    func probesNameThemselves(_ program: String) throws {
        let broker = try BrokerProcess()
        let file = open("\(broker.folder)/errors", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        let probe = try ChildProcess(
            spawning: "\(BrokerProcess.products)/\(program)", arguments: [], files: [.init(file, as: 2)])
        #expect(try probe.waitForExit() == .exited(64))
        let text = try String(contentsOfFile: "\(broker.folder)/errors", encoding: .utf8)
        #expect(text.hasPrefix("\(program): "))
    }
}
