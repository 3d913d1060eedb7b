// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWMovies
import HWOutput
import Testing

private let patience = Duration.seconds(120)
private let second = Int64(1_000_000_000)

/// Frames of coded movies by display time, on a clock that stands while an answer is waited for.
@Suite(.serialized) struct CodedCadenceTests {
    private let service: PrivateService

    init() throws { service = try PrivateService() }

    /// Plays a movie and says what each refresh shows; the samples of each frame are those of its time.
    private func play(
        _ path: String, from start: Int64 = 0, speed: Double = 1, refreshInterval: Duration? = nil,
        at hosts: [Int64],
        number: (VideoOutput.Frame) -> Int64
    ) throws -> (shown: [Int64], given: [Int64], counts: OutputCounts) {
        let clock = ManualClock()
        var options = VideoOutput.Options()
        options.refreshInterval = refreshInterval
        let output = try VideoOutput(service.daemon, try MovieVideo(path: path), options: options, clock: clock)
        if start > 0 { output.seek(to: start) }
        output.play(rate: speed)
        var (shown, given, wrong): ([Int64], [Int64], [Int64]) = ([], [], [])
        for host in hosts {
            clock.set(host)
            if let frame = output.copyFrame(waiting: patience).frame {
                given.append(number(frame))
                if Int64(frame.number) != number(frame) { wrong.append(number(frame)) }
            }
            shown.append(given.last ?? -1)
        }
        #expect(wrong.isEmpty, "other samples than those of their time")
        return (shown, given, output.counts)
    }

    /// Writes a stream's pictures with the times of a rate.
    private func movie(_ rate: (Int64, Int64), seconds: Int64) throws -> String {
        let path = "\(service.folder)/\(rate.0)-\(rate.1)-\(seconds).mov"
        let clip = try CodedClip.pictures(Int(seconds) * 120 + 8, service)
        try clip.write(path, rate: rate, count: Int(seconds * rate.0 / rate.1) + 4)
        return path
    }

    /// Plays each pair and compares every refresh with the exact fractions.
    /// - Parameter seconds: 60 for the counts of the table, too.
    private func comparePairs(seconds: Int64) throws {
        for pair in CadenceCase.all {
            let refreshes = (seconds * pair.refresh.0 + pair.refresh.1 - 1) / pair.refresh.1
            let (shown, given, counts) = try play(
                try movie(pair.rate, seconds: seconds), at: (0..<refreshes).map { pair.host($0) },
                number: { $0.time / pair.rate.1 })
            #expect(shown == (0..<refreshes).map { pair.ideal($0, tolerance: 100_000) }, "\(pair)")
            let found = Cadence(shown)
            if seconds == 60 { pair.expectTable(found) }
            #expect(zip(given, given.dropFirst()).allSatisfy { $0 < $1 })
            #expect(counts.shown == given.count && counts.dropped == found.dropped, "\(pair): \(counts)")
            #expect(counts.late == 0 && counts.skipped == 0 && counts.lost == 0 && counts.restarts == 0)
            if seconds == 60 {
                print(
                    "\(pair.testDescription): \(found.frames) shown, \(found.dropped) dropped, \(found.stays.sorted { $0.key < $1.key })"
                )
            }
        }
    }

    /// The same with refreshes that are up to 1 ms off, and the grid.
    private func compareWobble(seconds: Int64) throws {
        for pair in CadenceCase.all {
            let refreshes = (seconds * pair.refresh.0 + pair.refresh.1 - 1) / pair.refresh.1
            var random = SeededGenerator(1)
            let hosts = (0..<refreshes).map { refresh in
                let jitter = Int64.random(in: -1_000_000...1_000_000, using: &random)
                return pair.host(refresh) + (refresh == 0 ? 0 : jitter)
            }
            let (shown, given, counts) = try play(
                try movie(pair.rate, seconds: seconds),
                refreshInterval: .nanoseconds(second * pair.refresh.1 / pair.refresh.0), at: hosts,
                number: { $0.time / pair.rate.1 })
            let ideal = (0..<refreshes).map { pair.ideal($0, tolerance: 500_000) }
            let wrong = zip(shown, ideal).count { $0 != $1 }
            #expect(wrong <= (pair.drifts ? 40 : 16), "\(pair): \(wrong) refreshes")
            #expect(abs(Cadence(shown).dropped - Cadence(ideal).dropped) <= 2, "\(pair)")
            #expect(zip(given, given.dropFirst()).allSatisfy { $0 < $1 } && counts.late == 0)
            if seconds == 60 { print("\(pair.testDescription), wobble: \(wrong) of \(refreshes) refreshes differ") }
        }
    }

