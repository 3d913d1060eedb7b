// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDaemon

@Suite("Silence rule")
struct SilenceRuleTests {
    private static let second: UInt64 = 1_000_000_000
    private static let start: UInt64 = 1000 * second

    /// Checks every second and returns the first second at which the worker is silent for more than 5 s.
    private func firstSilence(
        seconds: UInt64, step: UInt64 = 1, _ reading: (UInt64) -> StallRule.Reading
    ) -> UInt64? {
        var rule = SilenceRule()
        for time in stride(from: 0, through: seconds, by: Int(step)) {
            let now = Self.start + time * Self.second
            if rule.isSilent(reading(time), now: now, limit: .seconds(5)) { return time }
        }
        return nil
    }

    @Test func ignoresAWorkerWhoseHeartbeatChanges() {
        #expect(firstSilence(seconds: 60) { .init(busySince: 0, progress: 0, heartbeat: $0 / 2) } == nil)
    }

    @Test func reportsAWorkerThatDoesNothing() {
        #expect(firstSilence(seconds: 60) { _ in .init(busySince: 0, progress: 1, heartbeat: 7) } == 6)
        #expect(firstSilence(seconds: 60) { _ in .init(busySince: 0, progress: 0) } == 6)
    }

    @Test func leavesACodecCallToTheStallRule() {
        #expect(firstSilence(seconds: 60) { _ in .init(busySince: 1, progress: 1, heartbeat: 7) } == nil)
        #expect(firstSilence(seconds: 60) { .init(busySince: $0 < 10 ? 1 : 0, progress: 1, heartbeat: 7) } == 16)
    }

    @Test func countsLittleOfALongTimeBetweenTwoChecks() {
        // The broker was suspended: two checks in 1000 s are no proof.
        #expect(firstSilence(seconds: 2000, step: 1000) { _ in .init(busySince: 0, progress: 0) } == nil)
    }
}
