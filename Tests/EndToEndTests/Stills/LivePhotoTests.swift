// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEnd {
    /// `hwctl live-photo`, checked by exiftool and ffprobe.
    @Suite(.needsExifTool) struct LivePhotos: CommandSuite {
        let server: TestDaemon
        private static let identifier = "01234567-89AB-4CDE-8F01-23456789ABCD"

        init() throws { server = try TestDaemon() }

        private func copy(_ name: String, as other: String) throws -> String {
            try FileManager.default.copyItem(atPath: Clips.fixture(name).path, toPath: path(other))
            return path(other)
        }

        /// A clip of 2 seconds with sound.
        private func clip() throws -> String {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25", "-f", "lavfi", "-i",
                    "sine=frequency=440", "-t", "2", "-c:v", "libx264", "-c:a", "aac", path("clip.mov"),
                ])
            return path("clip.mov")
        }

        private func tags(_ file: String, _ names: String...) throws -> [String] {
            try Programs.tool("exiftool", ["-s3", "-ee", "-n"] + names.map { "-\($0)" } + [file]).text
                .split(separator: "\n").map(String.init)
        }

        private func pair(_ still: String, _ clip: String) throws {
            let before = try Data(contentsOf: URL(fileURLWithPath: clip))
            try hwctl("live-photo", still, clip, status: 1)
            #expect(try Data(contentsOf: URL(fileURLWithPath: clip)) == before)
            let run = try hwctl(
                "live-photo", "--pair", "--identifier", Self.identifier, "--time", "0.8", still, clip)
            #expect(run.text.contains("LIVE PHOTO") && run.text.contains("yes") && run.text.contains("0.8"))
            #expect(try tags(still, "ContentIdentifier", "MediaGroupUUID").contains(Self.identifier))
            #expect(try tags(clip, "ContentIdentifier") == [Self.identifier])
            #expect(try tags(clip, "StillImageTime") == ["-1"])
            let info = try hwctl("info", "--no-measure", "--json", clip)
            let document = try #require(JSONSerialization.jsonObject(with: Data(info.output)) as? [String: Any])
            let part = try #require(document["live_photo"] as? [String: Any])
            #expect(part["content_identifier"] as? String == Self.identifier)
            #expect(part["still_image_time"] as? Double == 0.8)
            let rows = try hwctl("info", "--no-measure", clip).text.split(separator: "\n")
            #expect(rows.contains { $0.hasPrefix("content identifier ") && $0.hasSuffix(" " + Self.identifier) })
            #expect(rows.contains { $0.hasPrefix("still image at ") && $0.hasSuffix(" 0.800 s") }, "\(rows)")
        }

        @Test("Both parts get the identifier, and the clip the time")
        func pairs() throws {
            let (still, clip) = (try copy("still.heic", as: "photo.heic"), try clip())
            #expect(try !hwctl("info", "--no-measure", clip).text.contains("content identifier"))
            func pictures() throws -> String {
                try Programs.tool(
                    "ffmpeg",
                    ["-v", "error", "-i", clip, "-map", "0:v", "-map", "0:a", "-c", "copy", "-f", "md5", "-"]
                ).text
            }
            let before = try pictures()
            try pair(still, clip)
            #expect(try pictures() == before)
            let streams = try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-show_entries", "stream=codec_type,codec_tag_string,start_time", "-of",
                    "csv=p=0", clip,
                ]
            ).text.split(separator: "\n")
            #expect(streams.contains("data,mebx,0.800000"), "\(streams)")
            // A new pairing replaces the one before.
            let run = try hwctl("live-photo", "--json", "--pair", still, clip)
            let document = try #require(JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            #expect(document["pair"] as? Bool == true && document["still_time"] as? Double == 1)
            let other = try tags(clip, "ContentIdentifier")
            #expect(other.count == 1 && other[0] != Self.identifier)
            #expect(try tags(still, "ContentIdentifier", "MediaGroupUUID").contains(other[0]))
            #expect(try tags(clip, "StillImageTime") == ["-1"])
            // The pictures are what they were.
            for file in [Clips.fixture("still.heic").path, still] {
                try hwctl("decode", file, path("\(file == still ? "after" : "before").y4m"))
            }
            #expect(
                try Data(contentsOf: URL(fileURLWithPath: path("before.y4m")))
                    == Data(contentsOf: URL(fileURLWithPath: path("after.y4m"))))
            #expect(try hwctl("info", still).text.contains(other[0]))
        }

        /// Makes photo.heic of a picture without Exif, as a part of a pair.
        private func pairWithoutExif() throws {
            let clip = try clip()
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x480", "-frames:v", "1", path("in.png")])
            try hwctl("encode", path("in.png"), path("photo.heic"))
            try pair(path("photo.heic"), clip)
        }

        @Test("The checker accepts a picture that gets Exif", .needsHEICChecker)
        func strict() throws {
            try pairWithoutExif()
            let checker = try #require(EndToEnd.StillEncoding.checker)
            let run = try Running(
                Programs.required("python3"), [checker, path("photo.heic"), "--strict", "--expect-exif"]
            ).wait()
            #expect(run.status == 0, "\(run.text)")
        }

        @Test("A picture without Exif gets some", .needsLibHEIF)
        func withoutExif() throws {
            try pairWithoutExif()
            try Programs.tool("heif-convert", [path("photo.heic"), path("theirs.png")])
            #expect(try Probe(path("theirs.png")).size == (640, 480))
        }

        @Test("Copies leave the originals as they are, and bad parts leave nothing")
        func copiesAndRefusals() throws {
            let (still, clip) = (try copy("still.heic", as: "photo.heic"), try clip())
            func contents() throws -> [Data] {
                try [still, clip].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
            }
            let originals = try contents()
            try FileManager.default.createDirectory(atPath: path("pair"), withIntermediateDirectories: false)
            try hwctl("live-photo", "--pair", "--output-dir", path("pair"), still, clip)
            #expect(try contents() == originals)
            try hwctl("live-photo", path("pair/photo.heic"), path("pair/clip.mov"))
            try hwctl("live-photo", "--time", "1", still, clip, status: 64)
            try hwctl("live-photo", "--pair", "--identifier", "x", still, clip, status: 64)
            try hwctl("live-photo", "--pair", "--time", "9", still, clip, status: 65)
            try hwctl("live-photo", "--pair", clip, still, status: 65)
            try hwctl("live-photo", "--pair", still, path("missing.mov"), status: 66)
            #expect(try contents() == originals)
        }

        @Test("A full disk is a failure of the output", .enabled(if: Programs.has("prlimit"), "needs prlimit"))
        func fullDisk() throws {
            let (still, clip) = (try copy("still.heic", as: "photo.heic"), try clip())
            let original = try Data(contentsOf: URL(fileURLWithPath: clip))
            // The copy fits, the track that is added does not.
            let run = try Running(
                Programs.required("prlimit"),
                ["--fsize=\(original.count)", Programs.path("hwctl"), "live-photo", "--pair", still, clip]
            ).wait()
            #expect(run.status == 74 && run.errors.contains("clip.mov cannot be written"), "\(run.errors)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: clip)) == original)
        }
    }
}
