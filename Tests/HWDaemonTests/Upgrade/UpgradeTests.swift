// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite("A daemon that is upgraded", .serialized)
struct UpgradeTests {
    /// The daemon that replaced a broker's process; killed when it goes.
    final class Replacement {
        let pid: Int32

        /// Upgrades a broker and waits until another process serves.
        init(_ broker: BrokerProcess) throws {
            try broker.child.kill(SIGUSR2)
            pid = try Self.successor(of: broker, number: 0)
        }

        /// Upgrades a replacement, which is that of a number, from 0.
        init(_ last: Replacement, number: Int, _ broker: BrokerProcess) throws {
            Glibc.kill(last.pid, SIGUSR2)
            pid = try Self.successor(of: broker, number: number + 1)
        }

        deinit { if !hasEnded { Glibc.kill(pid, SIGKILL) } }

        /// Waits for the process that the log names after so many others.
        private static func successor(of broker: BrokerProcess, number: Int) throws -> Int32 {
            var found: [Int32] = []
            try waitFor("the new daemon") {
                found = broker.log.matches(of: /successor=([0-9]+)/).compactMap { Int32($0.1) }
                return found.count > number
            }
            return found[number]
        }

        /// Whether its process has ended; a zombie has too.
        var hasEnded: Bool {
            guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return true }
            return text.contains(") Z ")
        }

