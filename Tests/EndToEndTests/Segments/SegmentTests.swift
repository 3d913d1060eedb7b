// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import HWDLibAVReading
import HWDLibAVWriting
import HWDTransport
import Testing

extension EndToEndFaults {
    /// Segments that are encoded apart and joined, compared with one encode of all, as ffprobe and ffmpeg see both.
    @Suite struct Segments: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        static let fast = ["--preset", "ultrafast"]

        /// Encodes each segment of a source; returns the parts' paths.
        @discardableResult
        func parts(_ source: String, count: Int, _ options: [String] = fast, name: String = "part") throws
            -> [String]
        {
            try (1...count).map { number in
                let part = path("\(name)-\(number).mov")
                let run = try Programs.hwctl(
                    ["encode"] + options + ["--segment", "\(number)/\(count)", path(source), part],
                    socket: server.socket)
                try #require(run.status == 0, "\(run.errors)")
                return part
            }
        }

        func join(_ output: String, _ parts: [String], from source: String, status: Int32 = 0) throws -> Finished {
            let run = try Programs.hwctl(
                ["join", path(output)] + parts + ["--from", path(source)], socket: server.socket)
            try #require(run.status == status, "\(run.errors)")
            return run
        }

        /// A clip with a key frame every half second, and a sound.
        func clip(_ name: String, seconds: Int = 4, color: String = "pink") throws {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=24:duration=\(seconds)", "-f",
                    "lavfi",
                    "-i", "anoisesrc=color=\(color):duration=\(seconds):sample_rate=48000", "-c:v", "libx264",
                    "-preset", "veryfast", "-pix_fmt", "yuv420p", "-g", "12", "-bf", "3", "-c:a", "aac",
                    path(name),
                ])
        }

        private func packets(_ path: String, _ entries: String) throws -> [[Int]] {
            try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=\(entries)", "-of", "csv=p=0",
                    path,
                ]
            ).text.split(separator: "\n").map { line in line.split(separator: ",").compactMap { Int($0) } }
        }

        private func streamFields(_ path: String) throws -> String {
            try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "v:0", "-show_entries",
                    "stream=time_base,start_time,duration,nb_frames,avg_frame_rate,color_space,color_range", path,
                ]
            ).text
        }

        private func soundDigest(_ path: String) throws -> String {
            try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", path, "-map", "0:a", "-c", "copy", "-f", "framemd5", "-"]
            ).text
        }

        /// Checks that a joined file is what one encode gives, but for the samples.
        func expectEqual(_ joined: String, _ whole: String, source: String) throws {
            let (one, all) = (try packets(joined, "pts,dts,duration"), try packets(whole, "pts,dts,duration"))
            #expect(one.map { $0[0] }.sorted() == all.map { $0[0] }.sorted(), "\(source)")
            let decodeTimes = one.map { $0[1] }
            #expect(zip(decodeTimes, decodeTimes.dropFirst()).allSatisfy { $0 < $1 }, "\(source)")
            #expect(one.allSatisfy { $0[1] <= $0[0] }, "\(source)")
            #expect(try streamFields(joined) == streamFields(whole), "\(source)")
            #expect(try soundDigest(joined) == soundDigest(whole), "\(source)")
            #expect(try Probe(joined).decodingMessages() == "", "\(source)")
            let receipt = try ReceiptDocument(
                ["--asked", joined.hasSuffix("-alpha.mov") ? "depth,chroma" : "alpha"] + [path(source), joined],
                socket: server.socket)
            #expect(receipt.lost.isEmpty, "\(source): \(receipt.items.filter(\.isFault))")
        }

        @Test(
            "Joined segments have the frames, times and sound of one encode",
            arguments: sampled(NumberedClip.all, oneIn: 2))
        func joined(_ source: NumberedClip) throws {
            try source.make(in: server.folder)
            let isAlpha = source.name.hasPrefix("alpha")
            let options = Self.fast + (isAlpha ? ["--alpha", "premultiplied"] : [])
            let all = try parts(source.name, count: 4, options).filter {
                FileManager.default.fileExists(atPath: $0)
            }
            let (joined, whole) = (path("joined-\(isAlpha ? "alpha" : "opaque").mov"), path("whole.mov"))
            #expect(all.count > 1)
            _ = try join("joined-\(isAlpha ? "alpha" : "opaque").mov", all.reversed(), from: source.name)
            let run = try Programs.hwctl(["encode"] + options + [path(source.name), whole], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            try expectEqual(joined, whole, source: source.name)
            if !isAlpha {
                #expect(
                    try NumberedClip.numbers(joined) == NumberedClip.numbers(path(source.name)), "\(source.name)")
            }
        }

        @Test(
            "Joined files of other containers keep every frame",
            arguments: sampled(["mp4", "mkv", "ts", "hevc"], oneIn: 2))
        func containers(_ ending: String) throws {
            try clip("in.mp4")
            _ = try join("joined.\(ending)", try parts("in.mp4", count: 3), from: "in.mp4")
            #expect(try Probe(path("joined.\(ending)")).frameTimes().count == 96)
            #expect(try Probe(path("joined.\(ending)")).decodingMessages() == "")
            // ffprobe lists the streams of a program twice.
            let sound = Set(try Probe(path("joined.\(ending)")).audioCodecs())
            #expect(sound == (ending == "hevc" ? [] : ["aac"]))
        }

        /// The segments of the JSON document.
        private struct List: Decodable {
            struct Segment: Decodable {
                var number, start_ticks, end_ticks, frames: Int
                var start, end: Double
            }
            var schema, frames, key_frames, requested, count: Int
            var digest, time_base: String
            var segments: [Segment]
        }

        @Test("The list of segments is that of the key frames, which bound its length")
        func list() throws {
            try clip("in.mp4")
            let run = try hwctl("segments", path("in.mp4"), "--count", "64", "--json")
            let list = try JSONDecoder().decode(List.self, from: Data(run.output))
            #expect(list.schema == 1 && list.frames == 96 && list.key_frames == 8)
            #expect(list.requested == 64 && list.count == 8 && list.segments.count == 8)
            #expect(list.segments.map(\.start) == (0..<8).map { Double($0) / 2 })
            #expect(list.segments.allSatisfy { $0.frames == 12 } && list.segments.last?.end == 4)
            let text = try hwctl("segments", path("in.mp4"), "--count", "64").text
            #expect(
                text.contains("8 segments, 96 frames, 8 key frames: not 64, because there are no more key frames"))
            let empty = try hwctl("encode", path("in.mp4"), path("part.mov"), "--segment", "9/64")
            #expect(empty.errors.contains("in.mp4 has 8 segments: segment 9 is empty, nothing is written"))
            #expect(!FileManager.default.fileExists(atPath: path("part.mov")))
            for name in ["raw.hevc", "frames.y4m"] {
                try Programs.tool(
                    "ffmpeg",
                    ["-v", "error", "-i", path("in.mp4"), "-an"]
                        + (name == "raw.hevc" ? ["-c:v", "libx265", "-x265-params", "log-level=none"] : []) + [
                            path(name)
                        ])
                let refused = try hwctl("segments", path(name), "--count", "2", status: 65)
                #expect(refused.complaints.count == 1, "\(refused.errors)")
            }
        }

        @Test("The same segment gives the same bytes; a whole part is kept, another one is replaced")
        func idempotent() throws {
            try clip("in.mp4")
            func encode(_ output: String, _ options: String...) throws -> Finished {
                try Programs.hwctl(
                    ["encode"] + options + ["--segment", "2/3", path("in.mp4"), path(output)], socket: server.socket
                )
            }
            #expect(try encode("one.mov").status == 0)
            #expect(try encode("two.mov").status == 0)
            func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }
            let first = try bytes("one.mov")
            #expect(try first == bytes("two.mov"))

            let number =
                try FileManager.default.attributesOfItem(atPath: path("one.mov"))[.systemFileNumber] as? Int
            let kept = try encode("one.mov")
            #expect(kept.status == 0 && kept.errors.contains("holds segment 2 of 3 already"), "\(kept.errors)")
            #expect(
                try FileManager.default.attributesOfItem(atPath: path("one.mov"))[.systemFileNumber] as? Int
                    == number)

            // A byte of the samples, the end of the file, and other options.
            var damaged = first
            damaged[damaged.count - 200] ^= 0xFF
            for contents in [damaged, first.dropLast(500)] {
                try contents.write(to: URL(fileURLWithPath: path("one.mov")))
                let again = try encode("one.mov")
                #expect(again.status == 0 && !again.errors.contains("already"), "\(again.errors)")
                #expect(try bytes("one.mov") == first)
            }
            #expect(try !encode("one.mov", "--quality", "0.3").errors.contains("already"))
            #expect(try bytes("one.mov") != first)
        }

        @Test("A killed encode leaves no part, and the next one writes it")
        func killed() throws {
            try clip("in.mp4", seconds: 20)
            let arguments = [
                "encode", "--preset", "placebo", "--segment", "1/2", path("in.mp4"), path("part-1.mov"),
            ]
            let before = server.folder.contents
            let run = try Running(
                Programs.path("hwctl"), arguments, environment: ["HWDAEMON_SOCKET": server.socket])
            #expect(eventually { !server.workers.isEmpty })
            try run.child.kill(SIGKILL)
            #expect(try run.wait().exit == .signaled(SIGKILL))
            #expect(server.folder.contents == before)
            let again = try parts("in.mp4", count: 2)
            _ = try join("joined.mov", again, from: "in.mp4")
            #expect(try Probe(path("joined.mov")).frameTimes().count == 480)
        }

        @Test("Parts that do not make up the source are refused, in one line, and nothing is written")
        func refusals() throws {
            try clip("in.mp4")
            try clip("other.mp4", seconds: 5)
            let good = try parts("in.mp4", count: 3)
            let overlapping = try parts("in.mp4", count: 4, name: "quarter")
            let foreign = try parts("other.mp4", count: 3, name: "foreign")
            let quality = try parts("in.mp4", count: 3, Self.fast + ["--quality", "0.8"], name: "quality")
            let torn = path("torn.mov")
            try Data(contentsOf: URL(fileURLWithPath: good[1])).dropLast(300)
                .write(to: URL(fileURLWithPath: torn))
            let cases: [([String], String)] = [
                ([good[0], good[2]], "segment 2 of 3 is missing"),
                (good + [good[1]], "segment 2 is there twice"),
                ([good[0], foreign[1], good[2]], "is a segment of another source"),
                ([good[0], overlapping[1], good[2]], "encode all with one count"),
                ([good[0], quality[1], good[2]], "was encoded with --quality=0.8"),
                ([good[0], torn, good[2]], "torn.mov"),
                ([good[0], path("in.mp4"), good[2]], "is not a segment that hwctl encode --segment wrote"),
            ]
            for (files, message) in cases {
                let run = try join("joined.mov", files, from: "in.mp4", status: 65)
                #expect(run.complaints.count == 1 && run.errors.contains(message), "\(message): \(run.errors)")
                #expect(!server.folder.contents.contains("joined.mov"))
            }
            let itself = try join("part-1.mov", good, from: "in.mp4", status: 64)
            #expect(itself.errors.contains("is one of the parts"))
            try hwctl("join", path("joined.mov"), good[0], "--from", path("none.mp4"), status: 66)
        }

        @Test("Options that do not fit are refused")
        func usage() throws {
            for options in [
                ["--segment", "0/3"], ["--segment", "4/3"], ["--segment", "1/2", "--copy"],
                ["--segment", "1/2", "--start", "1"], ["--segment", "1/2", "--audio", "none"],
                ["--segment", "1/2", "--parallel", "2"], ["--parallel", "0"],
                ["--parallel", "2", "--keep-partial"],
                ["--segment", "1/2", "--verify"], ["--segment", "1/2", "--output-frame-rate", "30"],
            ] {
                let run = try Programs.hwctl(["encode"] + options + [path("in.mp4"), path("out.mov")])
                #expect(run.status == 64, "\(options): \(run.errors)")
            }
            let other = try Programs.hwctl(["encode", "--segment", "1/2", path("in.mp4"), path("out.mkv")])
            #expect(other.status == 64 && other.errors.contains(".mov or .mp4"))
        }

        @Test("A failure that another try may not have exits with 75, others do not")
        func statuses() throws {
            try clip("in.mp4")
            let arguments = ["encode", "--segment", "1/2", path("in.mp4"), path("out.mov")]
            #expect(try Programs.hwctl(arguments, socket: path("none")).status == 75)
            #expect(
                try Programs.hwctl(arguments + ["--hardware", "require"], socket: server.socket).status == 75)
            #expect(
                try Programs.hwctl(
                    ["encode", "--segment", "1/2", path("none.mp4"), path("out.mov")], socket: server.socket
                ).status == 66)
            try Data("no video".utf8).write(to: URL(fileURLWithPath: path("bad.mp4")))
            #expect(
                try Programs.hwctl(
                    ["encode", "--segment", "1/2", path("bad.mp4"), path("out.mov")], socket: server.socket
                ).status == 65)
        }

        /// Writes the digest of a part that was changed.
        private func updateDigest(_ path: String) throws {
            var options = MediaReader.Options()
            options.decoding = .disabled
            let file = try InputFile(path, holdsMovie: true)
            let reader = try MediaReader(file, options: options)
            let packets = try PacketDigest()
            while let item = try reader.next() {
                if case .packet(let packet) = item { packet.withBytes { packets.add($0) } }
            }
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            let key = try #require(bytes.range(of: Data(#""digest":""#.utf8)))
            let place = key.upperBound..<key.upperBound + PartDigest.blank.utf8.count
            let recorded = String(decoding: bytes[place], as: UTF8.self)
            let digest = try #require(try PartDigest.digest(of: file, packets: packets, recorded: recorded))
            bytes.replaceSubrange(place, with: Data(digest.utf8))
            try bytes.write(to: URL(fileURLWithPath: path))
        }

        @Test("Parameter sets that differ between parts give another sample entry")
        func sampleEntries() throws {
            try clip("in.mp4")
            let parts = try parts("in.mp4", count: 2)
            // The same options, of which the encoder of another machine makes other parameter sets.
            let other = try Programs.hwctl(
                ["encode"] + Self.fast + [
                    "--property", "X265Params=ref=5:bframes=2", "--segment", "2/2", path("in.mp4"),
                    path("other.mov"),
                ], socket: server.socket)
            try #require(other.status == 0, "\(other.errors)")
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path("other.mov")))
            let written = Data(#","--property=X265Params=ref=5:bframes=2""#.utf8)
            let range = try #require(bytes.range(of: written), "the options are not in the annotation")
            // JSON allows spaces between elements.
            bytes.replaceSubrange(range, with: Data(repeating: 0x20, count: written.count))
            try bytes.write(to: URL(fileURLWithPath: path("part-2.mov")))
            let unsealed = try join("joined.mov", parts, from: "in.mp4", status: 65)
            #expect(unsealed.errors.contains("part-2.mov is damaged"), "\(unsealed.errors)")
            try updateDigest(path("part-2.mov"))
            let run = try join("joined.mov", parts, from: "in.mp4")
            #expect(run.errors.contains("sample entries: 2"), "\(run.errors)")
            #expect(try Probe(path("joined.mov")).frameTimes().count == 96)
            #expect(try Probe(path("joined.mov")).decodingMessages() == "")
        }

        @Test("--parallel gives what one encode gives, and leaves no parts")
        func parallel() throws {
            try clip("in.mp4")
            try hwctl("encode", "--preset", "ultrafast", path("in.mp4"), path("whole.mov"))
            let run = try hwctl(
                "encode", "--preset", "ultrafast", "--parallel", "3", "--verify", path("in.mp4"), path("out.mov"))
            #expect(run.errors.contains("96 frames of 3 parts joined"), "\(run.errors)")
            try expectEqual(path("out.mov"), path("whole.mov"), source: "in.mp4")
            #expect(!server.folder.contents.contains { $0.contains("parts-") })
        }

        @Test("--parallel that fails or is interrupted leaves nothing", arguments: [SIGINT, SIGTERM])
        func interrupted(_ signal: Int32) throws {
            try clip("in.mp4", seconds: 30)
            let before = server.folder.contents
            let refused = try Programs.hwctl(
                [
                    "encode", "--parallel", "2", "--profile", "main", "--property", "X265Params=stats=x",
                    path("in.mp4"), path("out.mov"),
                ],
                socket: server.socket)
            #expect(refused.status == 64, "\(refused.errors)")
            #expect(server.folder.contents == before)
            let run = try Running(
                Programs.path("hwctl"),
                ["encode", "--preset", "placebo", "--parallel", "2", path("in.mp4"), path("out.mov")],
                environment: ["HWDAEMON_SOCKET": server.socket])
            #expect(eventually { server.workers.count >= 2 })
            try run.child.kill(signal)
            let ended = try run.wait()
            #expect(ended.status == 130, "\(ended.exit): \(ended.errors)")
            #expect(server.folder.contents == before)
            #expect(server.hasNoWorkers())
        }
    }
}
