// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import Testing

@testable import hwctl_media

extension EndToEndFaults {
    /// What files hold beside pictures and sound: kept, or named; checked by ffprobe and ffmpeg.
    @Suite struct FileContents: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        static let encode = ["encode", "--preset", "ultrafast", "--verify"]

        /// Encodes; `--verify` makes a loss that is neither expected nor asked for an error.
        @discardableResult
        func encode(_ arguments: String..., status: Int32 = 0) throws -> Finished {
            let run = try Programs.hwctl(Self.encode + arguments, socket: server.socket)
            try #require(run.status == status, "\(arguments): \(run.errors)")
            return run
        }

        /// Runs ffmpeg with a second of pictures as its first input.
        func clip(_ name: String, _ arguments: String...) throws -> String {
            let pictures = ["-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=1"]
            let codec = ["-c:v", "libx264", "-preset", "ultrafast"]
            try Programs.tool("ffmpeg", pictures + arguments + codec + [path(name)])
            return path(name)
        }

        func probe(_ name: String, _ selection: String, _ entries: String) throws -> [String] {
            let form = "default=noprint_wrappers=1:nokey=1"
            let text = try Programs.tool(
                "ffprobe",
                ["-v", "error", "-select_streams", selection, "-show_entries", entries, "-of", form, path(name)]
            ).text
            return text.split(separator: "\n").map(String.init)
        }

        func sideData(_ name: String) throws -> Set<String> {
            try Set(probe(name, "v", "stream_side_data=side_data_type"))
        }

        /// Changes the boxes of the video's sample entry of a movie whose index is at its end.
        func edit(_ name: String, _ entry: FourCC, _ boxes: [Box], ofTrack track: [Box] = []) throws {
            let url = URL(filePath: path(name))
            let bytes = try [UInt8](Data(contentsOf: url))
            var (list, rest, tree) = (BoxList(bytes[...]), [UInt8](), Box?.none)
            while let (header, body) = try list.next() {
                if header.type == "moov" {
                    tree = try Box.parse(Box("moov", Array(body)).bytes[...]).first
                } else {
                    rest += Box(header.type, Array(body)).bytes
                }
            }
            var movie = try #require(tree)
            try movie.edit(["trak", "mdia", "minf", "stbl", "stsd", entry]) { (box) throws(BoxError) in
                box.children += boxes
            }
            try movie.edit(["trak"]) { (box) throws(BoxError) in box.children += track }
            try Data(rest + movie.bytes).write(to: url)
        }

        static func full(_ type: FourCC, _ body: [UInt8]) -> Box { Box(type, [0, 0, 0, 0] + body) }

