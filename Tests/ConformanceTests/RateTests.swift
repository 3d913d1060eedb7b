// SPDX-License-Identifier: GPL-2.0-or-later
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import Testing

/// Rate control of hardware encoders, measured by the streams and by the driver's trace.
@Suite(
    .enabled(
        if: SimulatedDriver.unavailableReason == nil, Comment(rawValue: SimulatedDriver.unavailableReason ?? "")))
struct RateTests {
    private func run(_ job: EncodeJob, _ personality: String) throws -> SimulatedDriver.Outcome {
        let outcome = try SimulatedDriver.run(job, personality)
        try #require(outcome.result.failure == nil, "\(outcome.result.failure ?? "")")
        // The gray picture that opening codes is not in the stream.
        try #require(outcome.quantisers.count == job.clip.frames + 1)
        return outcome
    }

    /// I pictures are 3 below the requested QP, B pictures above it by their level; BaseFrameQP overrides both.
    @Test(arguments: sampled(Backend.personalities))
    func keepsConstantQP(personality: String) throws {
        let job = EncodeJob(
            Clip(format: .nv12, width: 144, height: 128, frames: 9), ["QP": .int(30)], frameQPs: [3: 41, 8: 12])
        let outcome = try run(job, personality)
        for (picture, slice) in zip(outcome.result.pictures, try outcome.result.slices()) {
            let frame = Int(picture.frameID)
            let own =
                switch personality {
                case "full", "ihd-tgl": [27, 32, 31, 41, 30, 32, 31, 32, 12]
                // One QP for all pictures.
                case "radeonsi-22": [Int](repeating: 30, count: 9)
                default: [27, 30, 30, 41, 30, 30, 30, 30, 12]
                }
            #expect(slice.qp == own[frame], "frame \(frame)")
        }
        #expect(try outcome.result.slices().map(\.qp) == Array(outcome.quantisers.dropFirst()))
    }

    @Test(arguments: Backend.personalities, [PropertyValue.double(0.2), .double(0.9)])
    func keepsQuality(personality: String, quality: PropertyValue) throws {
        let clip = Clip(format: .nv12, width: 144, height: 128, frames: 9)
        let quantisers = try run(EncodeJob(clip, ["Quality": quality]), personality).quantisers.dropFirst()
        let expected = quality == .double(0.2) ? 32 : 6
        #expect(quantisers.allSatisfy { abs($0 - expected) <= 3 }, "\(quantisers)")
    }

    static let rates: [(name: String, bits: Int64)] = [
        ("AverageBitRate", 600_000), ("ConstantBitRate", 600_000), ("AverageBitRate", 1_500_000),
    ]

    @Test(arguments: sampled(pairs(Backend.personalities, rates.indices), oneIn: 4))
    func keepsBitRates(personality: String, index: Int) throws {
        let rate = Self.rates[index]
        let clip = Clip(format: .nv12, width: 144, height: 128, frames: 75)
        let outcome = try run(EncodeJob(clip, [rate.name: .int(rate.bits)]), personality)
        // Three seconds at 25 Hz, of which the first may deviate.
        let bits = outcome.result.pictures.dropFirst(25).reduce(0) { $0 + $1.data.count } * 8 / 2
        #expect(Double(bits) > 0.7 * Double(rate.bits) && Double(bits) < 1.3 * Double(rate.bits), "\(bits) bit/s")
    }

    @Test(arguments: sampled(Backend.personalities))
    func keepsQPBoundsAndBaseFrameQP(personality: String) throws {
        let clip = Clip(format: .nv12, width: 144, height: 128, frames: 30)
        let outcome = try run(
            EncodeJob(
                clip,
                [
                    "AverageBitRate": .int(400_000), "MinAllowedFrameQP": .int(20), "MaxAllowedFrameQP": .int(28),
                ], frameQPs: [10: 45]), personality)
        for (picture, qp) in zip(outcome.result.pictures, outcome.quantisers.dropFirst()) {
            let isHonored = ["full", "radeonsi-25"].contains(personality) && picture.frameID == 10
            #expect(isHonored ? qp == 45 : (20...28).contains(qp), "frame \(picture.frameID): \(qp)")
        }
        let notice = outcome.result.notes.contains { $0.hasPrefix("BaseFrameQP") }
        #expect(notice == !["full", "radeonsi-25"].contains(personality))
        #expect(outcome.quantisers.dropFirst().contains { $0 != outcome.quantisers[1] || $0 == 28 })
    }

    /// Quality with a rate limit is QVBR, or VBR with the quality's QP as the minimum.
    @Test(arguments: sampled(Backend.personalities, oneIn: 2))
    func dataRateLimitsBoundQuality(personality: String) throws {
        let clip = Clip(format: .nv12, width: 144, height: 128, frames: 75)
        let limits = PropertyValue.array([.int(100_000), .int(1)])
        let outcome = try run(
            EncodeJob(clip, ["Quality": .double(0.9), "DataRateLimits": limits]), personality)
        let bytes = outcome.result.pictures.dropFirst(25).reduce(0) { $0 + $1.data.count } / 2
        // The simulated control is coarse.
        #expect(bytes < 160_000, "\(bytes) bytes/s")
        let free = try run(EncodeJob(clip, ["Quality": .double(0.9)]), personality)
        #expect(free.result.pictures.dropFirst(25).reduce(0) { $0 + $1.data.count } / 2 > 200_000)
    }
}
