// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// Subtitles of encoded and copied files, judged by ffprobe and ffmpeg.
    @Suite struct TextOfFiles: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        static let cues = [
            (0.2, 0.7, "First <i>line</i>", "First line"), (0.9, 1.4, "Zwei\nZeilen", "Zwei\nZeilen"),
            (1.5, 1.9, "日本語 & more", "日本語 & more"),
        ]

        /// Two seconds of HEVC with cues in a codec of ffmpeg's.
        func clip(_ codec: String) throws -> String {
            func time(_ seconds: Double) -> String { "00:00:0\(Int(seconds)),\(Int(seconds * 1000 + 0.5) % 1000)" }
            let text = Self.cues.enumerated().map { number, cue in
                "\(number + 1)\n\(time(cue.0)) --> \(time(cue.1))\n\(cue.2)\n"
            }.joined(separator: "\n")
            try Data(text.utf8).write(to: URL(fileURLWithPath: path("in.srt")))
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=2", "-i",
                    path("in.srt"),
                    "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-c:s", codec,
                    "-metadata:s:s:0", "language=deu", path("in.mkv"),
                ])
            return path("in.mkv")
        }

        /// The cues of a file as ffmpeg writes them as SubRip, without markup.
        func texts(_ file: String) throws -> [String] {
            try Programs.tool("ffmpeg", ["-v", "error", "-i", file, "-map", "0:s", "-f", "srt", "-"]).text
                .replacing(#/<[^>]*>/#, with: "").split(separator: "\n\n").map {
                    String($0).trimmingCharacters(in: .newlines)
                }
        }

        @Test(
            "Text becomes the output's form, at the same times", arguments: ["subrip", "ass", "webvtt"],
            ["mov", "mp4"])
        func converted(_ codec: String, _ ending: String) throws {
            let input = try clip(codec)
            for options in [["--copy"], ["--preset", "ultrafast"]] {
                let run = try Programs.hwctl(
                    ["encode"] + options + [input, path("out.\(ending)")], socket: server.socket)
                try #require(run.status == 0, "\(run.errors)")
                #expect(
                    run.errors.contains(
                        "(subtitle, \(codec)) is converted to mov_text, without positions and fonts"))
                let fields = try Programs.tool(
                    "ffprobe",
                    [
                        "-v", "error", "-select_streams", "s", "-show_entries",
                        "stream=codec_name,codec_tag_string:stream_tags=language", "-of", "csv=p=0",
                        path("out.\(ending)"),
                    ]
                ).text.split(separator: "\n")
                #expect(fields == ["mov_text,tx3g,deu"])
                #expect(try texts(path("out.\(ending)")) == texts(input))
                #expect(try texts(input).count == Self.cues.count)
            }
        }

        @Test("mov_text becomes SubRip in Matroska")
        func back() throws {
            try hwctl("encode", "--copy", try clip("subrip"), path("out.mov"))
            let run = try hwctl("encode", "--copy", path("out.mov"), path("out.mkv"))
            #expect(run.errors.contains("(subtitle, mov_text) is converted to subrip"))
            #expect(try texts(path("out.mkv")) == texts(path("in.mkv")))
        }

        @Test("--subtitle none and copy leave text out, with a note")
        func leftOut() throws {
            let input = try clip("subrip")
            let none = try hwctl("encode", "--copy", "--subtitle", "none", input, path("out.mkv"))
            #expect(none.errors.contains("stream 1 (subtitle, subrip) is not copied: --subtitle none was given"))
            let copy = try hwctl("encode", "--copy", "--subtitle", "copy", input, path("out.mov"))
            #expect(copy.errors.contains("stream 1 (subtitle, subrip) is not copied: .mov cannot hold subrip"))
            try hwctl("encode", "--copy", "--subtitle", "copy", input, path("copy.mkv"))
            #expect(try texts(path("copy.mkv")) == texts(input))
            #expect(try texts(path("copy.mkv")).first == "1\n00:00:00,200 --> 00:00:00,700\nFirst line")
        }

        @Test("A part in time has its own cues")
        func part() throws {
            try hwctl("encode", "--preset", "ultrafast", "--start", "0.8", try clip("ass"), path("out.mov"))
            let texts = try self.texts(path("out.mov"))
            #expect(texts.count == 2 && texts.first?.contains("00:00:00,100 --> 00:00:00,600") == true, "\(texts)")
        }

        @Test(
            "A camera's timed metadata are kept", arguments: [["--copy"], ["--preset", "ultrafast"]],
            ["mov", "mp4"])
        func timedMetadata(_ options: [String], _ ending: String) throws {
            func packets(_ file: String) throws -> [Substring] {
                try Programs.tool(
                    "ffprobe",
                    [
                        "-v", "error", "-select_streams", "d", "-show_data_hash", "md5", "-show_entries",
                        "packet=stream_index,pts_time,data_hash:stream=codec_tag_string,codec_name", "-of", "csv",
                        file,
                    ]
                ).text.split(separator: "\n")
            }
            let (input, output) = (Clips.fixture("dolby_vision_84.mov").path, path("out.\(ending)"))
            let run = try Programs.hwctl(["encode"] + options + [input, output], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            #expect(!run.errors.contains("is not copied"))
            let old = try packets(input)
            #expect(old.contains { $0.contains("mebx") } && old.contains { $0.hasPrefix("packet") })
            #expect(try packets(output).sorted() == old.sorted())
            #expect(try Probe(output).decodingMessages() == "")
        }
    }
}