        private static var sphere: [Box] {
            let shape = full("equi", [UInt8](repeating: 0, count: 16))
            let pose = full("prhd", [0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            let projection = Box("proj", pose.bytes + shape.bytes)
            return [
                full("st3d", [1]), Box("sv3d", full("svhd", Array("test".utf8) + [0]).bytes + projection.bytes),
            ]
        }

        @Test(
            "A 360° projection is kept, named where the format has none, and left out where the picture is cropped")
        func projection() throws {
            let expected: Set = ["Stereo 3D", "Spherical Mapping"]
            let input = try clip("in.mp4")
            try edit("in.mp4", "avc1", Self.sphere)
            #expect(try sideData("in.mp4") == expected)
            for ending in ["mp4", "mov", "mkv"] {
                try encode(input, path("out.\(ending)"))
                try #expect(probe("out.\(ending)", "v", "stream_side_data=yaw") == ["10"])
            }
            // libavformat's Matroska has the arrangement as text, too.
            #expect(try sideData("out.mp4") == expected && sideData("out.mkv") == expected)
            try encode(path("out.mkv"), path("back.mp4"))
            #expect(try sideData("back.mp4") == expected)
            try hwctl("encode", "--copy", "--verify", path("out.mp4"), path("copy.mp4"))
            #expect(try sideData("copy.mp4") == expected)
            let stream = try encode(input, path("out.ts"))
            #expect(stream.errors.contains("projection or 3D arrangement is not written: MPEG-TS holds none"))
            let cropped = try encode("--crop", "48:32:0:0", input, path("cropped.mp4"))
            #expect(cropped.errors.contains("because the picture is cropped or turned"), "\(cropped.errors)")
            #expect(try sideData("cropped.mp4").isEmpty)
        }

        @Test(
            "Where two views are is kept from Matroska to Matroska, and left out where the picture is cropped",
            arguments: ["left_right", "right_left", "bottom_top", "checkerboard_lr"])
        func arrangement(_ mode: String) throws {
            let input = try clip("in.mkv", "-metadata:s:v:0", "stereo_mode=\(mode)")
            try #require(try probe("in.mkv", "v", "stream_tags=stereo_mode") == [mode])
            try encode(input, path("out.mkv"))
            #expect(try probe("out.mkv", "v", "stream_tags=stereo_mode") == [mode])
            for arguments in [["--crop", "48:32:0:0"], ["--rotate", "90"]] {
                let run = try Programs.hwctl(
                    Self.encode + arguments + [input, path("part.mkv")], socket: server.socket)
                #expect(run.status == 0, "\(run.errors)")
                #expect(run.errors.contains("because the picture is cropped or turned"), "\(run.errors)")
                #expect(try probe("part.mkv", "v", "stream_tags=stereo_mode").isEmpty)
                #expect(try sideData("part.mkv").isDisjoint(with: ["Stereo 3D"]))
            }
            let movie = try encode(input, path("out.mov"))
            let isNamed = movie.errors.contains("the 3D arrangement (\(mode)) is not written")
            #expect(isNamed == ["bottom_top", "checkerboard_lr"].contains(mode), "\(movie.errors)")
            if !isNamed {
                try encode(path("out.mov"), path("back.mkv"))
                #expect(try probe("back.mkv", "v", "stream_tags=stereo_mode") == [mode])
            }
        }

        @Test("A mesh, and the right view at the left in fragments, are named where they cannot be written")
        func mesh() throws {
            let shape = Self.full("mshp", [0, 0, 0, 0] + Array("raw ".utf8))
            let pose = Self.full("prhd", [UInt8](repeating: 0, count: 12))
            let sphere = Box(
                "sv3d", Self.full("svhd", [0]).bytes + Box("proj", pose.bytes + shape.bytes).bytes)
            let input = try clip("in.mp4")
            try edit("in.mp4", "avc1", [Self.full("st3d", [4]), sphere])
            try encode(input, path("out.mp4"))
            let matroska = try encode(input, path("out.mkv"), status: 1)
            let line = "is not written: Matroska holds none of its kind"
            #expect(matroska.errors.contains("arrangement (sv3d) \(line)"), "\(matroska.errors)")
            #expect(try probe("out.mkv", "v", "stream_tags=stereo_mode") == ["right_left"])
            let fragments = try hwctl(
                "encode", "--preset", "ultrafast", "--to", "fmp4", input, "-")
            #expect(fragments.errors.contains("(st3d, sv3d) is not written"), "\(fragments.errors)")
        }

        @Test("A projection of pictures with a clean aperture is left out where they are scaled, as asked for")
        func scaledAperture() throws {
            let input = try clip("in.mp4")
            let aperture = [48, 1, 32, 1, 0, 1, 0, 1].flatMap { [UInt8](bigEndian: [UInt32($0)]) }
            try edit("in.mp4", "avc1", Self.sphere + [Box("clap", aperture)])
            let run = try encode("--size", "96x64", input, path("out.mp4"))
            #expect(run.errors.contains("because the picture is cropped or turned"), "\(run.errors)")
        }

        @Test("The first version's text about a sphere is kept, and the boxes of the second are added")
        func firstVersion() throws {
            let id: [UInt8] = [
                0xFF, 0xCC, 0x82, 0x63, 0xF8, 0x55, 0x4A, 0x93, 0x88, 0x14, 0x58, 0x7A, 0x02, 0x52, 0x1F, 0xDD,
            ]
            let text = """
                <?xml version="1.0"?><rdf:SphericalVideo xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" \
                xmlns:GSpherical="http://ns.google.com/videos/1.0/spherical/"><GSpherical:Spherical>true\
                </GSpherical:Spherical><GSpherical:Stitched>true</GSpherical:Stitched><GSpherical:StitchingSoftware>\
                none</GSpherical:StitchingSoftware><GSpherical:ProjectionType>equirectangular</GSpherical:ProjectionType></rdf:SphericalVideo>
                """
            let input = try clip("in.mp4")
            try edit("in.mp4", "avc1", [], ofTrack: [Box("uuid", id + Array(text.utf8))])
            #expect(try sideData("in.mp4") == ["Spherical Mapping"])
            let run = try encode(input, path("out.mp4"))
            #expect(!run.errors.contains("types are not known"), "\(run.errors)")
            let written = try Data(contentsOf: URL(filePath: path("out.mp4")))
            for part in [Data(id) + Data(text.utf8), Data("sv3d".utf8)] { #expect(written.range(of: part) != nil) }
        }

        @Test("An ICC profile of the video is kept, and left out where the colors change")
        func profile() throws {
            var profile = [UInt8](repeating: 0, count: 132)
            profile.replaceSubrange(0..<4, with: [0, 0, 0, 132])
            profile.replaceSubrange(36..<40, with: Array("acsp".utf8))
            let input = try clip("in.mov", "-pix_fmt", "yuv420p")
            try edit("in.mov", "avc1", [Box("colr", Array("prof".utf8) + profile)])
            for (ending, line) in [("mov", nil), ("mp4", nil), ("mkv", "is not written: Matroska holds none")] {
                let run = try encode(input, path("out.\(ending)"))
                if let line { #expect(run.errors.contains("the ICC profile of the video \(line)")) }
                #expect(try sideData("out.\(ending)") == (line == nil ? ["ICC Profile"] : []))
            }
            try hwctl("encode", "--copy", "--verify", path("out.mov"), path("copy.mov"))
            #expect(try sideData("copy.mov") == ["ICC Profile"])
            let run = try encode("--hdr", "pq", input, path("pq.mov"))
            #expect(run.errors.contains("left out: the ICC profile of the video, because the colors are changed"))
            #expect(try sideData("pq.mov").isEmpty)
            for change in [["--effect", "saturation:s=1.2"], ["--property", "ColorPrimaries=ITU_R_709_2"]] {
                let run = try Programs.hwctl(
                    Self.encode + change + [input, path("changed.mov")], socket: server.socket)
                #expect(run.status == 0, "\(change): \(run.errors)")
                #expect(try sideData("changed.mov").isEmpty)
            }
        }

        @Test(
            "Titles and flags of tracks are kept, and subtitles that are off stay off", arguments: ["mov", "mp4"])
        func tracks(_ ending: String) throws {
            try Data("1\n00:00:00,200 --> 00:00:00,800\nforced\n\n".utf8).write(to: URL(filePath: path("in.srt")))
            let sound = ["-f", "lavfi", "-i", "sine=440:duration=1"]
            let input = try clip(
                "in.mkv", sound[0], sound[1], sound[2], sound[3], "-i", path("in.srt"), "-i", path("in.srt"),
                "-map",
                "0", "-map", "1", "-map", "2", "-map", "3", "-c:a", "aac", "-c:s", "srt", "-metadata:s:a:0",
                "title=Commentary", "-metadata:s:s:0", "title=Forced", "-disposition:s:0", "forced",
                "-disposition:s:1",
                "hearing_impaired")
            try encode(input, path("out.\(ending)"))
            let flags = "stream_disposition=default,forced,hearing_impaired"
            #expect(try probe("out.\(ending)", "s", flags) == ["0", "1", "0", "0", "0", "1"])
            // libavformat 5.1 does not read titles of .mov and .mp4; what it writes from them is read by all.
            try encode(path("out.\(ending)"), path("back.mkv"))
            #expect(try probe("back.mkv", "a", "stream_tags=title") == ["Commentary"])
            #expect(try probe("back.mkv", "s", "stream_tags=title") == ["Forced"])
            #expect(try probe("back.mkv", "s", flags) == ["0", "1", "0", "0", "0", "1"])
            let stream = try hwctl("encode", "--preset", "ultrafast", "--subtitle", "none", input, path("out.ts"))
            #expect(stream.errors.contains("titles and flags of tracks are not written"), "\(stream.errors)")
        }

        @Test("NUT keeps titles of tracks, and flags that it does not hold are named")
        func flagsOfNUT() throws {
            let input = try clip(
                "in.mkv", "-f", "lavfi", "-i", "sine=440:duration=1", "-c:a", "aac", "-metadata:s:a:0",
                "title=Described", "-disposition:a:0", "visual_impaired")
            let run = try encode(input, path("out.nut"))
            #expect(run.errors.contains("flags of tracks are not written (streams 1): NUT holds"), "\(run.errors)")
            #expect(try probe("out.nut", "a", "stream_tags=title") == ["Described"])
        }

        /// Replaces bytes of the same length once.
        func patch(_ name: String, _ old: [UInt8], with new: [UInt8]) throws {
            try #require(old.count == new.count)
            let url = URL(filePath: path(name))
            var bytes = try Data(contentsOf: url)
            bytes.replaceSubrange(try #require(bytes.range(of: Data(old))), with: new)
            try bytes.write(to: url)
        }

        @Test("Matroska's crop becomes a clean aperture, and is named where it cannot be written")
        func crop() throws {
            let input = try clip("in.mkv", "-aspect", "3:1")
            // DisplayWidth 2, DisplayHeight … and DisplayUnit become PixelCropTop and PixelCropBottom (RFC 9559 5.1.4.1.28).
            let url = URL(filePath: input)
            var bytes = try Data(contentsOf: url)
            let place = try #require(bytes.range(of: Data([0x54, 0xB0, 0x81])))
            let crop: [UInt8] = [0x54, 0xBB, 0x81, 8, 0x54, 0xAA, 0x81, 16, 0xEC, 0x82, 0, 0]
            bytes.replaceSubrange(place.lowerBound..<place.lowerBound + crop.count, with: crop)
            try bytes.write(to: url)
            try encode(input, path("out.mov"))
            let report = try hwctl("info", "--json", path("out.mov"))
            #expect(report.text.contains("\"clean_aperture\""))
            #expect(try hwctl("info", path("out.mov")).text.contains("96x40"))
            let run = try encode(input, path("out.mkv"))
            #expect(run.errors.contains("cannot crop single samples: it shows 96x64, not 96x40"), "\(run.errors)")
        }

        @Test(
            "Matroska's displayed size is that of the cropped picture",
            arguments: [([96, 40], "1:1"), ([192, 40], "2:1"), ([96, 64], "1:1"), ([48, 40], "1:2")])
        func croppedSize(_ shown: [UInt8], _ aspect: String) throws {
            let input = try clip("in.mkv", "-aspect", "3:1")
            // DisplayWidth, DisplayHeight, and PixelCropBottom instead of DisplayUnit (RFC 9559 5.1.4.1.28).
            let old: [UInt8] = [0x54, 0xB0, 0x81, 3, 0x54, 0xBA, 0x81, 1, 0x54, 0xB2, 0x81, 3]
            let new: [UInt8] = [0x54, 0xB0, 0x81, shown[0], 0x54, 0xBA, 0x81, shown[1], 0x54, 0xAA, 0x81, 24]
            try patch("in.mkv", old, with: new)
            try encode(input, path("out.mov"))
            #expect(try probe("out.mov", "v", "stream=sample_aspect_ratio") == [aspect])
            let report = try hwctl("info", "--json", input).text
            #expect(report.contains("\"pixel_aspect_ratio\" : \"\(aspect)\""), "\(report)")
        }

        @Test("WebVTT as mkvmerge stores it is kept and converted", arguments: ["mkv", "mov"])
        func webVTT(_ ending: String) throws {
            try Data("1\n00:00:00,200 --> 00:00:00,800\n<i>Hi</i> there\n\n".utf8)
                .write(to: URL(filePath: path("in.srt")))
            let input = try clip("in.mkv", "-i", path("in.srt"), "-map", "0", "-map", "1", "-c:s", "srt")
            // The language, the flag and the codec of the track become a longer name of a codec.
            let old: [UInt8] = [0x22, 0xB5, 0x9C, 0x83] + Array("und".utf8) + [0x88, 0x81, 0, 0x86, 0x8B]
            let new: [UInt8] = [0x88, 0x81, 0, 0xEC, 0x83, 0, 0, 0, 0x86, 0x8D]
            try patch("in.mkv", old + Array("S_TEXT/UTF8".utf8), with: new + Array("S_TEXT/WEBVTT".utf8))
            try encode(input, path("out.\(ending)"))
            let cues = try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", path("out.\(ending)"), "-map", "0:s", "-f", "webvtt", "-"]
            ).text
            #expect(cues.contains("00:00.200 --> 00:00.800"), "\(cues)")
            #expect(cues.contains("<i>Hi</i> there"), "\(cues)")
        }

        @Test("AAC of MPEG-TS is copied into Matroska without its headers, into a pipe too")
        func headersOfAAC() throws {
            let input = try clip("in.ts", "-f", "lavfi", "-i", "sine=440:duration=1", "-c:a", "aac")
            func sound(_ name: String) throws -> String {
                try Programs.tool("ffmpeg", ["-v", "error", "-i", path(name), "-map", "0:a", "-f", "md5", "-"]).text
            }
            try encode(input, path("out.mkv"))
            #expect(try sound("out.mkv") == sound("in.ts"))
            let piped = try hwctl("encode", "--preset", "ultrafast", input, "-", "--to", "matroska")
            try Data(piped.output).write(to: URL(filePath: path("piped.mkv")))
            #expect(try sound("piped.mkv") == sound("in.ts"))
        }

        @Test("Boxes of unknown types are named")
        func unknownTypes() throws {
            let input = try clip("in.mp4")
            try edit("in.mp4", "avc1", [Box("abcd", [1])], ofTrack: [Box("efgh", [2])])
            let run = try encode(input, path("out.mp4"))
            #expect(run.errors.contains("types are not known: abcd (sample entry), efgh (track)"), "\(run.errors)")
            let receipt = try hwctl("verify", "--explain", input, path("out.mp4"))
            #expect(receipt.text.contains("boxes and side data of unknown types are not copied"))
        }

        @Test("The table of contents is the document's")
        func table() throws {
            let document = try String(contentsOfFile: Programs.repository("docs/contents.md"), encoding: .utf8)
            #expect(document.contains(ContentTable.markdown))
            let run = try hwctl("verify", "--explain")
            #expect(run.text.contains("projection") && run.text.contains("sv3d"))
            struct Table: Decodable {
                struct Row: Decodable {
                    var verify: String
                    var boxes: [String]
                    var formats: [String: String]
                }
                var schema: Int
                var contents: [Row]
            }
            let json = try hwctl("verify", "--explain", "--json")
            let table = try JSONDecoder().decode(Table.self, from: Data(json.output))
            #expect(table.schema == 1)
            let row = try #require(table.contents.first { $0.verify == "projection" })
            #expect(row.boxes == ["sv3d", "st3d"])
            #expect(row.formats[".mov"] == "kept" && row.formats["NUT"] == "named")
        }
    }
}
