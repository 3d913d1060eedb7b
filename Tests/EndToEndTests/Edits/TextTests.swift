// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import Testing

extension EndToEndFaults {
    /// Subtitles of encoded and copied files, checked by ffprobe and ffmpeg.
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
            "Text becomes the output's form, at the same times",
            arguments: sampled(pairs(["subrip", "ass", "webvtt"], ["mov", "mp4"]), oneIn: 5))
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

        /// The time and the duration of each packet of timed metadata, by ffprobe, and a digest of its contents.
        private func metadata(_ file: String) throws -> [(time: Double, duration: Double, digest: Substring)] {
            try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "d:0", "-show_data_hash", "md5", "-show_entries",
                    "packet=pts_time,duration_time,data_hash", "-of", "csv=p=0", file,
                ]
            ).text.split(separator: "\n").compactMap { line in
                let fields = line.split(separator: ",")
                guard fields.count >= 3, let time = Double(fields[0]), let duration = Double(fields[1]) else {
                    return nil
                }
                return (time, duration, fields[2])
            }
        }

        /// A camera's clip, four times in a row, so that timed metadata have several packets.
        private func makeMetadata() throws -> String {
            let (clip, looped, target) = (
                Clips.fixture("dolby_vision_84.mov").path, path("looped.mov"), path("in.mov")
            )
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-stream_loop", "3", "-i", clip, "-map", "0:v:0", "-map", "0:d", "-c", "copy",
                    "-copy_unknown", "-c:v", "libx264", "-vf", "scale=160:-2", "-pix_fmt", "yuv420p", "-r", "30",
                    looped,
                ])
            // ffmpeg writes no sample entry and no handler for streams that it does not know.
            let script = """
                import struct, sys
                def boxes(data):
                    place = 0
                    while place < len(data):
                        size, kind = struct.unpack('>I4s', data[place:place + 8])
                        yield kind, data[place + 8:place + size]
                        place += size
                nested = (b'moov', b'trak', b'mdia', b'minf', b'stbl')
                def entries(data):
                    for kind, body in boxes(data):
                        if kind in nested: yield from entries(body)
                        elif kind == b'stsd' and body[12:16] == b'mebx': yield body
                known = entries(open(sys.argv[1], 'rb').read())
                def mended(data):
                    result = b''
                    for kind, body in boxes(data):
                        if kind in nested: body = mended(body)
                        elif kind == b'stsd' and len(body) == 8: body = next(known)
                        elif kind == b'hdlr': body = body.replace(b'mhlrurl ', b'mhlrmeta')
                        result += struct.pack('>I4s', len(body) + 8, kind) + body
                    return result
                open(sys.argv[3], 'wb').write(mended(open(sys.argv[2], 'rb').read()))
                """
            try Programs.tool("python3", ["-c", script, clip, looped, target])
            return target
        }

        @Test("Timed metadata of a part are those of its pictures", arguments: ["mov", "mp4"])
        func timedMetadataOfPart(_ ending: String) throws {
            let (input, output) = (try makeMetadata(), path("out.\(ending)"))
            let (start, end) = (0.2, 0.55)
            try hwctl("encode", "--preset", "ultrafast", "--start", "\(start)", "--end", "\(end)", input, output)
            let pictures = try Probe(input).frameTimes().compactMap { $0 }
            let origin = try #require(pictures.first { $0 >= start - 0.0006 })
            let old = try metadata(input)
            let expected = old.filter { $0.time < end && $0.time + $0.duration > origin + 0.0006 }
            try #require(old.count == 4 && expected.count == 3, "\(old)")
            let new = try metadata(output)
            #expect(new.map(\.digest) == expected.map(\.digest))
            for (packet, source) in zip(new, expected) {
                #expect(abs(packet.time - max(0, source.time - origin)) < 0.0012, "\(packet) of \(source)")
                let stop = min(source.time + source.duration, end) - origin
                #expect(abs(packet.time + packet.duration - stop) < 0.0012, "\(packet) of \(source)")
            }
        }
    }
}
