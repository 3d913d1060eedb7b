// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite("Sessions of a broker", .serialized)
struct SessionTests {
    private func sessions(_ broker: BrokerProcess) throws -> [SessionInfo] {
        let client = try broker.connect()
        try client.call(ListSessions.method)
        let text = try #require(try client.receive())
        return try VarlinkReply.decode(ListSessions.Reply.self, from: Array(text.utf8)).sessions
    }

    @Test func endsOnlyTheSessionOfAKilledWorker() throws {
        let broker = try BrokerProcess()
        let client = try broker.connect()
        let id = try client.create()
        #expect(id.utf8.count == 32)
        // A worker started later must not hold a copy of the first one's connection.
        let bystander = try broker.connect()
        let other = try bystander.create()

        let listed = try #require(try sessions(broker).first { $0.session == id })
        #expect(listed.uid == geteuid())
        #expect(listed.width == 64 && listed.pixelFormat == "NV12" && listed.kind == .compression)
        try waitFor("the worker's report") {
            try sessions(broker).first { $0.session == id }?.codecID == "org.hwdaemon.encoder.x265"
        }
        let running = try broker.connect().ask(GetSessionResult.method, "{\"session\":\"\(id)\"}")
        #expect(running["finished"] == .bool(false))

        kill(listed.pid, SIGKILL)
        #expect(try client.isClosed())
        let end = try broker.result(id)
        #expect(end.code == -12912)
        #expect(end.reason.contains("signal 9 (SIGKILL)"))
        #expect(try sessions(broker).map(\.session) == [other])
    }

