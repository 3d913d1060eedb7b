// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWOutput

/// How many refreshes each frame stays, over all frames but the last, which the end cuts off.
struct Cadence: Equatable {
    var frames = 0
    var dropped = 0
    var stays: [Int: Int] = [:]

    /// - Parameter shown: the number of the frame that each refresh shows.
    init(_ shown: [Int64]) {
        var runs: [(number: Int64, count: Int)] = []
        for number in shown {
            if runs.last?.number == number { runs[runs.count - 1].count += 1 } else { runs.append((number, 1)) }
        }
        frames = runs.count
        guard let first = runs.first, let last = runs.last else { return }
        dropped = Int(abs(last.number - first.number)) + 1 - frames
        for run in runs.dropLast() { stays[run.count, default: 0] += 1 }
    }

    init(_ frames: Int, _ dropped: Int, _ stays: [Int: Int]) {
        (self.frames, self.dropped, self.stays) = (frames, dropped, stays)
    }
}

/// A pair of a stream and a display, and the cadence of 60 seconds in exact fractions.
struct CadenceCase: Sendable, CustomTestStringConvertible {
    var name: String
    var rate: (Int64, Int64)
    var refresh: (Int64, Int64)
    var frames: Int
    var dropped = 0
    var stays: [Int: Int]
    var testDescription: String { "\(name) at \(Double(refresh.0) / Double(refresh.1)) Hz" }

    private static let rates: [(String, (Int64, Int64))] = [
        ("23.976", (24000, 1001)), ("24", (24, 1)), ("25", (25, 1)), ("29.97", (30000, 1001)), ("30", (30, 1)),
        ("50", (50, 1)), ("59.94", (60000, 1001)), ("60", (60, 1)), ("120", (120, 1)),
    ]

    private static let at60: [(Int, Int, [Int: Int])] = [
        (1439, 0, [2: 715, 3: 723]), (1440, 0, [2: 719, 3: 720]), (1500, 0, [2: 899, 3: 600]),
        (1798, 0, [2: 1793, 3: 4]), (1800, 0, [2: 1799]), (3000, 0, [1: 2399, 2: 600]), (3596, 0, [1: 3591, 2: 4]),
        (3600, 0, [1: 3599]), (3600, 3599, [1: 3599]),
    ]
    private static let at5994: [(Int, Int, [Int: Int])] = [
        (1439, 0, [2: 719, 3: 719]), (1440, 0, [2: 723, 3: 716]), (1500, 0, [2: 902, 3: 597]),
        (1799, 0, [2: 1798]), (1800, 0, [1: 3, 2: 1796]), (3000, 0, [1: 2402, 2: 597]), (3597, 0, [1: 3596]),
        (3597, 3, [1: 3596]), (3597, 3603, [1: 3596]),
    ]
    private static let at144: [(Int, Int, [Int: Int])] = [
        (1439, 0, [6: 1429, 7: 9]), (1440, 0, [6: 1439]), (1500, 0, [5: 359, 6: 1140]),
        (1798, 0, [4: 350, 5: 1447]), (1800, 0, [4: 359, 5: 1440]), (3000, 0, [2: 359, 3: 2640]),
        (3596, 0, [2: 2148, 3: 1447]), (3600, 0, [2: 2159, 3: 1440]), (7200, 0, [1: 5759, 2: 1440]),
    ]

    static let all: [CadenceCase] = [((60, 1), at60), ((60000, 1001), at5994), ((144, 1), at144)].flatMap {
        (refresh: (Int64, Int64), table) in
        zip(rates, table).map { rate, row in
            CadenceCase(name: rate.0, rate: rate.1, refresh: refresh, frames: row.0, dropped: row.1, stays: row.2)
        }
    }

    /// The host time of a refresh, cut to nanoseconds.
    func host(_ refresh: Int64) -> Int64 { refresh * 1_000_000_000 * self.refresh.1 / self.refresh.0 }
    var refreshCount: Int64 { (60 * refresh.0 + refresh.1 - 1) / refresh.1 }

    /// Whether its frames drift past the refreshes: they change over where the rest of a wobble decides.
    var drifts: Bool { rate.1 != refresh.1 }

    /// Compares what 60 seconds show with the table.
    func expectTable(_ found: Cadence) {
        let exact = Cadence(frames, dropped, stays)
        // The tolerance moves at most the first and the last frame of rates that drift.
        #expect(abs(found.frames - exact.frames) <= 1 && abs(found.dropped - exact.dropped) <= 1, "\(self)")
        for stay in Set(found.stays.keys).union(exact.stays.keys) {
            let (one, other) = (found.stays[stay, default: 0], exact.stays[stay, default: 0])
            #expect(abs(one - other) <= 2, "\(self): \(found) \(exact)")
        }
    }

    /// The frame that a refresh shows with a tolerance in nanoseconds, in exact fractions of its host time.
    func ideal(_ refresh: Int64, tolerance: Int64) -> Int64 {
        (host(refresh) + tolerance) * rate.0 / (rate.1 * 1_000_000_000)
    }
}

/// A rate of play at 60 Hz, and the cadence of 10 seconds.
struct SpeedCase: Sendable {
    var rate: Int64
    var speed: Double
    var frames: Int
    var stays: [Int: Int]

    private init(_ rate: Int64, _ speed: Double, _ frames: Int, _ stays: [Int: Int]) {
        (self.rate, self.speed, self.frames, self.stays) = (rate, speed, frames, stays)
    }

