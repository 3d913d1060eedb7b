// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDCoding
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import Testing

@testable import HWDX265

/// ReferenceBufferCount, SpatialAdaptiveQPLevel and CalculateMeanSquaredError, checked by ffmpeg.
@Suite struct CodingToolTests {
    private func file(_ name: String, _ bytes: [UInt8]) throws -> URL {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())-\(name)")
        try Data(bytes).write(to: file)
        return file
    }

    private func stream(_ encoder: X265Encoder, _ output: Output) throws -> [UInt8] {
        var stream: [UInt8] = []
        let record = try DecoderConfigurationRecord(bytes: encoder.formatDescription)
        for unit in record.nalUnits + output.nalUnits { AnnexB.append(unit, to: &stream) }
        return stream
    }

    /// The value of a syntax element that ffmpeg's trace_headers filter reads first.
    private func element(_ name: String, of stream: [UInt8]) throws -> Int? {
        let file = try file("in.hevc", stream)
        defer { try? FileManager.default.removeItem(at: file) }
        let log = try StreamDecoders.run([
            "ffmpeg", "-hide_banner", "-f", "hevc", "-i", file.path, "-c", "copy", "-bsf:v", "trace_headers", "-f",
            "null", "-",
        ]).error
        let line = log.split(separator: "\n").first { $0.contains(" \(name) ") }
        return line?.split(separator: " ").last.flatMap { Int($0) }
    }

    /// Without reordering x265's picture buffer holds the references alone.
    @Test(arguments: sampled([2, 3, 5, 8]))
    func keepsReferenceBufferCount(count: Int) throws {
        let clip = Clip(format: .yu12, width: 64, height: 64, frames: 12)
        let (encoder, output) = try encode(
            clip, ["ReferenceBufferCount": .int(Int64(count)), "RealTime": .bool(true)])
        #expect(try element("sps_max_dec_pic_buffering_minus1[0]", of: stream(encoder, output)) == count)
    }

    /// The references and the two reordered pictures of a pyramid are at most 8 (H.265 7.4.7.2); level 5.1 has room for 5.
    @Test(arguments: sampled([("", 6), ("HEVC_Main_5_1", 5)]))
    func notesWhereReferencesAreFewer(level: String, used: Int) throws {
        let large = !level.isEmpty
        let clip = Clip(format: .yu12, width: large ? 3840 : 64, height: large ? 2160 : 64, frames: 0)
        var properties: [String: PropertyValue] = ["ReferenceBufferCount": .int(8)]
        if large { properties["ProfileLevel"] = .string(level) }
        let (encoder, _) = try encode(clip, properties)
        #expect(encoder.notes == ["ReferenceBufferCount 8: x265 uses \(used)"])
        #expect(try encode(clip, ["ReferenceBufferCount": .int(4)]).encoder.notes == [])
    }

    @Test(arguments: sampled([(-1, 1), (0, 0)]))
    func disablesSpatialAdaptation(level: Int, flag: Int) throws {
        let clip = Clip(format: .yu12, width: 64, height: 64, frames: 3)
        let (encoder, output) = try encode(
            clip, ["SpatialAdaptiveQPLevel": .int(Int64(level)), "RealTime": .bool(true)])
        #expect(try element("cu_qp_delta_enabled_flag", of: stream(encoder, output)) == flag)
    }

    @Test(arguments: sampled([(PixelFormat.yu12, "yuv420p"), (.i010, "yuv420p10le")]))
    func measuresTheErrorThatFFmpegMeasures(format: PixelFormat, name: String) throws {
        let clip = Clip(format: format, width: 96, height: 64, frames: 12)
        let (encoder, output) = try encode(
            clip, ["CalculateMeanSquaredError": .bool(true), "Quality": .double(0.3)])
        let source = try file("in.yuv", (0..<clip.frames).flatMap(clip.planar))
        let coded = try file("in.hevc", try stream(encoder, output))
        let log = try file("log", [])
        defer { for file in [source, coded, log] { try? FileManager.default.removeItem(at: file) } }
        let said = try StreamDecoders.run([
            "ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", name, "-video_size", "96x64", "-framerate", "25",
            "-i", source.path, "-r", "25", "-f", "hevc", "-i", coded.path, "-lavfi",
            "[0:v][1:v]psnr=stats_file=\(log.path)", "-f", "null", "-",
        ])
        try #require(said.status == 0 && said.error.isEmpty, "\(said.error)")
        let rows = try String(contentsOf: log, encoding: .utf8).split(separator: "\n")
        try #require(rows.count == clip.frames && output.pictures.count == clip.frames)
        var largest = 0.0
        for (row, picture) in zip(rows, output.pictures.sorted { $0.pts < $1.pts }) {
            let values = row.split(separator: " ").compactMap { word -> Double? in
                let parts = word.split(separator: ":")
                return ["mse_y", "mse_u", "mse_v"].contains(String(parts[0])) ? Double(parts[1]) : nil
            }
            let error = try #require(picture.meanSquaredError)
            for (own, ffmpeg) in zip([error.luma, error.chromaBlue, error.chromaRed], values) {
                // ffmpeg prints two decimals.
                #expect(abs(own - ffmpeg) <= 0.006, "frame \(picture.pts): \(own), ffmpeg \(ffmpeg)")
                largest = max(largest, own)
            }
        }
        #expect(largest > 1)
    }

    @Test func theErrorOfLosslessPicturesIsZero() throws {
        let clip = Clip(format: .yu12, width: 64, height: 64, frames: 3)
        let pictures = try encode(
            clip, ["CalculateMeanSquaredError": .bool(true), "X265Params": .string("lossless=1")]
        ).output.pictures
        let zero = MeanSquaredError(luma: 0, chromaBlue: 0, chromaRed: 0)
        #expect(pictures.map(\.meanSquaredError) == [zero, zero, zero])
        #expect(try encode(clip, [:]).output.pictures.allSatisfy { $0.meanSquaredError == nil })
    }
}
