// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import HWDPolicy
import Testing

/// Flushes and changed properties in the middle of a stream, checked with ffmpeg and libde265.
@Suite struct ChangeTests {
    /// Encodes a job of 23 frames; every frame must be decoded once, by both decoders alike and silently, and decoding
    /// times must rise.
    private func encode(_ backend: Backend, _ job: EncodeJob) throws -> EncodeResult {
        let (result, shown) = try backend.outcome(of: job)
        try #require(result.failure == nil, "\(result.failure ?? "")")
        let decoded = try StreamDecoders.ffmpeg(try result.stream(), pixelFormat: "yuv420p")
        #expect(decoded.count == job.clip.frames * job.clip.width * job.clip.height * 3 / 2)
        if StreamDecoders.libde265UnavailableReason == nil {
            let same = try StreamDecoders.libde265(try result.stream()) == decoded
            #expect(same, "libde265 and ffmpeg differ")
        }
        if result.notes.isEmpty, let shown { #expect(shown == decoded, "the driver's reconstruction differs") }
        #expect(Set(result.pictures.map(\.frameID)) == Set((0..<job.clip.frames).map { UInt64($0) }))
        #expect(result.pictures.count == job.clip.frames)
        #expect(zip(result.pictures, result.pictures.dropFirst()).allSatisfy { $0.dts < $1.dts })
        #expect(result.pictures.allSatisfy { $0.dts <= $0.pts })
        return result
    }

    private static func job(_ properties: [String: PropertyValue]) -> EncodeJob {
        EncodeJob(Clip(format: .nv12, width: 144, height: 128, frames: 23), properties)
    }

    /// Each backend with each of the properties that it supports: drivers with few references or headers of their own have
    /// no temporal levels.
    private static func jobs(_ properties: [[String: PropertyValue]]) -> [(Backend, Int)] {
        Backend.all.flatMap { backend in
            properties.indices.filter { index in
                properties[index]["BaseLayerFrameRate"] == nil || backend.hasLevels
            }.map { (backend, $0) }
        }
    }

    private func keyFrames(_ result: EncodeResult) -> [Int] {
        result.pictures.filter(\.isSync).map { Int($0.frameID) }
    }

    static let shapes: [[String: PropertyValue]] = [
        [:], ["AllowFrameReordering": .bool(false)],
        ["AllowOpenGOP": .bool(false), "MaxKeyFrameInterval": .int(8)],
        ["BaseLayerFrameRate": .double(6.25)], ["AverageBitRate": .int(600_000)],
    ]

    /// x265 continues with a new encoder, whose first picture is an IDR picture, and NVENC with one; a VA-API driver's encoder continues in place, except in
    /// the middle of a group of temporal levels.
    @Test(arguments: sampled(jobs(shapes), oneIn: 3))
    func continuesAfterFlushes(backend: Backend, index: Int) throws {
        var job = Self.job(Self.shapes[index])
        job.flushes = [6, 13, 14]
        let result = try encode(backend, job)
        #expect(result.formatChanges.isEmpty)
        let keys = keyFrames(result)
        if backend.beginsAgain {
            #expect(Set([0, 6, 13, 14]).isSubset(of: keys), "\(keys)")
            let types = result.pictures.filter { [6, 13, 14].contains($0.frameID) }.map(\.nalUnitType)
            #expect(types.allSatisfy { $0 == 19 || $0 == 20 }, "\(types)")
        } else if Self.shapes[index]["MaxKeyFrameInterval"] == nil, Self.shapes[index]["BaseLayerFrameRate"] == nil
        {
            #expect(keys == [0])
        }
        // A flush emits every picture of the frames before it.
        for flush in job.flushes {
            #expect(Set(result.pictures.prefix(flush).map(\.frameID)) == Set((0..<flush).map { UInt64($0) }))
        }
    }

    /// A change of properties, and whether hardware needs a new encoder for it.
    struct Change: CustomTestStringConvertible {
        var before: [String: PropertyValue]
        var after: [String: PropertyValue]
        var isInPlace = true

        var testDescription: String { "\(before) then \(after)" }
    }

    static let changes = [
        Change(before: ["Quality": .double(0.9)], after: ["Quality": .double(0.2)]),
        Change(before: ["AverageBitRate": .int(900_000)], after: ["AverageBitRate": .int(200_000)]),
        Change(before: ["ConstantBitRate": .int(300_000)], after: ["ConstantBitRate": .int(900_000)]),
        Change(before: ["ExpectedFrameRate": .int(25)], after: ["ExpectedFrameRate": .int(28)]),
        Change(
            before: ["BaseLayerFrameRate": .double(6.25), "AverageBitRate": .int(900_000)],
            after: ["AverageBitRate": .int(200_000), "MaxKeyFrameInterval": .int(8)]),
        Change(
            before: ["Quality": .double(0.5)], after: ["Quality": .null, "AverageBitRate": .int(60_000)],
            isInPlace: false),
        Change(before: [:], after: ["RealTime": .bool(true)], isInPlace: false),
        Change(before: ["RealTime": .bool(true)], after: ["RealTime": .bool(false)], isInPlace: false),
        Change(before: ["MaxKeyFrameInterval": .int(1)], after: ["MaxKeyFrameInterval": .int(5)], isInPlace: false),
    ]

    @Test(arguments: sampled(jobs(changes.map(\.before)), oneIn: 4))
    func appliesChanges(backend: Backend, index: Int) throws {
        let change = Self.changes[index]
        var job = Self.job(change.before)
        job.changes = [10: change.after]
        let result = try encode(backend, job)
        let keys = keyFrames(result)
        if backend.beginsAgain {
            #expect(keys.contains(10), "\(keys)")
        } else if change.isInPlace, change.after["MaxKeyFrameInterval"] == nil {
            // A driver with one QP for all pictures of a context (Mesa before 24.1) needs a new one for another QP, whose
            // first picture is an IDR picture.
            let isOtherQP = change.before["Quality"] != nil && change.after["Quality"] != nil
            #expect(keys == (backend == .vaapi("radeonsi-22") && isOtherQP ? [0, 10] : [0]), "\(keys)")
        }
        // Intra pictures that become predicted, and a driver's rate control with another initial QP, need another format
        // description.
        if change.before["MaxKeyFrameInterval"] == nil, backend == .x265 || change.after["Quality"] != .null {
            #expect(result.formatChanges.isEmpty)
        }
        if let interval = change.after["MaxKeyFrameInterval"], case .int(let most) = interval {
            let later = keys.filter { $0 >= 10 } + [23]
            #expect(zip(later, later.dropFirst()).allSatisfy { $1 - $0 <= Int(most) }, "\(keys)")
        }
    }

    /// The change applies to the frame after it and to none before.
    @Test(arguments: sampled(Backend.all))
    func qualityChangesAtTheFrame(backend: Backend) throws {
        var job = Self.job(["Quality": .double(0.95), "AllowFrameReordering": .bool(false)])
        job.changes = [10: ["Quality": .double(0.1)]]
        let result = try encode(backend, job)
        let sizes = result.pictures.map(\.data.count)
        #expect(sizes[1..<10].min() ?? 0 > 3 * (sizes[11...].max() ?? 0), "\(sizes)")
    }

    /// A stream's number of temporal levels is in its format description.
    @Test func refusesAnotherNumberOfLevels() throws {
        let request = try CompressionRequest(
            codec: "hevc", width: 64, height: 64, pixelFormat: "NV12", timeBase: Rational(1))
        for backend in [PropertySpec.Backend.x265, .vaapi] {
            var session = try CompressionAdmission(request: request, properties: PropertyStore(backend: backend))
            try session.setProperties(["BaseLayerFrameRate": .int(30), "ExpectedFrameRate": .int(120)])
            _ = try session.prepare()
            let error = #expect(throws: SessionError.self) {
                try session.setProperties(["ExpectedFrameRate": .int(60)])
            }
            #expect(error?.status == .parameter && error?.reason.contains("ExpectedFrameRate") == true)
            #expect(session.takeChange() == nil)
            try session.setProperties(["ExpectedFrameRate": .string("120000/1001")])
            #expect(session.takeChange()?.frameRate == Rational(120_000, 1001))
        }
    }
}
