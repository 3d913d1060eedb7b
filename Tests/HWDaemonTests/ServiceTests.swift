// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@testable import HWDaemon

@Suite("A broker under a service manager", .serialized)
struct ServiceTests {
    private static let upgrade = ",\"upgrade\":true"

    /// Sends a Create call, which may be refused.
    private func create(_ client: TestClient) throws -> TestClient.Reply {
        try client.ask(CreateCompressionSession.method, TestClient.parameters(), extra: Self.upgrade)
    }

    @Test("Notifies the service manager of its state", arguments: [true, false])
    func notifiesTheServiceManager(_ abstract: Bool) throws {
        let manager = try NotifySocket(abstract: abstract)
        let broker = try BrokerProcess(environment: ["NOTIFY_SOCKET": manager.address])
        try manager.wait(for: "READY=1")
        try manager.wait(for: "STATUS=Serving 0 sessions.")
        let client = try broker.connect()
        _ = try client.create()
        try manager.wait(for: "STATUS=Serving 1 session.")
        manager.forget()
        try broker.child.kill(SIGHUP)
        try manager.wait(for: "READY=1")
        let lines = manager.read()
        #expect(lines.first == "RELOADING=1")
        let time = try #require(lines.first { $0.hasPrefix("MONOTONIC_USEC=") }?.dropFirst(15))
        #expect(try #require(UInt64(time)) <= MonotonicTime.now.nanoseconds / 1000)
        try broker.child.kill(SIGTERM)
        try manager.wait(for: "STOPPING=1")
        try manager.wait(for: "STATUS=Waiting for 1 session to finish.")
        #expect(manager.read().contains("EXTEND_TIMEOUT_USEC=18000000"))
    }

    @Test func hidesTheServiceVariablesFromWorkers() throws {
        let manager = try NotifySocket(abstract: true)
        let script = "#!/bin/sh\nenv >$0.environment\nexec sleep 60\n"
        let broker = try BrokerProcess(
            workers: ["hwdaemon-encoder": script],
            environment: [
                "NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "20000000", "LISTEN_FDS": "1", "KEPT": "yes",
            ])
        let client = try broker.connect()
        try client.call(CreateCompressionSession.method, TestClient.parameters(), extra: Self.upgrade)
        var text = ""
        try waitFor("the worker's environment") {
            text =
                (try? String(contentsOfFile: "\(broker.folder)/hwdaemon-encoder.environment", encoding: .utf8))
                ?? ""
            return text.contains("KEPT=yes")
        }
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS"] { #expect(!text.contains(name)) }
    }