    @Test func everyPairShowsTheFrameOfEachRefresh() throws { try comparePairs(seconds: 4) }

    @Test func theGridTakesAwayTheWobble() throws { try compareWobble(seconds: 4) }

    @Test func ratesInBothDirections() throws {
        for pair in SpeedCase.all {
            let path = try movie((pair.rate, 1), seconds: 27)
            // A nanosecond before the end of picture 629.
            let start = pair.speed < 0 ? 630 * second / pair.rate - 1 : 0
            let hosts = (Int64(0)..<600).map { $0 * second / 60 }
            let (shown, given, counts) = try play(path, from: start, speed: pair.speed, at: hosts, number: \.time)
            let millionths = Int64(pair.speed * 1_000_000)
            let ideal = hosts.map { host in
                // Rounded down, as item times are.
                let moved = host * millionths
                let item = start + (moved >= 0 ? moved / 1_000_000 : -((-moved + 999_999) / 1_000_000))
                return (item + 100_000 * millionths.signum()) * pair.rate / second
            }
            #expect(shown == ideal, "\(pair)")
            let found = Cadence(shown)
            #expect(found.frames == pair.frames && found.dropped == 0 && counts.dropped == 0, "\(pair) \(found)")
            for stay in Set(found.stays.keys).union(pair.stays.keys) {
                #expect(abs(found.stays[stay, default: 0] - pair.stays[stay, default: 0]) <= 2, "\(pair) \(found)")
            }
            #expect(zip(given, given.dropFirst()).allSatisfy { ($1 - $0) * millionths.signum() > 0 })
            #expect(counts.late == 0 && counts.peakBytes <= 512 << 20)
        }
    }

    @Test func aVariableRateShowsEveryFrame() throws {
        let path = "\(service.folder)/variable.mp4"
        // 1/30, 1/30, 1/20, 1/60 and 1/24 s in ticks of 1/1200 s.
        let steps: [Int64] = [40, 40, 60, 20, 50]
        func time(_ number: Int64) -> Int64 {
            number < 0 ? number * 20 : number / 5 * 210 + steps.prefix(Int(number % 5)).reduce(0, +)
        }
        try CodedClip.pictures(488, service).write(path, scale: 1200, count: 320, time: time)
        let times = (0..<320).map { time($0) }
        let (shown, given, counts) = try play(
            path, at: (0..<600).map { $0 * second / 60 },
            number: { frame in Int64(times.firstIndex(of: frame.time) ?? -1) })
        #expect(given == Array(0..<286) && shown.last == 285)
        #expect(counts.shown == 286 && counts.dropped == 0 && counts.late == 0)
    }

    @Test(arguments: [1, -1, 2, -2, 0.5, -0.5]) func fiftySeeksGiveNothingTwiceAndNothingBackwards(_ rate: Double)
        throws
    {
        let clock = ManualClock()
        let output = try VideoOutput(
            service.daemon, try MovieVideo(path: try movie((30, 1), seconds: 15)), clock: clock)
        output.play(rate: rate)
        var random = SeededGenerator(UInt64(10 + rate * 2))
        var epochs: [Int: [Int64]] = [:]
        for _ in 0..<50 {
            let target = Int64.random(in: 0..<15 * second, using: &random)
            output.seek(to: target)
            var isFirst = true
            for _ in 0..<Int.random(in: 4..<12, using: &random) {
                clock.set(clock.now + 16_666_667 + Int64.random(in: -1_000_000...1_000_000, using: &random))
                guard let frame = output.copyFrame(waiting: patience).frame else { continue }
                #expect(Int64(frame.number) == frame.time)
                if isFirst { #expect(frame.time == max(0, target + (rate < 0 ? -100_000 : 100_000)) * 30 / second) }
                isFirst = false
                epochs[frame.epoch, default: []].append(frame.time)
            }
            #expect(!isFirst, "a seek to \(target) shows nothing")
        }
        #expect(epochs.count == 50)
        for times in epochs.values {
            #expect(zip(times, times.dropFirst()).allSatisfy { rate < 0 ? $0 > $1 : $0 < $1 }, "\(times)")
        }
    }

    @Suite(.serialized) struct Long {
        /// The counts of 60 seconds, as the table of exact fractions has them.
        @Test func everyPairHasTheIdealCadence() throws { try CodedCadenceTests().comparePairs(seconds: 60) }

        @Test func theGridTakesAwayTheWobble() throws { try CodedCadenceTests().compareWobble(seconds: 60) }
    }
}
