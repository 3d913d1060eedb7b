// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import Testing

extension EndToEndFaults {
    /// Parts of files in time: `--start`, `--duration` and `--end`, checked by ffmpeg's accurate seek.
    @Suite struct Trims {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        func path(_ name: String) -> String { server.folder.path(name) }

        @discardableResult
        func hwctl(_ arguments: [String], status: Int32 = 0) throws -> Finished {
            let run = try Programs.hwctl(arguments, socket: server.socket)
            try #require(run.status == status, "\(arguments): \(run.errors)")
            return run
        }

        private func make(_ source: NumberedClip) throws { try source.make(in: server.folder) }

        private func numbers(_ path: String, _ seeking: [String] = []) throws -> [Int] {
            try NumberedClip.numbers(path, seeking)
        }

        /// Random times that are the same in each run.
        private struct Times {
            private var state: UInt64
            init(_ name: String) {
                state = name.utf8.reduce(88_172_645_463_325_252) { ($0 ^ UInt64($1)) &* 6_364_136_223_846_793_005 }
            }
            mutating func next(_ range: ClosedRange<Double>) -> Double {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let unit = Double(state >> 40) / Double(1 << 24)
                return ((range.lowerBound + unit * (range.upperBound - range.lowerBound)) * 1000).rounded() / 1000
            }
        }

        /// Checks that the pictures of a trim are ffmpeg's, and that its sound belongs to them.
        ///
        /// - Returns: the largest delay of the sound, in seconds.
        @discardableResult
        private func check(
            _ output: String, _ source: NumberedClip, _ start: Double, _ duration: Double
        ) throws -> Double {
            let expected = try numbers(path(source.name), ["-ss", "\(start)", "-t", "\(duration)"])
            let line = "\(source.name) from \(start) s for \(duration) s"
            #expect(try numbers(output) == expected, "\(line)")
            #expect(try abs(Probe(output).frameTimes().first.flatMap { $0 } ?? 1) < 0.0006, "\(line)")
            let all = try numbers(path(source.name))
            let first = try #require(expected.first.flatMap { all.firstIndex(of: $0) })
            let time = try #require(try Probe(path(source.name)).frameTimes()[first])
            let (whole, part) = (try Sound(path(source.name)), try Sound(output))
            var largest = 0.0
            for place in [0.31, duration - 0.35] {
                let delay = part.delay(behind: whole.dropping(seconds: time), at: place)
                #expect(abs(delay.seconds) <= 0.002 && delay.likeness > 0.8, "\(line), at \(place): \(delay)")
                largest = max(largest, abs(delay.seconds))
            }
            #expect(abs(part.seconds - duration) < 0.05, "\(line): \(part.seconds)")
            if source.hasAlpha { try checkAlpha(output, expected) }
            return largest
        }

