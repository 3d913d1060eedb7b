// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDCoding
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import HWDPolicy
import Testing

@testable import HWDX265

struct Output {
    var pictures: [EncodedPicture] = []
    var nalUnits: [[UInt8]] = []
    var sizes: [Int] = []
}

func encode(
    _ clip: Clip, _ properties: [String: PropertyValue], forced: Set<Int> = [],
    statistics: X265Statistics? = nil, sent: (Int) -> Void = { _ in }, got: (EncodedPicture) -> Void = { _ in },
    settled: () -> Void = {}
) throws -> (encoder: X265Encoder, output: Output) {
    let request = try CompressionRequest(
        codec: "hevc", width: clip.width, height: clip.height, pixelFormat: clip.format.rawValue,
        timeBase: try #require(Rational(1, 25)))
    var store = PropertyStore(backend: .x265)
    try store.set(properties.merging(["ExpectedFrameRate": .int(25)]) { old, _ in old }, isOpen: false)
    let encoder = try X265Encoder(
        try EncoderConfiguration(request: request, properties: store), statistics: statistics)
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
            let planes = frame.layout.planes(at: base)
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

/// NAL units that the x265 command line codes from the same samples.
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
