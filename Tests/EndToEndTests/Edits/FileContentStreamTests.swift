// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import Testing

@testable import hwctl_media

extension EndToEndFaults.FileContents {
    @Test("Several frames of speech in a sample are all kept", arguments: ["mov", "mp4"])
    func speech(_ ending: String) throws {
        let input = try AMRClip.make(pictures: clip("pictures.mp4"), framesOfSample: 5, in: path("in.3gp"))
        try encode(input, path("out.\(ending)"))
        let duration = try #require(Double(probe("out.\(ending)", "a", "stream=duration").first ?? ""))
        #expect(abs(duration - 3) < 0.05)
    }

    @Test("Sound that overlaps where files were joined is cut once, with a line")
    func seam() throws {
        for (number, frequency) in [(1, 300), (2, 600)] {
            _ = try clip(
                "\(number).ts", "-f", "lavfi", "-i", "sine=\(frequency):duration=1.2:sample_rate=44100", "-c:a",
                "aac")
        }
        let joined = try ["1.ts", "2.ts"].map { try Data(contentsOf: URL(filePath: path($0))) }.reduce(
            Data(), +)
        try joined.write(to: URL(filePath: path("in.ts")))
        try hwctl("encode", "--preset", "ultrafast", path("in.ts"), path("out.mov"))
        let durations = try probe("out.mov", "a", "stream=duration").compactMap(Double.init)
        #expect(durations.count == 1 && durations.allSatisfy { (1.9...2.5).contains($0) }, "\(durations)")
    }

    @Test("A transport stream whose PIDs change keeps its first program, and the rest is named")
    func changedPIDs() throws {
        for number in 1...2 {
            _ = try clip(
                "\(number).ts", "-f", "lavfi", "-i", "sine=300:duration=1", "-c:a", "aac", "-mpegts_start_pid",
                "\(number * 256)")
        }
        let joined = try ["1.ts", "2.ts"].map { try Data(contentsOf: URL(filePath: path($0))) }.reduce(
            Data(), +)
        try joined.write(to: URL(filePath: path("in.ts")))
        let run = try hwctl("encode", "--preset", "ultrafast", path("in.ts"), path("out.mov"))
        #expect(run.errors.contains("stream 2 (video, h264) is not copied"), "\(run.errors)")
        #expect(try probe("out.mov", "v", "stream=nb_frames") == ["25"])
        #expect(try Probe(path("out.mov")).audioCodecs() == ["aac"])
    }

    @Test("TTA, which libavformat writes damaged, is converted without loss")
    func trueAudio() throws {
        let input = try clip(
            "in.mkv", "-f", "lavfi", "-i", "sine=440:duration=1:sample_rate=48000", "-c:a", "tta")
        try hwctl("encode", "--preset", "ultrafast", input, path("out.mkv"))
        func samples(_ name: String) throws -> [UInt8] {
            try Programs.tool("ffmpeg", ["-v", "error", "-i", path(name), "-map", "0:a", "-f", "s16le", "-"])
                .output
        }
        #expect(try samples("out.mkv") == samples("in.mkv"))
    }

    @Test(
        "AAC whose speakers only a program configuration element describes keeps its sound",
        arguments: ["stereo", "2.1"], ["mp4", "mkv"])
    func describedSpeakers(_ layout: String, _ ending: String) throws {
        let input = try clip(
            "in.ts", "-f", "lavfi", "-i", "anoisesrc=d=1:r=48000", "-af", "aformat=channel_layouts=\(layout)",
            "-c:a",
            "aac", "-aac_pce", "1")
        let run = try encode(input, path("out.\(ending)"))
        #expect(!run.errors.contains("other channels"), "\(run.errors)")
        func samples(_ name: String) throws -> [UInt8] {
            try Programs.tool("ffmpeg", ["-v", "error", "-i", path(name), "-map", "0:a", "-f", "s16le", "-"])
                .output
        }
        let (before, after) = (try samples("in.ts"), try samples("out.\(ending)"))
        #expect(before.count > 90_000 && after == before, "\(before.count) and \(after.count) bytes")
    }

    @Test("AAC with such speakers is converted in Matroska on standard output, whose header comes first")
    func describedSpeakersInAPipe() throws {
        let input = try clip(
            "in.ts", "-f", "lavfi", "-i", "anoisesrc=d=1:r=48000", "-af", "aformat=channel_layouts=2.1", "-c:a",
            "aac", "-aac_pce", "1")
        let run = try hwctl("encode", "--preset", "ultrafast", input, "-", "--to", "matroska")
        try Data(run.output).write(to: URL(filePath: path("piped.mkv")))
        #expect(run.errors.contains("is converted to AAC"), "\(run.errors)")
        #expect(try Probe(path("piped.mkv")).audioCodecs() == ["aac"])
        #expect(try probe("piped.mkv", "a", "stream=channels") == ["3"])
        #expect(try probe("piped.mkv", "v", "stream=codec_name") == ["hevc"])
    }

