// SPDX-License-Identifier: GPL-2.0-or-later
import HWDTransport
import Testing

@testable import HWDaemon

@Suite("When a probe is late")
struct ProbeDeadlineTests {
    private static let second: UInt64 = 1_000_000_000
    private static let start = MonotonicTime(nanoseconds: 1000 * second)

    /// How a process of one thread spends each second, in tenths.
    struct Load: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var ran: UInt64
        var waited: UInt64
    }

    /// The tenth of a second in which a probe is late, checked whenever its deadline says so.
    private func end(limit: Duration, use: (UInt64) -> ProcessorUse?) throws -> UInt64 {
        let deadline = ProbeDeadline(limit, start: Self.start, use: use(0))
        var elapsed: UInt64 = 0
        for _ in 0..<1000 {
            let now = MonotonicTime(nanoseconds: Self.start.nanoseconds + elapsed)
            guard let rest = deadline.rest(now: now, use: use(elapsed)) else { return elapsed / (Self.second / 10) }
            try #require(rest > 0)
            elapsed += rest
        }
        throw Failure()
    }

    private struct Failure: Error {}

    private func use(_ load: Load, after elapsed: UInt64) -> ProcessorUse {
        ProcessorUse(
            threads: elapsed == 0
                ? [:]
                : [
                    7: ProcessorUse.Thread(
                        ran: elapsed / 10 * load.ran, waited: elapsed / 10 * load.waited, isRunnable: load.ran > 0)
                ])
    }

    @Test(
        arguments: [
            (Load(testDescription: "sleeps", ran: 0, waited: 0), 50),
            (Load(testDescription: "spins", ran: 10, waited: 0), 50),
            (Load(testDescription: "has half a processor", ran: 5, waited: 5), 100),
            (Load(testDescription: "has a tenth of a processor", ran: 1, waited: 9), 200),
            (Load(testDescription: "has none", ran: 0, waited: 10), 200),
        ] as [(Load, UInt64)])
    func timeWithoutAProcessorExtendsTheLimitToFourTimes(load: Load, tenths: UInt64) throws {
        let found = try end(limit: .seconds(5)) { use(load, after: $0) }
        #expect(tenths...tenths + 1 ~= found)
    }

    @Test(arguments: [(1, 4), (6, 24), (15, 25), (60, 60)] as [(Int, UInt64)])
    func noClientWaitsLonger(limit: Int, most: UInt64) throws {
        let starved = Load(testDescription: "", ran: 0, waited: 10)
        #expect(try end(limit: .seconds(limit)) { use(starved, after: $0) } == most * 10)
    }

    @Test func allTimeCountsWhereTheUseIsUnknown() throws {
        #expect(try end(limit: .seconds(5)) { _ in nil } == 50)
        let starved = Load(testDescription: "", ran: 0, waited: 10)
        #expect(try end(limit: .seconds(5)) { $0 == 0 ? use(starved, after: 0) : nil } == 50)
    }

    @Test func messagesSayHowLongItTook() {
        let deadline = ProbeDeadline(.seconds(5), start: Self.start, use: nil)
        #expect(deadline.description(now: Self.start + .seconds(5)) == "5 s")
        #expect(deadline.description(now: Self.start + .seconds(20)) == "20 s on a busy machine")
        let long = ProbeDeadline(.seconds(60), start: Self.start, use: nil)
        #expect(long.description(now: Self.start + .seconds(60)) == "60 s")
        let short = ProbeDeadline(.milliseconds(300), start: Self.start, use: nil)
        #expect(short.description(now: Self.start + .milliseconds(300)) == "0.3 s")
        #expect(short.description(now: Self.start + .seconds(2)) == "1.2 s on a busy machine")
    }
}