    @Test func waitsForAResultWithoutBlockingOthers() throws {
        let broker = try BrokerProcess()
        let client = try broker.connect()
        let id = try client.create()
        let waiting = try broker.connect()
        try waiting.call(GetSessionResult.method, "{\"session\":\"\(id)\",\"timeout_ms\":10000}")
        let short = try broker.connect()
        try short.call(GetSessionResult.method, "{\"session\":\"\(id)\",\"timeout_ms\":100}")
        #expect(try short.reply()["finished"] == .bool(false))
        #expect(try broker.connect().ask("org.varlink.service.GetInfo").error == nil)
        kill(try #require(try sessions(broker).first).pid, SIGSEGV)
        let reply = try waiting.reply()
        #expect(reply["finished"] == .bool(true))
        #expect(reply["reason"]?.description.contains("signal 11 (SIGSEGV)") == true)
    }

    @Test func refusesAnUnknownCodec() throws {
        let broker = try BrokerProcess()
        let client = try broker.connect()
        let reply = try client.ask(
            CreateCompressionSession.method,
            "{\"codec\":\"vp8\",\"width\":64,\"height\":64,\"pixel_format\":\"NV12\",\"time_base\":{\"numerator\":1,\"denominator\":30}}",
            extra: ",\"upgrade\":true")
        #expect(reply.error?.hasPrefix("org.hwdaemon.") == true)
        #expect(try client.isClosed())
    }

    @Test func reportsAnUnknownSessionAsInvalid() throws {
        let reply = try BrokerHolder.shared.get().connect().ask(
            GetSessionResult.method, "{\"session\":\"0123\"}")
        #expect(reply.error == "org.hwdaemon.InvalidSession")
        #expect(reply["code"] == .int(-12903))
    }

    @Test func namesTheLimitThatIsReached() throws {
        let broker = try BrokerProcess(["--max-sessions-per-user", "2", "--max-sessions", "10"])
        let clients = [try broker.connect(), try broker.connect()]
        for client in clients { _ = try client.create() }
        let third = try broker.connect()
        let reply = try third.ask(
            CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        #expect(reply.error == "org.hwdaemon.VideoEncoderNotAvailableNow")
        #expect(reply["code"] == .int(-12915))
        #expect(reply["reason"]?.description.contains("2 (MaxSessionsPerUser)") == true)
        // The refused connection still serves calls, and may try again.
        kill(try #require(try sessions(broker).first).pid, SIGKILL)
        try waitFor("the session to end") { try sessions(broker).count == 1 }
        _ = try third.create()
    }

    @Test func sendsPipelinedRepliesBeforeTheWorkersReply() throws {
        let client = try BrokerHolder.shared.get().connect()
        try client.send(String(repeating: TestClient.describe, count: 100))
        try client.call(CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        try client.waitUntilFull()
        for _ in 0..<100 { #expect(try client.reply()["description"] != nil) }
        #expect(try client.reply()["session"] != nil)
    }

    @Test func reportsAWorkerThatCannotBeStarted() throws {
        let broker = try BrokerProcess(["--libexec", "/nowhere"])
        let client = try broker.connect()
        let reply = try client.ask(
            CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        #expect(reply.error == "org.hwdaemon.CouldNotCreateInstance")
        #expect(reply["code"] == .int(-12907))
        #expect(reply["reason"]?.description.contains("/nowhere/hwdaemon-encoder") == true)
        #expect(try client.ask(ListEncoders.method)["encoders"] == .array([]))
    }

    /// Writes a word of the stats page from a shell script.
    private static func poke(_ counter: StatsPage.Counter, _ bytes: String) -> String {
        "printf '\(bytes)' | dd of=/proc/self/fd/5 bs=8 seek=\(counter.rawValue) conv=notrunc 2>/dev/null\n"
    }

    /// Part of a worker's script: waits until the test calls `go`.
    private static let waitForGo = "until [ -e $0.go ]; do sleep 0.05; done\n"

    private func go(_ broker: BrokerProcess) throws {
        try "".write(toFile: "\(broker.folder)/hwdaemon-encoder.go", atomically: false, encoding: .utf8)
    }

    @Test(
        "Kills a worker that hangs, whatever time it reports",
        arguments: [#"\001\000\000\000\000\000\000\000"#, #"\377\377\377\377\377\377\377\377"#])
    func killsAWorkerThatHangs(_ time: String) throws {
        let script =
            "#!/bin/sh\n" + Self.poke(.framesIn, #"\007"#) + Self.poke(.busySinceNs, time) + "exec sleep 60\n"
        let broker = try BrokerProcess(["--stall-timeout", "2"], workers: ["hwdaemon-encoder": script])
        let client = try broker.connect()
        try client.call(CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        try waitFor("the session") { try !sessions(broker).isEmpty || broker.log.contains("session ended") }
        let id = try #require(broker.log.firstMatch(of: /session=([0-9a-f]{32})/)?.output.1)
        let end = try broker.result(String(id))
        #expect(end.code == -12912)
        #expect(end.reason.hasPrefix("stopped after 2 s"))
        #expect(end.framesIn == 7)
        #expect(try client.isClosed())
    }

    @Test func killsAWorkerThatHangsInHardwareSooner() throws {
        // Its codec call began long ago, so that either limit is over once the daemon sees it.
        let script =
            "#!/bin/sh\nprintf '{\"created\":{\"codecID\":\"hw\",\"usingHardware\":true}}' >&4\n"
            + Self.waitForGo + Self.poke(.busySinceNs, #"\001\000\000\000\000\000\000\000"#)
            + "exec sleep 60\n"
        let broker = try BrokerProcess(
            ["--stall-timeout", "3600", "--set", "HardwareStallTimeout=60"], workers: ["hwdaemon-encoder": script])
        let client = try broker.connect()
        try client.call(CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        try waitFor("the report") { try sessions(broker).first?.codecID == "hw" }
        try go(broker)
        #expect(try client.isClosed())
        try waitFor("the end") { broker.log.contains("session ended") }
        #expect(broker.log.contains("reason=\"stopped after 60 s"))
    }

    @Test func boundsTheReportsOfAWorker() throws {
        let script = """
            #!/bin/sh
            printf 'not JSON' >&4
            printf '{"created":{"codecID":"bad\\\\u0007name","usingHardware":true}}' >&4
            printf '{"ended":{"code":-12902,"reason":"two\\\\nlines"}}' >&4
            i=0; while [ $i -lt 200 ]; do printf '{}' >&4 2>/dev/null || break; i=$((i+1)); done
            \(Self.waitForGo)exit 3
            """
        let broker = try BrokerProcess(workers: ["hwdaemon-encoder": script])
        let client = try broker.connect()
        try client.call(CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        try waitFor("the report") { try sessions(broker).first?.codecID != nil }
        let session = try #require(try sessions(broker).first)
        #expect(session.codecID == "bad name")
        try go(broker)
        let end = try broker.result(session.session)
        #expect(end.code == -12902)
        #expect(end.reason == "two lines")
        #expect(broker.log.contains("ignored a packet of the worker"))
        // Only lines about the worker, not those of this test's calls.
        let lines = broker.log.split(separator: "\n").filter { $0.contains("worker") }
        #expect(lines.count > 1 && lines.count < 80)
    }

    @Test(.enabled(if: getuid() == 0, "only root may count a daemon's descriptors"))
    func leaksNothingInTwoHundredSessions() throws {
        let broker = try BrokerProcess()
        _ = try broker.connect().ask(ListEncoders.method)
        try waitFor("the probe to be reaped") { broker.children.isEmpty }
        let before = broker.openFiles
        for _ in 0..<200 {
            let client = try broker.connect()
            _ = try client.create()
        }
        try waitFor("every session to end") { try sessions(broker).isEmpty }
        try waitFor("every descriptor to be closed") { broker.openFiles <= before }
        try waitFor("every process to be reaped") { broker.children.isEmpty }
    }
}
