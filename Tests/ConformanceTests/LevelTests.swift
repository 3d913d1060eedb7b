// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import Testing

/// Temporal levels of every encoder that supports them, and the errors of the others.
@Suite struct LevelTests {
    static let with = Backend.all.filter(\.hasLevels)

    private func job(
        _ clip: Clip, _ levels: Int, _ properties: [String: PropertyValue] = [:], forced: Set<Int> = []
    ) -> EncodeJob {
        let rates: [String: PropertyValue] = [
            "BaseLayerFrameRate": .int(240 >> Int64(levels - 1)), "ExpectedFrameRate": .int(240), "QP": .int(30),
        ]
        return EncodeJob(clip, rates.merging(properties) { $1 }, forced: forced)
    }

    /// Each frame has the level of its position, and the stream decodes with levels removed, however the clip ends.
    @Test(arguments: sampled(pairs(with, [2, 3, 4]), oneIn: 5))
    func streamDecodesWithLevelsRemoved(backend: Backend, levels: Int) throws {
        let plan = try TemporalLevels(base: Rational(Int32(240 >> (levels - 1))), full: Rational(240))
        for (format, frames) in [(PixelFormat.nv12, 16), (.p010, 17)]
            + (levels == 4 ? [(.nv12, 22), (.nv12, 1)] : [])
        {
            let clip = Clip(format: format, width: 144, height: 128, frames: frames)
            let (result, shown) = try backend.outcome(of: job(clip, levels))
            let expected = (0..<frames).map(plan.level)
            let faults = frames > 1 ? try TemporalStreams.faults(result, levels: expected) : []
            #expect(faults.isEmpty, "\(frames) frames: \(faults)")
            #expect(result.pictures.count == frames)
            #expect(try result.sps.spsMaxSubLayersMinus1 == levels - 1)
            guard let shown else { continue }
            let decoded = try StreamDecoders.ffmpeg(
                try result.stream(), pixelFormat: format == .nv12 ? "yuv420p" : "yuv420p10le")
            let isReconstruction = shown == decoded
            #expect(isReconstruction, "the driver's reconstruction and the decoder differ")
        }
    }

    /// NVENC, a driver that takes no slice headers, or keeps too few references, is refused, and the session falls back to software.
    @Test(arguments: Backend.all.filter { !$0.hasLevels }, [3, 4])
    func refusesDriversWithoutLevels(backend: Backend, levels: Int) throws {
        let result = try backend.run(job(Clip(format: .nv12, width: 144, height: 128, frames: 2), levels))
        #expect(result.failure?.contains("temporal levels") == true, "\(result.failure ?? "no failure")")
        #expect(result.pictures.isEmpty && !result.isTransient)
    }

    /// A forced key frame begins a new pattern of levels; the group before it keeps its pattern.
    @Test(arguments: sampled(pairs(with, [true, false]), oneIn: 3))
    func keyFramesKeepThePattern(backend: Backend, isOpenGOP: Bool) throws {
        let plan = try TemporalLevels(base: Rational(30), full: Rational(240))
        let clip = Clip(format: .nv12, width: 144, height: 128, frames: 41)
        let result = try backend.run(
            job(
                clip, 4, ["MaxKeyFrameInterval": .int(20), "AllowOpenGOP": .bool(isOpenGOP)],
                forced: [7, 12]))
        let expected = [0..<7, 0..<5, 0..<29].flatMap { $0.map(plan.level) }
        let faults = try TemporalStreams.faults(result, levels: expected, usesLibde265: !isOpenGOP)
        #expect(faults.isEmpty, "\(faults)")
        #expect(result.pictures.filter(\.isSync).map(\.frameID).sorted() == [0, 7, 12, 28])
    }
}
