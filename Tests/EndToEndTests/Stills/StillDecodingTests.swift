// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEnd {
    /// `hwctl decode` and `hwctl info` of HEIC files, checked by libheif, ffmpeg and exiftool.
    @Suite struct StillDecoding: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        /// A file of the large set.
        static func shared(_ name: String) throws -> String {
            try #require(Clips.shared).appendingPathComponent(name).path
        }

        /// The samples of a Y4M file's first frame.
        private func samples(_ name: String) throws -> Data {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path(name)))
            let header = try #require(bytes.firstIndex(of: 10))
            let frame = try #require(bytes[(header + 1)...].firstIndex(of: 10))
            return Data(bytes[(frame + 1)...])
        }

        /// The PSNR of two pictures after a filter of the first one.
        private func quality(_ first: String, _ second: String, filter: String = "null") throws -> Double {
            let run = try Programs.tool(
                "ffmpeg",
                [
                    "-noautorotate", "-i", path(first), "-noautorotate", "-i", path(second), "-lavfi",
                    "[0]\(filter)[a];[a][1]psnr", "-f", "null",
                    "-",
                ])
            let place = try #require(run.errors.range(of: "average:")).upperBound
            let number = run.errors[place...].prefix { $0 != " " }
            return number == "inf" ? 200 : try #require(Double(number))
        }

        /// Files that libheif 1.15 writes without going through RGB; those with a video range it expands.
        @Test(
            "Samples equal libheif's", .enabled(if: Clips.hasShared, Clips.needsShared), .needsLibHEIF,
            arguments: [
                ("still_androidx.heic", ""), ("still_exif_xmp.heic", ""), ("still_3images.heic", "-2"),
                ("heic/C006_alpha.heic", ""), ("heic/C013_clap.heic", "-1"), ("heic/C018_overlay.heic", "-1"),
                ("heic/C018_overlay.heic", "-3"), ("heic/motion_photo_mpvd.heic", ""),
            ])
        func samplesEqualLibheif(_ name: String, _ number: String) throws {
            let input = try Self.shared(name)
            let overlay = number == "-3" ? ["--item", "1006"] : []
            let run = try Programs.hwctl(
                ["decode"] + overlay + [input, path("ours.y4m")], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            try Programs.tool("heif-convert", [input, path("theirs.y4m")])
            #expect(try Probe(path("ours.y4m")).size == Probe(path("theirs\(number).y4m")).size)
            if try Probe(path("ours.y4m")).field("color_range") == "pc" {
                #expect(try samples("ours.y4m") == samples("theirs\(number).y4m"))
            } else {
                // heif-convert goes through RGB to full range, where colors outside of RGB are clipped.
                let filter = "scale=in_range=limited:out_range=full,setrange=full"
                #expect(try quality("ours.y4m", "theirs\(number).y4m", filter: filter) > 48)
            }
        }

        @Test(
            "Alpha is joined as libheif joins it", .enabled(if: Clips.hasShared, Clips.needsShared), .needsLibHEIF)
        func alpha() throws {
            let input = try Self.shared("heic/C006_alpha.heic")
            try hwctl("decode", input, path("ours.png"))
            try Programs.tool("heif-convert", [input, path("theirs.png")])
            func plane(_ name: String) throws -> Data {
                Data(
                    try Programs.tool(
                        "ffmpeg",
                        [
                            "-v", "error", "-i", path(name), "-vf", "alphaextract", "-f", "rawvideo", "-pix_fmt",
                            "gray", "-",
                        ]
                    ).output)
            }
            #expect(try Probe(path("ours.png")).field("pix_fmt") == "rgba")
            #expect(try plane("ours.png") == plane("theirs.png"))
            try hwctl("decode", "--aux", "alpha", input, path("aux.yuv"))
            let aux = try Data(contentsOf: URL(fileURLWithPath: path("aux.yuv")))
            #expect(try Data(aux.prefix(1280 * 720)) == plane("ours.png"))
            try hwctl("decode", "--background", "00ff00", input, path("flat.png"))
            #expect(try Probe(path("flat.png")).field("pix_fmt") == "rgb24")
        }

        @Test(
            "A region of a turned grid is the part of the picture",
            .enabled(if: Clips.hasShared, Clips.needsShared),
            .needsLibHEIF)
        func region() throws {
            let input = try Self.shared("still_arrow.heic")
            try hwctl("decode", input, path("all.y4m"))
            let part = try hwctl("decode", "--json", "--region", "600x400+1000+700", input, path("part.y4m"))
            let document = try #require(JSONSerialization.jsonObject(with: Data(part.output)) as? [String: Any])
            #expect(document["decoded_items"] as? Int == 4)
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-i", path("all.y4m"), "-vf", "crop=600:400:1000:700", path("cut.y4m")])
            #expect(try samples("part.y4m") == samples("cut.y4m"))
            try Programs.tool("heif-convert", [input, path("theirs.y4m")])
            // libheif goes through RGB, because the file has an ICC profile.
            #expect(try quality("all.y4m", "theirs.y4m") > 70)
        }

        @Test(
            "JPEG is upright, with the Exif and the colors", .enabled(if: Clips.hasShared, Clips.needsShared),
            .needsLibHEIF, .needsExifTool)
        func jpeg() throws {
            let input = try Self.shared("still_arrow.heic")
            try hwctl("decode", "--exif", path("exif.tiff"), input, path("photo.jpg"))
            let tags = try Programs.tool(
                "exiftool",
                ["-n", "-s", "-Orientation", "-Model", "-ImageSize", "-ProfileDescription", path("photo.jpg")]
            ).text
            #expect(tags.contains("Orientation                     : 1"), "\(tags)")
            #expect(tags.contains("iPhone 8 Plus") && tags.contains("3024 4032"), "\(tags)")
            // The Exif that is written separately says that the picture is upright, too.
            let own = try Programs.tool("exiftool", ["-n", "-s", "-Orientation", path("exif.tiff")]).text
            #expect(own.contains(": 1"), "\(own)")
            // The picture itself, against libheif's.
            try Programs.tool("heif-convert", ["-q", "95", input, path("theirs.jpg")])
            #expect(try quality("photo.jpg", "theirs.jpg") > 40)
        }

        /// Its threads return no picture until each has one.
        @Test("The tiles of a grid do not wait for a decoder that has a thread for each of many processors")
        func manyProcessors() throws {
            let source = path("in.png")
            try Programs.tool(
                "ffmpeg", ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=1100x900", "-frames:v", "1", source])
            try hwctl("encode", "--tile", "128", "--thumbnail", "0", source, path("grid.heic"))
            try hwctl("decode", path("grid.heic"), path("here.yuv"))
            let library = try SimulatedDriver.library.get() + "/processors16.so"
            let count = try Running(
                Programs.required("python3"), ["-c", "import os; print(len(os.sched_getaffinity(0)))"],
                environment: ["LD_PRELOAD": library]
            ).wait()
            try #require(count.text == "16\n", "\(count.text)\(count.errors)")
            let server = try TestDaemon(environment: ["LD_PRELOAD": library])
            let run = try Running(
                Programs.path("hwctl"), ["decode", path("grid.heic"), path("there.yuv")],
                environment: ["HWDAEMON_SOCKET": server.socket]
            ).wait()
            try #require(run.status == 0, "\(run.errors)")
            func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }
            #expect(try bytes("here.yuv") == bytes("there.yuv"))
        }

        @Test("A small picture comes from the thumbnail", .enabled(if: Clips.hasShared, Clips.needsShared))
        func thumbnail() throws {
            let input = try Self.shared("still_arrow.heic")
            let run = try hwctl("decode", "--json", "--thumbnail", "200", input, path("small.png"))
            let document = try #require(JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            #expect(document["item"] as? Int == 50 && document["decoded_items"] as? Int == 1)
            #expect(try Probe(path("small.png")).size == (150, 200))
            try hwctl("decode", "--thumbnail", "400", input, path("larger.png"))
            #expect(try Probe(path("larger.png")).size == (300, 400))
        }

        @Test("info lists tiles, Exif and related pictures", .enabled(if: Clips.hasShared, Clips.needsShared))
        func info() throws {
            let run = try hwctl("info", "--json", try Self.shared("still_arrow.heic"))
            let document = try #require(JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            let picture = try #require((document["pictures"] as? [[String: Any]])?.first)
            let tiles = try #require(picture["tiles"] as? [String: Any])
            #expect(tiles["TileWidth"] as? Int == 512 && tiles["TileLength"] as? Int == 512)
            #expect(tiles["rows"] as? Int == 6 && tiles["columns"] as? Int == 8)
            let exif = try #require(picture["exif"] as? [String: Any])
            #expect(exif["make"] as? String == "Apple" && exif["orientation"] as? Int == 6)
            #expect(picture["width"] as? Int == 3024 && picture["height"] as? Int == 4032)
            #expect(document["major_brand"] as? String == "heic")
            let thumbnails = try #require(picture["thumbnails"] as? [[String: Any]])
            #expect(thumbnails.map { $0["item"] as? Int } == [50])
            #expect(thumbnails.map { $0["width"] as? Int } == [240])
            #expect(thumbnails.map { $0["height"] as? Int } == [320])
            let arrow = try hwctl("info", try Self.shared("still_arrow.heic")).text
            #expect(arrow.contains("240x320 (item 50)"), "\(arrow)")
            let text = try hwctl("info", try Self.shared("heic/C006_alpha.heic")).text
            #expect(text.contains("alpha, straight, 1280x720 (item 1005)"), "\(text)")
        }

        @Test("info lists the brands as exiftool does", .needsExifTool)
        func brands() throws {
            let file = Clips.fixture("still.heic").path
            let theirs = try Programs.tool("exiftool", ["-s3", "-n", "-MajorBrand", "-CompatibleBrands", file]).text
            let lines = theirs.split(separator: "\n").map(String.init)
            try #require(lines.count == 2)
            let run = try hwctl("info", "--json", file)
            let document = try #require(JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            let brands = try #require(document["brands"] as? [String])
            #expect(document["major_brand"] as? String == lines[0])
            #expect(brands == lines[1].components(separatedBy: ", "))
            let text = try hwctl("info", file).text
            #expect(text.contains("\(lines[0]), compatible \(brands.joined(separator: " "))"), "\(text)")
        }

        @Test("A .raw file has the samples of a .yuv file")
        func rawSamples() throws {
            let still = Clips.fixture("still.heic").path
            try hwctl("decode", still, path("out.raw"))
            try hwctl("decode", still, path("out.y4m"))
            let raw = try Data(contentsOf: URL(fileURLWithPath: path("out.raw")))
            #expect(try raw == samples("out.y4m") && !raw.isEmpty)
        }

        @Test("Every damaged file is named in one line", .enabled(if: Clips.hasShared, Clips.needsShared))
        func damaged() throws {
            let files = Clips.sharedDamaged.filter { $0.pathExtension == "heic" }
            #expect(files.count >= 6)
            for file in files where file.lastPathComponent != "pillow_truncated.heic" {
                let run = try hwctl("decode", file.path, path("bad.png"), status: 65)
                #expect(run.complaints.count == 1, "\(file.lastPathComponent): \(run.errors)")
                #expect(!server.folder.contents.contains("bad.png"))
            }
            // Its second picture alone is cut off.
            let cut = try Self.shared("bad/pillow_truncated.heic")
            try hwctl("decode", cut, path("first.png"))
            #expect(try hwctl("decode", "--item", "2", cut, path("bad.png"), status: 65).errors.contains("item 2"))
        }

        @Test("Options that do not fit are refused")
        func usage() throws {
            let still = Clips.fixture("still.heic").path
            try hwctl("decode", "--region", "10x10", still, path("x.png"), status: 64)
            try hwctl("decode", "--region", "9999x1+0+0", still, path("x.png"), status: 65)
            try hwctl("decode", "--at", "1", still, path("x.png"), status: 64)
            try hwctl("decode", "--item", "77", still, path("x.png"), status: 65)
            try hwctl("decode", "--item", "1", Clips.fixture("bframes.mp4").path, path("x.png"), status: 64)
            try hwctl("decode", Clips.fixture("bframes.mp4").path, path("x.jpg"), status: 64)
            try hwctl("decode", "--aux", "depth", still, path("x.png"), status: 65)
            #expect(!server.folder.contents.contains { $0.hasPrefix("x.") })
        }
    }
}
