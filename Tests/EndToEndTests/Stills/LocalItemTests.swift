// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

/// Items that no session decodes; hwctl decodes them itself.
extension EndToEnd.StillDecoding {
    private static let source = ["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=1"]

    /// Codes one picture with ffmpeg.
    private func code(_ name: String, _ options: String...) throws -> String {
        try Programs.tool("ffmpeg", Self.source + ["-frames:v", "1"] + options + [path(name)])
        return path(name)
    }

    /// The samples that hwctl decodes of a crafted file.
    private func ours(_ still: CraftedStill) throws -> Data {
        try still.bytes.write(to: URL(fileURLWithPath: path("in.heif")))
        try hwctl("decode", path("in.heif"), path("ours.yuv"))
        return try Data(contentsOf: URL(fileURLWithPath: path("ours.yuv")))
    }

    /// The samples that ffmpeg decodes of a file.
    private func theirs(_ file: String, _ format: String) throws -> Data {
        Data(
            try Programs.tool("ffmpeg", ["-v", "error", "-i", file, "-f", "rawvideo", "-pix_fmt", format, "-"])
                .output)
    }

    @Test("An AVCI picture has the samples that ffmpeg decodes")
    func avci() throws {
        let clip = try code(
            "in.mp4", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-bsf:v", "filter_units=remove_types=6")
        let still = try CraftedStill("avc1", brand: "avci", record: "avcC", mp4: clip)
        #expect(try ours(still) == theirs(clip, "yuv420p"))
        let text = try hwctl("info", path("in.heif")).text
        #expect(text.contains("avci") && text.contains("avc1") && text.contains("320x240"), "\(text)")
        // A truncated picture is an error.
        var cut = still
        cut.data = still.data.prefix(still.data.count / 2)
        try cut.bytes.write(to: URL(fileURLWithPath: path("cut.heif")))
        let run = try hwctl("decode", path("cut.heif"), path("cut.yuv"), status: 65)
        #expect(run.complaints.count == 1 && run.errors.contains("item 1"), "\(run.errors)")
        #expect(!server.folder.contents.contains("cut.yuv"))
    }

    @Test("A JPEG picture has the samples that ffmpeg decodes, with its tables in the item or before it")
    func jpeg420() throws {
        let file = try code("in.jpg", "-c:v", "mjpeg", "-q:v", "2", "-pix_fmt", "yuvj420p")
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        let expected = try theirs(file, "yuvj420p")
        #expect(try ours(CraftedStill("jpeg", brand: "jpeg", configuration: nil, data: bytes)) == expected)
        // The frame header begins behind the tables (ISO/IEC 23008-12 H.2.3).
        let frame = try #require(bytes.range(of: Data([0xFF, 0xC0]))).lowerBound
        let split = CraftedStill(
            "jpeg", brand: "jpeg", configuration: ("jpgC", bytes[..<frame]), data: bytes[frame...])
        #expect(try ours(split) == expected)
    }

    @Test(
        "An HEVC picture of 4:0:0 has the luma that ffmpeg decodes, and no color", arguments: ["gray", "gray10le"])
    func gray(_ format: String) throws {
        let clip = try code(
            "in.mp4", "-c:v", "libx265", "-pix_fmt", format, "-tag:v", "hvc1", "-x265-params", "log-level=error",
            "-bsf:v", "filter_units=remove_types=39")
        let still = try CraftedStill("hvc1", brand: "heix", record: "hvcC", mp4: clip)
        let (samples, luma) = (try ours(still), try theirs(clip, format))
        #expect(luma.count == 320 * 240 * (format == "gray" ? 1 : 2))
        #expect(samples.prefix(luma.count) == luma && samples.count == luma.count * 3 / 2)
        let middle: [UInt8] = format == "gray" ? [128, 128] : [0, 2]
        #expect(Data(samples.dropFirst(luma.count)) == Data((0..<luma.count / 4).flatMap { _ in middle }))
    }
}
