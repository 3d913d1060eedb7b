// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import HWDPolicy
import Testing

@testable import HWDX265

/// Four temporal levels.
private func job(
    _ clip: Clip, _ properties: [String: PropertyValue] = [:], forced: Set<Int> = []
) -> EncodeJob {
    let levels: [String: PropertyValue] = [
        "BaseLayerFrameRate": .int(30), "ExpectedFrameRate": .int(240), "X265Params": .string("hash=1"),
    ]
    return EncodeJob(clip, levels.merging(properties) { $1 }, forced: forced)
}

/// Four temporal levels in the structure that x265 is given picture by picture.
@Suite(.enabled(if: X265Library.build == DeepPyramid.knownBuild, "the deep pyramid is not for this libx265"))
struct DeepPyramidTests {
    /// The result of a job, which must be coded with the pyramid.
    private func run(_ job: EncodeJob) throws -> EncodeResult {
        let encoder = try X265Encoder(try job.configuration(.x265))
        #expect(encoder.decodeTimes.reorderDepth == 3 && encoder.notes == [])
        return try job.run(encoder)
    }

    /// Every frame comes once, at its level, with increasing decoding times, and levels can be dropped.
    private func check(_ job: EncodeJob, keys: Set<Int> = [], usesLibde265: Bool = true) throws {
        let result = try run(job)
        let frames = job.clip.frames
        let starts = job.forced.union(keys).union([0])
        let levels = (0..<frames).map { frame in
            let position = (frame - (starts.filter { $0 <= frame }.max() ?? 0)) % 8
            return position == 0 ? 0 : 3 - position.trailingZeroBitCount
        }
        #expect(result.pictures.map(\.frameID).sorted() == (0..<UInt64(frames)).map { $0 })
        #expect(zip(result.pictures, result.pictures.dropFirst()).allSatisfy { $0.dts < $1.dts })
        #expect(result.pictures.allSatisfy { $0.dts <= $0.pts })
        #expect(result.pictures.allSatisfy { $0.temporalLevel < 3 || $0.nalUnitType & 1 == 0 })
        let held = try X265Delay(try job.configuration(.x265)).framesHeld
        #expect(result.maxHeld <= held, "\(result.maxHeld) frames were held, not \(held)")
        if levels.contains(3) {
            let faults = try TemporalStreams.faults(result, levels: levels, usesLibde265: usesLibde265)
            #expect(faults.isEmpty, "\(frames) frames, \(job.forced.sorted()): \(faults)")
        }
    }

    @Test(arguments: sampled(Array(1...20) + [100, 101, 102, 103], oneIn: 5))
    func everyLength(frames: Int) throws {
        let format = PixelFormat.yCbCr[frames % 4]
        // libde265's program reports every hundredth frame where a fault would be.
        try check(job(Clip(format: format, width: 96, height: 64, frames: frames)), usesLibde265: frames < 100)
    }

    /// Key frames anywhere in a group, closed and open groups, several frames coded at once, and presets.
    @Test(
        arguments: sampled(
            [
                (["AllowOpenGOP": .bool(false)], [13, 30, 36], 50), ([:], [13, 30, 36], 50),
                ([:], [1, 2, 4, 7, 15], 24),
                (["AllowOpenGOP": .bool(false)], [5, 22], 41),
                (["X265Params": .string("frame-threads=3:hash=1")], [9, 31], 70),
                (["X265Params": .string("frame-threads=6:pools=4:hash=1")], [], 73),
                (["X265Preset": .string("slow")], [20], 42),
                (["X265Params": .string("pools=none:hash=1")], [9], 35),
                (["X265Preset": .string("slower")], [11], 21),
                (["SpatialAdaptiveQPLevel": .int(0)], [10], 40),
                (["Quality": .double(0.1)], [], 33), (["Quality": .double(0.9)], [], 33),
            ] as [([String: PropertyValue], Set<Int>, Int)], oneIn: 4))
    func keyFrames(properties: [String: PropertyValue], forced: Set<Int>, frames: Int) throws {
        for format in sampled([PixelFormat.nv12, .p010], oneIn: 2) {
            let clip = Clip(format: format, width: 130, height: 98, frames: frames)
            try check(job(clip, properties, forced: forced))
        }
    }

