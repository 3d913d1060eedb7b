// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import Testing

extension EndToEnd {
    /// `hwctl encode` to HEIC files, checked by libheif, an independent checker and exiftool.
    @Suite(.needsLibHEIF) struct StillEncoding: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        /// A checker that shares no code with this project; nil in a clone without it.
        static let checker: String? = Clips.shared.map {
            $0.deletingLastPathComponent().appendingPathComponent("tools/check_heic.py").path
        }.flatMap { FileManager.default.fileExists(atPath: $0) ? $0 : nil }

        typealias Kind = (name: String, size: String, options: [String], expected: [String])

        /// The kinds of files, with what the checker expects of each.
        static let kinds: [Kind] = [
            ("single", "400x300", [], ["--expect-thumb"]),
            ("tiny", "40x30", [], []),
            ("grid", "1366x901", [], ["--expect-grid", "2x3", "--expect-tile", "512", "--expect-thumb"]),
            (
                "tiles", "801x601", ["--tile", "256", "--thumbnail", "0"],
                ["--expect-grid", "3x4", "--expect-tile", "256"]
            ),
            ("whole", "1001x601", ["--tile", "0"], ["--expect-grid", "1x1"]),
            ("deep", "700x500", ["--profile", "main10"], ["--expect-grid", "1x2"]),
            (
                "pq", "640x480",
                ["--profile", "main10", "--primaries", "2020", "--property", "TransferFunction=16"],
                ["--expect-grid", "1x2"]
            ),
            (
                "hlg", "640x480",
                ["--profile", "main10", "--primaries", "2020", "--property", "TransferFunction=18"],
                ["--expect-grid", "1x2"]
            ),
            ("p3", "640x480", ["--primaries", "p3"], ["--expect-grid", "1x2"]),
        ]

