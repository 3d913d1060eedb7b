// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// Each line of docs/cookbook.md is run, and what it writes is checked by ffprobe and ffmpeg.
    @Suite struct Cookbook {
        private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        private static let page = root.appendingPathComponent("docs/cookbook.md")

        /// The lines of a page's blocks, without comments.
        static func lines(of page: URL = page) throws -> [String] {
            var (lines, isBlock) = ([String](), false)
            for line in try String(contentsOf: page, encoding: .utf8).split(separator: "\n") {
                if line.hasPrefix("```") {
                    isBlock = line == "```sh"
                } else if isBlock, !line.hasPrefix("#") {
                    lines.append(String(line))
                }
            }
            return lines
        }

        /// What an output has: codec, the number of its pictures, the codecs of sound and text.
        private struct Facts: Equatable {
            var codec = "hevc"
            var frames: Int?
            var sound: [String]?
            var text: [String]?
        }

        /// The outputs whose facts are stated here; all others decode without a message.
        private static let facts: [String: Facts] = [
            "phone.mp4": Facts(frames: 50, sound: ["aac"]),
            "film-8M.mp4": Facts(frames: 50, sound: ["alac", "aac"], text: ["mov_text"]),
            "segment-1.mov": Facts(frames: 25, sound: []), "segment-2.mov": Facts(frames: 25, sound: []),
            "film-joined.mov": Facts(frames: 50, sound: ["alac", "aac"], text: ["mov_text"]),
            "film-parallel.mov": Facts(frames: 50, sound: ["alac", "aac"], text: ["mov_text"]),
            "talk-run.mp4": Facts(frames: 50, sound: ["aac"]), "talk-quiet.mov": Facts(frames: 50, sound: ["aac"]),
            "talk-verbose.mov": Facts(frames: 50, sound: ["aac"]),
            "silent.mov": Facts(sound: []), "film-deu.mp4": Facts(sound: ["aac"]),
            "film.mov": Facts(sound: ["alac", "aac"], text: ["mov_text"]), "film-plain.mp4": Facts(text: []),
            "part.mov": Facts(frames: 25, sound: ["aac"]), "part-exact.mov": Facts(frames: 40),
            "piped.mkv": Facts(frames: 50, sound: ["flac"]), "piped.ts": Facts(frames: 50),
            "film-two-pass.mp4": Facts(frames: 50, sound: ["alac", "aac"]),
            "talk-12.mov": Facts(frames: 25, sound: ["aac"]),
            "piped.mov": Facts(frames: 50, sound: []), "slow-30.mov": Facts(frames: 30),
            "handbrake.mp4": Facts(sound: ["alac", "aac"], text: ["mov_text"]),
            "picture.png": Facts(codec: "png", frames: 1), "photo.jpg": Facts(codec: "mjpeg"),
            "photo-part.png": Facts(codec: "png"), "photo-edit.png": Facts(codec: "png"),
            "photo-small.png": Facts(codec: "png"),
            "title.png": Facts(codec: "png"), "title-first.png": Facts(codec: "png"),
            "talk.y4m": Facts(codec: "rawvideo", frames: 50),
        ]

        /// What lines print that write no file, or not only one.
        private static let words: [String: [String]] = [
            "hwctl info hdr.mov": ["smpte2084", "640x360", "contains HDR video         yes"],
            "hwctl info photo.heic": ["1080x1920", "primary"],
            "hwctl verify talk.mp4 talk.mov": ["50 frames", "timestamps  equal", "re-encoded: Y "],
            "hwctl settings talk.mp4": ["\"AverageBitRate\"", "\"width\" : 160", "\"height\" : 90"],
            "hwctl properties": ["AverageBitRate  (integer; 1000…800000000; live)", "MasteringDisplayColorVolume"],
            "hwctl presets --for talk.mp4": ["HEVC1920x1080  ", "the source has no alpha"],
            "hwctl encode --check talk.mp4": ["HEVC1920x1080  ", "the source has no alpha"],
            "hwctl segments film.mkv --count 2": ["1/2", "2/2"],
            "hwctl probe --heic 8000x6000": ["HEIC of 8000x6000: written in", "192 of 512x512 in 12 rows of 16"],
        ]

        /// Small files of the names that the page uses.
        private func prepare(_ folder: Scratch) throws {
            let text = "1\n00:00:00,200 --> 00:00:00,900\nA line\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path("text.srt")))
            let picture = ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25:duration=2"]
            let sound = ["-f", "lavfi", "-i", "anoisesrc=color=pink:duration=2:sample_rate=48000"]
            let h264 = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]
            try Programs.tool("ffmpeg", picture + sound + h264 + ["-c:a", "aac", folder.path("talk.mp4")])
            try Programs.tool(
                "ffmpeg",
                picture + sound + h264 + [
                    "-c:a", "aac", "-movflags", "use_metadata_tags", "-metadata", "com.apple.quicktime.make=Maker",
                    "-metadata", "com.apple.quicktime.location.ISO6709=+37.3349-122.0090/",
                    folder.path("phone.mov"),
                ])
            // Noise, so that a rate can be reached.
            let film = "testsrc2=size=320x180:rate=25:duration=2,noise=alls=40:allf=t"
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi", "-i", film] + sound + sound + [
                    "-i", folder.path("text.srt"), "-map", "0", "-map", "1", "-map", "2", "-map", "3",
                ]
                    + h264 + [
                        "-g", "25", "-c:a:0", "flac", "-c:a:1", "aac", "-metadata:s:a:1", "language=deu", "-c:s",
                        "copy",
                        folder.path("film.mkv"),
                    ])
            for (name, fixture) in [
                ("hdr.mov", "pq.mov"), ("title.mov", "alpha_prores4444.mov"),
                ("photo.heic", "still.heic"),
            ] {
                try FileManager.default.copyItem(
                    at: Clips.fixture(fixture), to: URL(fileURLWithPath: folder.path(name)))
            }
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=240:duration=1"] + h264 + [
                    folder.path("slow.mp4")
                ])
        }

        @Test("Every line of the cookbook does what it says")
        func everyLine() throws {
            let server = try TestDaemon()
            let folder = server.folder
            try prepare(folder)
            try Self.buildPreload()
            let inputs = Set(folder.contents)
            let lines = try Self.lines()
            try #require(lines.count >= 40 && Set(Self.words.keys).isSubset(of: lines))
            for line in lines {
                let run = try Self.run(line, in: folder, server)
                #expect(run.status == 0, "\(line): \(run.errors)")
                for word in Self.words[line] ?? [] { #expect(run.text.contains(word), "\(line): \(run.text)") }
                if line.contains(" -q ") { #expect(run.errors == "" && run.text == "", "\(line): \(run.errors)") }
            }
            let videos: Set = ["mov", "mp4", "mkv", "ts", "hevc", "y4m", "png", "jpg"]
            let written = folder.contents.filter { name in
                !inputs.contains(name) && name.contains(".")
                    && videos.contains(String(name.split(separator: ".").last ?? ""))
            }
            #expect(written.count >= 30 && Set(Self.facts.keys).isSubset(of: written), "\(written)")
            for name in written { try check(name, folder.path(name)) }
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder.path("hevc")).sorted() == [
                    "hdr.mp4", "slow.mov", "talk.mov",
                ])
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder.path("hevc-again")).sorted() == [
                    "hdr.mp4", "slow.mp4", "talk.mp4",
                ])
            #expect(
                try JSONSerialization.jsonObject(
                    with: Data(contentsOf: URL(fileURLWithPath: folder.path("report.json")))) is [String: Any])
            let tags = try Programs.tool(
                "ffprobe", ["-v", "error", "-show_entries", "format_tags", folder.path("phone.mp4")]
            ).text
            #expect(tags.contains("TAG:location=+37.3349-122.0090/") && tags.contains("TAG:make=Maker"))
            let color = try Probe(folder.path("sdr.mp4")).field("color_transfer")
            #expect(color == "bt709")
            #expect(try Probe(folder.path("hdr-small.mov")).field("color_transfer") == "smpte2084")
            let log = try String(contentsOfFile: folder.path("verbose.log"), encoding: .utf8)
            #expect(log.contains("x265") && !log.contains("\r"), "\(log)")
            #expect(!folder.contents.contains { $0.contains("stopped") })
            try Programs.tool("bash", ["-n", folder.path("hwctl.bash")])
            let help = try String(contentsOfFile: folder.path("encode.txt"), encoding: .utf8)
            #expect(help.contains("--output-frame-rate") && help.contains("EXAMPLES"))
            try checkPictures(folder)
        }

        @Test("The README has 600 words at most, and its commands do what it says")
        func readme() throws {
            let page = Self.root.appendingPathComponent("README.md")
            let words = try String(contentsOf: page, encoding: .utf8).split { $0.isWhitespace }
            #expect(words.count <= 600, "\(words.count) words")
            let server = try TestDaemon()
            let folder = server.folder
            try prepare(folder)
            let lines = try Self.lines(of: page)
            try #require(lines.count >= 8)
            for line in lines {
                let run = try Self.run(line, in: folder, server)
                #expect(run.status == 0, "\(line): \(run.errors)")
            }
            for name in ["talk.mov", "film.mp4", "hevc/talk.mov", "hevc/slow.mov", "title-hevc.mov", "slow-30.mov"]
            {
                let probe = Probe(folder.path(name))
                #expect(try probe.field("codec_name") == "hevc" && probe.decodingMessages() == "", "\(name)")
            }
            #expect(try Probe(folder.path("slow-30.mov")).frameTimes().count == 30)
        }

        /// Checks the sizes of pictures, which pictures a part has, and a rate.
        private func checkPictures(_ folder: Scratch) throws {
            // The input has 160x90.
            for (name, width, height) in [
                ("talk-80.mov", 80, 46), ("talk-bilinear.mov", 80, 46), ("talk-linear.mov", 80, 46),
                ("talk-1080.mov", 160, 90), ("talk-wide.mov", 160, 64),
                ("talk-upright.mov", 90, 160), ("talk-tagged.mov", 160, 90),
            ] {
                #expect(try Probe(folder.path(name)).size == (width, height), "\(name)")
            }
            #expect(try Probe(folder.path("title-p3.mp4")).field("pix_fmt") == "yuv420p")
            let part = ["-ss", "0.4", "-t", "1", "-i", folder.path("talk.mp4")]
            #expect(try psnr(["-i", folder.path("part.mov")], part, as: "yuv420p") >= 30)
            // Two seconds.
            let sizes = try Programs.tool(
                "ffprobe",
                ["-v", "error", "-select_streams", "v", "-show_entries", "packet=size", "-of", "csv=p=0"]
                    + [folder.path("film-two-pass.mp4")]
            ).text.split { !$0.isNumber }.compactMap { Double($0) }
            let rate = sizes.reduce(0, +) * 8 / 2
            print("two passes at 2M: \(rate) bits per second")
            #expect(abs(rate / 2_000_000 - 1) < 0.1, "\(rate) bits per second")
        }

        /// Runs a line in a folder.
        private static func run(_ line: String, in folder: Scratch, _ server: TestDaemon) throws -> Finished {
            let script =
                "set -e -o pipefail; cd '\(folder.path("."))'; PATH='\(Programs.folder)':\"$PATH\"; \(line)"
            return try Running(
                Programs.required("bash"), ["-c", script], environment: ["HWDAEMON_SOCKET": server.socket]
            ).wait()
        }

        /// Builds the library that `hwctl run` preloads where it finds it: beside the folders of the build.
        private static func buildPreload() throws {
            let sources = page.deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent("Clients/x265").path
            let build = URL(fileURLWithPath: Programs.folder).deletingLastPathComponent()
                .deletingLastPathComponent()
            try Programs.tool(
                "make",
                [
                    "-s", "-C", sources, "BUILD=\(build.path)/clients/x265", "CLIENT=\(build.path)/clients/c",
                    "all",
                ])
        }

        @Test("hwctl run gives ffmpeg's libx265 the hardware")
        func hardware() throws {
            let state = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon(state: state)
            try prepare(server.folder)
            try Self.buildPreload()
            let line = try #require(try Self.lines().first { $0.hasPrefix("hwctl run ") })
            let run = try Self.run(line, in: server.folder, server)
            #expect(run.status == 0 && run.errors.contains("vaapi"), "\(run.errors)")
            try check("talk-run.mp4", server.folder.path("talk-run.mp4"))
        }

        /// A line for each everyday task that is a command.
        private static let tasks: [(task: String, line: String)] = [
            ("a phone's clip", "hwctl encode phone.mov phone.mp4"), ("a bit rate", "--bitrate 8M film.mkv"),
            ("two passes", "--two-pass"), ("a quality", "--quality 0.6"), ("keep HDR", "hwctl encode hdr.mov"),
            ("HDR to SDR", "--hdr sdr"), ("ProRes 4444 to alpha", "--alpha premultiplied"),
            ("slow motion", "--preset-name slow-motion"),
            ("a folder of files", "--output-dir hevc --skip-existing"),
            ("Y4M in", "yuv4mpegpipe - | hwctl encode - piped.mov"), ("Y4M out", "hwctl decode talk.mov talk.y4m"),
            ("Annex B out", "hwctl encode talk.mp4 talk.hevc"),
            ("a container on a pipe", "-f nut - | hwctl encode - - --to nut"), ("trim", "--start 0.4 --duration 1"),
            ("scale", "--size 80x-2"), ("crop", "--crop 160:64:0:14"), ("rotate", "--rotate 90"),
            ("drop sound", "--audio none"), ("choose and convert sound", "--audio aac --audio-track deu"),
            ("subtitles", "hwctl encode film.mkv film.mov"), ("progress", "--no-progress talk.mp4"),
            ("Ctrl-C", "-s INT 3 hwctl encode"), ("JSON", "--json"), ("compare", "hwctl verify talk.mp4 talk.mov"),
            ("a picture at a time", "--at 0.5 talk.mp4 picture.png"), ("is it HDR?", "hwctl info hdr.mov"),
            ("properties", "hwctl properties"), ("presets", "hwctl presets --for"),
            ("overwrite", "encode -y talk.mp4"), ("do not overwrite", "--no-overwrite"),
            ("verbose", "encode -v talk.mp4"), ("quiet", "encode -q "),
            ("completion", "--generate-completion-script"), ("manual", "--help-all"),
            ("exit codes", "--no-overwrite talk.mp4 talk.mov || [ $? = 73 ]"),
            ("an existing ffmpeg script", "hwctl run --log -- ffmpeg"),
        ]

        @Test("Each everyday task has a line", arguments: tasks.indices)
        func everyTask(index: Int) throws {
            let (task, line) = Self.tasks[index]
            #expect(try Self.lines().contains { $0.contains(line) }, "\(task): \(line)")
        }

        private func check(_ name: String, _ path: String) throws {
            let probe = Probe(path)
            #expect(try probe.decodingMessages() == "", "\(name)")
            let facts = Self.facts[name] ?? Facts()
            let isOther = ["png", "jpg", "y4m"].contains { name.hasSuffix($0) }
            #expect(try probe.field("codec_name") == (isOther ? facts.codec : "hevc"), "\(name)")
            if let frames = facts.frames { #expect(try probe.frameTimes().count == frames, "\(name)") }
            if let sound = facts.sound { #expect(try probe.audioCodecs() == sound, "\(name)") }
            let found = try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "s", "-show_entries", "stream=codec_name", "-of", "csv=p=0",
                    path,
                ]
            ).text.split(separator: "\n").map(String.init)
            #expect(found == facts.text ?? found, "\(name)")
        }
    }
}
