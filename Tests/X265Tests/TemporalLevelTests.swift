// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import HWDPolicy
import Testing

@testable import HWDX265

/// Temporal levels of x265's streams, beyond what the conformance suite checks for every encoder.
@Suite struct TemporalLevelTests {
    private func job(
        _ clip: Clip, base: Int, full: Int, _ properties: [String: PropertyValue] = [:], forced: Set<Int> = []
    ) -> EncodeJob {
        let rates: [String: PropertyValue] = [
            "BaseLayerFrameRate": .int(Int64(base)), "ExpectedFrameRate": .int(Int64(full)),
        ]
        return EncodeJob(clip, rates.merging(properties) { $1 }, forced: forced)
    }

    private func run(_ job: EncodeJob) throws -> EncodeResult {
        try job.run(try X265Encoder(try job.configuration(.x265)))
    }

    /// Every level decodes without those above it, to pictures that match x265's checksums.
    ///
    /// An end-to-end test compares them with those of x265's program, because x265 3.5 is not deterministic beside other
    /// encoders of its process.
    @Test(arguments: sampled([(30, 240, 25), (60, 240, 17), (120, 240, 17), (15, 240, 33)]))
    func everyLevelDecodesAlone(base: Int, full: Int, frames: Int) throws {
        for format in [PixelFormat.yu12, .i010] {
            let clip = Clip(format: format, width: 96, height: 64, frames: frames)
            let result = try run(
                job(clip, base: base, full: full, ["QP": .int(32), "X265Params": .string("hash=1")]))
            let levels = try TemporalLevels(base: Rational(Int32(base)), full: Rational(Int32(full)))
            let faults = try TemporalStreams.faults(result, levels: (0..<frames).map(levels.level))
            #expect(faults.isEmpty, "\(faults)")
        }
    }

    /// Cuts do not end groups, wherever in a group they are and however x265 looks ahead.
    @Test(
        arguments: sampled([
            [:] as [String: PropertyValue], ["AverageBitRate": .int(300_000)], ["X265Preset": .string("ultrafast")],
        ]))
    func cutsDoNotEndGroups(_ properties: [String: PropertyValue]) throws {
        let levels = try TemporalLevels(base: Rational(30), full: Rational(240))
        for cut in properties.isEmpty ? sampled(1...16, oneIn: 3) : [1, 6, 11, 16] {
            let clip = Clip(format: .yu12, width: 128, height: 96, frames: 25, cut: cut)
            let result = try run(job(clip, base: 30, full: 240, properties))
            let faults = try TemporalStreams.faults(result, levels: (0..<25).map(levels.level))
            #expect(faults.isEmpty, "\(cut): \(faults)")
        }
    }

    /// Headers and groups with several slices, wavefronts, scratch planes, closed and open GOPs.
    @Test(
        arguments: sampled([
            ("slices=2", true), ("wpp=1:ctu=16:max-tu-size=16", true), ("weightp=1:weightb=1:hash=1", false),
            ("", false),
        ]))
    func optionsKeepTheLevels(options: String, isOpenGOP: Bool) throws {
        let clip = Clip(format: .nv12, width: 130, height: 98, frames: 30)
        let result = try run(
            job(
                clip, base: 30, full: 240,
                [
                    "X265Params": .string(options), "AllowOpenGOP": .bool(isOpenGOP),
                    "MaxKeyFrameInterval": .int(17),
                ]))
        #expect(result.pictures.filter(\.isSync).map(\.frameID) == [0, 16])
        #expect(result.pictures.contains { $0.nalUnitType == 21 } == isOpenGOP)
        let levels = try TemporalLevels(base: Rational(30), full: Rational(240))
        let faults = try TemporalStreams.faults(
            result, levels: (0..<30).map(levels.level), usesLibde265: !isOpenGOP)
        #expect(faults.isEmpty, "\(faults)")
        #expect(zip(result.pictures, result.pictures.dropFirst()).allSatisfy { $0.dts < $1.dts })
        #expect(result.pictures.allSatisfy { $0.dts <= $0.pts })
    }

