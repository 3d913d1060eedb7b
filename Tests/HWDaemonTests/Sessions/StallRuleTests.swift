// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDaemon

@Suite("Stall rule")
struct StallRuleTests {
    private static let second: UInt64 = 1_000_000_000
    private static let start: UInt64 = 1000 * second

    /// The rule as a reference type, because `#expect` cannot call mutating methods.
    private final class Watched {
        private var rule = StallRule(limit: .seconds(30), clientLimit: .seconds(35))

        func isStalled(_ reading: StallRule.Reading, now: UInt64) -> Bool { rule.isStalled(reading, now: now) }
    }

    private let rule = Watched()

    @Test func ignoresAnIdleWorker() {
        let reading = StallRule.Reading(busySince: 0, progress: 1)
        #expect(!rule.isStalled(reading, now: Self.start))
        #expect(!rule.isStalled(reading, now: Self.start + 3600 * Self.second))
    }

    @Test func reportsACallThatTakesTooLong() {
        let reading = StallRule.Reading(busySince: Self.start, progress: Self.start - 5 * Self.second)
        #expect(!rule.isStalled(reading, now: Self.start + 30 * Self.second))
        #expect(rule.isStalled(reading, now: Self.start + 30 * Self.second + 1))
    }

    @Test func countsProgressWithinACall() {
        let reading = StallRule.Reading(busySince: Self.start, progress: Self.start + 20 * Self.second)
        #expect(!rule.isStalled(reading, now: Self.start + 49 * Self.second))
        #expect(rule.isStalled(reading, now: Self.start + 51 * Self.second))
    }

    @Test func countsPacketsAsProgress() {
        var reading = StallRule.Reading(busySince: Self.start, progress: 0, framesOut: 1)
        #expect(!rule.isStalled(reading, now: Self.start + 20 * Self.second))
        reading.framesOut = 2
        #expect(!rule.isStalled(reading, now: Self.start + 40 * Self.second))
        #expect(!rule.isStalled(reading, now: Self.start + 70 * Self.second))
        #expect(rule.isStalled(reading, now: Self.start + 71 * Self.second))
    }

    @Test("Counts a time in the future from when it is first seen", arguments: [UInt64.max, start + 3600 * second])
    func limitsTimesInTheFuture(_ value: UInt64) {
        let reading = StallRule.Reading(busySince: value, progress: value)
        #expect(!rule.isStalled(reading, now: Self.start))
        #expect(!rule.isStalled(reading, now: Self.start + 30 * Self.second))
        #expect(rule.isStalled(reading, now: Self.start + 31 * Self.second))
    }

    @Test func allowsAClientToHoldEverySlotForAWhile() {
        let full = Self.start + Self.second
        let reading = StallRule.Reading(busySince: Self.start, progress: Self.start, slotsFullSince: full)
        #expect(!rule.isStalled(reading, now: full + 35 * Self.second))
        #expect(rule.isStalled(reading, now: full + 36 * Self.second))
        // A time in the future must not make that wait endless.
        let other = Watched()
        let hostile = StallRule.Reading(busySince: Self.start, progress: 0, slotsFullSince: .max)
        #expect(!other.isStalled(hostile, now: Self.start))
        #expect(other.isStalled(hostile, now: Self.start + 36 * Self.second))
    }
}
