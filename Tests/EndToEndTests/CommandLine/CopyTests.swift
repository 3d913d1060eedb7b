// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// `hwctl encode --copy`, and what its outputs share with those of an encode.
    @Suite struct Copies: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        /// ffmpeg's digests of the frames it shows.
        func frames(_ name: String) throws -> [Substring] {
            let list = try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", path(name), "-map", "0:v", "-f", "framemd5", "-"])
            #expect(list.errors.isEmpty, "\(name): \(list.errors)")
            return list.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
                .compactMap { $0.split(separator: ",").last }
        }

        /// Copies the clip with other bytes at `offset` behind the type of its first box of that type.
        private func patch(_ type: String, _ offset: Int, _ value: UInt32, to name: String) throws {
            var file = try [UInt8](Data(contentsOf: Clips.fixture("bframes.mp4")))
            let needle = Array(type.utf8)
            let start = try #require(file.indices.dropLast(4).first { Array(file[$0..<$0 + 4]) == needle })
            let bytes = withUnsafeBytes(of: value.bigEndian) { Array($0) }
            file.replaceSubrange(start + 4 + offset..<start + 8 + offset, with: bytes)
            try Data(file).write(to: URL(fileURLWithPath: path(name)))
        }

        /// The NAL unit types of each sample of a .mov or .mp4.
        func unitTypes(_ name: String) throws -> [[UInt8]] {
            let file = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path(name))))
            let list = try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "v", "-show_entries", "packet=size,pos", "-of", "csv=p=0",
                    path(name),
                ]
            )
            return try list.text.split(separator: "\n").map { line in
                let numbers = line.split(separator: ",").compactMap { Int($0) }
                try #require(numbers.count == 2)
                var (position, types) = (numbers[1], [UInt8]())
                while position + 4 < numbers[0] + numbers[1] {
                    types.append(file[position + 4] >> 1 & 63)
                    position += 4 + file[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
                }
                return types
            }
        }

        @Test("A copy ends where the source's edit list ends")
        func editEnd() throws {
            // segment_duration of the first edit (ISO/IEC 14496-12 8.6.6), in ticks of the movie's 1/1000 s; 30 frames.
            for (index, shown) in [15, 29].enumerated() {
                try patch("elst", 8, UInt32(shown * 40), to: "cut\(index).mp4")
                let expected = try frames("cut\(index).mp4")
                #expect(expected.count == shown)
                for ending in ["mov", "mp4"] {
                    try hwctl("encode", "--copy", path("cut\(index).mp4"), path("copy\(index).\(ending)"))
                    #expect(try frames("copy\(index).\(ending)") == expected)
                }
            }
        }

        @Test(
            "Times that no movie can hold are the input's fault",
            .enabled(if: Clips.hasShared, Clips.needsShared))
        func impossibleTimes() throws {
            // Its first sample has the composition offset −2³¹: it is never shown.
            let input = try #require(Clips.shared).appendingPathComponent("heic/C041_sequence_edit.heic").path
            let run = try hwctl("encode", "--copy", input, path("out.mov"), status: 65)
            #expect(run.complaints.count == 1 && run.errors.contains("C041_sequence_edit.heic"), "\(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: path("out.mov")))
        }

        /// The times of the video's packets in seconds, in decoding order.
        private func times(_ name: String) throws -> String {
            try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time,dts_time", "-of",
                    "csv=p=0",
                ]
                    + [path(name)]
            ).text
        }

        /// The test that takes longest.
        @Suite struct Long {
            private let outer: Copies

            init() throws { outer = try Copies() }

            @Test("A raw stream gets the times of its pictures' order")
            func rawStream() throws { try outer.checkRawStream() }
        }

        private func checkRawStream() throws {
            let clip = Clips.fixture("bframes.mp4").path
            for name in ["coded.mov", "coded.hevc"] { try hwctl("encode", "--preset", "fast", clip, path(name)) }
            let run = try hwctl("encode", "--copy", path("coded.hevc"), path("copy.mp4"))
            #expect(run.errors.contains("--frame-rate"))
            #expect(try times("copy.mp4") == times("coded.mov"))
            #expect(try frames("copy.mp4") == frames("coded.mov"))
            try hwctl("encode", "--copy", "--frame-rate", "50", path("coded.hevc"), path("fast.mov"))
            let rate = try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-show_entries", "stream=avg_frame_rate,duration", "-of", "csv=p=0",
                    path("fast.mov"),
                ])
            #expect(rate.text.hasPrefix("50/1,0.600000"), "\(rate.text)")
            // Other files have times.
            try hwctl("encode", "--copy", "--frame-rate", "50", path("coded.mov"), path("no.mov"), status: 64)

            // From its second key frame on, the first pictures in output order refer to pictures before it.
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=0.8", "-c:v", "libx265"]
                    + ["-x265-params", "log-level=none:keyint=10:open-gop=1:repeat-headers=1", path("open.hevc")])
            let whole = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path("open.hevc"))))
            let starts = whole.indices.dropLast(5).filter { Array(whole[$0..<$0 + 3]) == [0, 0, 1] }
            // The VPS before the second key frame.
            let second = try #require(starts.dropFirst().first { whole[$0 + 3] >> 1 & 63 == 32 })
            try Data(whole[second...]).write(to: URL(fileURLWithPath: path("late.hevc")))
            let late = try hwctl("encode", "--copy", path("late.hevc"), path("late.mov"))
            #expect(late.errors.contains("leading pictures are left out"), "\(late.errors)")
            #expect(try frames("late.mov") == frames("late.hevc"))
        }

        @Test("A raw stream with an alpha layer keeps both layers and its mode")
        func rawAlpha() throws {
            try hwctl(
                "encode", "--preset", "ultrafast", "--alpha", "straight", Clips.fixture("alpha_qtrle.mov").path,
                path("alpha.hevc"))
            try hwctl("encode", "--copy", path("alpha.hevc"), path("alpha.mov"))
            for name in ["alpha.hevc", "alpha.mov"] {
                try hwctl("decode", "--format", "yuva", path(name), path("\(name).yuv"))
            }
            let (before, after) = try (
                Data(contentsOf: URL(fileURLWithPath: path("alpha.hevc.yuv"))),
                Data(contentsOf: URL(fileURLWithPath: path("alpha.mov.yuv")))
            )
            #expect(before == after && !before.isEmpty)
            let info = try hwctl("info", "--json", "--no-measure", path("alpha.mov"))
            #expect(info.text.contains("\"alpha_mode\" : \"straight\""), "\(info.text)")
        }

        @Test("The Dolby Vision record of Matroska becomes the box of a movie", arguments: ["mov", "mp4"])
        func dolbyVision(_ ending: String) throws {
            let clip = Clips.fixture("dolby_vision_84.mov")
            let options = ["-map", "0:v:0", "-c", "copy", "-strict", "unofficial", path("dv.mkv")]
            try Programs.tool("ffmpeg", ["-v", "error", "-i", clip.path] + options)
            try hwctl("encode", "--copy", path("dv.mkv"), path("dv.\(ending)"))
            func box(_ url: URL) throws -> [UInt8] {
                let file = try [UInt8](Data(contentsOf: url))
                let start = try #require(
                    file.indices.dropLast(28).first { Array(file[$0..<$0 + 4]) == Array("dvvC".utf8) })
                return Array(file[start - 4..<start + 28])
            }
            #expect(try box(URL(fileURLWithPath: path("dv.\(ending)"))) == box(clip))
        }

        @Test("A file that is replaced keeps its permissions", arguments: [0o640, 0o600, 0o664])
        func permissions(_ mode: Int) throws {
            let output = path("old.mov")
            try Data("old".utf8).write(to: URL(fileURLWithPath: output))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: output)
            try hwctl("encode", "--copy", Clips.fixture("bframes.mp4").path, output)
            let attributes = try FileManager.default.attributesOfItem(atPath: output)
            #expect(attributes[.posixPermissions] as? Int == mode)
            #expect((attributes[.size] as? Int ?? 0) > 1000)
        }

        @Test("Samples of an hvc1 track repeat no parameter sets of its hvcC")
        func parameterSets() throws {
            // ffmpeg and x265 write static HDR metadata and parameter sets into each key frame.
            let metadata =
                "hdr10=1:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400"
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=0.6", "-pix_fmt",
                    "yuv420p10le", "-color_primaries", "bt2020", "-color_trc", "smpte2084", "-colorspace",
                    "bt2020nc", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params",
                    "log-level=none:keyint=5:\(metadata)", "-tag:v", "hvc1", path("pq.mp4"),
                ])
            let sets: Set<UInt8> = [32, 33, 34]
            try #require(try unitTypes("pq.mp4").contains { !sets.isDisjoint(with: $0) })
            try hwctl("encode", "--copy", path("pq.mp4"), path("copy.mov"))
            #expect(try frames("copy.mov") == frames("pq.mp4"))
            try hwctl(
                "encode", "--preset", "ultrafast", "--keyframe-interval", "5", path("pq.mp4"), path("coded.mov"))
            for name in ["copy.mov", "coded.mov"] {
                let types = try unitTypes(name)
                #expect(types.count == 15 && types.allSatisfy { sets.isDisjoint(with: $0) }, "\(name): \(types)")
                let light = try Programs.tool(
                    "ffprobe", ["-v", "error", "-show_frames", "-read_intervals", "%+#1", path(name)])
                #expect(light.text.contains("Content light level metadata"), "\(name)")
            }
            try hwctl(
                "encode", "--preset", "ultrafast", "--keyframe-interval", "5", path("pq.mp4"), path("coded.hevc"))
            #expect(try frames("coded.hevc") == frames("coded.mov"))
        }
    }
}