    /// Key frames at the interval: CRA pictures with leading pictures, or IDR pictures.
    @Test(arguments: sampled([true, false]))
    func keyFramesAtTheInterval(isOpenGOP: Bool) throws {
        let clip = Clip(format: .nv12, width: 128, height: 96, frames: 90, cut: 37)
        let properties: [String: PropertyValue] = [
            "MaxKeyFrameInterval": .int(17), "AllowOpenGOP": .bool(isOpenGOP),
        ]
        let job = job(clip, properties, forced: [43])
        try check(job, usesLibde265: !isOpenGOP)
        #expect(try run(job).pictures.filter(\.isSync).map(\.frameID) == [0, 16, 32, 43, 59, 75])
    }

    @Test(arguments: sampled([(66, 50), (1280, 720), (64, 64), (176, 144), (640, 360)], oneIn: 2))
    func sizes(width: Int, height: Int) throws {
        for format in sampled([PixelFormat.i010, .yu12], oneIn: 2) {
            // x265 3.5 writes wrong checksums of pictures of one coding tree unit, with its own program too.
            let options = width == 64 ? "" : "hash=1"
            let clip = Clip(format: format, width: width, height: height, frames: width > 200 ? 18 : 60)
            try check(job(clip, ["X265Params": .string(options)]))
        }
    }

    /// Random key frames in random lengths.
    @Test(arguments: sampled(0..<12, oneIn: 7))
    func randomKeyFrames(seed: UInt64) throws {
        var generator = Generator(state: seed &* 7919 &+ 17)
        let frames = Int.random(in: 20...70, using: &generator)
        let forced = Set(
            (0..<Int.random(in: 0...8, using: &generator)).map { _ in
                Int.random(in: 1..<frames, using: &generator)
            })
        let clip = Clip(format: .i010, width: 112, height: 80, frames: frames)
        try check(job(clip, ["AllowOpenGOP": .bool(seed % 2 == 0)], forced: forced))
    }

    private struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    /// Profile, level and pictures to buffer are those of the same stream without the pyramid.
    @Test func declaresTheUsualProfile() throws {
        let clip = Clip(format: .i010, width: 640, height: 360, frames: 9)
        let deep = try run(job(clip)).sps
        let other = try X265Encoder(try job(clip, ["X265Params": .string("psy-rd=2.0")]).configuration(.x265))
        let usual = try EncodeResult(formatDescription: other.formatDescription).sps
        #expect(deep.profileTierLevel == usual.profileTierLevel)
        #expect(deep.profileTierLevel.general?.profileIdc == 2)
        #expect(deep.orderingInfo.highest.maxDecPicBufferingMinus1 == 4)
        #expect(usual.orderingInfo.highest.maxDecPicBufferingMinus1 == 4)
    }

    /// A stream continues after a flush and with other properties; it never reorders more than at its beginning.
    @Test(
        arguments: [
            (["AverageBitRate": .int(400_000)], ["AverageBitRate": .null, "Quality": .double(0.6)]),
            (["Quality": .double(0.4)], ["Quality": .null, "AverageBitRate": .int(400_000)]),
            (["Quality": .double(0.4)], ["Quality": .double(0.6)]),
        ] as [([String: PropertyValue], [String: PropertyValue?])])
    func streamsGoOn(first: [String: PropertyValue], then: [String: PropertyValue?]) throws {
        var job = job(Clip(format: .nv12, width: 96, height: 64, frames: 60), first)
        job.changes[29] = then.compactMapValues { $0 }
        job.flushes = [13, 47]
        let result = try job.run(.x265) { (it) throws(SessionError) in try X265Encoder(it) }
        #expect(result.pictures.map(\.frameID).sorted() == (0..<60).map { $0 })
        #expect(zip(result.pictures, result.pictures.dropFirst()).allSatisfy { $0.dts < $1.dts })
        #expect(result.pictures.allSatisfy { $0.dts <= $0.pts })
        let starts = [0, 13, 29, 47]
        let levels = (0..<60).map { frame in
            let position = (frame - (starts.last { $0 <= frame } ?? 0)) % 8
            return position == 0 ? 0 : 3 - position.trailingZeroBitCount
        }
        #expect(result.pictures.sorted { $0.pts < $1.pts }.map { Int($0.temporalLevel) } == levels)
        let whole = try StreamDecoders.ffmpeg(try result.stream(), pixelFormat: "yuv420p")
        #expect(whole.count == 60 * 96 * 64 * 3 / 2)
    }

