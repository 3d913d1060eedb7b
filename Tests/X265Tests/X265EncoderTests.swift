// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HEVC
import Model
import Sessions
import Testing

@testable import X265

/// Moving gradients: every frame differs, and 10-bit ones use all their bits.
private struct Clip {
    let format: PixelFormat
    let width: Int
    let height: Int
    let frames: Int

    /// One sample's value, 0…2^bits - 1.
    func sample(_ plane: Int, _ x: Int, _ y: Int, _ frame: Int) -> Int {
        let top = (1 << format.bitDepth) - 1
        return (x * 5 + y * 3 + frame * 7 + plane * 40 + (x * y) / 16) % (top + 1)
    }

    /// Planar samples of one frame, as the x265 CLI reads them from a file.
    func planar(_ frame: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for plane in 0..<3 {
            let (w, h) = plane == 0 ? (width, height) : ((width + 1) / 2, (height + 1) / 2)
            for y in 0..<h {
                for x in 0..<w { append(sample(plane, x, y, frame), to: &bytes, shift: 0) }
            }
        }
        return bytes
    }

    /// The same samples in `format`'s own layout, and where the planes begin.
    func native(_ frame: Int) -> (bytes: [UInt8], layout: FrameLayout) {
        let packed = FrameLayout.packed(format, width: width, height: height)
        var bytes = [UInt8](repeating: 0, count: packed.size)
        let shift = format == .p010 ? 6 : 0
        for plane in 0..<3 {
            let (w, h) = plane == 0 ? (width, height) : ((width + 1) / 2, (height + 1) / 2)
            let target = packed.layout.planes[format.isSemiPlanar ? min(plane, 1) : plane]
            for y in 0..<h {
                for x in 0..<w {
                    var one: [UInt8] = []
                    append(sample(plane, x, y, frame), to: &one, shift: shift)
                    let column = format.isSemiPlanar && plane > 0 ? 2 * x + plane - 1 : x
                    let at = Int(target.offset) + y * Int(target.stride) + column * format.bytesPerSample
                    bytes.replaceSubrange(at..<at + one.count, with: one)
                }
            }
        }
        return (bytes, packed.layout)
    }

    private func append(_ value: Int, to bytes: inout [UInt8], shift: Int) {
        let word = value << shift
        bytes.append(UInt8(word & 255))
        if format.bytesPerSample == 2 { bytes.append(UInt8(word >> 8)) }
    }
}

private struct Output {
    var pictures: [EncodedPicture] = []
    var nalUnits: [[UInt8]] = []
}