    /// Waits while another daemon sends watchdog pings, one in each 100 ms.
    private func wait(forPings count: Int) throws {
        let manager = try NotifySocket(abstract: true)
        let other = try BrokerProcess(
            environment: ["NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "200000"])
        try waitFor("pings") { manager.count("WATCHDOG=1") >= count }
        withExtendedLifetime(other) {}
    }

    @Test func missesWatchdogPingsIfTheLoopIsBlocked() throws {
        let manager = try NotifySocket(abstract: true)
        let broker = try BrokerProcess(
            environment: ["NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "200000"])
        try waitFor("signs of life") { manager.count("WATCHDOG=1") >= 3 }
        try broker.child.kill(SIGSTOP)
        try waitFor("the stop") {
            try String(contentsOfFile: "/proc/\(broker.child.pid)/stat", encoding: .utf8).contains(") T ")
        }
        _ = manager.read()
        manager.forget()
        try wait(forPings: 4)
        #expect(manager.count("WATCHDOG=1") == 0)
        try broker.child.kill(SIGCONT)
        try waitFor("signs of life") { manager.count("WATCHDOG=1") >= 2 }
    }

    @Test func ignoresTheWatchdogOfAnotherProcess() throws {
        let manager = try NotifySocket(abstract: true)
        let broker = try BrokerProcess(
            environment: ["NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"])
        try manager.wait(for: "READY=1")
        try wait(forPings: 2)
        #expect(manager.count("WATCHDOG=1") == 0)
        withExtendedLifetime(broker) {}
    }

    @Test func drainsRunningSessionsAndRefusesNewOnes() throws {
        let broker = try BrokerProcess(["--set", "DrainTimeout=600"])
        var running: TestClient? = try broker.connect()
        _ = try running?.create()
        let waiting = try broker.connect()
        _ = try waiting.ask("org.varlink.service.GetInfo")
        try broker.child.kill(SIGTERM)
        try waitFor("the drain") { broker.log.contains("SIGTERM: stopping") }
        for client in [waiting, try broker.connect()] {
            let reply = try create(client)
            #expect(reply.error == "org.hwdaemon.VideoEncoderNotAvailableNow")
            #expect(reply["reason"] == .string("the daemon is shutting down"))
            #expect(reply["code"] == .int(-12915))
        }
        // The session is still running; the daemon ends with it.
        #expect(running?.isOpen == true)
        #expect(try broker.child.tryReap() == nil)
        running = nil
        #expect(try broker.child.waitForExit() == .exited(0))
        #expect(access(broker.socket, F_OK) != 0)
    }

    @Test func endsADrainAfterItsTimeoutOrASecondSignal() throws {
        for (timeout, isRepeated, end) in [
            ("0.6", false, "sessions have not finished in time"),
            ("600", true, "SIGTERM again: ending the sessions"),
        ] {
            let broker = try BrokerProcess(["--set", "DrainTimeout=\(timeout)"])
            let client = try broker.connect()
            _ = try client.create()
            try broker.child.kill(SIGTERM)
            // Two signals that wait together are one.
            try waitFor("the drain") { broker.log.contains("SIGTERM: stopping") }
            if isRepeated { try broker.child.kill(SIGTERM) }
            #expect(try broker.child.waitForExit() == .exited(0))
            #expect(broker.log.contains(end), "\(timeout)")
            #expect(broker.log.contains("reason=\"the daemon is shutting down\""))
        }
    }

    @Test func answersAProbeThatWaitsForARoundWhenTheDaemonEnds() throws {
        let broker = try BrokerProcess()
        let client = try broker.connect()
        #expect(try client.ask(Probe.method).error == nil)
        // This call waits until 100 ms after the first round; on a busy machine its own round may start.
        try client.call(Probe.method)
        try waitFor("the call") {
            broker.log.split(separator: "\n").count(where: { $0.contains("method=\(Probe.method)") }) == 2
        }
        try broker.child.kill(SIGTERM)
        let reply = try client.reply()
        #expect(reply.error == nil || reply["reason"] == .string("the daemon is shutting down"))
        #expect(try broker.child.waitForExit() == .exited(0))
    }

    @Test func aReloadAppliesIdleTimeoutToOpenConnections() throws {
        // Until the reload there are no checks of idle connections.
        let broker = try BrokerProcess(configuration: "IdleTimeout=0\n")
        let client = try broker.connect()
        #expect(try client.ask("org.varlink.service.GetInfo").error == nil)
        try broker.configure("IdleTimeout=0.3\n")
        try broker.child.kill(SIGHUP)
        #expect(try client.isClosed())
        #expect(broker.log.contains("the client made no call for 0.3 s"))
    }

    @Test func appliesReloadsToNewSessionsAndRejectsWrongOnes() throws {
        let broker = try BrokerProcess(["--set", "MaxSessionsPerUser=2"], devices: nil)
        try broker.configure("MaxSessions=1\nMaxSessionsPerUser=1\nDevices=/dev/null\n")
        try broker.child.kill(SIGHUP)
        try waitFor("the reload") { broker.log.contains("read the configuration again") }
        let first = try broker.connect()
        _ = try first.create()
        func second() throws -> TestClient.Reply {
            try create(broker.connect())
        }
        #expect(try second()["reason"] == .string("the daemon serves 1 session; its limit is 1 (MaxSessions)"))
        // The devices were probed again.
        try waitFor("the probe") { broker.log.contains("found a node node=/dev/null") }

        try broker.configure("MaxSessions=5\nMaxSession=7\n")
        try broker.child.kill(SIGHUP)
        try waitFor("the refusal") { broker.log.contains("the old configuration stays") }
        #expect(broker.log.contains("/config/hwdaemon.conf:2: there is no key MaxSession"))
        #expect(try second().error == "org.hwdaemon.VideoEncoderNotAvailableNow")

        try broker.configure("MaxSessions=5\nMaxSessionsPerUser=1\nLogLevel=error\n")
        try broker.child.kill(SIGHUP)
        // The command line's limit of two for each user has priority.
        var sessions: [TestClient] = []
        try waitFor("the new limit") {
            let client = try broker.connect()
            guard try create(client).error == nil else { return false }
            sessions.append(client)
            return true
        }
        #expect(
            try second()["reason"]?.description.contains("the limit for one user is 2 (MaxSessionsPerUser)") == true
        )
        let metrics = try #require(try broker.connect().ask(GetMetrics.method)["metrics"]).description
        #expect(metrics.contains("hwdaemon_reloads_total{result=\"failed\"} 1\n"))
        #expect(metrics.contains("hwdaemon_reloads_total{result=\"ok\"} 2\n"))
        let ends = broker.log.matches(of: /session ended/).count
        sessions = []
        // So has --log-level, which the tests set to debug.
        try waitFor("the end of the sessions in the log") {
            broker.log.matches(of: /session ended/).count > ends
        }
    }

    @Test(.enabled(if: access("/usr/bin/prlimit", X_OK) == 0, "skipped: prlimit is not installed"))
    func refusesSessionsWithoutFileDescriptors() throws {
        let broker = try BrokerProcess(prefix: ["/usr/bin/prlimit", "--nofile=40:40"])
        _ = try broker.connect().ask(ListEncoders.method)
        try waitFor("the probe to be reaped") { broker.children.isEmpty }
        var sessions: [TestClient] = []
        var refusal: TestClient.Reply?
        for _ in 0..<16 {
            let client = try broker.connect()
            let reply = try create(client)
            guard reply.error == nil else {
                refusal = reply
                break
            }
            sessions.append(client)
        }
        #expect(sessions.count >= 3)
        #expect(refusal?.error == "org.hwdaemon.VideoEncoderNotAvailableNow")
        #expect(refusal?["code"] == .int(-12915))
        #expect(refusal?["reason"]?.description.contains("40 file descriptors (LimitNOFILE)") == true)
        // Idle connections use up the rest; the next client gets the reason too.
        var idle: [TestClient] = []
        var last: TestClient?
        try waitFor("the table to be full") {
            let client = try broker.connect()
            idle.append(client)
            last = client
            return broker.log.contains("cannot accept connections")
        }
        #expect(try last?.reply()["reason"]?.description.contains("40 file descriptors") == true)
        // The process of a session that was refused may still be reaped.
        try waitFor("the sessions' processes alone") { broker.children.count == sessions.count }
        #expect(sessions.allSatisfy { $0.isOpen })
        idle = []
        last = nil
        try waitFor("service") {
            guard let reply = try? broker.connect().ask(ListSessions.method) else { return false }
            return reply["sessions"] != nil
        }
        sessions.removeFirst()
        try waitFor("room for one more session") { try create(broker.connect()).error == nil }
    }

    /// Runs hwctl and returns its exit status and output.
    private func hwctl(_ arguments: [String], _ environment: [String: String]) throws -> (
        ChildProcess.Exit?, String
    ) {
        let path = "/tmp/hwdaemon-test-hwctl-\(getpid())"
        let output = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer {
            close(output)
            unlink(path)
        }
        let child = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwctl", arguments: arguments, environment: environment,
            files: [.init(output, as: 1), .init(output, as: 2)])
        let exit = try child.waitForExit()
        return (exit, try String(contentsOfFile: path, encoding: .utf8))
    }

    private static let clip: String? = {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        let path = "\(folder.path)/Tests/Media/bbb_720p.mp4"
        return access(path, R_OK) == 0 ? path : nil
    }()

    @Test(.enabled(if: clip != nil, "skipped: Tests/Media/bbb_720p.mp4 is missing"))
    func exitsHwctlWith75AtALimit() throws {
        let broker = try BrokerProcess(["--max-sessions-per-user", "1"])
        let client = try broker.connect()
        _ = try client.create()
        let output = "\(broker.folder)/out.mov"
        let (exit, text) = try hwctl(
            ["encode", try #require(Self.clip), output], ["HWDAEMON_SOCKET": broker.socket])
        #expect(exit == .exited(75))
        #expect(text.contains("has 1 session; the limit for one user is 1 (MaxSessionsPerUser), and"))
        #expect(access(output, F_OK) != 0)
        let (listed, metrics) = try hwctl(["sessions", "--metrics"], ["HWDAEMON_SOCKET": broker.socket])
        #expect(listed == .exited(0))
        #expect(metrics.contains("code=\"-12915\",reason=\"max_sessions_per_user\"} 1\n"))
        #expect(metrics.contains("# TYPE hwdaemon_sessions_refused_total counter\n"))
        #expect(metrics.contains("# TYPE hwdaemon_build_info gauge\n"))
        #expect(!metrics.contains("# EOF") && !metrics.contains("# UNIT"))
        let (status, openMetrics) = try hwctl(
            ["sessions", "--metrics", "--format", "openmetrics"], ["HWDAEMON_SOCKET": broker.socket])
        #expect(status == .exited(0) && openMetrics.hasSuffix("# EOF\n"))
    }

    @Test func logsNoSessionErrorsIfPrivate() throws {
        let listener = try UnixSocket.listenAbstractAutobind()
        let log = "/tmp/hwdaemon-test-private-\(getpid())"
        let file = open(log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer {
            close(file)
            unlink(log)
        }
        let broker = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon", arguments: ["--private", "--listen-fd", "3"],
            files: [.init(listener.rawValue, as: 3), .init(file, as: 2)])
        let address = try UnixSocket.address(of: listener.rawValue)
        let client = try TestClient(address)
        let id = try client.create()
        let sessions = try TestClient(address).ask(ListSessions.method)["sessions"]
        guard case .array(let list)? = sessions, case .object(let session)? = list.first,
            case .int(let pid)? = session["pid"]
        else {
            Issue.record("no session: \(String(describing: sessions))")
            return
        }
        kill(Int32(pid), SIGKILL)
        #expect(try client.isClosed())
        try waitFor("the result") {
            let ask = "{\"session\":\"\(id)\",\"timeout_ms\":10000}"
            let result = try TestClient(address).ask(GetSessionResult.method, ask)
            return result["finished"] == .bool(true) && result["code"] == .int(-12912)
        }
        // A running session does not delay the end of a private daemon.
        #expect(Settings.ofPrivateDaemon.drainTimeout == .zero)
        let running = try TestClient(address)
        _ = try running.create()
        try broker.kill(SIGTERM)
        #expect(try broker.waitForExit() == .exited(0))
        #expect(try running.isClosed())
        #expect(try String(contentsOfFile: log, encoding: .utf8) == "")
    }

    @Test(
        "Writes priorities instead of times only to the journal's stream", arguments: [true, false])
    func writesPrioritiesToTheJournalOnly(_ matches: Bool) throws {
        let log = "/tmp/hwdaemon-test-journal-\(getpid())"
        let file = open(log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer {
            close(file)
            unlink(log)
        }
        var status = stat()
        fstat(file, &status)
        let listener = try UnixSocket.listenAbstractAutobind()
        let broker = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon",
            arguments: ["--listen-fd", "3", "--config", "/proc/tty"],
            environment: ["JOURNAL_STREAM": "\(status.st_dev):\(status.st_ino &+ (matches ? 0 : 1))"],
            files: [.init(listener.rawValue, as: 3), .init(file, as: 2)])
        _ = try TestClient(UnixSocket.address(of: listener.rawValue)).create()
        try broker.kill(SIGTERM)
        #expect(try broker.waitForExit() == .exited(0))
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        #expect(lines.count > 4)
        #expect(
            lines.allSatisfy {
                $0.wholeMatch(of: matches ? /<[0-7]>[a-zA-Z].*/ : /20[0-9-]+T[0-9:.]+Z [a-z]+: .*/) != nil
            })
        let start = try #require(lines.first { $0.contains("session started") })
        for key in ["session=", "uid=", "pid=", "client=", "codec=hevc", "size=64x64", "format=NV12"] {
            #expect(start.contains(" \(key)"), "\(key)")
        }
    }

    @Test("Refuses sockets from systemd other than one listening Unix stream socket", arguments: ["2", "1"])
    func refusesOtherSocketsFromTheServiceManager(_ count: String) throws {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let packets = try UnixSocket.packetPair()
        let child = try ChildProcess(
            spawning: "/bin/sh",
            arguments: ["-c", "LISTEN_FDS=\(count) LISTEN_PID=$$ exec \(BrokerProcess.products)/hwdaemon"],
            files: [
                .init(packets.first.rawValue, as: 3), .init(packets.second.rawValue, as: 4), .init(null, as: 2),
            ])
        #expect(try child.waitForExit() == .exited(70))
    }
}
