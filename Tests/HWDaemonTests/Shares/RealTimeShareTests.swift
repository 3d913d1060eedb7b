// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDTransport
import HWDWire
import Testing

@testable import HWDaemon

@Suite("Users' shares of sessions with RealTime")
struct RealTimeShareTests {
    private static func registry(_ limit: Int?, _ sessions: [(id: String, uid: UInt32)]) -> SessionRegistry {
        var registry = SessionRegistry(limits: .init(realTimePerUser: limit))
        for session in sessions {
            registry.add(.small(session.id, uid: session.uid))
        }
        return registry
    }

    @Test func eachUserHasItsOwnShare() {
        var registry = Self.registry(2, [("a", 7), ("b", 7), ("c", 7), ("d", 8), ("e", 0)])
        #expect(registry.takeRealTime("a", leaving: []) == nil)
        #expect(registry.takeRealTime("b", leaving: []) == nil)
        let refusal =
            "user 7 has 2 such sessions, and the limit for one user is 2 (MaxRealTimeSessionsPerUser)"
        #expect(registry.takeRealTime("c", leaving: []) == refusal)
        #expect(registry.realTimeRefusal(uid: 7, leaving: []) == refusal)
        #expect(registry.running["c"]?.isRealTime == false)
        // It has one already, so that a process that is started again keeps it.
        #expect(registry.takeRealTime("a", leaving: []) == nil)
        #expect(registry.takeRealTime("d", leaving: []) == nil)
        #expect(registry.takeRealTime("e", leaving: []) == nil)
    }

    @Test(arguments: [false, true])
    func aSessionThatEndsReturnsItsShare(_ hasEnded: Bool) {
        var registry = Self.registry(1, [("a", 7), ("b", 7)])
        #expect(registry.takeRealTime("a", leaving: []) == nil)
        #expect(registry.takeRealTime("b", leaving: []) != nil)
        if hasEnded {
            let end = SessionEnd(
                status: .videoEncoderMalfunction, reason: "killed", framesIn: 0, framesOut: 0, cause: .killed)
            registry.finish("a", end, now: MonotonicTime(nanoseconds: 2))
        }
        #expect(registry.takeRealTime("b", leaving: hasEnded ? [] : ["a"]) == nil)
    }

    @Test func zeroGivesNoneAndNoLimitGivesAll() {
        var none = Self.registry(0, [("a", 0)])
        #expect(none.takeRealTime("a", leaving: [])?.contains("user 0 has 0 such sessions") == true)
        var all = Self.registry(nil, (0..<100).map { ("\($0)", 7) })
        for number in 0..<100 { #expect(all.takeRealTime("\(number)", leaving: []) == nil) }
    }

    @Test func aDaemonThatTakesOverCountsThem() {
        var before = Self.registry(1, [("a", 7)])
        _ = before.takeRealTime("a", leaving: [])
        var after = Self.registry(1, [("b", 7)])
        for session in before.running.values { after.add(HandedSession(session).running) }
        #expect(after.takeRealTime("b", leaving: []) != nil)
    }

    @Test(
        "The setting takes numbers and shares of the processors",
        arguments: [
            ("0", .count(0), 0), ("3", .count(3), 3), ("50%", .percent(50), 6), ("1%", .percent(1), 1),
            ("1000%", .percent(1000), 120),
        ] as [(String, SessionShare, Int)])
    func readsTheSetting(_ text: String, _ share: SessionShare, _ ofTwelve: Int) throws {
        var settings = Settings()
        try settings.set("MaxRealTimeSessionsPerUser", to: text, base: Settings())
        #expect(settings.maxRealTimeSessionsPerUser == share)
        #expect(share.resolved(processors: 12) == ofTwelve)
        #expect(SettingsTable.row("MaxRealTimeSessionsPerUser")?.show(settings) == text)
    }

    @Test(arguments: ["-1", "4097", "0%", "1001%", "many", "%", "1.5"])
    func refusesOtherValues(_ text: String) {
        var settings = Settings()
        #expect(throws: SettingFault.self) {
            try settings.set("MaxRealTimeSessionsPerUser", to: text, base: Settings())
        }
    }

    @Test func aPrivateDaemonsOnlyUserHasNoLimit() {
        #expect(SessionRegistry.Limits(Settings(), isPrivate: true).realTimePerUser == nil)
        #expect((SessionRegistry.Limits(Settings(), isPrivate: false).realTimePerUser ?? 0) >= 1)
    }

    @Test func theReplySaysWhyASessionDoesNotRunBeforeOthers() throws {
        let broker = try BrokerProcess(["--set", "MaxRealTimeSessionsPerUser=1"])
        func create(_ properties: String) throws -> (client: TestClient, reply: TestClient.Reply) {
            let client = try broker.connect()
            let reply = try client.ask(
                CreateCompressionSession.method, TestClient.parameters(",\"properties\":{\(properties)}"),
                extra: ",\"upgrade\":true")
            try #require(reply.error == nil, "\(reply)")
            return (client, reply)
        }
        var sessions = [try create("\"RealTime\":false"), try create("\"RealTime\":true")]
        #expect(sessions.allSatisfy { $0.reply["priority_reason"] == nil })
        sessions.append(try create("\"RealTime\":true"))
        let reason = sessions[2].reply["priority_reason"]?.description ?? ""
        #expect(reason.contains("1 such session, and the limit for one user is 1 (MaxRealTimeSessionsPerUser)"))
        #expect(broker.log.contains(reason))
        // A client that has gone makes room for the next one.
        sessions.remove(at: 1)
        #expect(try create("\"RealTime\":true").reply["priority_reason"] == nil)
    }
}
