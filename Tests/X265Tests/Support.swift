// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HEVC
import Model
import Sessions
import Testing

@testable import X265

/// Moving gradients: every frame differs, and 10-bit ones use all their bits.
struct Clip {
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

struct Output {
    var pictures: [EncodedPicture] = []
    var nalUnits: [[UInt8]] = []
    var sizes: [Int] = []
}

func encode(
    _ clip: Clip, _ properties: [String: PropertyValue], forced: Set<Int> = [],
    sent: (Int) -> Void = { _ in }, got: (EncodedPicture) -> Void = { _ in }, settled: () -> Void = {}
) throws -> (encoder: X265Encoder, output: Output) {
    let request = try CompressionRequest(
        codec: "hevc", width: clip.width, height: clip.height, pixelFormat: clip.format.rawValue,
        timeBase: try #require(Rational(1, 25)))
    var store = PropertyStore(backend: .x265)
    try store.set(properties.merging(["ExpectedFrameRate": .int(25)]) { old, _ in old }, isOpen: false)
    let encoder = try X265Encoder(try EncoderConfiguration(request: request, properties: store))
    var output = Output()
    func take(_ picture: EncodedPicture, _ span: RawSpan) throws(SessionError) {
        got(picture)
        output.pictures.append(picture)
        output.sizes.append(span.byteCount)
        let bytes = span.withUnsafeBytes { Array($0) }
        do {
            var units = try LengthPrefixedNALUnits(bytes[...])
            while let unit = try units.next() { output.nalUnits.append(Array(unit)) }
        } catch { throw SessionError(.videoEncoderMalfunction, "\(error)") }
    }
    for index in 0..<clip.frames {
        let frame = clip.native(index)
        sent(index)
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
        settled()
    }
    try encoder.finish(take)
    return (encoder, output)
}

func vcl(_ units: [[UInt8]]) -> [[UInt8]] { units.filter { ($0[0] >> 1) & 63 < 32 } }

/// What the x265 command line makes of the same samples, as NAL units.
func commandLine(_ clip: Clip, _ arguments: [String]) throws -> [[UInt8]] {
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
func ffmpegDecode(_ stream: [UInt8], pixelFormat: String) throws -> [UInt8] {
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