        /// Checks the mean alpha of the first and the last picture of a trim, which the source's numbers determine.
        private func checkAlpha(_ output: String, _ expected: [Int]) throws {
            try hwctl(["decode", "-q", "--format", "yuva", output, path("alpha.raw")])
            let samples = try Data(contentsOf: URL(fileURLWithPath: path("alpha.raw")))
            // Luma, two quarters of chroma, alpha.
            let (plane, frame) = (256 * 32, 256 * 32 * 5 / 2)
            try #require(samples.count == frame * expected.count)
            for (index, number) in [(0, expected.first), (expected.count - 1, expected.last)] {
                let alpha = samples[(frame * (index + 1) - plane)..<frame * (index + 1)]
                let mean = alpha.reduce(0.0) { $0 + Double($1) } / Double(plane)
                let wanted = NumberedClip.meanAlpha(try #require(number))
                #expect(abs(mean - wanted) < 1.5, "picture \(number ?? -1): alpha \(mean) instead of \(wanted)")
            }
        }

        @Test("Trims at random times have ffmpeg's pictures and their sound", arguments: NumberedClip.all)
        func trims(_ source: NumberedClip) throws { try trim(source, count: 2) }

        @Suite struct Long {
            @Test(
                "Trims at twenty random times have ffmpeg's pictures and their sound", arguments: NumberedClip.all)
            func trims(_ source: NumberedClip) throws { try Trims().trim(source, count: 20) }
        }

        private func trim(_ source: NumberedClip, count: Int) throws {
            try make(source)
            var times = Times(source.name)
            var largest = 0.0
            for number in 0..<count {
                let (start, duration) = (times.next(0...2.2), times.next(0.7...1.2))
                let output = path("out\(number).mov")
                let alpha = source.hasAlpha ? ["--alpha", "premultiplied"] : []
                try hwctl(
                    ["encode", "--preset", "ultrafast"] + alpha + [
                        "--start", "\(start)", "--duration", "\(duration)", path(source.name), output,
                    ])
                largest = max(largest, try check(output, source, start, duration))
            }
            print("\(source.name): \(count) trims, sound delayed by up to \(largest * 1000) ms")
        }

        @Test("A part from the beginning, and one to a time")
        func ends() throws {
            let source = NumberedClip.all[0]
            try make(source)
            try hwctl([
                "encode", "--preset", "ultrafast", "--duration", "0:01", path(source.name), path("head.mov"),
            ])
            try check(path("head.mov"), source, 0, 1)
            try hwctl([
                "encode", "--preset", "ultrafast", "--start", "2", "--end", "0:00:03.0", path(source.name),
                path("mid.mov"),
            ])
            try check(path("mid.mov"), source, 2, 1)
            try hwctl(["encode", "--preset", "ultrafast", "--start", "3.48", path(source.name), path("tail.mov")])
            #expect(try numbers(path("tail.mov")) == Array(87..<100))
        }

        @Test("Converted sound is cut too")
        func converted() throws {
            let source = NumberedClip.all[0]
            try make(source)
            try hwctl([
                "encode", "--preset", "ultrafast", "--audio", "alac", "--start", "1.23", "--duration", "1.1",
                path(source.name), path("out.mov"),
            ])
            try check(path("out.mov"), source, 1.23, 1.1)
        }

        @Test(
            "Exact copies have ffmpeg's pictures, others begin with a key frame",
            arguments: sampled(["mov", "mkv", "mp4"], oneIn: 2))
        func copies(_ ending: String) throws {
            var source = NumberedClip.all[1]
            source.name = "in.\(ending)"
            try make(source)
            for (start, duration) in sampled([(1.23, 1.1), (2.0, 0.9), (0.4, 1.3), (2.71, 1.0)], oneIn: 2) {
                try hwctl([
                    "encode", "--copy", "--exact", "--start", "\(start)", "--duration", "\(duration)",
                    path(source.name), path("exact.mov"),
                ])
                try check(path("exact.mov"), source, start, duration)
                let run = try hwctl([
                    "encode", "--copy", "--verify", "--start", "\(start)", "--duration", "\(duration)",
                    path(source.name), path("key.mp4"),
                ])
                let shown = try numbers(path("key.mp4"))
                // In Matroska all pictures are later by the priming of the sound.
                let times = try Probe(path(source.name)).frameTimes().map { $0 ?? 0 }
                let isStarted = { (number: Int) in times[number] > start - 0.0006 }
                let first = try #require(times.indices.first(where: isStarted))
                let key = try #require(times.indices.last { $0 % 50 == 0 && times[$0] < start + 0.0006 })
                let end = try #require(times.lastIndex { $0 < start + duration - 0.0006 })
                #expect(shown == Array(key...end), "from \(start): \(shown.first ?? -1) to \(shown.last ?? -1)")
                #expect(run.errors.contains("earlier, with a key frame") == (key != first))
                #expect(try abs(Probe(path("key.mp4")).frameTimes().first.flatMap { $0 } ?? 1) < 0.0006)
            }
        }

        /// Four seconds with chapters, subtitles and a timecode.
        private func makeTexts() throws {
            let chapters = [("One", 0, 1000), ("Two", 1000, 2500), ("Three", 2500, 4000)].map { title, start, end in
                "[CHAPTER]\nTIMEBASE=1/1000\nSTART=\(start)\nEND=\(end)\ntitle=\(title)\n"
            }
            try Data((";FFMETADATA1\n" + chapters.joined()).utf8).write(
                to: URL(fileURLWithPath: path("titles.txt")))
            let cues = [
                ("00,200", "00,900", "before"), ("01,000", "01,800", "into"), ("02,000", "02,400", "inside"),
                ("02,600", "03,900", "out of"),
            ].enumerated().map { number, cue in
                "\(number + 1)\n00:00:\(cue.0) --> 00:00:\(cue.1)\n\(cue.2)\n\n"
            }
            try Data(cues.joined().utf8).write(to: URL(fileURLWithPath: path("cues.srt")))
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=4", "-i",
                    path("titles.txt"), "-i", path("cues.srt"), "-map", "0:v", "-map", "2:s", "-map_chapters", "1",
                    "-c:v",
                    "libx264", "-c:s", "mov_text", "-timecode", "10:00:00:00", path("in.mov"),
                ])
        }

