// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDLibAVReading
import HWDLibAVWriting
import HWDModel
import Testing

/// The contents besides video that an output copies from its input.
@Suite struct CopyingTests {
    /// A file with two audio tracks, subtitles, chapters, a timecode and metadata around the committed HEVC clip.
    static func rich(_ scratch: Scratch, _ name: String = "rich.mov") throws -> String {
        let (titles, lines) = (scratch.file("titles.txt"), scratch.file("lines.srt"))
        let chapters = """
            ;FFMETADATA1
            title=A film
            artist=Someone
            [CHAPTER]
            TIMEBASE=1/1000
            START=0
            END=100
            title=One
            [CHAPTER]
            TIMEBASE=1/1000
            START=100
            END=200
            title=Zwei ü
            """
        try Data(chapters.utf8).write(to: URL(filePath: titles))
        try Data("1\n00:00:00,040 --> 00:00:00,120\nHello\n".utf8).write(to: URL(filePath: lines))
        let path = scratch.file(name)
        let sine = ["-f", "lavfi", "-i", "sine=440:d=0.2", "-f", "lavfi", "-i", "sine=880:d=0.2:sample_rate=48000"]
        let isMatroska = name.hasSuffix(".mkv")
        try run(
            ["ffmpeg", "-v", "error", "-i", Clips.hevc10] + sine + ["-i", lines, "-i", titles]
                + [
                    "-map", "0:v", "-map", "1", "-map", "2", "-map", "3", "-map_metadata", "4", "-map_chapters",
                    "4",
                ]
                + ["-c:v", "copy", "-c:a", "aac", "-c:s", isMatroska ? "copy" : "mov_text"]
                + ["-metadata:s:v:0", "language=fra", "-metadata:s:v:0", "handler_name=Camera"]
                + ["-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=deu", "-metadata:s:s:0"]
                + ["language=ita", "-disposition:a:0", "0", "-disposition:a:1", "default"]
                + (isMatroska ? [] : ["-timecode", "01:02:03:04"]) + [path])
        return path
    }

    static func column(_ path: String, _ entries: String) throws -> [String] {
        try probe(path, "-show_entries", entries).map { $0.first ?? "" }
    }

    @Test(arguments: ["mov", "mp4"])
    func copiesEverythingTheContainerSupports(_ ending: String) throws {
        let scratch = try Scratch()
        let input = try Self.rich(scratch)
        let output = scratch.file("out.\(ending)")
        let (_, notes) = try remux(input, to: output)
        #expect(notes.isEmpty, "\(notes)")
        // Video, two audio, subtitles, the chapters' titles, the timecode.
        let kinds = ["video", "audio", "audio", "subtitle", "data", "data"]
        #expect(try Self.column(input, "stream=codec_type") == kinds)
        #expect(try Self.column(output, "stream=codec_type") == kinds)
        for entries in [
            "stream=nb_frames", "stream=start_time", "stream_disposition=default", "stream_tags=handler_name",
            "format_tags=title", "format_tags=artist", "stream_tags=timecode",
        ] {
            #expect(try Self.column(output, entries) == Self.column(input, entries), "\(entries)")
        }
        #expect(
            try probe(output, "-show_entries", "chapter=start_time,end_time:chapter_tags=title")
                == [["0.000000", "0.100000", "One"], ["0.100000", "0.200000", "Zwei ü"]])
        func subtitles(_ path: String) throws -> [[String]] {
            try probe(
                path, "-select_streams", "s", "-show_data_hash", "md5", "-show_entries", "packet=pts_time,data_hash"
            )
        }
        // libavformat may end the last subtitle with an empty sample.
        let (before, after) = (try subtitles(input), try subtitles(output))
        #expect(!before.isEmpty && Array(after.prefix(before.count)) == before && after.count <= before.count + 1)
    }

    /// libavformat writes only languages with a Macintosh code into a .mov; "deu" has none.
    @Test(arguments: ["mov", "mp4"])
    func languagesAreKept(_ ending: String) throws {
        let scratch = try Scratch()
        let output = scratch.file("out.\(ending)")
        let (_, notes) = try remux(try Self.rich(scratch, "rich.mp4"), to: output)
        #expect(notes.isEmpty)
        let rows =
            try probe(output, "-select_streams", "v", "-show_entries", "stream_tags=language")
            + probe(output, "-select_streams", "a", "-show_entries", "stream_tags=language")
        #expect(rows == [["fra"], ["eng"], ["deu"]])
    }

    @Test func namesStreamsThatAreNotCopied() throws {
        let scratch = try Scratch()
        let matroska = try MediaWriter(
            path: scratch.file("out.mov"), source: try MediaReader(path: try Self.rich(scratch, "rich.mkv")))
        #expect(matroska.notes.isEmpty)
        #expect(
            matroska.conversions.contains { $0.hasPrefix("stream 3 (subtitle, subrip) is converted to mov_text") })
        let reader = try MediaReader(path: try Self.rich(scratch))
        let raw = try MediaWriter(path: scratch.file("out.hevc"), source: reader)
        #expect(raw.notes.count == 6 && raw.notes.contains { $0.hasPrefix("metadata are not written (") })
        #expect(raw.notes.contains { $0.hasPrefix("stream 5 (data, timecode)") })
        let phone = try Clips.path("dolby_vision_84.mov")
        let writer = try MediaWriter(path: scratch.file("out.mov"), source: try MediaReader(path: phone))
        #expect(writer.notes.isEmpty)
        let stream = try MediaWriter(path: scratch.file("out.mkv"), source: try MediaReader(path: phone))
        #expect(stream.notes.count { $0.contains("(data, mebx) is not copied") } == 3)
    }

    /// The chapters of a movie are a track, which would make it as long as they are.
    @Test func chaptersEndWithTheFile() throws {
        let scratch = try Scratch()
        let titles = scratch.file("titles.txt")
        let text = ";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1\nSTART=0\nEND=20000\ntitle=Long\n"
        try Data(text.utf8).write(to: URL(filePath: titles))
        let (input, output) = (scratch.file("in.mp4"), scratch.file("out.mov"))
        try run(
            "ffmpeg", "-v", "error", "-i", Clips.hevc10, "-i", titles, "-map_chapters", "1", "-c:v", "copy", "-c:a",
            "aac", "-ar", "44100", input)
        try remux(input, to: output)
        let times = try probe(output, "-show_entries", "chapter=start_time,end_time")
        #expect(times.count == 1 && times[0].first == "0.000000" && Double(times[0][1]) ?? 99 < 1, "\(times)")
    }
}
