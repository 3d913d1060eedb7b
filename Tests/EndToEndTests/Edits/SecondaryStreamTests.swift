// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// Streams beside the video that cannot be held as they are never end an encode; checked by ffprobe and ffmpeg.
    @Suite struct SecondaryStreams: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        /// Runs ffmpeg with a second of pictures as its first input.
        private func clip(_ name: String, _ arguments: String...) throws -> String {
            let pictures = ["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=1"]
            let codec = ["-c:v", "libx264", "-preset", "ultrafast"]
            try Programs.tool("ffmpeg", pictures + arguments + codec + [path(name)])
            return path(name)
        }

        /// A field of the streams of a file, in their order.
        private func fields(_ name: String, _ selection: String, _ field: String) throws -> [String] {
            let text = try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", selection, "-show_entries", "stream=\(field)", "-of",
                    "default=noprint_wrappers=1:nokey=1", path(name),
                ]
            ).text
            return text.split(separator: "\n").map(String.init)
        }

        @Test("A codec that nothing decodes is left out beside other sound, and is an error alone")
        func unknownCodec() throws {
            let sound = ["-f", "lavfi", "-i", "sine=440:duration=1"]
            let both = try clip(
                "in.mov", sound[0], sound[1], sound[2], sound[3], "-f", "lavfi", "-i", "sine=550:duration=1",
                "-map",
                "0", "-map", "1", "-map", "2", "-c:a:0", "aac", "-c:a:1", "pcm_s16le")
            var bytes = try Data(contentsOf: URL(filePath: both))
            let code = try #require(bytes.range(of: Data("sowt".utf8), options: .backwards))
            bytes.replaceSubrange(code, with: Data("apac".utf8))
            try bytes.write(to: URL(filePath: both))
            for ending in ["mov", "mkv"] {
                let run = try hwctl("encode", "--preset", "ultrafast", both, path("out.\(ending)"))
                #expect(run.errors.contains("stream 2 (audio, apac) is not copied"), "\(run.errors)")
                #expect(try Probe(path("out.\(ending)")).audioCodecs() == ["aac"])
            }
            let alone = try hwctl(
                "encode", "--preset", "ultrafast", "--audio-track", "2", both, path("none.mov"), status: 65)
            #expect(alone.errors.contains("the sound would be lost"))
            #expect(!FileManager.default.fileExists(atPath: path("none.mov")))
        }

        @Test(
            "Channels at other positions are converted unmixed",
            arguments: [("FL", "mono"), ("BR", "mono"), ("downmix", "stereo")])
        func positions(_ layout: String, _ expected: String) throws {
            let input = try clip(
                "in.mov", "-f", "lavfi", "-i", "sine=440:duration=1:sample_rate=48000", "-af",
                "aformat=channel_layouts=\(layout)", "-c:a", "pcm_s16le")
            try hwctl("encode", "--preset", "ultrafast", input, path("out.mp4"))
            #expect(try fields("out.mp4", "a", "channel_layout") == [expected])
            func samples(_ file: String) throws -> [UInt8] {
                try Programs.tool("ffmpeg", ["-v", "error", "-i", file, "-map", "0:a", "-f", "s16le", "-"]).output
            }
            // ALAC loses nothing.
            #expect(try samples(path("out.mp4")) == samples(input))
        }

        @Test("Opus whose channels MPEG-TS has no number for becomes AAC")
        func opusInTransportStream() throws {
            let input = try clip(
                "in.mkv", "-f", "lavfi", "-i", "sine=440:duration=1:sample_rate=48000", "-af",
                "aformat=channel_layouts=6.1", "-c:a", "libopus")
            try hwctl("encode", "--preset", "ultrafast", input, path("out.ts"))
            #expect(try Set(fields("out.ts", "a", "codec_name,channels")) == ["aac", "7"])
            let decoding = try Programs.tool("ffmpeg", ["-v", "error", "-i", path("out.ts"), "-f", "null", "-"])
            #expect(decoding.errors.isEmpty)
        }

        @Test("Sound is that of the video's program")
        func programs() throws {
            for number in 1...2 {
                _ = try clip("\(number).ts", "-f", "lavfi", "-i", "sine=\(number * 300):duration=1", "-c:a", "aac")
            }
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", path("1.ts"), "-i", path("2.ts"), "-map", "0", "-map", "1", "-c", "copy",
                    "-program", "title=One:st=0:st=1", "-program", "title=Two:st=2:st=3", path("in.ts"),
                ])
            let run = try hwctl("encode", "--preset", "ultrafast", path("in.ts"), path("out.mov"))
            #expect(run.errors.contains("stream 3 (audio, aac) is not copied: it belongs to another program"))
            #expect(try Probe(path("out.mov")).audioCodecs() == ["aac"])
        }

        @Test("Encrypted video is refused as such")
        func encrypted() throws {
            let key = "76a6c65c5ea762046bd749a2e632ccbb"
            let input = try clip(
                "in.mp4", "-encryption_scheme", "cenc-aes-ctr", "-encryption_key", key, "-encryption_kid", key)
            for options in [["--copy"], []] {
                let run = try Programs.hwctl(
                    ["encode"] + options + [input, path("out.mov")], socket: server.socket)
                #expect(run.status == 65)
                #expect(run.errors.contains("its video is encrypted"), "\(run.errors)")
            }
            #expect(!FileManager.default.fileExists(atPath: path("out.mov")))
        }

        @Test("Opus keeps its times from pass to pass in Matroska")
        func opusDelay() throws {
            let input = try clip(
                "in.mkv", "-f", "lavfi", "-i", "sine=440:duration=1:sample_rate=48000", "-c:a", "libopus")
            try hwctl("encode", "--preset", "ultrafast", input, path("1.mkv"))
            try hwctl("encode", "--copy", path("1.mkv"), path("2.mkv"))
            let starts = try ["in.mkv", "1.mkv", "2.mkv"].map { try fields($0, "a", "start_time") }
            #expect(starts[0] == starts[1] && starts[1] == starts[2], "\(starts)")
        }

        @Test("Overlapping subtitles keep their times as timed text, and drawings are left out")
        func overlappingText() throws {
            let script = """
                [Script Info]
                ScriptType: v4.00+
                [V4+ Styles]
                Format: Name, Fontname, Fontsize
                Style: Default,Arial,20
                [Events]
                Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
                Dialogue: 0,0:00:00.10,0:00:00.50,Default,,0,0,0,,first
                Dialogue: 0,0:00:00.30,0:00:00.80,Default,,0,0,0,,second
                Dialogue: 0,0:00:00.40,0:00:00.60,Default,,0,0,0,,{\\p1}m 0 0 l 100 0 100 100{\\p0}

                """
            try Data(script.utf8).write(to: URL(filePath: path("in.ass")))
            let input = try clip("in.mkv", "-i", path("in.ass"), "-map", "0", "-map", "1", "-c:s", "copy")
            let run = try hwctl("encode", "--preset", "ultrafast", input, path("out.mov"))
            #expect(run.errors.contains("drawings in 1 cue"), "\(run.errors)")
            let text = try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", path("out.mov"), "-map", "0:s", "-f", "srt", "-"]
            ).text.replacing(#/<[^>]*>/#, with: "").replacing("\r\n", with: "\n")
            let cues = text.split(separator: "\n\n").map { cue in
                cue.split(separator: "\n").dropFirst().joined(separator: "|")
            }
            #expect(
                cues == [
                    "00:00:00,100 --> 00:00:00,300|first", "00:00:00,300 --> 00:00:00,500|first|second",
                    "00:00:00,500 --> 00:00:00,800|second",
                ], "\(text)")
        }

        @Test("Chapters keep their times, and lengthen no movie", arguments: ["mov", "mp4"])
        func chapters(_ ending: String) throws {
            let list = """
                ;FFMETADATA1
                [CHAPTER]
                TIMEBASE=1/1000
                START=200
                END=400
                title=First
                [CHAPTER]
                TIMEBASE=1/1000
                START=400
                END=20000
                title=Last

                """
            try Data(list.utf8).write(to: URL(filePath: path("list.txt")))
            let input = try clip("in.mkv", "-i", path("list.txt"), "-map", "0", "-map_chapters", "1")
            let output = path("out.\(ending)")
            try hwctl("encode", "--preset", "ultrafast", input, output)
            let answer = try Programs.tool(
                "ffprobe", ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", output]
            ).text
            #expect(Double(answer.trimmingCharacters(in: .newlines)) == 1)
            let receipt = try ReceiptDocument(input, output, socket: server.socket)
            #expect(try receipt.item("chapters").verdict == "kept")
        }

        @Test("A change of look by added tags is a loss")
        func addedTags() throws {
            let input = try clip("in.mkv", "-an")
            try hwctl("encode", "--preset", "ultrafast", input, path("out.mov"))
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", path("out.mov"), "-c", "copy", "-bsf:v",
                    "hevc_metadata=colour_primaries=9:transfer_characteristics=16:matrix_coefficients=9",
                    path("tagged.mov"),
                ])
            let receipt = try ReceiptDocument(input, path("tagged.mov"), socket: server.socket)
            #expect(receipt.lost.contains("color"))
        }
    }
}