        func stop() throws {
            Glibc.kill(pid, SIGTERM)
            try waitFor("the new daemon's end") { hasEnded }
        }
    }

    private func sessions(_ client: TestClient) throws -> [[String: PropertyValue]] {
        guard case .array(let list)? = try client.ask(ListSessions.method)["sessions"] else { return [] }
        return list.compactMap { if case .object(let session) = $0 { session } else { nil } }
    }

    private func parent(of pid: Int) throws -> Int32? {
        let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        return text.firstMatch(of: /PPid:\t([0-9]+)/).flatMap { Int32($0.1) }
    }

    @Test func handsItsSocketAndConnectionsOverAndFinishesItsSessions() throws {
        let broker = try BrokerProcess(["--set", "DrainTimeout=0"])
        var first: TestClient? = try broker.connect()
        let id = try #require(first).create()
        let idle = try broker.connect()
        _ = try idle.ask("org.varlink.service.GetInfo")
        let inode = try FileManager.default.attributesOfItem(atPath: broker.socket)[.systemFileNumber] as? Int
        let replacement = try Replacement(broker)

        // A connection from before is the new daemon's, as is a new one.
        let listed = try sessions(idle)
        #expect(listed.map { $0["session"] } == [.string(id)])
        let second = try broker.connect()
        _ = try second.create()
        let both = try sessions(broker.connect())
        #expect(both.count == 2)
        var parents: [Int32?] = []
        for session in both {
            guard case .int(let pid)? = session["pid"] else { continue }
            parents.append(try parent(of: Int(pid)))
        }
        #expect(parents == [broker.child.pid, replacement.pid])
        #expect(try broker.child.tryReap() == nil)

        // The daemon before ends with its last session, whose result the new one knows.
        first = nil
        #expect(try broker.child.waitForExit() == .exited(0))
        let ended = try broker.result(id)
        #expect(ended.code == 0, "\(ended)")
        #expect(try sessions(broker.connect()).count == 1)
        let after = try FileManager.default.attributesOfItem(atPath: broker.socket)[.systemFileNumber] as? Int
        #expect(after == inode)
        let metrics = try #require(try broker.connect().ask(GetMetrics.method)["metrics"]).description
        #expect(metrics.contains("hwdaemon_sessions_running 1\n"))
        let sums = ["created", "ended"].map { name in
            metrics.matches(of: try! Regex("hwdaemon_sessions_\(name)_total\\{[^}]*\\} ([0-9]+)")).reduce(0) {
                $0 + (Int($1.output[1].substring ?? "") ?? 0)
            }
        }
        #expect(sums == [2, 1])
        try replacement.stop()
        #expect(access(broker.socket, F_OK) != 0)
    }

    @Test func endsAtOnceWithoutSessionsAndCanBeUpgradedAgain() throws {
        let broker = try BrokerProcess()
        let session = try broker.connect()
        let id = try session.create()
        let second = try Replacement(broker)
        let third = try Replacement(second, number: 0, broker)
        // The second waits for the first, whose session the third lists.
        #expect(try sessions(broker.connect()).map { $0["session"] } == [.string(id)])
        #expect(!second.hasEnded)
        shutdown(session.file.rawValue, Int32(SHUT_RDWR))
        try waitFor("the daemons before to end") { try second.hasEnded && broker.child.tryReap() != nil }
        #expect(try broker.result(id).code == 0)
        let fourth = try Replacement(third, number: 1, broker)
        try waitFor("the daemon without sessions to end") { third.hasEnded }
        _ = try broker.connect().create()
        try fourth.stop()
    }

    @Test("Goes on if the new program does not start", arguments: ["exit 3", "missing", "configuration"])
    func continuesIfTheNewProgramDoesNotStart(_ fault: String) throws {
        let manager = try NotifySocket(abstract: true)
        let broker = try BrokerProcess(environment: ["NOTIFY_SOCKET": manager.address], program: "daemon")
        let program = "\(broker.folder)/daemon"
        let session = try broker.connect()
        let id = try session.create()
        let reason: String
        switch fault {
        case "missing":
            unlink(program)
            reason = "it cannot be started"
        case "configuration":
            try broker.configure("MaxSession=7\n")
            reason = "it found its configuration wrong"
        default:
            unlink(program)
            try "#!/bin/sh\n\(fault)\n".write(toFile: program, atomically: false, encoding: .utf8)
            chmod(program, 0o755)
            reason = "it exited with status 3"
        }
        try broker.child.kill(SIGUSR2)
        try waitFor("the failure") { broker.log.contains("the upgrade failed, this daemon continues") }
        #expect(broker.log.contains(reason), "\(broker.log)")
        try waitFor("the status") {
            manager.read().contains {
                $0.hasPrefix("STATUS=Serving 1 session.") && $0.contains("The upgrade failed")
                    && $0.contains(reason)
            }
        }
        #expect(!manager.read().contains { $0.hasPrefix("MAINPID=") })
        #expect(try sessions(broker.connect()).map { $0["session"] } == [.string(id)])
        _ = try broker.connect().create()
        #expect(try broker.child.tryReap() == nil)
    }

    @Test func reportsItsNewMainProcessToTheServiceManager() throws {
        let manager = try NotifySocket(abstract: true)
        let broker = try BrokerProcess(
            environment: ["NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "200000"])
        let session = try broker.connect()
        _ = try session.create()
        try manager.wait(for: "READY=1")
        manager.forget()
        let replacement = try Replacement(broker)
        try manager.wait(for: "STATUS=Serving 0 sessions. The daemon before finishes 1.")
        let lines = manager.read().filter { !$0.hasPrefix("WATCHDOG=") }
        #expect(lines.first == "MAINPID=\(replacement.pid)" && lines.dropFirst().first == "READY=1", "\(lines)")
        manager.forget()
        // The one that serves pings the watchdog.
        try manager.wait(for: "WATCHDOG=1")
        shutdown(session.file.rawValue, Int32(SHUT_RDWR))
        try manager.wait(for: "STATUS=Serving 0 sessions.")
        #expect(try broker.child.waitForExit() == .exited(0))
        #expect(!manager.read().contains("STOPPING=1"))
        try replacement.stop()
        try manager.wait(for: "STOPPING=1")
    }

    @Test("Ends the sessions of both daemons", arguments: ["stop", "bound"])
    func endsTheSessionsOfBothDaemons(_ how: String) throws {
        let broker = try BrokerProcess(
            ["--set", "DrainTimeout=0"] + (how == "bound" ? ["--set", "UpgradeTimeout=0.5"] : []))
        let session = try broker.connect()
        let id = try session.create()
        let replacement = try Replacement(broker)
        if how == "stop" {
            let own = try broker.connect()
            _ = try own.create()
            try replacement.stop()
            #expect(try own.isClosed())
        } else {
            _ = try broker.result(id)
            #expect(broker.log.contains("sessions have not finished within UpgradeTimeout"))
        }
        #expect(try session.isClosed())
        #expect(try broker.child.waitForExit() == .exited(0))
    }

    @Test func continuesASessionOfTheDaemonBeforeWhoseProcessFailed() throws {
        let broker = try BrokerProcess(["--set", "DrainTimeout=0"])
        let session = try broker.connect()
        let id = try session.create()
        let replacement = try Replacement(broker)
        guard case .int(let pid)? = try sessions(broker.connect()).first?["pid"] else {
            Issue.record("the session is not listed")
            return
        }
        kill(Int32(pid), SIGKILL)
        let ended = try broker.result(id)
        #expect(ended.code == -12912, "\(ended)")
        let next = try broker.connect()
        _ = try next.create(",\"resumes\":\"\(id)\"")
        #expect(try sessions(broker.connect()).count == 1)
        #expect(try broker.child.waitForExit() == .exited(0))
        try replacement.stop()
    }

    @Test func callsThatWaitForAPlaceGoOnWaitingInTheNewDaemon() throws {
        let broker = try BrokerProcess(["--max-sessions-per-user", "1", "--set", "DrainTimeout=0"])
        let session = try broker.connect()
        _ = try session.create()
        func wait(_ milliseconds: Int) throws -> TestClient {
            let client = try broker.connect()
            try client.call(
                CreateCompressionSession.method, TestClient.parameters(",\"max_wait_ms\":\(milliseconds)"),
                extra: ",\"upgrade\":true")
            return client
        }
        let start = MonotonicTime.now
        let (longWait, shortWait) = (try wait(300_000), try wait(20_000))
        try waitFor("the calls to wait") { broker.log.matches(of: /session waits/).count == 2 }
        let replacement = try Replacement(broker)
        try waitFor("the calls to wait in the new daemon") {
            broker.log.matches(of: /session waits/).count == 4
        }
        let refused = try shortWait.reply()
        #expect(refused.error == "org.hwdaemon.VideoEncoderNotAvailableNow")
        #expect(refused["reason"]?.description.contains("the call waited 20 s (max_wait_ms)") == true, "\(refused)")
        #expect(MonotonicTime.now >= start + .seconds(20))

        shutdown(session.file.rawValue, Int32(SHUT_RDWR))
        #expect(try longWait.reply().error == nil)
        let listed = try sessions(broker.connect())
        #expect(listed.count == 1)
        guard case .int(let pid)? = listed.first?["pid"] else {
            Issue.record("the session has no process: \(listed)")
            return
        }
        #expect(try parent(of: Int(pid)) == replacement.pid)
        #expect(try broker.child.waitForExit() == .exited(0))
        try replacement.stop()
    }

    @Test func countsTheSessionsOfTheDaemonBefore() throws {
        let broker = try BrokerProcess(["--max-sessions-per-user", "1"])
        let session = try broker.connect()
        _ = try session.create()
        let replacement = try Replacement(broker)
        let refused = try broker.connect().ask(
            CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        #expect(refused.error == "org.hwdaemon.VideoEncoderNotAvailableNow")
        shutdown(session.file.rawValue, Int32(SHUT_RDWR))
        #expect(try broker.child.waitForExit() == .exited(0))
        try waitFor("room for a session") {
            try broker.connect().ask(
                CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true"
            ).error == nil
        }
        try replacement.stop()
    }

    @Test(
        "The variable of an upgrade is ignored without a daemon before, and no child has it",
        arguments: ["1", "2", "yes", "1 4", "-1"])
    func ignoresAStrayVariable(_ value: String) throws {
        let script = """
            #!/bin/sh
            env >"$0.new"
            mv "$0.new" "${0%/*}/environment"
            exec \(BrokerProcess.products)/hwdaemon-encoder

            """
        let broker = try BrokerProcess(
            ["--set", "SpareWorkers=1"], workers: ["hwdaemon-encoder": script],
            environment: ["HWDAEMON_UPGRADE": value])
        #expect(broker.log.contains("HWDAEMON_UPGRADE is ignored"))
        _ = try broker.connect().create()
        let environment = try String(contentsOfFile: "\(broker.folder)/environment", encoding: .utf8)
        #expect(environment.contains("PATH=") && !environment.contains("HWDAEMON_UPGRADE"), "\(environment)")
    }

    @Test("The variable of an upgrade means nothing to a private daemon", arguments: ["1", "2"])
    func isIgnoredByAPrivateDaemon(_ value: String) throws {
        let listener = try UnixSocket.listenAbstractAutobind()
        let address = try UnixSocket.address(of: listener.rawValue)
        let lifetime = try UnixSocket.packetPair()
        let child = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon",
            arguments: ["--private", "--listen-fd", "3", "--lifetime-fd", "4"],
            environment: ["HWDAEMON_UPGRADE": value],
            files: [.init(listener.rawValue, as: 3), .init(lifetime.first.rawValue, as: 4)])
        #expect(try TestClient(address).ask("org.varlink.service.GetInfo").error == nil)
        shutdown(lifetime.second.rawValue, Int32(SHUT_RDWR))
        #expect(try child.waitForExit() == .exited(0))
        _ = consume listener
    }

    @Test func doesNotReplaceADaemonThatDidNotStartIt() throws {
        let pair = try UnixSocket.packetPair()
        let listener = try UnixSocket.listenAbstractAutobind()
        let broker = try BrokerProcess()
        let command = "\(BrokerProcess.products)/hwdaemon --config \(broker.folder)/config"
        // The shell is the parent, and this process made the sockets.
        let shell = try ChildProcess(
            spawning: "/bin/sh", arguments: ["-c", "\(command) --socket \(broker.folder)/other & wait $!"],
            environment: ["HWDAEMON_UPGRADE": "1"],
            files: [.init(listener.rawValue, as: 3), .init(pair.second.rawValue, as: 4)])
        #expect(try shell.waitForExit() == .exited(70))
        _ = consume pair
        _ = consume listener
    }
}
