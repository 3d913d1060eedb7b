// SPDX-License-Identifier: GPL-2.0-or-later
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import Testing

/// What drivers hand to their firmware for a session's properties, by the simulated driver's trace.
@Suite(
    .enabled(
        if: SimulatedDriver.unavailableReason == nil, Comment(rawValue: SimulatedDriver.unavailableReason ?? "")))
struct FirmwareTests {
    private static let clip = Clip(format: .nv12, width: 144, height: 128, frames: 6)

    private func run(_ job: EncodeJob, _ personality: String) throws -> SimulatedDriver.Outcome {
        let outcome = try SimulatedDriver.run(job, personality)
        try #require(outcome.result.failure == nil, "\(outcome.result.failure ?? "")")
        #expect(outcome.result.pictures.count == job.clip.frames)
        return outcome
    }

    private func run(_ properties: [String: PropertyValue], _ personality: String) throws -> SimulatedDriver.Outcome
    {
        try run(EncodeJob(Self.clip, properties), personality)
    }

    @Test(arguments: sampled(Backend.personalities))
    func ratesAndBoundsArrive(personality: String) throws {
        let outcome = try run(
            [
                "AverageBitRate": .int(3_210_000), "MinAllowedFrameQP": .int(15), "MaxAllowedFrameQP": .int(33),
                "MaxKeyFrameInterval": .int(3), "AllowFrameReordering": .bool(false),
            ], personality)
        try #require(!outcome.firmware.isEmpty)
        for firmware in outcome.firmware {
            #expect(firmware.mode == "VBR" && firmware.qp == 15...33, "\(firmware)")
            #expect(firmware["target"] == 3_210_000 && firmware["peak"] == 6_420_000, "\(firmware)")
            #expect(firmware["buffer"] == 3_210_000 && firmware["skips"] == 0, "\(firmware)")
        }
    }

    /// Without QVBR the quality's QP is the lower bound, or the limit would be the only bound.
    @Test(arguments: ["radeonsi-22"])
    func qualityBoundsTheQP(personality: String) throws {
        let limits = PropertyValue.array([.int(1_000_000), .int(1)])
        let outcome = try run(["Quality": .double(0.5), "DataRateLimits": limits], personality)
        #expect(outcome.firmware.map(\.qp) == [21...51], "\(outcome.firmware)")
        #expect(outcome.firmware.map { $0["buffer"] } == [8_000_000], "\(outcome.firmware)")
    }

    /// Mesa computes the level of the HRD's buffer from its fullness shifted by 6, in 32 bits.
    @Test(arguments: ["radeonsi-22", "radeonsi-25"], [50_000_000, 100_000_000])
    func bufferLevelsDoNotOverflow(personality: String, rate: Int64) throws {
        for property in ["AverageBitRate", "ConstantBitRate"] {
            let firmware = try #require(try run([property: .int(rate)], personality).firmware.last)
            #expect(firmware["buffer"] == rate, "\(firmware)")
            #expect((40...48).contains(firmware["level"]), "\(firmware)")
            #expect(firmware["level"] == firmware["fullness"] * 64 / firmware["buffer"], "\(firmware)")
        }
    }

    /// A changed rate takes its buffer and its bounds along, whichever buffer a driver resets.
    @Test(arguments: sampled(Backend.personalities))
    func changedRatesArriveWhole(personality: String) throws {
        var job = EncodeJob(
            Clip(format: .nv12, width: 144, height: 128, frames: 12),
            ["AverageBitRate": .int(900_000), "MinAllowedFrameQP": .int(12), "MaxAllowedFrameQP": .int(40)])
        job.changes = [6: ["AverageBitRate": .int(400_000)]]
        let outcome = try run(job, personality)
        #expect(outcome.firmware.map { $0["target"] } == [900_000, 400_000])
        for firmware in outcome.firmware {
            #expect(firmware["buffer"] == firmware["target"] && firmware.qp == 12...40, "\(firmware)")
            #expect(firmware.mode == "VBR" && firmware["peak"] == 2 * firmware["target"], "\(firmware)")
        }
    }

    /// GStreamer's default level; the fastest where speed is prioritized.
    @Test(arguments: zip(Backend.personalities, [7, 7, 7, 32, 32]))
    func qualityLevels(personality: String, fastest: Int) throws {
        #expect(try run(["QP": .int(30)], personality).firmware.map { $0["quality"] } == [4])
        let fastestRun = try run(
            ["QP": .int(30), "PrioritizeEncodingSpeedOverQuality": .bool(true)], personality)
        #expect(fastestRun.firmware.map { $0["quality"] } == [fastest])
    }

