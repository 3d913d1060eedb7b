// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@testable import HWDaemon

@Suite("The queue of sessions that wait for a slot")
struct SessionQueueTests {
    private static func time(_ seconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: seconds * 1_000_000_000)
    }

    private static let full = Refusal(.maxSessions, .videoEncoderNotAvailableNow, "full")

    private func add(
        _ name: String, of uid: UInt32, to queue: inout SessionQueue<String>, at seconds: UInt64 = 0,
        for wait: Int = 60
    ) -> Bool {
        queue.append(name, of: uid, for: .seconds(wait), because: Self.full, now: Self.time(seconds))
    }

    @Test func theUserWithTheFewestSessionsIsFirst() {
        var queue = SessionQueue<String>()
        for (name, uid) in [("a1", 1), ("a2", 1), ("b1", 2), ("c1", 3), ("b2", 2)] as [(String, UInt32)] {
            #expect(add(name, of: uid, to: &queue))
        }
        #expect(queue.inOrder([:]).map(\.work) == ["a1", "a2", "b1", "c1", "b2"])
        #expect(queue.inOrder([1: 3, 2: 1, 3: 2]).map(\.work) == ["b1", "b2", "c1", "a1", "a2"])
        // Each session that starts counts for the next slot.
        var counts: [UInt32: Int] = [1: 1]
        var order: [String] = []
        while let next = queue.inOrder(counts).first {
            queue.remove(next.number)
            counts[next.uid, default: 0] += 1
            order.append(next.work)
        }
        #expect(order == ["b1", "c1", "a1", "b2", "a2"])
    }

    @Test func aCallWaitsAsLongAsItAsked() {
        var queue = SessionQueue<String>()
        #expect(queue.nextDeadline == nil)
        #expect(add("long", of: 1, to: &queue, at: 100, for: 60))
        #expect(add("short", of: 1, to: &queue, at: 110, for: 5))
        #expect(queue.nextDeadline == Self.time(115))
        #expect(queue.take { $0.deadline <= Self.time(114) }.isEmpty)
        #expect(queue.take { $0.deadline <= Self.time(115) }.map(\.work) == ["short"])
        #expect(queue.entries.map(\.work) == ["long"] && queue.nextDeadline == Self.time(160))
    }

    @Test func isBoundedForEachUserAndForAll() {
        var queue = SessionQueue<String>()
        #expect((0..<32).allSatisfy { _ in add("a", of: 1, to: &queue) })
        #expect(!add("a", of: 1, to: &queue))
        for uid in UInt32(2)...4 { while add("x", of: uid, to: &queue) {} }
        // 128, less those kept for root and for users who wait with no call yet.
        #expect(queue.entries.count == 128 - 16 - 4)
        #expect(add("b", of: 5, to: &queue) && !add("b", of: 5, to: &queue))
        #expect(add("root", of: 0, to: &queue))
    }

    /// 64 sessions at 16 for each user.
    @Test func aFifthUserBesideFourAtTheirLimitsIsServed() throws {
        var registry = SessionRegistry(limits: .init())
        func add(_ uid: UInt32) throws(Refusal) {
            try registry.admit(uid: uid)
            registry.add(.small("\(registry.running.count)", uid: uid, created: Self.time(1)))
        }
        for uid in UInt32(1000)...1003 { while (try? add(uid)) != nil {} }
        #expect(registry.running.count == 54)
        try add(1004)
        #expect(throws: Refusal.self) { try add(1004) }
        try add(0)
        try add(0)
        #expect(registry.counts(now: Self.time(2))[1004] == 1)
    }

    // MARK: - In a broker

    private static let tooMany = "has 1 session; the limit for one user is 1 (MaxSessionsPerUser)"

    @Test func aCallThatWaitsIsServedWhenASessionEnds() throws {
        let broker = try BrokerProcess(["--set", "MaxSessionsPerUser=1"])
        let first = try broker.connect()
        _ = try first.create()
        let second = try broker.connect()
        try second.call(
            CreateCompressionSession.method, TestClient.parameters(",\"max_wait_ms\":30000"),
            extra: ",\"upgrade\":true")
        try waitFor("the call to wait") { broker.log.contains("session waits") }
        let metrics = try broker.connect().ask(GetMetrics.method)["metrics"]?.description ?? ""
        #expect(metrics.contains("\nhwdaemon_sessions_waiting 1\n"))
        // One without a wait is refused meanwhile, as before.
        let refused = try broker.connect().ask(
            CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        #expect(refused["reason"]?.description.contains(Self.tooMany) == true)
        try #require(shutdown(first.file.rawValue, Int32(SHUT_RDWR)) == 0)
        #expect(try second.reply().parameters?["session"] != nil)
    }

    @Test func aCallThatHasWaitedIsRefusedWithTheLimit() throws {
        let broker = try BrokerProcess(["--set", "MaxSessionsPerUser=1"])
        let first = try broker.connect()
        _ = try first.create()
        let start = MonotonicTime.now
        let reply = try broker.connect().ask(
            CreateCompressionSession.method, TestClient.parameters(",\"max_wait_ms\":300"),
            extra: ",\"upgrade\":true")
        #expect(MonotonicTime.now >= start + .milliseconds(300))
        let reason = reply["reason"]?.description ?? ""
        #expect(reason.contains(Self.tooMany) && reason.hasSuffix("the call waited 0.3 s (max_wait_ms)"))
        #expect(reply["code"] == .int(-12915))
    }

    @Test(
        "Is refused at once",
        arguments: [
            ",\"max_wait_ms\":30000,\"properties\":{\"RealTime\":true}", ",\"max_wait_ms\":0", "",
        ])
    func isRefusedAtOnce(_ changes: String) throws {
        let broker = try BrokerProcess(["--set", "MaxSessionsPerUser=1"])
        let first = try broker.connect()
        _ = try first.create()
        let reply = try broker.connect().ask(
            CreateCompressionSession.method, TestClient.parameters(changes), extra: ",\"upgrade\":true")
        #expect(reply["code"] == .int(-12915))
        #expect(!broker.log.contains("session waits"))
    }

    @Test func aClientThatDisconnectsLeavesTheQueue() throws {
        let broker = try BrokerProcess(["--set", "MaxSessionsPerUser=1"])
        let first = try broker.connect()
        _ = try first.create()
        let (gone, next) = (try broker.connect(), try broker.connect())
        let parameters = TestClient.parameters(",\"max_wait_ms\":30000")
        try gone.call(CreateCompressionSession.method, parameters, extra: ",\"upgrade\":true")
        try waitFor("the call to wait") { broker.log.contains("session waits") }
        try #require(shutdown(gone.file.rawValue, Int32(SHUT_RDWR)) == 0)
        try waitFor("the queue to be empty") {
            let metrics = try broker.connect().ask(GetMetrics.method)["metrics"]?.description ?? ""
            return metrics.contains("\nhwdaemon_sessions_waiting 0\n")
        }
        try next.call(CreateCompressionSession.method, parameters, extra: ",\"upgrade\":true")
        try #require(shutdown(first.file.rawValue, Int32(SHUT_RDWR)) == 0)
        #expect(try next.reply().parameters?["session"] != nil)
    }

    @Test func aDaemonThatStopsRefusesCallsThatWait() throws {
        let broker = try BrokerProcess(["--set", "MaxSessionsPerUser=1"])
        let first = try broker.connect()
        _ = try first.create()
        let second = try broker.connect()
        try second.call(
            CreateCompressionSession.method, TestClient.parameters(",\"max_wait_ms\":30000"),
            extra: ",\"upgrade\":true")
        try waitFor("the call to wait") { broker.log.contains("session waits") }
        try broker.child.kill(SIGTERM)
        #expect(try second.reply()["reason"] == .string("the daemon is shutting down"))
    }

    @Test("A wait outside of the range is no parameter", arguments: [-1, 3_600_001])
    func refusesAWaitOutsideOfTheRange(_ milliseconds: Int) throws {
        let broker = try BrokerProcess()
        let reply = try broker.connect().ask(
            CreateCompressionSession.method, TestClient.parameters(",\"max_wait_ms\":\(milliseconds)"),
            extra: ",\"upgrade\":true")
        #expect(reply.error == "org.varlink.service.InvalidParameter")
        #expect(reply["parameter"] == .string("max_wait_ms"))
        withExtendedLifetime(broker) {}
    }
}
