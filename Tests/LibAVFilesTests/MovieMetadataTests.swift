// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import Testing

@testable import HWDMetadata

/// The metadata of files, by ffprobe, which reads boxes with its own code.
@Suite struct MovieMetadataTests {
    /// A movie with these keys in QuickTime's `meta` box.
    private static func movie(_ keys: [String: String], _ scratch: Scratch, _ name: String = "in.mov") throws
        -> String
    {
        let path = scratch.file(name)
        try run(
            ["ffmpeg", "-v", "error", "-i", try Clips.path("hlg.mov"), "-map_metadata", "-1", "-c", "copy"]
                + ["-movflags", "use_metadata_tags"]
                + keys.sorted { $0.key < $1.key }.flatMap { ["-metadata", "\($0)=\($1)"] }
                + [path])
        return path
    }

    private static func tags(_ path: String) throws -> [String: String] {
        let bytes = try run("ffprobe", "-v", "error", "-show_entries", "format_tags", "-of", "json", path)
        let document = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        return (document?["format"] as? [String: Any])?["tags"] as? [String: String] ?? [:]
    }

    private static let camera = [
        "com.apple.quicktime.make": "Apple", "com.apple.quicktime.model": "iPhone 13 Pro",
        "com.apple.quicktime.software": "15.1", "com.apple.quicktime.creationdate": "2021-10-31T12:34:56+0100",
        "com.apple.quicktime.location.ISO6709": "+37.3349-122.0090+045.219/",
    ]

    @Test(arguments: ["mov", "mp4"])
    func aCamerasMetadataAreKept(_ ending: String) throws {
        let scratch = try Scratch()
        let output = scratch.file("out.\(ending)")
        let (_, notes) = try remux(try Self.movie(Self.camera, scratch), to: output)
        let tags = try Self.tags(output)
        for (key, value) in Self.camera { #expect(tags[key] == value, "\(key): \(tags)") }
        // User data, for players that do not read QuickTime's keys.
        let mapped = ["location": "location.ISO6709", "make": "make", "model": "model", "date": "creationdate"]
        for (name, key) in mapped where ending == "mp4" {
            #expect(tags[name] == Self.camera["com.apple.quicktime.\(key)"], "\(name): \(tags)")
        }
        #expect(notes == [])
        try run("ffmpeg", "-v", "error", "-xerror", "-i", output, "-f", "null", "-")
    }

    /// Every key that libavformat's muxer has an atom for, and some that it has none for.
    @Test(arguments: ["mov", "mp4"])
    func keysOfOtherSourcesAreKept(_ ending: String) throws {
        let scratch = try Scratch()
        var keys = [
            "make": "Maker", "model": "Camera", "location": "+10.0000+020.0000/", "track": "3/12", "disc": "1/2",
            "author": "An author", "performer": "Someone", "a key of ours": "with a value",
        ]
        for key in [
            "title", "artist", "album_artist", "composer", "album", "date", "comment", "genre", "copyright",
            "grouping", "lyrics", "description", "synopsis", "show", "episode_id", "network", "keywords",
        ] { keys[key] = "the \(key)" }
        let output = scratch.file("out.\(ending)")
        let (_, notes) = try remux(try Self.movie(keys, scratch), to: output)
        let tags = try Self.tags(output)
        for (key, value) in keys {
            let found = tags[key] ?? tags["com.apple.quicktime.\(key)"]
            #expect(found == value, "\(key) is \(found ?? "missing")")
        }
        #expect(notes == [])
    }

    @Test func numbersOfITunesAreKept() throws {
        let scratch = try Scratch()
        let keys = [
            "episode_sort": "7", "season_number": "2", "media_type": "10", "hd_video": "1", "compilation": "1",
            "gapless_playback": "1",
        ]
        for ending in ["mov", "mp4"] {
            let output = scratch.file("out.\(ending)")
            try remux(try Self.movie(keys, scratch, "\(ending).mov"), to: output)
            let tags = try Self.tags(output)
            for (key, value) in keys {
                #expect(tags[key] == value, "\(ending): \(key) is \(tags[key] ?? "missing")")
            }
        }
    }

    @Test func aByteStreamNamesWhatItDoesNotHold() throws {
        let scratch = try Scratch()
        let (_, notes) = try remux(try Self.movie(Self.camera, scratch), to: scratch.file("out.hevc"))
        #expect(notes.count == 1 && notes[0].contains("com.apple.quicktime.make") && notes[0].contains(".hevc"))
        #expect(try remux(try Clips.path("hlg.mov"), to: scratch.file("none.hevc")).notes == [])
    }

    @Test func metadataAreBounded() throws {
        let long = MovieMetadata(["a": String(repeating: "x", count: 1 << 16), "b": "y"], isQuickTime: false)
        #expect(long.notes.count == 1 && long.notes[0].contains("(a)"))
        let many = MovieMetadata(
            Dictionary(uniqueKeysWithValues: (0..<5000).map { ("key \($0)", "value") }), isQuickTime: true)
        #expect(many.notes.count == 1 && many.notes[0].contains("and 3992 more") && many.notes[0].utf8.count < 1024)
        #expect(
            MovieMetadata(["title": "T", "title-eng": "T", "creation_time": "now"], isQuickTime: true)
                == MovieMetadata())
    }
}
