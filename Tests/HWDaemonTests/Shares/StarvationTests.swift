// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import Testing

@testable import HWDaemon

@Suite("Workers that wait for a processor, and those that are stuck")
struct StarvationTests {
    private static let second: UInt64 = 1_000_000_000
    private static let start: UInt64 = 1000 * second

    /// What a worker's threads do, each second, in nanoseconds.
    struct Load: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var threads: UInt64 = 1
        var ran: UInt64 = 0
        var waited: UInt64 = 0
        var isRunnable = true

        /// The processor use of a process after so many seconds.
        func use(after seconds: UInt64) -> ProcessorUse {
            ProcessorUse(
                threads: Dictionary(
                    uniqueKeysWithValues: (0..<threads).map {
                        (
                            Int32(100 + $0),
                            ProcessorUse.Thread(
                                ran: 1 + seconds * ran, waited: seconds * waited, isRunnable: isRunnable)
                        )
                    }))
        }
    }

    /// Stuck workers, and in which seconds they are found with a limit of 5 s.
    static let stuck: [(Load, ClosedRange<UInt64>)] = [
        (Load(testDescription: "stopped", isRunnable: false), 6...6),
        (Load(testDescription: "sleeps", threads: 40, ran: 100_000, waited: 100_000, isRunnable: false), 6...6),
        (Load(testDescription: "spins alone", ran: second), 6...6),
        (
            Load(
                testDescription: "spins in 16 threads on two processors", threads: 16, ran: 125_000_000,
                waited: 875_000_000), 6...6
        ),
        // The time before the first measurement counts in full, later time by a tenth.
        (Load(testDescription: "spins beside others", ran: 100_000_000, waited: 900_000_000), 20...40),
    ]

    /// Workers that are only starved.
    static let starved = [
        Load(testDescription: "waits in one turn after another", ran: 1_000_000, waited: 999_000_000),
        Load(testDescription: "has not run at all"),
        Load(testDescription: "its threads wait for each other", threads: 10, ran: 100_000, waited: 99_900_000),
        Load(testDescription: "many threads wait", threads: 64, ran: 20_000, waited: 900_000_000),
    ]

    /// The second in which a check a second finds that a codec's call is stuck.
    private func firstStall(within seconds: UInt64, _ load: Load) -> UInt64? {
        var rule = StallRule(limit: .seconds(5), clientLimit: .seconds(35))
        let reading = StallRule.Reading(busySince: Self.start, progress: 0)
        return (0...seconds).first { time in
            rule.isStalled(reading, now: Self.start + time * Self.second) { load.use(after: time) }
        }
    }

    /// The same of a worker that is idle and shows no sign of life.
    private func firstSilence(within seconds: UInt64, _ load: Load) -> UInt64? {
        var rule = SilenceRule()
        let reading = StallRule.Reading(busySince: 0, progress: 0, heartbeat: 1)
        return (0...seconds).first { time in
            let now = Self.start + time * Self.second
            return rule.isSilent(reading, now: now, limit: .seconds(5)) { load.use(after: time) }
        }
    }

    @Test("A stuck worker is found in the limit's time", arguments: stuck)
    func findsAStuckWorker(_ load: Load, _ seconds: ClosedRange<UInt64>) throws {
        let stall = try #require(firstStall(within: 60, load))
        let silence = try #require(firstSilence(within: 60, load))
        #expect(seconds.contains(stall) && seconds.contains(silence), "\(stall) and \(silence)")
    }

    @Test("A starved worker is left alone", arguments: starved)
    func leavesAStarvedWorkerAlone(_ load: Load) {
        #expect(firstStall(within: 600, load) == nil)
        #expect(firstSilence(within: 600, load) == nil)
    }

    @Test func aWorkerThatStopsAfterItWasStarvedIsFound() {
        var rule = StallRule(limit: .seconds(5), clientLimit: .seconds(35))
        let reading = StallRule.Reading(busySince: Self.start, progress: 0)
        let found = (UInt64(0)...60).first { time in
            let waits = min(time, 20)
            let thread = ProcessorUse.Thread(ran: 1, waited: waits * Self.second, isRunnable: time <= 20)
            let now = Self.start + time * Self.second
            return rule.isStalled(reading, now: now) { ProcessorUse(threads: [7: thread]) }
        }
        #expect(found.map { 21...26 ~= $0 } == true, "\(String(describing: found))")
    }

    @Test func measuresOnlyWhenHalfOfTheLimitHasPassed() {
        var rule = StallRule(limit: .seconds(30), clientLimit: .seconds(35))
        var measured: [UInt64] = []
        for time in UInt64(0)..<60 {
            // Progress every 20 s, then none.
            let progress = Self.start + min(time / 20, 1) * 20 * Self.second
            let reading = StallRule.Reading(busySince: Self.start, progress: progress)
            let stalled = rule.isStalled(reading, now: Self.start + time * Self.second) {
                measured.append(time)
                return Load(testDescription: "stopped", isRunnable: false).use(after: time)
            }
            if stalled { break }
        }
        #expect(measured == Array(16...19) + Array(36...51))
    }

    @Test func aBrokerThatWasSuspendedEndsNoWorker() {
        var rule = StallRule(limit: .seconds(5), clientLimit: .seconds(35))
        let reading = StallRule.Reading(busySince: Self.start, progress: 0)
        let load = Load(testDescription: "sleeps", isRunnable: false)
        func isStalled(at time: UInt64) -> Bool {
            rule.isStalled(reading, now: Self.start + time * Self.second) { load.use(after: time) }
        }
        #expect(!isStalled(at: 1))
        #expect(!isStalled(at: 500))
        // The measurements before this one count 3.75 s, and this one no more than 2 s.
        #expect(isStalled(at: 1000))
    }

    @Test func withoutAMeasurementAllTimeCounts() {
        var rule = StallRule(limit: .seconds(5), clientLimit: .seconds(35))
        let reading = StallRule.Reading(busySince: Self.start, progress: 0)
        let found = (UInt64(0)...60).first { rule.isStalled(reading, now: Self.start + $0 * Self.second) { nil } }
        #expect(found == 6)
    }

    @Test func aMeasurementThatFailsOnceEndsNoStarvedWorker() {
        let load = Load(testDescription: "has not run at all")
        var (stall, silence) = (StallRule(limit: .seconds(8), clientLimit: .seconds(35)), SilenceRule())
        for time in UInt64(0)...60 {
            let now = Self.start + time * Self.second
            func use() -> ProcessorUse? { time == 10 ? nil : load.use(after: time) }
            let busy = StallRule.Reading(busySince: Self.start, progress: 0)
            let isStalled = stall.isStalled(busy, now: now, use: use)
            let idle = StallRule.Reading(busySince: 0, progress: 0, heartbeat: 1)
            let isSilent = silence.isSilent(idle, now: now, limit: .seconds(8), use: use)
            #expect(!isStalled && !isSilent, "after \(time) s")
        }
    }

    @Test(
        "Reads a thread's files",
        arguments: [
            ("521197 7614 2\n", "9 (codec) R 1", true), ("1 0 1\n", "9 (a) R) S 1", false),
            ("1 0 1\n", "9 () T 1", false),
            ("0 0 0\n", "9 (codec) R 1", nil), ("", "9 (codec) R 1", nil), ("1\n", "9 (codec) R 1", nil),
            ("1 x 1\n", "9 (codec) R 1", nil), ("1 0 1\n", "", nil), ("1 0 1\n", "9 (codec)", nil),
            ("18446744073709551616 0 1\n", "9 (codec) R 1", nil),
        ] as [(String, String, Bool?)])
    func readsAThread(_ schedstat: String, _ stat: String, _ isRunnable: Bool?) {
        let thread = ProcessorUse.Thread(schedstat: Array(schedstat.utf8), stat: Array(stat.utf8))
        #expect(thread?.isRunnable == isRunnable)
    }

    @Test func readsAProcess() throws {
        let use = try #require(ProcessorUse(of: getpid()))
        // This thread runs while it reads.
        #expect(use.threads.values.contains { $0.isRunnable && $0.ran > 0 })
        #expect(ProcessorUse(of: .max) == nil)
    }
}