    /// Two levels in groups of four: every picture that another refers to is of level 0, however many references there are,
    /// and the parts of a group that a forced key frame or the end breaks off keep their levels.
    @Test(
        arguments: [
            ("medium", true, 23, [9, 14]), ("slow", false, 30, [7]), ("veryslow", true, 33, []),
            ("ultrafast", true, 22, [3, 5, 6]),
        ] as [(String, Bool, Int, Set<Int>)])
    func twoLevelsKeepTheirReferences(preset: String, isOpenGOP: Bool, frames: Int, forced: Set<Int>) throws {
        let clip = Clip(format: .i010, width: 130, height: 98, frames: frames)
        let properties: [String: PropertyValue] = [
            "X265Preset": .string(preset), "AllowOpenGOP": .bool(isOpenGOP), "MaxKeyFrameInterval": .int(11),
            "X265Params": .string("hash=1"),
        ]
        let result = try run(job(clip, base: 120, full: 240, properties, forced: forced))
        let starts = forced.union([0])
        let levels = (0..<frames).map { frame in (frame - (starts.filter { $0 <= frame }.max() ?? 0)) % 2 }
        let faults = try TemporalStreams.faults(result, levels: levels, usesLibde265: !isOpenGOP)
        #expect(faults.isEmpty, "\(faults)")
        let deepest = try result.slices().map { $0.header.numRefIdxL0ActiveMinus1 + 1 }.max() ?? 0
        #expect(
            deepest == ["medium": 3, "slow": 4, "veryslow": 4, "ultrafast": 1][preset], "\(deepest) references")
        #expect(result.pictures.allSatisfy { $0.dts <= $0.pts })
    }

    /// Key frames at every position of a group keep the levels, also where all kinds are required of x265, as 4.1
    /// (X265_BUILD 215) needs it.
    @Test(arguments: Set([X265Library.build, 215]).sorted(), sampled([(30, 17), (60, 9), (120, 9)]))
    func requiredKeyFramesKeepTheLevels(build: Int, _ rates: (base: Int, interval: Int)) throws {
        let plan = try TemporalLevels(base: Rational(Int32(rates.base)), full: Rational(240))
        for key in sampled(1...8, oneIn: 3) {
            let forced: Set = [key, key + 3, key + 17]
            let clip = Clip(format: .yu12, width: 96, height: 64, frames: 41)
            let properties: [String: PropertyValue] = [
                "X265Preset": .string("fast"), "X265Params": .string("hash=1"),
                "AllowOpenGOP": .bool(key % 2 == 1), "MaxKeyFrameInterval": .int(Int64(rates.interval)),
            ]
            let job = job(clip, base: rates.base, full: 240, properties, forced: forced)
            let result = try job.run(
                try X265Encoder(try job.configuration(.x265), role: .alone, build: build))
            let starts = forced.union([0])
            let levels = (0..<41).map { frame in
                plan.level(atPosition: frame - (starts.filter { $0 <= frame }.max() ?? 0))
            }
            let faults = try TemporalStreams.faults(result, levels: levels, usesLibde265: key % 2 == 0)
            #expect(faults.isEmpty, "key frames at \(forced.sorted()): \(faults)")
            #expect(forced.isSubset(of: result.pictures.filter(\.isSync).map { Int($0.frameID) }))
        }
    }

    /// The look-ahead is long with every preset, unless the client limits it.
    @Test func looksFurtherAhead() throws {
        func held(_ properties: [String: PropertyValue]) throws -> Int {
            let clip = Clip(format: .yu12, width: 64, height: 64, frames: 1)
            let all: [String: PropertyValue] = ["AverageBitRate": .int(1_000_000)].merging(properties) { $1 }
            return try X265Delay(try job(clip, base: 30, full: 240, all).configuration(.x265)).framesHeld
        }
        let whole = try held([:])
        #expect(try held(["SuggestedLookAheadFrameCount": .int(20)]) == whole - 20)
        #expect(try held(["SuggestedLookAheadFrameCount": .int(60)]) == whole + 20)
        #expect(try held(["X265Preset": .string("ultrafast")]) == whole)
        #expect(try held(["MaxFrameDelayCount": .int(30)]) < whole - 20)
    }

    /// Level 0 gets its fraction of the bits, whether more or less than without it, at the requested bit rate.
    @Test(arguments: sampled([(0.35, "superfast"), (0.65, "fast")]))
    func dividesBitsByLevels(fraction: Double, preset: String) throws {
        let clip = Clip(format: .yu12, width: 96, height: 64, frames: 480)
        let result = try run(
            job(
                clip, base: 60, full: 240,
                [
                    "AverageBitRate": .int(400_000), "BaseLayerBitRateFraction": .double(fraction),
                    "X265Preset": .string(preset), "MaxKeyFrameInterval": .int(120),
                ]))
        let (total, base) = result.pictures.filter { $0.frameID >= 120 }.reduce((0, 0)) { sums, picture in
            (sums.0 + picture.bytes.count, sums.1 + (picture.temporalLevel == 0 ? picture.bytes.count : 0))
        }
        let (share, rate) = (Double(base) / Double(total), Double(8 * total) / 1.5)
        print("a share of \(fraction) (\(preset)): \(share), \(rate) bits a second")
        #expect(abs(share - fraction) < 0.05)
        #expect(abs(rate / 400_000 - 1) < 0.25)
    }

    @Test(arguments: sampled([(2, 9), (2, 15), (3, 15), (4, 27)]))
    func keepsMaxFrameDelay(levels: Int, delay: Int) throws {
        let clip = Clip(format: .yu12, width: 64, height: 64, frames: 45)
        let result = try run(
            job(clip, base: 240 >> (levels - 1), full: 240, ["MaxFrameDelayCount": .int(Int64(delay))]))
        #expect(result.pictures.count == 45 && result.maxHeld <= delay, "\(result.maxHeld) frames were held")
        let plan = try TemporalLevels(base: Rational(Int32(240 >> (levels - 1))), full: Rational(240))
        let faults = try TemporalStreams.faults(result, levels: (0..<45).map(plan.level))
        #expect(faults.isEmpty, "\(faults)")
    }
}
