// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import HWDTransport
import Testing

@testable import HWDaemon

@Suite("Session registry")
struct SessionRegistryTests {
    private static func time(_ seconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: seconds * 1_000_000_000)
    }

    private static func session(_ id: String, uid: UInt32, at seconds: UInt64 = 100) -> SessionRegistry.Running {
        .small(id, uid: uid, created: time(seconds))
    }

    private static let end = SessionEnd(status: .ok, reason: "closed", framesIn: 3, framesOut: 3)

    @Test func limitsEachUserSeparately() throws {
        var registry = SessionRegistry(limits: .init(quota: .init(total: 10, perUser: 2)))
        for id in ["a", "b"] {
            try registry.admit(uid: 1)
            registry.add(Self.session(id, uid: 1))
        }
        let refusal = #expect(throws: Refusal.self) { try registry.admit(uid: 1) }
        #expect(refusal?.error.status.rawValue == -12915)
        #expect(
            refusal?.error.reason
                == "user 1 has 2 sessions; the limit for one user is 2 (MaxSessionsPerUser)")
        #expect(refusal?.cause == .maxSessionsPerUser)
        try registry.admit(uid: 2)
        registry.finish("a", Self.end, now: Self.time(101))
        try registry.admit(uid: 1)
    }

    @Test func limitsAllUsersTogether() throws {
        var registry = SessionRegistry(limits: .init(quota: .init(total: 3, perUser: 2)))
        for uid in UInt32(1)...3 { registry.add(Self.session("\(uid)", uid: uid)) }
        let refusal = #expect(throws: Refusal.self) { try registry.admit(uid: 9) }
        #expect(refusal?.error.status.rawValue == -12915)
        #expect(refusal?.error.reason == "the daemon serves 3 sessions; its limit is 3 (MaxSessions)")
    }

    @Test func keepsAResultForAMinute() throws {
        var registry = SessionRegistry(limits: .init())
        registry.add(Self.session("a", uid: 7))
        #expect(try registry.entry("a", for: 7, now: Self.time(100)) == .running(Self.session("a", uid: 7)))
        registry.finish("a", Self.end, now: Self.time(100))
        #expect(try registry.entry("a", for: 7, now: Self.time(159)) == .ended(Self.end))
        let error = #expect(throws: SessionError.self) {
            try registry.entry("a", for: 7, now: Self.time(160))
        }
        #expect(error?.status.rawValue == -12903)
        registry.expire(now: Self.time(160))
        #expect(registry.endedCount == 0)
    }

    @Test func hidesSessionsOfOtherUsers() throws {
        var registry = SessionRegistry(limits: .init())
        registry.add(Self.session("a", uid: 7))
        let foreign = #expect(throws: SessionError.self) {
            try registry.entry("a", for: 8, now: Self.time(100))
        }
        let unknown = #expect(throws: SessionError.self) {
            try registry.entry("nothing", for: 8, now: Self.time(100))
        }
        #expect(foreign == unknown)
        #expect(try registry.entry("a", for: 0, now: Self.time(100)) == .running(Self.session("a", uid: 7)))
        registry.finish("a", Self.end, now: Self.time(100))
        #expect(throws: SessionError.self) { try registry.entry("a", for: 8, now: Self.time(101)) }
    }

    @Test func boundsTheResultsOfAUser() throws {
        var registry = SessionRegistry(limits: .init(resultsPerUser: 4))
        registry.add(Self.session("other", uid: 2))
        registry.finish("other", Self.end, now: Self.time(100))
        for number in 0..<100 {
            registry.add(Self.session("s\(number)", uid: 1))
            registry.finish("s\(number)", Self.end, now: Self.time(100))
        }
        #expect(registry.endedCount == 5)
        #expect(try registry.entry("s99", for: 1, now: Self.time(101)) == .ended(Self.end))
        #expect(try registry.entry("other", for: 2, now: Self.time(101)) == .ended(Self.end))
        #expect(throws: SessionError.self) { try registry.entry("s95", for: 1, now: Self.time(101)) }
    }

    @Test func listsOwnSessionsAndAllToRootAndTheDaemon() {
        var registry = SessionRegistry(limits: .init())
        registry.add(Self.session("young", uid: 1, at: 102))
        registry.add(Self.session("old", uid: 1, at: 101))
        registry.add(Self.session("other", uid: 2, at: 100))
        #expect(registry.list(for: 1, daemon: 50).map(\.id) == ["old", "young"])
        #expect(registry.list(for: 3, daemon: 50).isEmpty)
        #expect(registry.list(for: 0, daemon: 50).map(\.id) == ["other", "old", "young"])
        #expect(registry.list(for: 50, daemon: 50).count == 3)
    }

    private static let failed = SessionEnd(
        status: .videoEncoderMalfunction, reason: "killed", framesIn: 3, framesOut: 2, cause: .killed, signal: 9)

    private static func using(_ codec: String, _ id: String, uid: UInt32) -> SessionRegistry.Running {
        var session = session(id, uid: uid)
        (session.codecID, session.usingHardware) = (codec, true)
        return session
    }

    @Test func keepsThePlaceOfAFailedSessionForItsUser() throws {
        var registry = SessionRegistry(limits: .init(quota: .init(total: 2, perUser: 2)))
        registry.add(Self.using("gpu", "a", uid: 1))
        registry.add(Self.session("b", uid: 2))
        registry.finish("a", Self.failed, now: Self.time(100))
        // Another user does not get it.
        registry.makeRoom(uid: 2, now: Self.time(101))
        #expect(throws: Refusal.self) { try registry.admit(uid: 2, now: Self.time(101)) }
        for (id, uid, kind) in [
            ("a", UInt32(2), SessionKind.compression), ("a", 1, .transfer), ("b", 2, .compression),
        ] {
            let refusal = #expect(throws: Refusal.self) {
                _ = try registry.resume(id, uid: uid, kind: kind, now: Self.time(101))
            }
            #expect(refusal?.cause == .notResumable && refusal?.error.status == .invalidSession)
        }
        let past = try registry.resume("a", uid: 1, kind: .compression, now: Self.time(101))
        #expect(past.map(\.cause) == [.killed])
        #expect(past.first?.failure == .init(codecID: "gpu", isHardware: true, reason: "killed"))
        registry.releaseReservation(of: "a")
        try registry.admit(uid: 1, now: Self.time(101))
        var next = Self.using("gpu", "c", uid: 1)
        (next.past, next.continues) = (past, "a")
        registry.add(next)
        registry.finish("c", Self.failed, now: Self.time(102))
        #expect(try registry.resume("c", uid: 1, kind: .compression, now: Self.time(103)).count == 2)
    }

    /// Ends of a session that continues another, and whether the other one may be continued again.
    private static let continuations: [(end: SessionEnd, mayRepeat: Bool)] = [
        (end, false), (failed, false),
        (unanswered(.parameter, .failed), true), (unanswered(.videoEncoderMalfunction, .killed), true),
        (unanswered(.videoEncoderNotAvailableNow, .stalled), true), (unanswered(.ok, .closed), true),
    ]

    private static func unanswered(_ status: Status, _ cause: SessionEnd.Cause) -> SessionEnd {
        SessionEnd(status: status, reason: "none", framesIn: 0, framesOut: 0, cause: cause, isAnswered: false)
    }

    @Test("Only an answered call takes the right to continue a session", arguments: continuations.indices)
    func onlyAnAnsweredCallContinuesASession(_ index: Int) throws {
        let (end, mayRepeat) = Self.continuations[index]
        var registry = SessionRegistry(limits: .init(quota: .init(total: 1, perUser: 1)))
        func mayContinue() -> Bool {
            let past = try? registry.resume("a", uid: 1, kind: .compression, now: Self.time(102))
            return past != nil && (try? registry.requireNotContinued("a")) != nil
        }
        registry.add(Self.using("gpu", "a", uid: 1))
        registry.finish("a", Self.failed, now: Self.time(100))
        // Calls that are refused before a process starts.
        #expect(mayContinue() && mayContinue())
        registry.releaseReservation(of: "a")
        var next = Self.session("b", uid: 1)
        next.continues = "a"
        registry.add(next)
        #expect(!mayContinue())
        if mayRepeat {
            // The client may repeat its call before the process has ended.
            registry.giveBack(by: "b")
            #expect(mayContinue())
        }
        registry.finish("b", end, now: Self.time(101))
        #expect(mayContinue() == mayRepeat)
        // Its slot is kept for the next call, too.
        let isPlaceTaken = (try? registry.admit(uid: 2, now: Self.time(102))) == nil
        #expect(isPlaceTaken == mayRepeat)
        let result = try #require(registry.results(now: Self.time(102)).first { $0.session.id == "a" })
        #expect(result.isContinued == !mayRepeat)
    }

    @Test func aDaemonThatTakesOverKnowsWhatIsContinued() throws {
        var before = SessionRegistry(limits: .init())
        before.add(Self.using("gpu", "a", uid: 1))
        before.finish("a", Self.failed, now: Self.time(100))
        var next = Self.session("b", uid: 1)
        next.continues = "a"
        before.add(next)
        var after = SessionRegistry(limits: .init())
        for result in before.results(now: Self.time(101)) {
            after.add(try #require(HandedSession(result).result))
        }
        for session in before.running.values { after.add(HandedSession(session).running) }
        #expect(throws: Refusal.self) {
            _ = try after.resume("a", uid: 1, kind: .compression, now: Self.time(101))
        }
        after.finish("b", Self.unanswered(.parameter, .failed), now: Self.time(102))
        #expect(try after.resume("a", uid: 1, kind: .compression, now: Self.time(102)).count == 1)
    }

    @Test(arguments: [(1, true), (2, false)])
    func aLimitOfOneSaysThatATranscodeNeedsTwo(_ perUser: Int, _ isNamed: Bool) throws {
        var registry = SessionRegistry(limits: .init(quota: .init(total: 9, perUser: perUser)))
        for number in 0..<perUser { registry.add(Self.using("gpu", "\(number)", uid: 7)) }
        let refusal = try #require(throws: Refusal.self) { try registry.admit(uid: 7, now: Self.time(1)) }
        let count = perUser == 1 ? "user 7 has 1 session;" : "user 7 has 2 sessions;"
        #expect(refusal.error.reason.hasPrefix(count), "\(refusal.error.reason)")
        #expect(refusal.error.reason.contains("a transcode of HEVC needs two") == isNamed)
    }

    @Test func aKeptPlaceLapsesOrIsSpentByItsUser() throws {
        var registry = SessionRegistry(limits: .init(quota: .init(total: 2, perUser: 1)))
        registry.add(Self.using("gpu", "a", uid: 1))
        registry.finish("a", Self.failed, now: Self.time(100))
        #expect(throws: Refusal.self) { try registry.admit(uid: 1, now: Self.time(109)) }
        try registry.admit(uid: 1, now: Self.time(110))
        registry.makeRoom(uid: 1, now: Self.time(101))
        try registry.admit(uid: 1, now: Self.time(101))
        // Without its reservation it may continue as long as its result is kept, if there is room.
        #expect(throws: Refusal.self) {
            _ = try registry.resume("a", uid: 1, kind: .compression, now: Self.time(160))
        }
        #expect(try registry.resume("a", uid: 1, kind: .compression, now: Self.time(159)).count == 1)
        // A session that its client closed keeps nothing.
        registry.add(Self.using("gpu", "d", uid: 1))
        registry.finish("d", Self.end, now: Self.time(100))
        try registry.admit(uid: 1, now: Self.time(100))
    }
}
