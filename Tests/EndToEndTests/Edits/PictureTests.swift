// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import HWDLibAVReading
import HWDMetadata
import HWDModel
import Testing

extension EndToEndFaults {
    /// `hwctl encode` with other sizes, parts, turns and frame rates, checked by ffmpeg's filters.
    @Suite struct Pictures {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        func path(_ name: String) -> String { server.folder.path(name) }

        /// Encodes nearly without loss, and verifies the output.
        @discardableResult
        func encode(_ options: [String], _ input: String, _ output: String) throws -> Finished {
            let run = try Programs.hwctl(
                ["encode", "--preset", "ultrafast", "--qp", "1", "--verify"] + options + [input, output],
                socket: server.socket)
            try #require(run.status == 0, "\(options): \(run.errors)")
            return run
        }

        /// Half a second of a test picture, without loss.
        func make(_ name: String, size: String = "320x180", format: String = "yuv420p", _ more: [String] = [])
            throws
        {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=30:duration=0.5", "-pix_fmt",
                    format,
                ]
                    + ["-c:v", "libx264", "-qp", "0", "-preset", "ultrafast"] + more + [path(name)])
        }

        /// PSNR of luma against what a filter of ffmpeg makes of the input.
        func quality(_ output: String, _ filter: String, _ input: String) throws -> Double {
            let text = try Programs.tool(
                "ffmpeg",
                [
                    "-hide_banner", "-nostats", "-noautorotate", "-i", output, "-i", input, "-filter_complex",
                    "[1:v]\(filter)[r];[0:v][r]psnr", "-f", "null", "-",
                ]
            ).errors
            let found = try #require(text.range(of: "PSNR y:").map { text[$0.upperBound...].prefix { $0 != " " } })
            return found == "inf" ? .infinity : try #require(Double(found))
        }

        @Test("Scaled pictures are those of zscale", arguments: ["yuv420p", "yuv420p10le"])
        func scales(_ format: String) throws {
            try make("in.mp4", format: format)
            for (size, expected) in [("160x-2", (160, 90)), ("-2x120", (214, 120)), ("400x300", (400, 300))] {
                try encode(["--size", size], path("in.mp4"), path("out.mov"))
                #expect(try Probe(path("out.mov")).size == expected)
                let filter = "zscale=\(expected.0):\(expected.1):filter=lanczos"
                #expect(try quality(path("out.mov"), filter, path("in.mp4")) > 50, "\(size)")
            }
            // The picture keeps its proportions: 16:9 in 400x300.
            #expect(try Probe(path("out.mov")).field("display_aspect_ratio") == "16:9")
            #expect(try Probe(path("out.mov")).field("pix_fmt") == format)
        }

        @Test("The bilinear filter is zscale's", arguments: ["yuv420p", "yuv420p10le"])
        func bilinear(_ format: String) throws {
            try make("in.mp4", format: format)
            for (size, expected) in [("160x-2", "160:90"), ("400x300", "400:300")] {
                let run = try encode(
                    ["--size", size, "--filter", "bilinear"], path("in.mp4"), path("out.mov"))
                #expect(run.errors.contains("(bilinear)"), "\(run.errors)")
                let same = try quality(path("out.mov"), "zscale=\(expected):filter=bilinear", path("in.mp4"))
                let other = try quality(path("out.mov"), "zscale=\(expected):filter=lanczos", path("in.mp4"))
                #expect(same > 50 && other < same - 5, "\(size): \(same) and \(other) dB")
            }
        }

        /// Tags of BT.709.
        static let tags = ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]

        @Test("Linear light is zscale's, and keeps the light of fine detail")
        func linearLight() throws {
            try make("in.mp4", Self.tags)
            let options = ["--size", "160x-2", "--filter-light", "linear"]
            let run = try encode(options, path("in.mp4"), path("out.mov"))
            #expect(run.errors.contains("(in linear light)"), "\(run.errors)")
            // Integers have no light below black, which the filter makes and zimg codes in another way where there is AVX-512.
            let light =
                "zscale=tin=709:min=709:pin=709:rin=limited:cin=left:t=linear:f=spline36,format=gbrpf32le,"
                + "zscale=160:90:filter=lanczos,format=gbrp16le,zscale=tin=linear:t=709:m=709:p=709:r=limited:c=left,format=yuv420p"
            let same = try quality(path("out.mov"), light, path("in.mp4"))
            let other = try quality(path("out.mov"), "zscale=160:90:filter=lanczos", path("in.mp4"))
            #expect(same > 40 && other < same - 5, "\(same) and \(other) dB")

            // Half of the samples have all of the light: BT.1886 codes half of it as 0.5^(1/2.4), not as 0.5.
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "color=size=320x180:rate=30:duration=0.1", "-vf",
                    "format=yuv420p,geq=lum='16+219*mod(X+Y\\,2)':cb=128:cr=128", "-c:v", "libx264", "-qp", "0",
                ] + Self.tags + [path("fine.mp4")])
            for (options, expected) in [(options, 16 + 219 * pow(0.5, 1 / 2.4)), (["--size", "160x-2"], 125.5)] {
                try encode(options, path("fine.mp4"), path("fine.mov"))
                let samples = try Programs.tool(
                    "ffmpeg", ["-v", "error", "-i", path("fine.mov"), "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"]
                ).output.prefix(160 * 90)
                let mean = samples.reduce(0.0) { $0 + Double($1) } / Double(samples.count)
                #expect(abs(mean - expected) < 1.5, "\(options): \(mean) instead of \(expected)")
            }
        }

        @Test("Linear light of a color that is not known is refused")
        func unknownLight() throws {
            try make("in.mp4", ["-color_trc", "smpte240m"])
            let run = try Programs.hwctl(
                ["encode", "--size", "160x-2", "--filter-light", "linear", path("in.mp4"), path("out.mov")],
                socket: server.socket)
            #expect(run.status == 65 && run.complaints.count == 1, "\(run.errors)")
            #expect(run.errors.contains("SMPTE 240M"), "\(run.errors)")
            #expect(!server.folder.contents.contains("out.mov"))
        }

        @Test("--max-height never enlarges")
        func maxHeight() throws {
            try make("in.mp4")
            try encode(["--max-height", "90"], path("in.mp4"), path("small.mp4"))
            #expect(try Probe(path("small.mp4")).size == (160, 90))
            try encode(["--max-height", "720"], path("in.mp4"), path("same.mp4"))
            #expect(try Probe(path("same.mp4")).size == (320, 180))
            #expect(try quality(path("same.mp4"), "null", path("in.mp4")) > 50)
        }

        @Test("Parts and turns are those of ffmpeg's crop and transpose")
        func parts() throws {
            try make("in.mp4")
            let cases: [([String], String, (Int, Int))] = [
                (["--crop", "200:100:20:40"], "crop=200:100:20:40", (200, 100)),
                (["--rotate", "90"], "transpose=1", (180, 320)),
                (["--rotate", "180"], "hflip,vflip", (320, 180)),
                (["--rotate", "270", "--crop", "100:60:8:6"], "crop=100:60:8:6,transpose=2", (60, 100)),
                (
                    ["--crop", "160:90:40:20", "--size", "320x-2"],
                    "crop=160:90:40:20,zscale=320:180:filter=lanczos", (320, 180)
                ),
            ]
            for (options, filter, size) in cases {
                try encode(options, path("in.mp4"), path("out.mov"))
                #expect(try Probe(path("out.mov")).size == size, "\(options)")
                #expect(try quality(path("out.mov"), filter, path("in.mp4")) > 45, "\(options)")
            }
        }

        @Test("Sizes and parts are those of the displayed picture, whose orientation stays")
        func displayed() throws {
            try make("plain.mp4")
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", path("plain.mp4"), "-c", "copy", "-metadata:s:v", "rotate=90",
                    path("in.mp4"),
                ])
            try encode(["--crop", "100:200:20:40", "--size", "-2x100"], path("in.mp4"), path("out.mov"))
            // Stored as 100x50, shown as 50x100.
            #expect(try Probe(path("out.mov")).size == (100, 50))
            let shown = try Programs.tool(
                "ffmpeg",
                [
                    "-hide_banner", "-nostats", "-i", path("out.mov"), "-i", path("in.mp4"), "-filter_complex",
                    "[0:v]null[a];[1:v]crop=100:200:20:40,zscale=50:100:filter=lanczos[r];[a][r]psnr", "-f", "null",
                    "-",
                ]
            ).errors
            let found = try #require(
                shown.range(of: "PSNR y:").map { shown[$0.upperBound...].prefix { $0 != " " } })
            #expect(try #require(Double(found)) > 45)
        }

        @Test("--orientation changes the display matrix alone")
        func orientation() throws {
            try make("in.mp4")
            for degrees in [0, 90, 180, 270] {
                try encode(["--orientation", "\(degrees)"], path("in.mp4"), path("out.mp4"))
                let reader = try MediaReader(path: path("out.mp4"), options: MediaReader.Options())
                #expect(reader.video.rotation == Double(degrees))
                #expect(try quality(path("out.mp4"), "null", path("in.mp4")) > 50)
            }
        }

        @Test(
            "Frames are left out and repeated as by ffmpeg's filter fps",
            arguments: [NumberedClip.all[0], NumberedClip.all[3]])
        func rates(_ source: NumberedClip) throws {
            try source.make(in: server.folder)
            for rate in ["10", "24000/1001", "60"] {
                let run = try Programs.hwctl(
                    [
                        "encode", "--preset", "ultrafast", "--output-frame-rate", rate, path(source.name),
                        path("out.mov"),
                    ],
                    socket: server.socket)
                try #require(run.status == 0, "\(rate): \(run.errors)")
                try Programs.tool(
                    "ffmpeg",
                    [
                        "-v", "error", "-y", "-i", path(source.name), "-vf", "fps=\(rate)", "-fps_mode",
                        "passthrough",
                        "-an", "-c:v", "libx264", "-qp", "0", "-preset", "ultrafast", path("judge.mkv"),
                    ])
                #expect(
                    try NumberedClip.numbers(path("out.mov")) == NumberedClip.numbers(path("judge.mkv")),
                    "\(source.name) at \(rate)")
                #expect(try Probe(path("out.mov")).field("r_frame_rate").hasPrefix(rate), "\(rate)")
            }
        }

        @Test("Alpha is scaled with its colors")
        func alpha() throws {
            let clip = Clips.fixture("alpha_prores4444.mov").path
            let size = try Probe(clip).size
            try encode(["--alpha", "premultiplied", "--size", "\(size.width / 4 * 2)x-2"], clip, path("out.mov"))
            #expect(try Probe(path("out.mov")).size.width == size.width / 4 * 2)
            let info = try Programs.hwctl(["info", path("out.mov")], socket: server.socket)
            #expect(info.status == 0 && info.text.contains("alpha"), "\(info.text)")
        }

        @Test("Metadata for a size are scaled with it, and those of a part are left out")
        func metadata() throws {
            let clip = Clips.fixture("dolby_vision_84.mov").path
            let height = try Probe(clip).size.height
            let scaled = try encode(["--max-height", "\(height / 4 * 2)"], clip, path("scaled.mov"))
            #expect(!scaled.errors.contains("left out"), "\(scaled.errors)")
            let part = try encode(["--crop", "64:64:16:16"], clip, path("part.mov"))
            #expect(part.errors.contains("dynamic HDR metadata"), "\(part.errors)")
        }

        /// Options that cannot be, and the exit status.
        static let refused: [([String], Int32)] = [
            (["--size", "0x0"], 64), (["--size", "15x100"], 64), (["--size", "101x100"], 64),
            (["--size", "-2x-2"], 64),
            (["--size", "100"], 64), (["--size", "20000x100"], 64),
            (["--size", "100x100", "--max-height", "90"], 64),
            (["--max-height", "0"], 64), (["--max-height", "91"], 64), (["--crop", "0:0:0:0"], 64),
            (["--crop", "100:100:1:0"], 64), (["--crop", "101:100:0:0"], 64), (["--crop", "100:100"], 64),
            (["--rotate", "45"], 64), (["--orientation", "1"], 64), (["--output-frame-rate", "0"], 64),
            (["--filter", "bilinear"], 64), (["--filter-light", "linear", "--crop", "100:100:0:0"], 64),
            (["--filter", "bicubic", "--size", "100x100"], 64), (["--copy", "--filter", "bilinear"], 64),
            (["--filter", "bilinear", "--preset-name", "archive"], 64),
            (["--copy", "--size", "100x100"], 64), (["--crop", "320:180:2:0"], 65), (["--crop", "16:182:0:0"], 65),
            (["--size", "2562x180"], 65), (["--size", "16x1442"], 65),
        ]

        @Test("A gap of more than ten minutes is not filled")
        func gap() throws {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=0.4", "-vf",
                    "setpts=PTS+gte(N\\,5)*700/TB", "-fps_mode", "passthrough", "-c:v", "libx264", "-bf", "0",
                    path("gap.mkv"),
                ])
            let run = try Programs.hwctl(
                ["encode", "--preset", "ultrafast", "--output-frame-rate", "30", path("gap.mkv"), path("out.mov")],
                socket: server.socket)
            #expect(
                run.status == 65 && run.errors.contains("--output-frame-rate would repeat a frame"), "\(run.errors)"
            )
            #expect(!server.folder.contents.contains("out.mov"))
        }

        @Test("What cannot be is one line, and nothing is written", arguments: sampled(refused.indices, oneIn: 3))
        func refuses(_ index: Int) throws {
            let (options, status) = Self.refused[index]
            try make("in.mp4")
            let run = try Programs.hwctl(
                ["encode"] + options + [path("in.mp4"), path("out.mov")], socket: server.socket)
            #expect(run.status == status, "\(options): \(run.errors)")
            #expect(run.complaints.count == 1, "\(run.errors)")
            if status == 64 { #expect(run.errors.hasSuffix("; see hwctl encode --help\n"), "\(run.errors)") }
            #expect(server.folder.contents.allSatisfy { !$0.contains("out") })
        }

        /// One grey picture as Y4M, with samples of an aspect ratio.
        private func grey(aspect: String) -> Data {
            Data("YUV4MPEG2 W64 H64 F30:1 A\(aspect) C420jpeg\nFRAME\n".utf8)
                + Data(repeating: 128, count: 64 * 64 * 3 / 2)
        }

        @Test("An impossible aspect ratio of the input ends in one that files can hold")
        func hostileAspect() throws {
            try grey(aspect: "2000000000:1").write(to: URL(fileURLWithPath: path("wide.y4m")))
            let run = try Programs.hwctl(
                ["encode", "--size", "64x32", path("wide.y4m"), path("wide.mov")], socket: server.socket)
            #expect(run.status == 0, "\(run.errors)")
            #expect(try Probe(path("wide.mov")).frameTimes().count == 1)
        }

        @Test("A file on standard input is not replaced by its own output")
        func ownInput() throws {
            let content = grey(aspect: "1:1")
            try content.write(to: URL(fileURLWithPath: path("clip.mov")))
            let script = "\"$0\" encode -y - \"$1\" <\"$1\""
            let run = try Running("/bin/sh", ["-c", script, Programs.path("hwctl"), path("clip.mov")]).wait()
            #expect(run.status == 64 && run.errors.contains("is the input"), "\(run.errors)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: path("clip.mov"))) == content)
        }
    }
}