    @Test("Pictures that are single fields are named as such")
    func codedFields() throws {
        try Programs.tool(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=128x128:rate=50:duration=0.4", "-vf",
                "interlace=scan=tff,separatefields", "-pix_fmt", "yuv420p", "-c:v", "libx265", "-x265-params",
                "interlace=1:log-level=none", path("in.hevc"),
            ])
        let run = try hwctl("encode", "--preset", "ultrafast", path("in.hevc"), path("out.mov"))
        #expect(run.errors.contains("each picture of the source is one field"), "\(run.errors)")
    }

    @Test("A start within an open group of pictures is no damage")
    func openGroup() throws {
        let input = try clip(
            "in.mp4", "-x264-params", "keyint=10:open-gop=1:bframes=3:scenecut=0")
        let run = try hwctl("encode", "--preset", "ultrafast", "--start", "0.5", input, path("out.mov"))
        #expect(!run.errors.contains("damaged"), "\(run.errors)")
        #expect(try probe("out.mov", "v", "stream=nb_frames") == ["12"])
    }

    @Test("The telemetry of an action camera is kept in movies and named elsewhere")
    func telemetry() throws {
        let input = try clip("in.mov", "-metadata", "timecode=00:00:00:00")
        // The timecode's track becomes one of another maker's.
        for (old, new) in [("tmcd", "gpmd")] {
            let url = URL(filePath: input)
            var bytes = try Data(contentsOf: url)
            let places = bytes.ranges(of: Data(old.utf8))
            // The sample entry's alone: its type is behind the box "stsd", its version, flags, count and size.
            let entry = try #require(bytes.ranges(of: Data("stsd".utf8)).last?.upperBound.advanced(by: 12))
            #expect(places.contains { $0.lowerBound == entry })
            bytes.replaceSubrange(entry..<entry + 4, with: Data(new.utf8))
            let handler = try #require(bytes.range(of: Data("mhlrtmcd".utf8)))
            bytes.replaceSubrange(handler, with: Data("mhlrmeta".utf8))
            try bytes.write(to: url)
        }
        try hwctl("encode", "--preset", "ultrafast", input, path("out.mov"))
        #expect(try probe("out.mov", "d", "stream=codec_tag_string") == ["gpmd"])
        let run = try hwctl("encode", "--preset", "ultrafast", input, path("out.mkv"))
        #expect(run.errors.contains("stream 1 (data, gpmd) is not copied"), "\(run.errors)")
    }
}

/// A .3gp as old phones write it: AMR sound with several frames in each sample (3GPP TS 26.244 6.7).
private enum AMRClip {
    static func make(pictures: String, framesOfSample count: Int, in path: String) throws -> String {
        let bytes = try [UInt8](Data(contentsOf: URL(filePath: pictures)))
        var (list, rest, tree) = (BoxList(bytes[...]), [UInt8](), Box?.none)
        while let (header, body) = try list.next() {
            if header.type == "moov" {
                tree = try Box.parse(Box("moov", Array(body)).bytes[...]).first
            } else {
                rest += Box(header.type, Array(body)).bytes
            }
        }
        var movie = try #require(tree)
        let frame: [UInt8] = [0x3C] + (0..<31).map { UInt8($0 * 37 & 255) }
        let (total, samples) = (150, 150 / count)
        let sound = [UInt8]((0..<total).map { _ in frame }.joined())
        func words(_ numbers: [UInt32]) -> [UInt8] { numbers.flatMap { [UInt8](bigEndian: [$0]) } }
        func full(_ type: FourCC, _ numbers: [UInt32], flags: UInt32 = 0) -> Box {
            Box(type, words([flags] + numbers))
        }
        let damr = Box("damr", Array("FFMP".utf8) + [0, 0x81, 0xFF, 0, UInt8(count)])
        let entry = Box("samr", words([0, 1, 0, 0, 0x0002_0010, 0, 8000 << 16]) + damr.bytes)
        let description = Box("stsd", words([0, 1]) + entry.bytes)
        let chunk = UInt32(rest.count + 8)
        let table = [
            description, full("stts", [1, UInt32(samples), UInt32(160 * count)]),
            full("stsc", [1, 1, UInt32(samples), 1]), full("stsz", [UInt32(frame.count * count), UInt32(samples)]),
            full("stco", [1, chunk]),
        ]
        let data = Box("dinf", Box("dref", words([0, 1]) + full("url ", [], flags: 1).bytes).bytes)
        let information = Box(
            "minf", full("smhd", [0]).bytes + data.bytes + Box("stbl", table.flatMap(\.bytes)).bytes)
        let handler = Box("hdlr", words([0, 0]) + Array("soun".utf8) + words([0, 0, 0]) + [0])
        let media = Box(
            "mdia",
            full("mdhd", [0, 0, 8000, UInt32(total * 160), 0x55C4_0000]).bytes + handler.bytes + information.bytes)
        let header = full(
            "tkhd", [0, 0, 2, 0, 3000, 0, 0, 0, 0x0100_0000, 65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30, 0, 0],
            flags: 3)
        movie.children.append(Box("trak", header.bytes + media.bytes))
        try Data(rest + Box("mdat", sound).bytes + movie.bytes).write(to: URL(filePath: path))
        return path
    }
}