    static let all = [
        SpeedCase(30, -0.5, 150, [4: 149]), SpeedCase(30, 0.5, 150, [4: 149]), SpeedCase(30, 1, 300, [2: 299]),
        SpeedCase(30, -1, 300, [2: 299]), SpeedCase(30, 2, 600, [1: 599]), SpeedCase(30, -2, 600, [1: 599]),
        SpeedCase(24, 2, 480, [1: 359, 2: 120]), SpeedCase(24, -2, 480, [1: 359, 2: 120]),
        SpeedCase(24, -1, 240, [2: 120, 3: 119]),
    ]
}

@Suite struct CadenceTests {
    /// What each refresh shows.
    private func play(
        _ pair: CadenceCase, refreshInterval: Duration? = nil, wobble: Int64 = 0, seed: UInt64 = 1
    ) -> (shown: [Int64], given: [Int64], player: SimulatedPlayer) {
        let stream = NumberedStream.constant(pair.rate, seconds: 60)
        var player = SimulatedPlayer(stream, refreshInterval: refreshInterval)
        var random = SeededGenerator(seed)
        player.playback.setRate(TimeMap.one, at: 0)
        var (shown, given): ([Int64], [Int64]) = ([], [])
        for refresh in 0..<pair.refreshCount {
            let jitter = wobble == 0 ? 0 : Int64.random(in: -wobble...wobble, using: &random)
            if let frame = player.ask(at: pair.host(refresh) + (refresh == 0 ? 0 : jitter)) {
                given.append(frame.time / pair.rate.1)
            }
            shown.append(given.last ?? 0)
        }
        return (shown, given, player)
    }

    @Test(arguments: CadenceCase.all) func everyPairHasTheIdealCadence(_ pair: CadenceCase) {
        let (shown, given, player) = play(pair)
        #expect(shown == (0..<pair.refreshCount).map { pair.ideal($0, tolerance: 100_000) })
        pair.expectTable(Cadence(shown))
        #expect(zip(given, given.dropFirst()).allSatisfy { $0 < $1 })
        let counts = player.playback.allCounts
        #expect(counts.shown == given.count && counts.late == 0 && counts.skipped == 0)
        #expect(player.convertedMost <= 2)
    }

    @Test(arguments: CadenceCase.all) func theGridTakesAwayTheWobbleOfRefreshes(_ pair: CadenceCase) {
        let interval = Duration.nanoseconds(1_000_000_000 * pair.refresh.1 / pair.refresh.0)
        let (shown, given, player) = play(pair, refreshInterval: interval, wobble: 1_000_000)
        let ideal = (0..<pair.refreshCount).map { pair.ideal($0, tolerance: 500_000) }
        let wrong = zip(shown, ideal).count { $0 != $1 }
        #expect(zip(given, given.dropFirst()).allSatisfy { $0 < $1 })
        #expect(player.playback.allCounts.late == 0)
        #expect(wrong <= (pair.drifts ? 40 : 16), "\(wrong) refreshes")
        #expect(abs(Cadence(shown).dropped - Cadence(ideal).dropped) <= 2)
    }

    @Test(arguments: SpeedCase.all) func ratesInBothDirections(_ pair: SpeedCase) {
        let (rate, speed, frames, stays) = (pair.rate, pair.speed, pair.frames, pair.stays)
        let stream = NumberedStream.constant((rate, 1), seconds: 40, reordered: 2)
        var player = SimulatedPlayer(stream)
        player.depth = 2
        if speed < 0 { player.playback.seek(to: stream.scale.nanoseconds(stream.packets.count.int64) - 1, .exact) }
        player.playback.setRate(Int64(speed * 1_000_000), at: 0)
        var (shown, given): ([Int64], [Int64]) = ([], [])
        for refresh in Int64(0)..<600 {
            if let frame = player.ask(at: refresh * 1_000_000_000 / 60) { given.append(frame.time) }
            if let last = given.last { shown.append(last) }
        }
        let found = Cadence(shown)
        #expect(shown.count == 600 && found.frames == frames && found.dropped == 0, "\(found)")
        for stay in Set(found.stays.keys).union(stays.keys) {
            #expect(abs(found.stays[stay, default: 0] - stays[stay, default: 0]) <= 2, "\(found)")
        }
        #expect(zip(given, given.dropFirst()).allSatisfy { ($1 - $0) * (speed < 0 ? -1 : 1) > 0 })
        #expect(player.playback.allCounts.late == 0)
        #expect(player.mostWaiting * player.playback.pictureBytes <= 512 << 20)
    }

    @Test func aVariableRateShowsEveryFrame() {
        var (times, time): ([Int64], Int64) = ([], 0)
        for index in 0..<400 {
            times.append(time)
            time += [40, 40, 60, 20, 50][index % 5]
        }
        var player = SimulatedPlayer(
            NumberedStream(times, end: time, scale: TickScale(numerator: 1, denominator: 1200)))
        player.playback.setRate(TimeMap.one, at: 0)
        let given = (Int64(0)..<600).compactMap { player.ask(at: $0 * 1_000_000_000 / 60)?.time }
        #expect(given == Array(times.prefix(286)))
    }
}

extension Int {
    var int64: Int64 { Int64(self) }
}

/// The same numbers in each run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
