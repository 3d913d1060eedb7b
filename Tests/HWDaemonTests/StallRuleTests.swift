// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDaemon

@Suite("Stall rule")
struct StallRuleTests {
    private static let second: UInt64 = 1_000_000_000
    private static let start: UInt64 = 1000 * second

    /// The rule by reference, as an expectation needs it.
    private final class Watched {
        private var rule = StallRule(limit: .seconds(30), clientLimit: .seconds(35))

        func isStalled(_ reading: StallRule.Reading, now: UInt64) -> Bool { rule.isStalled(reading, now: now) }
    }

    private let rule = Watched()

    @Test func anIdleWorkerNeverHangs() {
        let reading = StallRule.Reading(busySince: 0, progress: 1)
        #expect(!rule.isStalled(reading, now: Self.start))
        #expect(!rule.isStalled(reading, now: Self.start + 3600 * Self.second))
    }

    @Test func oneCallThatGoesOnTooLongHangs() {
        let reading = StallRule.Reading(busySince: Self.start, progress: Self.start - 5 * Self.second)
        #expect(!rule.isStalled(reading, now: Self.start + 30 * Self.second))
        #expect(rule.isStalled(reading, now: Self.start + 30 * Self.second + 1))
    }

    @Test func progressInsideACallHoldsItOff() {
        let reading = StallRule.Reading(busySince: Self.start, progress: Self.start + 20 * Self.second)
        #expect(!rule.isStalled(reading, now: Self.start + 49 * Self.second))
        #expect(rule.isStalled(reading, now: Self.start + 51 * Self.second))
    }

    @Test func aPacketGivenOutIsProgress() {
        var reading = StallRule.Reading(busySince: Self.start, progress: 0, framesOut: 1)
        #expect(!rule.isStalled(reading, now: Self.start + 20 * Self.second))
        reading.framesOut = 2
        #expect(!rule.isStalled(reading, now: Self.start + 40 * Self.second))
        #expect(!rule.isStalled(reading, now: Self.start + 70 * Self.second))
        #expect(rule.isStalled(reading, now: Self.start + 71 * Self.second))
    }

    @Test("A time in the future counts as now at first sight", arguments: [UInt64.max, start + 3600 * second])
    func future(_ value: UInt64) {
        let reading = StallRule.Reading(busySince: value, progress: value)
        #expect(!rule.isStalled(reading, now: Self.start))
        #expect(!rule.isStalled(reading, now: Self.start + 30 * Self.second))
        #expect(rule.isStalled(reading, now: Self.start + 31 * Self.second))
    }

    @Test func aClientThatHoldsEverySlotIsNoHangForAWhile() {
        let full = Self.start + Self.second
        let reading = StallRule.Reading(busySince: Self.start, progress: Self.start, slotsFullSince: full)
        #expect(!rule.isStalled(reading, now: full + 35 * Self.second))
        #expect(rule.isStalled(reading, now: full + 36 * Self.second))
        // Nor may a time in the future make that wait endless.
        let other = Watched()
        let hostile = StallRule.Reading(busySince: Self.start, progress: 0, slotsFullSince: .max)
        #expect(!other.isStalled(hostile, now: Self.start))
        #expect(other.isStalled(hostile, now: Self.start + 36 * Self.second))
    }
}