    /// Mesa leaves pictures out where the buffer is empty, unless disable_frame_skip is 1.
    @Test func noPictureIsSkipped() throws {
        let clip = Clip(format: .nv12, width: 192, height: 144, frames: 30)
        let outcome = try run(EncodeJob(clip, ["ConstantBitRate": .int(20_000)]), "radeonsi-22")
        #expect(outcome.result.pictures.allSatisfy { !$0.data.isEmpty })
    }

    @Test(arguments: [PixelFormat.nv12, .p010])
    func uninitializedStatusIsIgnored(format: PixelFormat) throws {
        let outcome = try run(EncodeJob(Clip(format: format, width: 144, height: 128, frames: 6)), "radeonsi-22")
        #expect(try outcome.result.sps.width == 144)
    }

    /// Mesa 22 does not report the smallest size of AMD's encoders.
    @Test(arguments: [(96, 64), (16, 16)])
    func smallSizesAreEnlarged(width: Int, height: Int) throws {
        let outcome = try run(
            EncodeJob(Clip(format: .nv12, width: width, height: height, frames: 3)), "radeonsi-22")
        let sps = try outcome.result.sps
        #expect(sps.width == width && sps.height == height)
        #expect(sps.picWidthInLumaSamples >= 130 && sps.picHeightInLumaSamples >= 128)
    }

    /// Gen12's rate control has three hierarchical levels in low-delay sequences.
    @Test(arguments: ["ihd-icl", "ihd-tgl"])
    func fourTemporalLevelsWithARate(personality: String) throws {
        let job = EncodeJob(
            Clip(format: .nv12, width: 144, height: 128, frames: 17),
            [
                "BaseLayerFrameRate": .int(30), "ExpectedFrameRate": .int(240), "AverageBitRate": .int(2_000_000),
                "AllowFrameReordering": .bool(false),
            ])
        let outcome = try run(job, personality)
        #expect(Set(outcome.result.pictures.map(\.temporalLevel)) == [0, 1, 2, 3])
    }

    /// The length of the POC in Mesa's own headers follows from the key frame interval.
    @Test(arguments: ["radeonsi-22", "radeonsi-25", "ihd-icl"])
    func longKeyFrameIntervals(personality: String) throws {
        _ = try run(["MaxKeyFrameInterval": .int(40_000)], personality)
    }

    /// P pictures are B pictures with equal lists where a driver requires both; pyramids where it refers forward.
    @Test(arguments: zip(Backend.personalities, ["IPB", "IG", "IGB", "IP", "IP"]))
    func pictureTypesFollowTheDirection(personality: String, types: String) throws {
        let outcome = try run(["QP": .int(30)], personality)
        #expect(String(Set(outcome.types.map { $0.first ?? "?" }).sorted()) == String(types.sorted()))
    }

    /// A constant QP that every picture shares is reported, and so is a frame's.
    @Test(arguments: sampled(Backend.personalities))
    func oneQPIsReported(personality: String) throws {
        let outcome = try run(EncodeJob(Self.clip, ["QP": .int(30)], frameQPs: [2: 40]), personality)
        let notes = outcome.result.notes.map { String($0.prefix { $0 != ":" }) }
        #expect(notes == (personality == "radeonsi-22" ? ["QP", "BaseFrameQP"] : []), "\(outcome.result.notes)")
    }

    /// Mesa 22 with UVD uses a buffer and bounds of its own; where that is not known, nothing would say so.
    @Test func ignoredBoundsAreReported() throws {
        let bounds: [String: PropertyValue] = ["MinAllowedFrameQP": .int(15), "MaxAllowedFrameQP": .int(33)]
        let rate = try run(bounds.merging(["AverageBitRate": .int(3_210_000)]) { $1 }, "radeonsi-22-uvd")
        let received = try #require(rate.firmware.last)
        #expect(received["buffer"] == 20_000_000 && received.qp == 0...51, "\(received)")
        #expect(
            rate.result.notes.contains("MinAllowedFrameQP, MaxAllowedFrameQP: the driver ignores bounds of the QP"))
        #expect(rate.result.notes.contains { $0.contains("ignores the decoder's buffer of 3210000 bits") })
        let limited = try run(
            ["Quality": .double(0.5), "DataRateLimits": .array([.int(1_000_000), .int(1)])], "radeonsi-22-uvd")
        #expect(limited.result.notes.contains("Quality: the driver ignores bounds of the QP"))
        #expect(
            limited.result.notes.contains {
                $0.hasPrefix("DataRateLimits: the driver ignores the decoder's buffer")
            })
        for (properties, personality) in [
            (["QP": .int(20)], "radeonsi-22-uvd"),
            (bounds.merging(["AverageBitRate": .int(3_210_000)]) { $1 }, "radeonsi-22"),
        ] {
            #expect(try run(properties, personality).result.notes.allSatisfy { !$0.contains("ignores") })
        }
    }
}