private func encode(
    _ clip: Clip, _ properties: [String: PropertyValue], forced: Set<Int> = []
) throws -> (encoder: X265Encoder, output: Output) {
    let request = try CompressionRequest(
        codec: "hevc", width: clip.width, height: clip.height, pixelFormat: clip.format.rawValue,
        timeBase: try #require(Rational(1, 25)))
    var store = PropertyStore(backend: .x265)
    try store.set(properties.merging(["ExpectedFrameRate": .int(25)]) { old, _ in old }, isOpen: false)
    let encoder = try X265Encoder(try EncoderConfiguration(request: request, properties: store))
    var output = Output()
    let take: EncodedPictureHandler = { (picture, span) throws(SessionError) in
        output.pictures.append(picture)
        let bytes = span.withUnsafeBytes { Array($0) }
        do {
            var units = try LengthPrefixedNALUnits(bytes[...])
            while let unit = try units.next() { output.nalUnits.append(Array(unit)) }
        } catch { throw SessionError(.videoEncoderMalfunction, "\(error)") }
    }
    for index in 0..<clip.frames {
        let frame = clip.native(index)
        try frame.bytes.withUnsafeBytes { bytes in
            let base = try #require(bytes.baseAddress)
            let planes = frame.layout.planes.map {
                InputPicture.Plane(base: base + Int($0.offset), stride: Int($0.stride))
            }
            try encoder.encode(
                InputPicture(
                    planes: planes, frameID: UInt64(index), pts: Int64(index),
                    forceKeyFrame: forced.contains(index),
                    baseFrameQP: nil), take)
        }
    }
    try encoder.finish(take)
    return (encoder, output)
}

private func vcl(_ units: [[UInt8]]) -> [[UInt8]] { units.filter { ($0[0] >> 1) & 63 < 32 } }

/// What the x265 command line makes of the same samples, as NAL units.
private func commandLine(_ clip: Clip, _ arguments: [String]) throws -> [[UInt8]] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("x265-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let source = folder.appendingPathComponent("in.yuv")
    let target = folder.appendingPathComponent("out.hevc")
    try Data((0..<clip.frames).flatMap(clip.planar)).write(to: source)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
        [
            "timeout", "60", "x265", "--log-level", "error", "--input", source.path, "--input-res",
            "\(clip.width)x\(clip.height)", "--fps", "25", "--input-depth", "\(clip.format.bitDepth)",
        ] + arguments + ["-o", target.path]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return AnnexB.NALUnits([UInt8](try Data(contentsOf: target))).map { Array($0) }
}

/// The samples ffmpeg decodes from an Annex B stream.
private func ffmpegDecode(_ stream: [UInt8], pixelFormat: String) throws -> [UInt8] {
    let source = FileManager.default.temporaryDirectory.appendingPathComponent("x265-\(UUID()).hevc")
    let target = source.appendingPathExtension("yuv")
    defer { for url in [source, target] { try? FileManager.default.removeItem(at: url) } }
    try Data(stream).write(to: source)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
        "timeout", "60", "ffmpeg", "-v", "error", "-i", source.path, "-f", "rawvideo", "-pix_fmt", pixelFormat,
        target.path,
    ]
    process.standardInput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return [UInt8](try Data(contentsOf: target))
}

@Suite struct X265EncoderTests {
    @Test(arguments: PixelFormat.allCases)
    func codedPicturesAreThoseOfTheCommandLine(format: PixelFormat) throws {
        let clip = Clip(format: format, width: 192, height: 128, frames: 40)
        let depth = format.bitDepth
        let own = try encode(clip, ["X265Preset": .string("fast"), "X265Params": .string("crf=24")]).output
        let theirs = try commandLine(
            clip, ["--preset", "fast", "--crf", "24", "--output-depth", "\(depth)"])
        #expect(own.pictures.count == clip.frames)
        #expect(vcl(own.nalUnits) == vcl(theirs))
    }

    @Test func constantQPIsTheCommandLinesToo() throws {
        let clip = Clip(format: .yu12, width: 192, height: 128, frames: 25)
        let own = try encode(clip, ["QP": .int(30), "MaxKeyFrameInterval": .int(10)]).output
        #expect(vcl(own.nalUnits) == vcl(try commandLine(clip, ["--qp", "30", "--keyint", "10"])))
    }