        @Test("Chapters, subtitles and the timecode are those of the part")
        func texts() throws {
            try makeTexts()
            try hwctl([
                "encode", "--preset", "ultrafast", "--start", "1.4", "--end", "3", path("in.mov"), path("out.mov"),
            ])
            func probe(_ options: String...) throws -> [String] {
                try Programs.tool("ffprobe", ["-v", "error", "-of", "csv=p=0"] + options + [path("out.mov")]).text
                    .split(separator: "\n").map(String.init)
            }
            #expect(
                try probe("-show_entries", "chapter=start_time,end_time:chapter_tags=title")
                    == ["0.000000,1.100000,Two", "1.100000,1.600000,Three"])
            #expect(try probe("-select_streams", "v", "-show_entries", "stream_tags=timecode") == ["10:00:01:10"])
            let srt = try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", path("out.mov"), "-map", "0:s", "-f", "srt", "-"]
            ).text
            #expect(
                srt == """
                    1
                    00:00:00,000 --> 00:00:00,400
                    into

                    2
                    00:00:00,600 --> 00:00:01,000
                    inside

                    3
                    00:00:01,200 --> 00:00:01,600
                    out of


                    """)
        }

        @Test(
            "Times outside the file are refused, and nothing is written",
            arguments: [
                (["--start", "100"], 65), (["--end", "100"], 65), (["--start", "3.99"], 65),
                (["--start", "3", "--end", "2"], 64), (["--start", "x"], 64), (["--start", "-1"], 64),
                (["--duration", "0"], 64), (["--start", "1:60:00"], 64), (["--end", "2", "--duration", "1"], 64),
                (["--exact", "--start", "1"], 64), (["--copy", "--start", "100"], 65),
                (["--copy", "--start", "3.99"], 65),
            ] as [([String], Int32)])
        func outside(_ options: [String], _ status: Int32) throws {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=4", "-c:v", "libx265",
                    "-preset", "ultrafast", "-x265-params", "log-level=none", path("in.mp4"),
                ])
            let run = try Programs.hwctl(
                ["encode"] + options + [path("in.mp4"), path("out.mov")], socket: server.socket)
            #expect(run.status == status, "\(run.errors)")
            if status == 65 { #expect(run.complaints.count == 1, "\(run.errors)") }
            #expect(!server.folder.contents.contains("out.mov"))
        }

        @Test("--verify compares with the part that was kept")
        func verified() throws {
            let source = NumberedClip.all[0]
            try make(source)
            let run = try hwctl([
                "encode", "--preset", "ultrafast", "--verify", "--start", "1.23", "--duration", "1.1",
                path(source.name), path("out.mov"),
            ])
            #expect((run.text + run.errors).contains("audio 1"), "\(run.errors)")
            // The same file is not the part that begins one picture later.
            let other = try ReceiptDocument(
                "--asked", "start=1.27,duration=1.1", path(source.name), path("out.mov"), socket: server.socket)
            #expect(!other.lost.isEmpty)
        }

        @Test("Single pictures are the ones that are shown at a time")
        func moments() throws {
            let source = NumberedClip.all[0]
            try make(source)
            try hwctl(["decode", "--at", "1.23", path(source.name), path("one.png")])
            #expect(try numbers(path("one.png")) == [30])
            try hwctl(["decode", "--at", "0,0.99,1,3.99", path(source.name), path("many-%02d.png")])
            #expect(try (1...4).flatMap { try numbers(path("many-0\($0).png")) } == [0, 24, 25, 99])
            #expect(!server.folder.contents.contains("many-05.png"))
            let run = try hwctl(["decode", "--at", "4.5", path(source.name), path("none.png")], status: 65)
            #expect(run.errors.contains("shows nothing at 4.5 s: it ends at 4 s"))
            for wrong in ["x", "2,1", "1,", "1,2"] {
                try hwctl(["decode", "--at", wrong, path(source.name), path("none.png")], status: 64)
            }
            #expect(!server.folder.contents.contains("none.png"))
        }
    }
}