        /// Makes a picture with ffmpeg.
        func picture(_ name: String, size: String, format: String = "rgb24") throws -> String {
            let filter =
                format == "rgba" ? ",format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='128+64*sin(X/40)'" : ""
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc=size=\(size),gblur=sigma=5" + filter,
                    "-frames:v", "1",
                    "-pix_fmt", format, path(name),
                ])
            return path(name)
        }

        func check(_ file: String, _ expected: [String]) throws {
            let checker = try #require(Self.checker)
            let run = try Running(Programs.required("python3"), [checker, file, "--strict"] + expected).wait()
            #expect(run.status == 0, "\(run.text.split(separator: "\n").filter { !$0.hasPrefix("PASS") })")
        }

        /// The PSNR of two pictures as RGB of 8 bits.
        func quality(_ first: String, _ second: String, _ format: String = "rgb24") throws -> Double {
            let graph = "[0]format=\(format)[a];[1]format=\(format)[b];[a][b]psnr"
            let run = try Programs.tool(
                "ffmpeg", ["-i", first, "-i", second, "-lavfi", graph, "-f", "null", "-"])
            let text = try #require(run.errors.range(of: "average:")).upperBound
            let number = run.errors[text...].prefix { $0 != " " }
            return number == "inf" ? 100 : try #require(Double(number))
        }

        /// Makes out.heic of a kind.
        ///
        /// - Returns: the picture that it shows.
        private func encode(_ kind: Kind) throws -> String {
            let source = try picture("in.png", size: kind.size)
            let run = try Programs.hwctl(
                ["encode", "--json", "--quality", "0.7"] + kind.options + [source, path("out.heic")],
                socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            return source
        }

        /// Makes out.heic with alpha.
        private func encodeAlpha(_ mode: String) throws {
            let source = try picture("in.png", size: "701x301", format: "rgba")
            try hwctl("encode", "--alpha", mode, source, path("out.heic"))
        }

        /// Makes out.heic with a depth map and a gain map.
        ///
        /// - Returns: the picture of both.
        private func encodeAuxiliaries() throws -> String {
            let source = try picture("in.png", size: "600x400")
            let depth = try picture("depth.png", size: "200x134", format: "gray")
            try hwctl("encode", "--depth-map", depth, "--gain-map", depth, source, path("out.heic"))
            return depth
        }

        /// Makes out.heic with the Exif of a picture that lies on its side.
        ///
        /// - Returns: that picture.
        private func encodeExif() throws -> String {
            let source = try picture("in.jpg", size: "640x400", format: "yuvj420p")
            try Programs.tool(
                "exiftool",
                [
                    "-q", "-overwrite_original", "-n", "-Orientation=6", "-Make=Maker", "-ISO=200",
                    "-DateTimeOriginal=2024:05:06 07:08:09", source,
                ])
            try hwctl("encode", "--exif", "copy", source, path("out.heic"))
            return source
        }

        @Test(
            "An independent checker finds nothing wrong", .needsHEICChecker,
            arguments: sampled(kinds.map(\.name), oneIn: 2))
        func strict(_ name: String) throws {
            let kind = try #require(Self.kinds.first { $0.name == name })
            _ = try encode(kind)
            try check(path("out.heic"), kind.expected)
        }

        @Test("The checker accepts files with alpha", .needsHEICChecker, arguments: ["straight", "premultiplied"])
        func strictAlpha(_ mode: String) throws {
            try encodeAlpha(mode)
            try check(path("out.heic"), ["--expect-alpha", mode])
        }

        @Test("The checker accepts files with auxiliary pictures", .needsHEICChecker)
        func strictAuxiliaries() throws {
            _ = try encodeAuxiliaries()
            try check(path("out.heic"), ["--expect-depth"])
        }

        @Test("The checker accepts files with Exif", .needsHEICChecker, .needsExifTool)
        func strictExif() throws {
            _ = try encodeExif()
            try check(path("out.heic"), ["--expect-exif"])
        }

        @Test("Every kind of file is right for other readers", arguments: sampled(kinds.map(\.name), oneIn: 2))
        func everyKind(_ name: String) throws {
            let kind = try #require(Self.kinds.first { $0.name == name })
            let source = try encode(kind)
            let info = try Programs.tool("heif-info", [path("out.heic")]).text
            #expect(info.contains("image: \(kind.size) (id="), "\(info)")
            if kind.expected.contains("--expect-thumb") { #expect(info.contains("thumbnail:"), "\(info)") }
            try Programs.tool("heif-convert", [path("out.heic"), path("theirs.png")])
            // libheif 1.15 repeats chroma samples instead of interpolating them.
            #expect(try quality(path("theirs.png"), source) > 30)
            try hwctl("decode", path("out.heic"), path("ours.png"))
            #expect(
                try Probe(path("ours.png")).field("width") + "x" + Probe(path("ours.png")).field("height")
                    == kind.size)
            #expect(try quality(path("ours.png"), source) > 38)
        }

        @Test("Alpha is a picture of its own", arguments: ["straight", "premultiplied"])
        func alpha(_ mode: String) throws {
            try encodeAlpha(mode)
            try Programs.tool("heif-convert", [path("out.heic"), path("theirs.png")])
            func alpha(_ name: String) throws -> String {
                try Programs.tool(
                    "ffmpeg", ["-v", "error", "-y", "-i", path(name), "-vf", "alphaextract", path("a-" + name)])
                return path("a-" + name)
            }
            #expect(try quality(alpha("theirs.png"), alpha("in.png"), "gray") > 38)
            try hwctl("decode", path("out.heic"), path("ours.png"))
            #expect(try quality(alpha("ours.png"), alpha("theirs.png"), "gray") == 100)
            let plain = try picture("plain.png", size: "100x100")
            try hwctl("encode", "--alpha", mode, plain, path("no.heic"), status: 65)
            #expect(!server.folder.contents.contains("no.heic"))
        }

        @Test("Depth and gain map are auxiliary pictures")
        func auxiliaries() throws {
            let depth = try encodeAuxiliaries()
            #expect(try Programs.tool("heif-info", [path("out.heic")]).text.contains("depth channel: yes"))
            for kind in ["depth", "gainmap"] {
                try hwctl("decode", "--aux", kind, path("out.heic"), path("aux.png"))
                #expect(try quality(path("aux.png"), depth, "gray") > 38, "\(kind)")
            }
        }

        @Test("Exif comes back as it was, but for its orientation", .needsExifTool)
        func exif() throws {
            let source = try encodeExif()
            let tags = try Programs.tool(
                "exiftool", ["-n", "-s3", "-Orientation", "-Make", "-ISO", path("out.heic")]
            ).text
            #expect(tags == "1\nMaker\n200\n", "\(tags)")
            // Upright in other readers.
            try Programs.tool("heif-convert", [path("out.heic"), path("theirs.png")])
            #expect(try Probe(path("theirs.png")).size == (400, 640))
            try Programs.tool(
                "ffmpeg", ["-v", "error", "-noautorotate", "-i", source, "-vf", "transpose=1", path("turned.png")])
            #expect(try quality(path("theirs.png"), path("turned.png")) > 33)
            try hwctl("decode", "--exif", path("first.tiff"), path("out.heic"), path("first.png"))
            try hwctl("encode", "--exif", path("first.tiff"), path("first.png"), path("again.heic"))
            try hwctl("decode", "--exif", path("second.tiff"), path("again.heic"), path("second.png"))
            func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }
            #expect(try bytes("first.tiff") == bytes("second.tiff"))
        }

        /// The Exif item of a HEIC file, as libheif reads it.
        private func exifItem(_ file: String) throws -> Data {
            try Programs.tool("heif-convert", ["--with-exif", file, path("libheif.png")])
            return try Data(contentsOf: URL(fileURLWithPath: path("libheif.exif")))
        }

        @Test(
            "A camera's Exif, whose picture is rotated, survives decoding and encoding: only the orientation changes",
            .enabled(if: Clips.hasShared, Clips.needsShared), .needsExifTool)
        func roundTrip() throws {
            let camera = try StillDecoding.shared("still_arrow.heic")
            let original = try exifItem(camera)
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", path("libheif.png"), "-vf", "scale=600:800:flags=area", path("camera.png"),
                ])
            try hwctl("decode", "--exif", path("exif.tiff"), "--thumbnail", "800", camera, path("photo.png"))
            #expect(try Probe(path("photo.png")).size == (600, 800))
            // The file that decode writes, and that of the camera, whose orientation is 6.
            for exif in [path("exif.tiff"), camera] {
                try hwctl("encode", "--exif", exif, path("photo.png"), path("out.heic"))
                let written = try exifItem(path("out.heic"))
                #expect(written.count == original.count)
                #expect(zip(original, written).filter { $0 != $1 }.map { [$0, $1] } == [[6, 1]])
                let orientation = try Programs.tool("exiftool", ["-n", "-s3", "-Orientation", path("out.heic")])
                #expect(orientation.text == "1\n")
                // As libheif shows it.
                #expect(try Probe(path("libheif.png")).size == (600, 800))
                #expect(try quality(path("libheif.png"), path("camera.png")) > 30)
            }
            // The orientation of INPUT's own Exif rotates the picture, not that of the file of --exif.
            try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", path("photo.png"), "-q:v", "2", path("lying.jpg")])
            try Programs.tool("exiftool", ["-q", "-overwrite_original", "-n", "-Orientation=8", path("lying.jpg")])
            try hwctl("encode", "--exif", camera, path("lying.jpg"), path("turned.heic"))
            try Programs.tool("heif-convert", [path("turned.heic"), path("turned.png")])
            #expect(try Probe(path("turned.png")).size == (800, 600))
        }

        @Test("A PQ picture keeps the mastering display and the light level of its source")
        func light() throws {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=1", "-frames:v", "1", "-c:v",
                    "libx265", "-pix_fmt", "yuv420p10le", "-color_primaries", "bt2020", "-color_trc", "smpte2084",
                    "-colorspace", "bt2020nc", "-tag:v", "hvc1", "-x265-params",
                    "log-level=error:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50):max-cll=1234,321",
                    path("pq.mp4"),
                ])
            try hwctl("encode", path("pq.mp4"), path("out.heic"))
            try hwctl("encode", path("out.heic"), path("again.heic"))
            for name in ["out.heic", "again.heic"] {
                let info = try Programs.tool("heif-info", [path(name)]).text
                #expect(info.contains("max content light level: 1234"), "\(info)")
                #expect(info.contains("max pic average light level: 321"), "\(info)")
                #expect(info.contains("max display mastering luminance: 1000"), "\(info)")
            }
            // JPEG holds no HDR; a note says so once the output is complete.
            #expect(try hwctl("decode", path("out.heic"), path("out.jpg")).errors.contains("holds no HDR"))
            let failed = try Programs.hwctl(
                ["decode", path("out.heic"), path("none/out.jpg")], socket: server.socket)
            #expect(failed.status == 73 && failed.errorLines.count == 1, "\(failed.errors)")
            // SDR output has none.
            try hwctl(
                "encode", "--property", "TransferFunction=1", path("pq.mp4"), path("plain.heic"))
            #expect(try !Programs.tool("heif-info", [path("plain.heic")]).text.contains("light level"))
        }

        @Test("The range of a depth map is what libheif reads")
        func depthRange() throws {
            let source = try picture("in.png", size: "600x400")
            let depth = try picture("depth.png", size: "200x134", format: "gray")
            try hwctl(
                "encode", "--depth-map", depth, "--depth-range", "1.5:4.25", source, path("out.heic"))
            let info = try Programs.tool("heif-info", [path("out.heic")]).text
            #expect(info.contains("d-min:  1.500000\n") && info.contains("d-max:  4.250000\n"), "\(info)")
            #expect(info.contains("uniform disparity"), "\(info)")
            let list = try hwctl("info", path("out.heic")).text
            #expect(list.contains("depth, 200x134"), "\(list)")
            try hwctl("encode", "--depth-range", "1:2", source, path("x.heic"), status: 64)
            for range in ["2:1", "1", "a:b", "-1:2", "nan:2"] {
                try hwctl(
                    "encode", "--depth-map", depth, "--depth-range=\(range)", source, path("x.heic"), status: 64)
            }
            #expect(!server.folder.contents.contains { $0.hasPrefix("x.") })
        }

        @Test(
            "Raw samples are encoded in their own format",
            arguments: sampled(
                [("nv12", "nv12"), ("p010", "p010le"), ("i010", "yuv420p10le"), ("i420", "yuv420p")], oneIn: 2))
        func rawSamples(_ format: String, _ name: String) throws {
            let source = try picture("in.png", size: "301x201")
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", source, "-vf", "scale=out_range=full:out_color_matrix=bt601", "-pix_fmt",
                    name, "-f", "rawvideo", path("in.raw"),
                ])
            let options = ["--raw-size", "301x201", "--raw-format", format, "--quality", "0.9"]
            func run(_ more: [String], _ output: String) throws -> Finished {
                try Programs.hwctl(
                    ["encode"] + options + more + [path("in.raw"), path(output)], socket: server.socket)
            }
            let good = try run([], "out.heic")
            try #require(good.status == 0, "\(good.errors)")
            try Programs.tool("heif-convert", [path("out.heic"), path("theirs.png")])
            #expect(try quality(path("theirs.png"), source) > 30)
            #expect(try run(["--alpha", "straight"], "x.heic").status == 65)
            let other = format.hasSuffix("010") ? "main" : "main10"
            #expect(try run(["--profile", other], "x.heic").status == 65)
            try hwctl("encode", "--raw-size", "300x201", path("in.raw"), path("x.heic"), status: 65)
            let large = try hwctl("encode", "--raw-size", "9x9", path("in.raw"), path("x.heic"), status: 65)
            #expect(large.errors.contains(" bytes; a picture of 9x9 in "), "\(large.errors)")
            try hwctl("encode", "--raw-size", "301", path("in.raw"), path("x.heic"), status: 64)
            try hwctl("encode", "--raw-format", format, path("in.raw"), path("x.heic"), status: 64)
            try hwctl(
                "encode", "--raw-size", "301x201", "--raw-format", "bgra8", path("in.raw"), path("x.heic"),
                status: 64)
            try hwctl("encode", "--raw-size", "301x201", path("in.raw"), path("x.heics"), status: 64)
            #expect(!server.folder.contents.contains { $0.hasPrefix("x.") })
        }

        @Test("XMP and an ICC profile are kept")
        func documents() throws {
            let source = try picture("in.png", size: "128x96")
            let xmp = """
                <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></x:xmpmeta>
                """
            try Data(xmp.utf8).write(to: URL(fileURLWithPath: path("in.xmp")))
            try Data((0..<300).map { UInt8($0 & 255) }).write(to: URL(fileURLWithPath: path("in.icc")))
            try hwctl("encode", "--xmp", path("in.xmp"), "--icc", path("in.icc"), source, path("out.heic"))
            let info = try Programs.tool("heif-info", [path("out.heic")]).text
            #expect(
                info.contains("color profile: prof") && info.contains("XMP: \(xmp.utf8.count) bytes"), "\(info)")
        }

        @Test("Options that do not fit are refused, and nothing is left")
        func usage() throws {
            let source = try picture("in.png", size: "64x64")
            try hwctl("encode", "--tile", "63", source, path("x.heic"), status: 64)
            try hwctl("encode", "--tile", "256", source, path("x.mov"), status: 64)
            try hwctl("encode", "--bitrate", "1M", source, path("x.heic"), status: 64)
            try hwctl("encode", "--exif", "copy", source, path("x.heic"), status: 65)
            try hwctl("encode", "--icc", path("missing.icc"), source, path("x.heic"), status: 66)
            try hwctl("encode", path("missing.png"), path("x.heic"), status: 66)
            // A FIFO without a writer is refused, not waited for.
            #expect(mkfifo(path("fifo"), 0o600) == 0)
            try hwctl("encode", "--icc", path("fifo"), source, path("x.heic"), status: 65)
            try hwctl("encode", "--hardware", "require", source, path("x.heic"), status: 69)
            #expect(!server.folder.contents.contains { $0.hasPrefix("x.") })
        }
    }
}

extension Trait where Self == ConditionTrait {
    static var needsHEICChecker: Self {
        .enabled(if: EndToEnd.StillEncoding.checker != nil, "needs check_heic.py beside the repository")
    }
}
