// SPDX-License-Identifier: GPL-2.0-or-later
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import Testing

/// Properties that every encoder's streams share, checked with ffmpeg and libde265.
@Suite struct StreamTests {
    /// Encodes and decodes a job; both decoders, and the driver's reconstruction where there is one, must be equal.
    private func roundTrip(
        _ backend: Backend, _ job: EncodeJob
    ) throws -> (result: EncodeResult, decoded: [UInt8]) {
        let (result, shown) = try backend.outcome(of: job)
        try #require(result.failure == nil, "\(result.failure ?? "")")
        #expect(result.pictures.count == job.clip.frames)
        let stream = try result.stream()
        let depth = try result.sps.bitDepthLuma
        let decoded = try StreamDecoders.ffmpeg(stream, pixelFormat: depth == 8 ? "yuv420p" : "yuv420p10le")
        if StreamDecoders.libde265UnavailableReason == nil {
            let same = try StreamDecoders.libde265(stream) == decoded
            #expect(same, "libde265 and ffmpeg differ")
        }
        let isReconstruction = shown == nil || shown == decoded
        #expect(isReconstruction, "the driver's reconstruction and the decoders differ")
        return (result, decoded)
    }

    /// All sizes for encoders that take any; some for drivers that pad them.
    static let sizes = Backend.all.flatMap { backend in
        let some = [(17, 40), (130, 70), (427, 240)]
        let all = some + [(1, 1), (2, 2), (16, 16), (65, 33), (64, 64), (192, 128)]
        return ([.x265, .vaapi("full")].contains(backend) ? all : some).map { (backend, $0) }
    }

