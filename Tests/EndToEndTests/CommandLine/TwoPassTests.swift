// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// `--two-pass`, checked by x265's own program.
    @Suite struct TwoPass: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        /// A still scene, then noise: two passes give the first one fewer bits.
        private func makeSource() throws {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=4", "-f", "lavfi",
                    "-i",
                    "testsrc2=size=320x180:rate=25:duration=4,noise=alls=60:allf=t", "-f", "lavfi", "-i",
                    "sine=duration=8", "-filter_complex", "[0:v][1:v]concat=n=2:v=1:a=0[v]", "-map", "[v]", "-map",
                    "2:a", "-pix_fmt", "yuv420p", "-c:v", "ffv1", "-c:a", "aac", path("in.mkv"),
                ])
        }

        /// SSIM of all samples of a file against the source (ffmpeg's filter).
        private func similarity(_ name: String) throws -> Double {
            let run = try Programs.tool(
                "ffmpeg",
                [
                    "-i", path(name), "-i", path("in.mkv"), "-lavfi",
                    "[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]ssim", "-f", "null", "-",
                ])
            let text = try #require(run.errors.split(separator: "All:").last?.split(separator: " ").first)
            return try #require(Double(text))
        }

        private func bits(_ name: String) throws -> Double {
            let sizes = try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=size", "-of", "csv=p=0",
                    path(name),
                ]
            ).text.split(separator: "\n").compactMap { Int($0.prefix { $0 != "," }) }
            return Double(8 * sizes.reduce(0, +)) / 8
        }

        @Test("Two passes have the rate and the quality of x265's program")
        func likeTheProgram() throws {
            try makeSource()
            let before = Set(server.folder.contents)
            let run = try hwctl(
                "encode", "--two-pass", "--bitrate", "500k", "--json", path("in.mkv"), path("out.mov"))
            #expect(Set(server.folder.contents).subtracting(before) == ["out.mov"])
            #expect(run.text.contains("\"frames\" : 200") && run.text.contains("MultiPassStorage"))
            try Programs.tool("ffmpeg", ["-v", "error", "-i", path("in.mkv"), path("in.y4m")])
            for pass in ["1", "2"] {
                try Programs.tool(
                    "x265",
                    [
                        "--log-level", "error", "--input", path("in.y4m"), "--bitrate", "500", "--pass", pass,
                        "--stats", path("stats"), "-o", path("theirs.hevc"),
                    ])
            }
            try hwctl("encode", "--bitrate", "500k", path("in.mkv"), path("one.mov"))
            let (own, theirs, single) = (try bits("out.mov"), try bits("theirs.hevc"), try bits("one.mov"))
            #expect(abs(own / theirs - 1) < 0.02, "\(own) and \(theirs) bits a second")
            #expect(abs(own / 500_000 - 1) < 0.1, "\(own) bits a second")
            print("two passes: \(own), x265: \(theirs), one pass: \(single) bits a second")
            let (ownQuality, theirQuality) = (try similarity("out.mov"), try similarity("theirs.hevc"))
            #expect(ownQuality >= theirQuality - 0.0005, "\(ownQuality) and \(theirQuality)")
            // Sound, times and every picture of the source are there.
            #expect(try Probe(path("out.mov")).audioCodecs().count == 1)
            let times = try Probe(path("out.mov")).frameTimes()
            #expect(try times.count == 200 && times == Probe(path("one.mov")).frameTimes())
        }

        @Test("Parts, sizes and rates have two passes too")
        func edited() throws {
            try makeSource()
            try hwctl(
                "encode", "--two-pass", "--bitrate", "200k", "--preset", "ultrafast", "--start", "1", "--duration",
                "4",
                "--size", "160x90", "--output-frame-rate", "12.5", path("in.mkv"), path("out.mov"))
            #expect(try Probe(path("out.mov")).frameTimes().count == 50)
            #expect(try Probe(path("out.mov")).decodingMessages().isEmpty)
        }

        @Test(
            "Two passes need a rate, software and a file",
            arguments: [
                ([], "--two-pass requires --bitrate"), (["--quality", "0.5"], "--two-pass requires --bitrate"),
                (["--bitrate", "1M", "--hardware", "require"], "is for software"),
                (["--bitrate", "1M", "--alpha", "straight"], "contradict"),
                (["--bitrate", "1M", "--copy"], "does not encode"),
                (["--property", "MultiPassStorage=FinalPass", "--bitrate", "1M"], "begins with FirstPass"),
                (["--property", "MultiPassStorage=FirstPass"], "MultiPassStorage requires --bitrate"),
                (
                    ["--property", "MultiPassStorage=FirstPass", "--bitrate", "1M", "--segment", "1/2"],
                    "--segment cannot be combined with MultiPassStorage"
                ),
                (
                    ["--property", "MultiPassStorage=FirstPass", "--bitrate", "1M", "--parallel", "2"],
                    "--parallel cannot be combined with MultiPassStorage"
                ),
            ] as [([String], String)])
        func refused(_ options: [String], _ reason: String) throws {
            try makeSource()
            let asked = options.first == "--property" ? [] : ["--two-pass"]
            let run = try Programs.hwctl(
                ["encode"] + asked + options + [path("in.mkv"), path("out.mov")], socket: server.socket)
            #expect(run.status == 64 && run.errors.contains(reason), "\(run.errors)")
            #expect(!server.folder.contents.contains("out.mov"))
            let piped = try Programs.hwctl(
                ["encode", "--two-pass", "--bitrate", "1M", "-", path("out.mov")], socket: server.socket)
            #expect(piped.status == 64 && piped.errors.contains("reads INPUT twice"))
            let property = try Programs.hwctl(
                ["encode", "--property", "MultiPassStorage=FirstPass", "--bitrate", "1M", "-", path("out.mov")],
                socket: server.socket)
            #expect(property.status == 64 && property.errors.contains("reads INPUT twice"))
        }
    }
}
