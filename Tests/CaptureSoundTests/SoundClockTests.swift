// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDCaptureSound
import Testing

/// Sound that is recorded beside a simulated clock.
@Suite struct SoundClockTests {
    /// A source with a crystal of its own on a machine with other work.
    struct Machine: Sendable, CustomTestStringConvertible {
        /// Samples of a buffer, and how much faster than 48 kHz they are, in millionths.
        var count = 1024
        var drift = 0.0
        /// Out of how many buffers one is lost, with up to three behind it; 0 for none.
        var lossEvery = 0
        /// Whether the source says when a buffer was heard, and not only when it arrives.
        var isExact = false
        /// Milliseconds of the mean lateness of a buffer.
        var lateness = 0.0
        /// Whether work comes that delays all buffers of 50 to 300 ms by up to 40 ms, every 3 s or so.
        var hasLoad = false
        /// Whether it can cost the first buffer that it delays.
        var loadLoses = false
        var seconds = 120.0

        var testDescription: String {
            "\(count) samples, \(drift) ppm, loss \(lossEvery)\(isExact ? " exact" : ""), late \(lateness) ms"
                + (hasLoad ? loadLoses ? ", load that loses" : ", load" : "")
        }
    }

    struct Outcome {
        /// How much later than it was heard each buffer is in the recording, in seconds.
        var errors: [Double] = []
        var (lost, silence) = (0, 0)
        var ratios: [Double] = []

        func part(_ share: Double) -> Double {
            let sorted = errors.map(\.magnitude).sorted()
            return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
        }
    }

    /// What takes a machine's buffers.
    struct Recorder {
        let machine: Machine
        var clock = SoundClock(rate: 48_000)
        var outcome = Outcome()
        /// When the buffers began that the clock holds, and the end of what is compared.
        var begins: [Double] = []
        var end = 0.0
        var written = 0.0

        mutating func drain(isLast: Bool) {
            while let step = clock.next(isLast: isLast) {
                outcome.ratios.append(step.ratio)
                written += Double(step.silence) / 48_000 * step.ratio
                let position = Double(clock.start ?? 0) / 1e9 + written
                let begin = begins.removeFirst()
                // What is lost in the last half a second is not known yet.
                if begin < end {
                    outcome.errors.append(position - begin)
                    outcome.silence += step.silence
                }
                written += Double(machine.count) / 48_000 * step.ratio
                clock.wrote(written)
            }
        }
    }

    static func record(_ machine: Machine, seed: UInt64) -> Outcome {
        var random = SplitMix(state: seed)
        var recorder = Recorder(machine: machine)
        let length = Double(machine.count) / (48_000 * (1 + machine.drift / 1e6))
        let start = 12_345.678
        var (missing, skipped) = (0, 0)
        var (load, loadEnd, delay) = (1.0, 0.0, 0.0)
        var lastArrival = 0.0
        recorder.end = start + machine.seconds - SoundClock.hold
        for number in 0..<Int(machine.seconds / length) {
            let end = start + Double(number + 1) * length
            if machine.lossEvery > 0, skipped == 0, number > 0, random.unit() < 1 / Double(machine.lossEvery) {
                skipped = 1 + Int(random.next() % 3)
            }
            if skipped > 0 {
                skipped -= 1
                missing += machine.count
                continue
            }
            if machine.hasLoad, Double(number) * length > load {
                loadEnd = load + 0.05 + 0.25 * random.unit()
                delay = 0.04 * random.unit()
                load = loadEnd + 0.5 + 4 * random.unit()
                if machine.loadLoses, random.unit() < 0.5 {
                    missing += machine.count
                    continue
                }
            }
            var late = machine.lateness / 1e3 * random.exponential()
            if Double(number) * length < loadEnd { late += delay }
            lastArrival = max(lastArrival, end + late)
            if end - length < recorder.end { recorder.outcome.lost += missing }
            recorder.begins.append(end - length)
            let time = machine.isExact ? end : lastArrival
            recorder.clock.add(
                SoundClock.Arrival(count: machine.count, end: Int64(time * 1e9), isExact: machine.isExact))
            missing = 0
            recorder.drain(isLast: false)
        }
        recorder.drain(isLast: true)
        #expect(recorder.begins.isEmpty)
        return recorder.outcome
    }

    static let machines: [Machine] = [300.0, -300, 0].flatMap { drift in
        [
            Machine(drift: drift), Machine(drift: drift, lossEvery: 300, isExact: true, lateness: 1, hasLoad: true),
            Machine(drift: drift, lossEvery: 300, lateness: 0.5),
            Machine(drift: drift, lateness: 1, hasLoad: true),
            Machine(drift: drift, lateness: 0.5, hasLoad: true, loadLoses: true),
            Machine(count: 256, drift: drift, lateness: 0.5, hasLoad: true, loadLoses: true),
            Machine(count: 256, drift: drift, lossEvery: 1000, lateness: 0.5),
            Machine(count: 480, drift: drift, lossEvery: 500, isExact: true, lateness: 2, hasLoad: true),
        ]
    }

    @Test("Sound stays within 20 ms of the clock of the video", arguments: machines)
    func offsets(_ machine: Machine) {
        for seed in 1...3 as ClosedRange<UInt64> {
            let outcome = Self.record(machine, seed: seed)
            #expect(outcome.part(1) <= 0.020, "seed \(seed): \(outcome.part(1) * 1e3) ms")
            #expect(outcome.part(0.5) <= 0.004, "seed \(seed): \(outcome.part(0.5) * 1e3) ms")
            #expect(outcome.ratios.allSatisfy { abs($0 - 1) <= SoundClock.greatestCorrection })
            // Silence after exact times makes up for the drift so far, too.
            let difference = abs(outcome.silence - outcome.lost)
            #expect(difference <= (machine.isExact ? outcome.lost / 20 : 0), "seed \(seed): \(difference)")
        }
    }
}

/// Random numbers from a seed (Steele, Lea, Flood: SplitMix64).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// 0…1.
    mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }

    /// Numbers of mean 1.
    mutating func exponential() -> Double { -log(1 - unit()) }
}