    /// The stream has the next even size by its conformance window; an odd size's clean aperture is in the container.
    @Test(arguments: sampled(sizes.indices, oneIn: 4))
    func codesEverySize(index: Int) throws {
        let (backend, size) = Self.sizes[index]
        for format in PixelFormat.yCbCr {
            let clip = Clip(format: format, width: size.0, height: size.1, frames: 3)
            let (result, decoded) = try roundTrip(backend, EncodeJob(clip, ["Quality": .double(1)]))
            let (w, h) = ((size.0 + 1) / 2 * 2, (size.1 + 1) / 2 * 2)
            let sps = try result.sps
            #expect(sps.width == w && sps.height == h && sps.bitDepthLuma == format.bitDepth)
            #expect(decoded.count == 3 * w * h * 3 / 2 * format.bytesPerSample)
            // At this quality every luma sample is close to the source, unless the picture is shifted.
            var worst = 0
            for y in 0..<size.1 {
                for x in 0..<size.0 {
                    let at = (y * w + x) * format.bytesPerSample
                    let value =
                        format.bytesPerSample == 1
                        ? Int(decoded[at]) : Int(decoded[at]) | Int(decoded[at + 1]) << 8
                    worst = max(worst, abs(value - clip.sample(0, x, y, 0)))
                }
            }
            #expect(
                worst <= 40 << (format.bitDepth - 8), "\(backend), \(size), \(format): worst luma error \(worst)")
        }
    }

    static let shapes: [[String: PropertyValue]] = [
        [:], ["AllowFrameReordering": .bool(false)], ["AllowOpenGOP": .bool(false)], ["RealTime": .bool(true)],
        ["AllowTemporalCompression": .bool(false)], ["MaxKeyFrameInterval": .int(5)],
        ["MaxKeyFrameInterval": .int(6), "AllowOpenGOP": .bool(false)], ["MaxKeyFrameInterval": .int(8)],
        ["MaxFrameDelayCount": .int(0)], ["MaxFrameDelayCount": .int(2)], ["MaxFrameDelayCount": .int(7)],
    ]

    /// With every structure both decoders agree, each frame has one picture, and decoding times increase.
    @Test(arguments: sampled(pairs(Backend.all, shapes.indices), oneIn: 5))
    func everyStructureDecodes(backend: Backend, index: Int) throws {
        let shape = Self.shapes[index]
        // Two encoders suffice for what depends on the structure alone.
        let short = [(PixelFormat.p010, 9), (.yu12, 1), (.nv12, 2)]
        for (format, frames) in [(.nv12, 23)] + ([.x265, .vaapi("full")].contains(backend) ? short : []) {
            let clip = Clip(format: format, width: 144, height: 128, frames: frames)
            let (result, whole) = try roundTrip(
                backend, EncodeJob(clip, shape, forced: frames > 20 ? [7, 13] : []))
            let bytes = 144 * 128 * 3 / 2 * format.bytesPerSample
            #expect(whole.count == frames * bytes)
            #expect(Set(result.pictures.map(\.frameID)) == Set((0..<frames).map { UInt64($0) }))
            #expect(zip(result.pictures, result.pictures.dropFirst()).allSatisfy { $0.dts < $1.dts })
            #expect(result.pictures.allSatisfy { $0.dts <= $0.pts })
            if case .int(let delay)? = shape["MaxFrameDelayCount"] { #expect(result.maxHeld <= Int(delay)) }
            try checkKeyFrames(result, shape, frames)
            if frames > 20 { try checkRandomAccess(result, clip, whole) }
        }
    }

    private func checkKeyFrames(_ result: EncodeResult, _ shape: [String: PropertyValue], _ frames: Int) throws {
        let keys = result.pictures.filter(\.isSync).map { Int($0.frameID) }
        if frames > 20 { #expect(Set([0, 7, 13]).isSubset(of: keys)) }
        var interval = frames
        if case .int(let value)? = shape["MaxKeyFrameInterval"] { interval = Int(value) }
        if shape["AllowTemporalCompression"] != nil { interval = 1 }
        #expect(zip(keys, keys.dropFirst() + [frames]).allSatisfy { $1 - $0 <= interval }, "\(keys)")
        // A forced key frame has no leading pictures: none that is decoded after it is shown before it.
        for forced in [7, 13] where frames > 20 {
            let place = try #require(result.pictures.firstIndex { Int($0.frameID) == forced })
            #expect(result.pictures[place...].allSatisfy { Int($0.frameID) >= forced })
        }
        let inOrder = shape["AllowFrameReordering"] != nil || shape["RealTime"] != nil
        if inOrder { #expect(result.pictures.allSatisfy { $0.dts == $0.pts }) }
        if shape["AllowOpenGOP"] != nil { #expect(result.pictures.allSatisfy { $0.nalUnitType != 21 }) }
    }

    /// Decoding from a key frame on outputs the same pictures as decoding from the start.
    private func checkRandomAccess(_ result: EncodeResult, _ clip: Clip, _ whole: [UInt8]) throws {
        let bytes = whole.count / clip.frames
        // The second and the last key frame represent all others.
        let places = result.pictures.indices.filter { result.pictures[$0].isSync }
        for place in Set(places.dropFirst().prefix(1) + places.dropFirst().suffix(1)) {
            let key = Int(result.pictures[place].frameID)
            let decoded = try StreamDecoders.ffmpeg(
                try result.stream(from: place), pixelFormat: clip.format.bitDepth == 8 ? "yuv420p" : "yuv420p10le")
            let same = decoded[...] == whole[(key * bytes)...]
            #expect(same, "from frame \(key)")
        }
    }

    @Test(arguments: sampled(Backend.all))
    func parameterSetsDescribeTheSession(backend: Backend) throws {
        let clip = Clip(format: .p010, width: 192, height: 128, frames: 2)
        let (result, _) = try roundTrip(
            backend,
            EncodeJob(
                clip,
                [
                    "ColorPrimaries": .string("ITU_R_2020"), "TransferFunction": .string("ITU_R_2100_HLG"),
                    "YCbCrMatrix": .string("ITU_R_2020"), "ChromaSampleLocType": .int(2),
                    "PixelAspectRatio": .string("4:3"), "ProfileLevel": .string("HEVC_Main10_4_1"),
                    "ContentLightLevelInfo": .string("03e80190"),
                ]))
        let record = try result.record
        #expect(record.bitDepthLumaMinus8 == 2 && record.lengthSize == 4)
        let sps = try result.sps
        #expect(sps.width == 192 && sps.height == 128)
        let color = try #require(sps.colourDescription)
        #expect(color.colourPrimaries == 9 && color.transferCharacteristics == 18 && color.matrixCoeffs == 9)
        let aspect = try #require(sps.vuiParameters?.sampleAspectRatio)
        #expect(aspect.width == 4 && aspect.height == 3)
        #expect(sps.vuiParameters?.chromaSampleLocation?.topField == 2)
        // Main 10 is general_profile_idc 2 (H.265 A.3.3).
        #expect(sps.profileTierLevel.general?.profileIdc == 2 && sps.profileTierLevel.generalLevelIdc == 3 * 41)
        let messages = try record.nalUnits.filter { try NALUnitHeader(nal: $0).nalUnitType == .prefixSEI }
            .flatMap { try SEI(nal: $0).messages }
        #expect(messages.contains(SEIMessage(payloadType: 144, payload: [3, 0xE8, 1, 0x90])))
    }

    @Test(arguments: sampled(Backend.all))
    func codesEightBitFramesAsMain10(backend: Backend) throws {
        for format in [PixelFormat.nv12, .yu12] {
            let clip = Clip(format: format, width: 144, height: 128, frames: 3)
            let (result, decoded) = try roundTrip(
                backend, EncodeJob(clip, ["ProfileLevel": .string("HEVC_Main10_AutoLevel"), "QP": .int(10)]))
            #expect(try result.sps.bitDepthLuma == 10)
            let source = clip.planar(0)
            let worst = source.indices.map { index in
                abs((Int(decoded[2 * index]) | Int(decoded[2 * index + 1]) << 8) - Int(source[index]) << 2)
            }.max()
            #expect(worst ?? .max <= 64)
        }
    }

    /// Streams decode although BaseFrameQP is far from the session's QP (CuQpDeltaVal is -26…25).
    @Test(arguments: sampled(Backend.all))
    func decodesFarBaseFrameQPs(backend: Backend) throws {
        let clip = Clip(format: .nv12, width: 144, height: 128, frames: 5)
        for rate in [["Quality": PropertyValue.double(0.95)], ["AverageBitRate": .int(300_000)]] {
            let job = EncodeJob(clip, rate, frameQPs: [0: 48, 1: 51, 3: 1])
            let result = try roundTrip(backend, job).result
            let sizes = result.pictures.reduce(into: [:]) { $0[$1.frameID] = $1.data.count }
            if result.notes.contains(where: { $0.hasPrefix("BaseFrameQP") }) { continue }
            #expect(sizes[3] ?? 0 > 2 * (sizes[1] ?? .max / 2), "\(sizes)")
        }
    }

    @Test(arguments: sampled(Backend.all))
    func endsCleanlyWhenAbandoned(backend: Backend) throws {
        let clip = Clip(format: .nv12, width: 144, height: 128, frames: 20)
        for frames in [0, 1, 3, 6] {
            let result = try backend.run(EncodeJob(clip, abandonAfter: frames))
            #expect(result.failure == nil && result.pictures.count <= frames)
        }
    }
}