    @Test func parameterSetsSayWhatTheSessionIs() throws {
        let clip = Clip(format: .p010, width: 192, height: 128, frames: 2)
        let encoder = try encode(
            clip,
            [
                "ColorPrimaries": .string("ITU_R_2020"), "TransferFunction": .string("ITU_R_2100_HLG"),
                "YCbCrMatrix": .string("ITU_R_2020"), "ChromaSampleLocType": .int(2),
            ]
        ).encoder
        let record = try DecoderConfigurationRecord(bytes: encoder.formatDescription)
        #expect(record.bitDepthLumaMinus8 == 2 && record.lengthSize == 4)
        let sps = try SequenceParameterSet(
            nal: try #require(record.arrays.first { $0.nalUnitType == .sps }?.nalUnits.first))
        #expect(sps.width == 192 && sps.height == 128)
        let colour = try #require(sps.colourDescription)
        #expect(colour.colourPrimaries == 9 && colour.transferCharacteristics == 18 && colour.matrixCoeffs == 9)
        // Main 10 is general_profile_idc 2 (H.265 A.3.3).
        #expect(sps.profileTierLevel.general?.profileIdc == 2)
    }

    /// With open GOPs x265 codes a key frame as CRA (nal_unit_type 21), with closed ones as IDR (19, 20).
    @Test(arguments: [(true, [0, 7, 13]), (false, [0, 7, 13])])
    func forcedKeyFramesAreRandomAccessPoints(isOpenGOP: Bool, expected: [UInt64]) throws {
        let clip = Clip(format: .yu12, width: 64, height: 64, frames: 20)
        let output = try encode(clip, ["AllowOpenGOP": .bool(isOpenGOP)], forced: [7, 13]).output
        #expect(output.pictures.filter(\.isSync).map(\.frameID) == expected)
        // No leading picture: nothing that is decoded after a forced key frame is shown before it.
        var latest = Int64.min
        for picture in output.pictures {
            if picture.isSync { latest = picture.pts }
            #expect(picture.pts >= latest)
        }
        #expect(isOpenGOP || output.pictures.allSatisfy { $0.nalUnitType != 21 })
    }

    @Test(arguments: [
        ["RealTime": PropertyValue.bool(true)], ["AllowFrameReordering": .bool(false)],
    ])
    func withoutReorderingPicturesComeInOrder(properties: [String: PropertyValue]) throws {
        let clip = Clip(format: .nv12, width: 64, height: 64, frames: 20)
        let pictures = try encode(clip, properties).output.pictures
        #expect(pictures.map(\.pts) == (0..<20).map { Int64($0) })
        #expect(pictures.allSatisfy { $0.dts == $0.pts })
    }

    @Test func everyFrameComesOutOnceWithRisingDecodeTimes() throws {
        let clip = Clip(format: .nv12, width: 64, height: 64, frames: 61)
        let pictures = try encode(clip, [:]).output.pictures
        #expect(Set(pictures.map(\.frameID)) == Set((0..<61).map { UInt64($0) }))
        #expect(zip(pictures, pictures.dropFirst()).allSatisfy { $0.dts < $1.dts })
        #expect(pictures.allSatisfy { $0.dts <= $0.pts })
        #expect(pictures.contains { $0.dts < $0.pts }, "the default reorders")
    }

    /// The next even size, by the conformance window; the clean aperture of an odd one is the container's business.
    @Test(
        arguments: PixelFormat.allCases,
        [(1, 1), (2, 2), (8, 8), (16, 16), (64, 2), (17, 40), (65, 33), (853, 480)])
    func everySizeIsCodedAndShown(format: PixelFormat, size: (Int, Int)) throws {
        let clip = Clip(format: format, width: size.0, height: size.1, frames: 3)
        let (encoder, output) = try encode(clip, ["Quality": .double(1)])
        #expect(output.pictures.count == 3)
        let record = try DecoderConfigurationRecord(bytes: encoder.formatDescription)
        var stream: [UInt8] = []
        for unit in record.nalUnits + output.nalUnits { AnnexB.append(unit, to: &stream) }
        let decoded = try ffmpegDecode(stream, pixelFormat: format.bitDepth == 8 ? "yuv420p" : "yuv420p10le")
        let (w, h) = ((size.0 + 1) / 2 * 2, (size.1 + 1) / 2 * 2)
        #expect(decoded.count == 3 * w * h * 3 / 2 * format.bytesPerSample)
        // The picture is there and not shifted: at this quality every luma sample is close to the source's.
        var worst = 0
        for y in 0..<size.1 {
            for x in 0..<size.0 {
                let at = (y * w + x) * format.bytesPerSample
                let value =
                    format.bytesPerSample == 1 ? Int(decoded[at]) : Int(decoded[at]) | Int(decoded[at + 1]) << 8
                worst = max(worst, abs(value - clip.sample(0, x, y, 0)))
            }
        }
        #expect(worst <= 40 << (format.bitDepth - 8), "worst luma error \(worst)")
    }

    @Test func anOptionValueX265RefusesIsNamed() {
        let error = #expect(throws: SessionError.self) {
            try encode(
                Clip(format: .yu12, width: 64, height: 64, frames: 0), ["X265Params": .string("aq-mode=banana")])
        }
        #expect(error?.status == .parameter)
        #expect(error?.reason.contains("aq-mode") == true)
    }
}