    /// Frames with a quantization parameter of their own.
    @Test func keepsBaseFrameQP() throws {
        var job = job(Clip(format: .yu12, width: 96, height: 64, frames: 30))
        job.frameQPs = [0: 21, 3: 33, 8: 40, 12: 18, 29: 45]
        let result = try run(job)
        for (picture, slice) in zip(result.pictures, try result.slices()) {
            guard let qp = job.frameQPs[Int(picture.frameID)] else { continue }
            #expect(slice.qp == qp, "frame \(picture.frameID)")
        }
    }

    /// An encoder that is closed with frames inside.
    @Test(arguments: sampled([1, 9, 30, 48, 60, 75]))
    func canBeAbandoned(frames: Int) throws {
        var job = job(Clip(format: .yu12, width: 96, height: 64, frames: 80))
        job.abandonAfter = frames
        let result = try job.run(try X265Encoder(try job.configuration(.x265)))
        #expect(result.pictures.count < frames)
    }
}

/// Four temporal levels in x265's own structure.
@Suite struct OwnGroupsTests {
    /// What the pyramid was not made for is coded in x265's own structure, and the notices say why.
    @Test(
        arguments: [
            (["AverageBitRate": .int(500_000)], "rate control"),
            (["ConstantBitRate": .int(500_000)], "rate control"),
            (["QP": .int(30)], "rate control"), (["MaxFrameDelayCount": .int(40)], "MaxFrameDelayCount"),
            (["X265Params": .string("weightp=1")], "X265Params"),
            (["SuggestedLookAheadFrameCount": .int(30)], "SuggestedLookAheadFrameCount"),
            (["ProfileLevel": .string("HEVC_Main_4_1")], "ProfileLevel"),
            (["X265Preset": .string("fast")], "preset"), (["X265Preset": .string("ultrafast")], "preset"),
        ] as [([String: PropertyValue], String)])
    func othersUseOneLevel(properties: [String: PropertyValue], reason: String) throws {
        let clip = Clip(format: .yu12, width: 96, height: 64, frames: 25)
        let job = job(clip, properties)
        let encoder = try X265Encoder(try job.configuration(.x265))
        #expect(encoder.decodeTimes.reorderDepth == 2)
        #expect(encoder.notes.count == 1 && encoder.notes[0].contains(reason), "\(encoder.notes)")
        let levels = try TemporalLevels(base: Rational(30), full: Rational(240))
        let faults = try TemporalStreams.faults(try job.run(encoder), levels: (0..<25).map(levels.level))
        #expect(faults.isEmpty, "\(faults)")
    }

    /// Another libx265, which may use loaded analysis otherwise, codes its own groups, and the notice names it: the library
    /// itself where it is another one.
    @Test func otherBuildsUseOneLevel() throws {
        let clip = Clip(format: .yu12, width: 96, height: 64, frames: 25)
        let job = job(clip)
        let isKnown = X265Library.build == DeepPyramid.knownBuild
        let build = isKnown ? 215 : X265Library.build
        let encoder = try X265Encoder(try job.configuration(.x265), role: .alone, build: build)
        #expect(encoder.decodeTimes.reorderDepth == 2)
        #expect(
            encoder.notes == [
                "the temporal levels are in x265's own groups, which may need more bits, because of libx265's build \(build), "
                    + "where 199 is known"
            ])
        let levels = try TemporalLevels(base: Rational(30), full: Rational(240))
        let faults = try TemporalStreams.faults(try job.run(encoder), levels: (0..<25).map(levels.level))
        #expect(faults.isEmpty, "\(faults)")
    }

    /// Small pictures, for which x265's cu-tree is off.
    @Test func smallPicturesUseOneLevel() throws {
        let job = job(Clip(format: .yu12, width: 48, height: 48, frames: 1))
        #expect(try X265Encoder(try job.configuration(.x265)).decodeTimes.reorderDepth == 2)
    }
}
