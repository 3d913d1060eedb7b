// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import Testing

extension EndToEndFaults {
    /// Unusual files: byte streams, truncated movies, implausible times.
    @Suite struct OddFiles {
        private let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private func path(_ name: String) -> String { server.folder.path(name) }

        private func hwctl(_ arguments: String...) throws -> Finished {
            try Programs.hwctl(arguments, socket: server.socket)
        }

        private func run(_ arguments: String...) throws {
            let run = try Programs.hwctl(arguments, socket: server.socket)
            try #require(run.status == 0, "\(arguments): \(run.errors)")
        }

        private func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }

        private func info(_ name: String) throws -> [String: Any] {
            let run = try hwctl("info", "--json", "--no-measure", path(name))
            try #require(run.status == 0, "\(run.errors)")
            let object = try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any]
            return try #require((object?["video"] as? [[String: Any]])?.first)
        }

        private func test(_ name: String, _ size: String = "320x180", frames: Int, rate: Int = 25) throws {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc=size=\(size):rate=\(rate)", "-frames:v",
                    "\(frames)",
                    "-c:v", "ffv1", path(name),
                ])
        }

        /// A byte stream's parameter sets do not hold the alpha mode; an SEI message before the first picture does.
        @Test func straightAlphaStaysStraightInByteStreams() throws {
            let source = try Alpha.clip(server.folder, "mask.mov", ["-c:v", "qtrle", "-pix_fmt", "argb"])
            for name in ["first.mov", "first.hevc"] { try run("encode", "--alpha", "straight", source, path(name)) }
            try Programs.tool("ffmpeg", ["-v", "error", "-i", path("first.mov"), "-c", "copy", path("first.ts")])
            for (name, again) in [("first.mov", "a"), ("first.hevc", "b"), ("first.ts", "c")] {
                try run("encode", "--alpha", "straight", path(name), path("\(again).mov"))
                let decoded = try hwctl("decode", "--format", "yuva", path("\(again).mov"), path("\(again).yuv"))
                #expect(decoded.status == 0 && !decoded.errors.contains("warning"), "\(name): \(decoded.errors)")
                #expect(try bytes("\(again).yuv") == bytes("a.yuv"), "\(name)")
            }
            let raw = try info("first.hevc")
            #expect(raw["alpha_mode"] as? String == "straight" && raw["follows_alpha_profile"] as? Bool == true)
            // No warning where nothing is wrong.
            let decoded = try hwctl("decode", "--format", "yuva", path("first.hevc"), path("raw.yuv"))
            #expect(decoded.status == 0 && !decoded.errors.contains("warning"), "\(decoded.errors)")
        }

        /// Above level 4.1, H.265 has no coding tree blocks of 16 samples (A.4.1).
        @Test(arguments: sampled(["8192x16", "5000x16", "4216x16", "16x5000", "4222x2", "4208x16"], oneIn: 2))
        func thinPicturesArePadded(_ size: String) throws {
            try test("thin.mkv", size, frames: 3)
            try run("encode", "--hardware", "off", "--preset", "ultrafast", path("thin.mkv"), path("out.mov"))
            let probe = Probe(path("out.mov"))
            #expect(try "\(probe.size.width)x\(probe.size.height)" == size)
            #expect(try probe.frameTimes().count == 3 && probe.decodingMessages() == "")
            #expect(try psnr(["-i", path("out.mov")], ["-i", path("thin.mkv")], as: "yuv420p") >= 20)
        }

        /// Without times, a level's rate follows from the number of its pictures, even in short streams.
        @Test(arguments: [17, 33, 97]) func levelsOfByteStreamsHaveTheirRates(frames: Int) throws {
            try test("clip.mkv", "96x64", frames: frames, rate: 240)
            try run("encode", "--base-layer-frame-rate", "30", path("clip.mkv"), path("levels.hevc"))
            let levels = try info("levels.hevc")["temporal_levels"] as? [[String: Any]] ?? []
            #expect(levels.map { $0["frame_rate"] as? String } == ["30/1", "60/1", "120/1", "240/1"])
            try run("encode", "--max-level", "1", path("levels.hevc"), path("cut.mov"))
            let rate = try Programs.tool(
                "ffprobe",
                ["-v", "error", "-show_entries", "stream=avg_frame_rate", "-of", "csv=p=0", path("cut.mov")])
            #expect(rate.text.contains("60/1"))
        }

        /// Bytes after the last box are ignored.
        @Test func bytesAfterTheLastBoxAreIgnored() throws {
            try test("odd.mkv", "97x55", frames: 3)
            try run("encode", path("odd.mkv"), path("odd.mov"))
            var file = try bytes("odd.mov")
            file.append(contentsOf: [0, 0, 0, 0] + Array("garbage".utf8))
            try file.write(to: URL(fileURLWithPath: path("tail.mov")))
            let decoded = try hwctl("decode", "--json", path("tail.mov"), path("tail.yuv"))
            let summary = try JSONSerialization.jsonObject(with: Data(decoded.output)) as? [String: Any]
            #expect(summary?["width"] as? Int == 97 && summary?["height"] as? Int == 55)
            #expect(try bytes("tail.yuv").count == 3 * (97 * 55 + 2 * 49 * 28))
        }

        /// Of a movie that ends within a picture, whole pictures are kept on request.
        @Test func tornMoviesKeepWholePictures() throws {
            try test("clip.mkv", frames: 33, rate: 240)
            try run(
                "encode", "--base-layer-frame-rate", "30", path("clip.mkv"), path("whole.mov"))
            let file = try bytes("whole.mov")
            try file.prefix(file.count * 19 / 20).write(to: URL(fileURLWithPath: path("torn.mov")))
            for level in ["0", "1", "2", "6"] {
                let run = try hwctl(
                    "encode", "--copy", "--keep-partial", "--max-level", level, path("torn.mov"), path("kept.mov"))
                #expect(run.status == 65 && run.errors.contains("ends early"), "\(run.errors)")
                let silent = try Programs.tool(
                    "ffmpeg", ["-v", "warning", "-i", path("kept.mov"), "-f", "null", "-"])
                #expect(silent.errors.isEmpty, "\(level): \(silent.errors)")
            }
            // --keep-partial keeps the files written before the end.
            #expect(try hwctl("decode", "--keep-partial", path("torn.mov"), path("kept-%04d.png")).status == 65)
            #expect(FileManager.default.fileExists(atPath: path("kept-0001.png")))
            #expect(try hwctl("decode", path("torn.mov"), path("still-%04d.png")).status == 65)
            let left = try FileManager.default.contentsOfDirectory(atPath: server.folder.root)
            #expect(!left.contains { $0.hasPrefix("still-") }, "\(left)")
        }

        /// Negative composition offsets: new decoding times are computed.
        @Test func negativeCompositionOffsetsCanBeCopied() throws {
            let clip = Clips.fixture("dolby_vision_84.mov")
            try run("encode", "--copy", clip.path, path("copy.mov"))
            // Standard output cannot be rewritten once the offsets are found.
            let stream = try hwctl("encode", "--copy", clip.path, "-")
            #expect(stream.status == 0)
            try Data(stream.output).write(to: URL(fileURLWithPath: path("copy.hevc")))
            let packets = try Programs.tool(
                "ffprobe", ["-v", "error", "-show_entries", "packet=size", "-of", "csv=p=0", path("copy.hevc")])
            #expect(packets.text.split(separator: "\n").count == 5)
            func hashes(_ path: String) throws -> [Substring] {
                let list = try Programs.tool(
                    "ffmpeg", ["-v", "error", "-i", path, "-map", "0:v", "-f", "framemd5", "-"])
                return list.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
                    .compactMap { $0.split(separator: ",").last }
            }
            let (before, after) = (try hashes(clip.path), try hashes(path("copy.mov")))
            // The edit list, 64/600 s, ends before the fifth picture, which is copied and not shown.
            #expect(after == before && after.count == 4)
            let duration = try Programs.tool(
                "ffprobe",
                ["-v", "error", "-select_streams", "v", "-count_packets", "-show_entries"]
                    + ["stream=nb_read_packets,duration", "-of", "csv=p=0", path("copy.mov")])
            #expect(duration.text.hasPrefix("0.106667,5"), "\(duration.text)")
        }

        /// A chapter that spans all representable times.
        @Test func chaptersOfAllTimeAreLeftOut() throws {
            try test("clip.mkv", frames: 3)
            let text =
                ";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000000000\nSTART=72057594037927937\nEND=9223372036854774807\n"
            try text.write(toFile: path("chapters.txt"), atomically: true, encoding: .utf8)
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", path("clip.mkv"), "-i", path("chapters.txt"), "-map_chapters", "1", "-map",
                    "0:v",
                    "-c", "copy", path("chapters.mkv"),
                ])
            var file = try bytes("chapters.mkv")
            func chapters(_ name: String) throws -> Int {
                try Programs.tool("ffprobe", ["-v", "error", "-show_chapters", path(name)]).text
                    .split(separator: "\n").count { $0 == "[CHAPTER]" }
            }
            // ChapterTimeStart (0x91) of 8 bytes: unsigned in the file, signed in libavformat.
            let start = try #require(file.firstRange(of: Data([0x91, 0x88, 0x01])))
            file[start.lowerBound + 2] = 0x80
            try file.write(to: URL(fileURLWithPath: path("hostile.mkv")))
            #expect(try chapters("hostile.mkv") == 1, "ffmpeg passes it on")
            try run("encode", path("hostile.mkv"), path("out.mp4"))
            #expect(try chapters("out.mp4") == 0)
        }

        @Test func negativeValuesNeedNoEqualsSign() throws {
            let wrong = try hwctl("encode", "--qp", "-1", path("clip.mkv"), path("out.mov"))
            #expect(wrong.status != 0 && !wrong.errors.contains("Missing value"), "\(wrong.errors)")
            try Data(count: 6).write(to: URL(fileURLWithPath: path("grey.yuv")))
            try run(
                "convert", "--exposure", "-1", path("grey.yuv"), path("grey.rgb"), "--size", "2x2", "--from",
                "nv12", "--to",
                "bgra8")
        }
    }
}
