// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

/// What a HEIC file gets of its input beside the samples: Exif, XMP, depth, gain maps, and the color that the input states.
extension EndToEnd.StillEncoding {
    /// Runs exiftool and returns its values, one a line.
    private func values(_ file: String, _ tags: String...) throws -> [String] {
        let run = try Programs.tool("exiftool", ["-n", "-s3"] + tags.map { "-" + $0 } + [path(file)])
        return run.text.split(separator: "\n").map(String.init)
    }

    @Test("Exif with its position is kept unless it is dropped", .needsExifTool)
    func keepsExif() throws {
        let source = try picture("in.jpg", size: "320x200", format: "yuvj420p")
        try Programs.tool(
            "exiftool",
            [
                "-q", "-overwrite_original", "-n", "-Orientation=6", "-Make=Maker", "-GPSLatitude=48.5",
                "-GPSLatitudeRef=N", source,
            ])
        for options in [[], ["--exif", "keep"], ["--exif", "copy"]] {
            let run = try Programs.hwctl(["encode"] + options + [source, path("out.heic")], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            #expect(try values("out.heic", "Make", "GPSLatitude", "Orientation") == ["Maker", "48.5", "1"])
        }
        try hwctl("encode", path("out.heic"), path("again.heic"))
        #expect(try values("again.heic", "Make", "GPSLatitude") == ["Maker", "48.5"])
        try hwctl("encode", "--exif", "drop", source, path("out.heic"))
        #expect(try values("out.heic", "Make", "GPSLatitude").isEmpty)
        // A file of that name.
        try FileManager.default.copyItem(atPath: source, toPath: path("drop"))
        let plain = try picture("plain.png", size: "64x64")
        try hwctl("encode", "--exif", path("drop"), plain, path("out.heic"))
        #expect(try values("out.heic", "Make") == ["Maker"])
        // Without Exif a choice that was given is an error, also of a video.
        try hwctl("encode", plain, path("out.heic"))
        for input in [plain, try picture("in.mp4", size: "64x64", format: "yuv420p")] {
            try hwctl("encode", "--exif", "keep", input, path("x.heic"), status: 65)
        }
    }

    @Test("Of a TIFF file the tags are kept, not the samples", .needsExifTool)
    func keepsTagsOfTIFF() throws {
        let source = try picture("in.tif", size: "320x200")
        try Programs.tool("exiftool", ["-q", "-overwrite_original", "-Make=Maker", "-ISO=200", source])
        try hwctl("encode", source, path("out.heic"))
        #expect(try values("out.heic", "Make", "ISO") == ["Maker", "200"])
        #expect(try values("out.heic", "StripOffsets", "IFD0:ImageWidth").isEmpty)
    }

    @Test("Depth, its range, a gain map and XMP pass from HEIC to HEIC", .needsExifTool)
    func keepsAuxiliaries() throws {
        let source = try picture("in.png", size: "320x200")
        let map = try picture("map.png", size: "160x100", format: "gray")
        try Data("<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"/>".utf8).write(to: URL(fileURLWithPath: path("in.xmp")))
        try hwctl(
            "encode", "--depth-map", map, "--depth-range", "1.5:4.38", "--gain-map", map, "--xmp", path("in.xmp"),
            "--quality", "1", source, path("first.heic"))
        try hwctl("encode", "--quality", "1", path("first.heic"), path("again.heic"))
        func described(_ name: String) throws -> [String] {
            try hwctl("info", path(name)).text.split(separator: "\n").map(String.init)
                .filter { !$0.hasPrefix("FILE") }
        }
        #expect(try described("again.heic") == described("first.heic"))
        let (first, again) = (
            try Data(contentsOf: URL(fileURLWithPath: path("first.heic"))),
            try Data(contentsOf: URL(fileURLWithPath: path("again.heic")))
        )
        // The range is an SEI message behind the URN, and a document; the gain map has one too.
        let urn = try #require(first.range(of: Data("urn:mpeg:hevc:2015:auxid:2".utf8)))
        let range = first[urn.lowerBound..<urn.upperBound + 22]
        #expect(again.range(of: range) != nil)
        for text in ["FloatMaxValue>4.38<", "HDRGainMapVersion", "urn:com:apple:photo:2020:aux:hdrgainmap"] {
            #expect(first.range(of: Data(text.utf8)) != nil && again.range(of: Data(text.utf8)) != nil, "\(text)")
        }
        for kind in ["depth", "gainmap"] {
            try hwctl("decode", "--aux", kind, path("first.heic"), path("one.yuv"))
            try hwctl("decode", "--aux", kind, path("again.heic"), path("two.yuv"))
            let samples = try ["one.yuv", "two.yuv"].map { try Data(contentsOf: URL(fileURLWithPath: path($0))) }
            #expect(samples[0].count == 160 * 100 * 3 / 2)
            #expect(zip(samples[0], samples[1]).allSatisfy { abs(Int($0) - Int($1)) <= 4 })
        }
        // Another one replaces it.
        let other = try picture("other.png", size: "80x50", format: "gray")
        try hwctl("encode", "--gain-map", other, path("first.heic"), path("replaced.heic"))
        let info = try hwctl("info", path("replaced.heic")).text
        #expect(info.contains("gainmap, 80x50") && info.contains("depth, 160x100"), "\(info)")
        #expect(!info.contains("gainmap, 160x100"))
    }

    @Test("Alpha is reported where there is some")
    func reportsAlpha() throws {
        for (format, isOpaque) in [("rgba", false), ("ya8", true), ("rgb24", true)] {
            let run = try hwctl(
                "encode", try picture("in.png", size: "64x64", format: format), path("out.heic"))
            #expect(run.errors.contains("alpha is left out") != isOpaque, "\(format): \(run.errors)")
        }
    }

    /// `cICP` (PNG 3rd edition 11.3.2.6) behind IHDR.
    @Test("PNG's code points are read", arguments: [(12, 13, 6), (9, 16, 9), (9, 18, 9)])
    func codePointsOfPNG(_ primaries: Int, _ transfer: Int, _ matrix: Int) throws {
        let source = try picture("in.png", size: "64x64", format: "rgb48be")
        var file = try Data(contentsOf: URL(fileURLWithPath: source))
        // libavcodec does not check a chunk that it does not know.
        let chunk = [0, 0, 0, 4] + Array("cICP".utf8) + [UInt8(primaries), UInt8(transfer), 0, 1, 0, 0, 0, 0]
        file.insert(contentsOf: chunk, at: 33)
        try file.write(to: URL(fileURLWithPath: source))
        try hwctl("encode", source, path("out.heic"))
        let info = try hwctl("info", path("out.heic")).text
        #expect(info.contains("\(primaries)/\(transfer)/\(matrix), full range"), "\(info)")
    }

    @Test("PNG of narrow range gets the full one", arguments: ["rgb24", "rgb48be", "gray"])
    func narrowRangeOfPNG(_ format: String) throws {
        // The white of narrow range.
        let white = Data("P6 64 64 255\n".utf8) + Data(repeating: 235, count: 3 * 64 * 64)
        try white.write(to: URL(fileURLWithPath: path("white.ppm")))
        let convert = ["-v", "error", "-y", "-i", path("white.ppm"), "-pix_fmt", format, path("in.png")]
        try Programs.tool("ffmpeg", convert)
        var file = try Data(contentsOf: URL(fileURLWithPath: path("in.png")))
        let chunk: [UInt8] = [0, 0, 0, 4] + Array("cICP".utf8) + [1, 13, 0, 0, 0, 0, 0, 0]
        file.insert(contentsOf: chunk, at: 33)
        try file.write(to: URL(fileURLWithPath: path("in.png")))
        try hwctl("encode", path("in.png"), path("out.heic"))
        try hwctl("decode", path("out.heic"), path("out.png"))
        let show = ["-v", "error", "-i", path("out.png"), "-f", "rawvideo", "-pix_fmt", "gray", "-"]
        let samples = try Programs.tool("ffmpeg", show).output
        #expect(samples.count == 64 * 64 && samples.allSatisfy { $0 >= 252 })
    }

    @Test("A file may have the name of a pattern")
    func patternOfOneFile() throws {
        try hwctl("encode", try picture("a.png", size: "64x64"), path("out.heic"))
        try FileManager.default.moveItem(atPath: path("a.png"), toPath: path("a%d.png"))
        try hwctl("encode", path("a%d.png"), path("out.heic"))
        try hwctl("encode", path("a%d.png"), path("out.mov"))
    }
}
