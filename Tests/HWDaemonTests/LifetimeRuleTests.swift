// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDTransport
import HWDWire
import Testing

@testable import HWDWorker

@Suite("When a worker ends its session by itself")
struct LifetimeRuleTests {
    private static let limits = WorkerLimits(
        clientStallSeconds: 20, hardwareStallSeconds: 5, softwareStallSeconds: 30, prepareSeconds: 60,
        orphanSeconds: 100)

    /// A rule of a prepared session, and the time when it was made.
    private func rule(_ limits: WorkerLimits = limits, isPrepared: Bool = true) -> (LifetimeRule, MonotonicTime) {
        var rule = LifetimeRule(limits)
        rule.isPrepared = isPrepared
        return (rule, .now)
    }

    @Test func whileTheBrokerRunsAPreparedSessionIsNeverEnded() {
        var (rule, start) = rule()
        let isOrphanActive = rule.record(.init(messages: 1), now: start)
        #expect(!isOrphanActive)
        #expect(rule.end(.compression, now: start + .seconds(100_000)) == nil)
    }

    @Test func aSessionThatIsNotPreparedIsEndedAfterPrepareTimeout() throws {
        let (rule, start) = rule(isPrepared: false)
        #expect(rule.end(.compression, now: start + .seconds(59)) == nil)
        let error = try #require(rule.end(.compression, now: start + .seconds(60)))
        #expect(error.status == .invalidSession && error.reason.contains("within 60 s (PrepareTimeout)"))
        var unlimited = Self.limits
        unlimited.prepareSeconds = 0
        #expect(self.rule(unlimited, isPrepared: false).0.end(.compression, now: start + .seconds(10_000)) == nil)
    }

    @Test("Progress does not prolong OrphanTimeout", arguments: SessionKind.allCases)
    func progressDoesNotProlongOrphanTimeout(_ kind: SessionKind) throws {
        var (rule, start) = rule()
        rule.brokerEnded(now: start)
        for second in UInt64(1)...99 {
            let now = start + .seconds(Int64(second))
            let isActive = rule.record(.init(framesOut: second), now: now)
            #expect(isActive)
            #expect(rule.end(kind, now: now) == nil)
        }
        let error = try #require(rule.end(kind, now: start + .seconds(100)))
        #expect(error.status == kind.notAvailableNow && error.reason.contains("for 100 s (OrphanTimeout)"))
    }

    @Test func withoutABrokerTheLongestStallTimeoutCountsFromTheLastProgress() throws {
        var (rule, start) = rule()
        // What was done before the broker's end does not count.
        _ = rule.record(.init(messages: 1), now: start)
        rule.brokerEnded(now: start + .seconds(10))
        #expect(rule.idleLimit == .seconds(30))
        #expect(rule.end(.compression, now: start + .seconds(39)) == nil)
        #expect(rule.end(.compression, now: start + .seconds(40)) != nil)
        // Equal activity is no progress.
        let same = rule.record(.init(messages: 1), now: start + .seconds(20))
        let other = rule.record(.init(messages: 1, progress: 1), now: start + .seconds(30))
        #expect(!same && other)
        #expect(rule.end(.compression, now: start + .seconds(59)) == nil)
        let error = try #require(rule.end(.compression, now: start + .seconds(60)))
        #expect(error.reason.contains("the session was idle for 30 s"))
    }

    @Test func anOrphanTimeoutOfZeroEndsTheSessionWithTheBroker() {
        var limits = Self.limits
        limits.orphanSeconds = 0
        var (rule, start) = rule(limits)
        #expect(rule.end(.compression, now: start) == nil)
        rule.brokerEnded(now: start)
        #expect(rule.end(.compression, now: start)?.reason.contains("for 0 s (OrphanTimeout)") == true)
    }
}
