// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDHEVC
import HWDMetadata
import HWDModel
import Testing

@testable import HWDLibAVReading
@testable import HWDLibAVWriting

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
        #expect(raw.notes.count { $0.contains(" is not copied: ") } == 5)
        for start in ["metadata are not written (", "chapters are not written: .hevc holds only video"] {
            #expect(raw.notes.contains { $0.hasPrefix(start) }, "\(raw.notes)")
        }
        #expect(raw.notes.contains { $0.hasPrefix("stream 5 (data, timecode)") })
        let phone = try Clips.path("dolby_vision_84.mov")
        let writer = try MediaWriter(path: scratch.file("out.mov"), source: try MediaReader(path: phone))
        #expect(writer.notes.isEmpty)
        let stream = try MediaWriter(path: scratch.file("out.mkv"), source: try MediaReader(path: phone))
        #expect(stream.notes.count { $0.contains("(data, mebx) is not copied") } == 3)
    }

    /// Some versions of the muxer of Matroska write the base layer's parameter sets alone into the record.
    @Test func alphaPassesMatroska() throws {
        let scratch = try Scratch()
        let (clip, middle, output) = (try Clips.path("bbb_alpha.mov"), scratch.file("a.mkv"), scratch.file("a.mov"))
        try LevelTests.copy(clip, to: middle)
        try LevelTests.copy(middle, to: output)
        let units = { (path: String) in
            Set(try DecoderConfigurationRecord(bytes: MediaReader(path: path).video.codecConfiguration).nalUnits)
        }
        #expect(try units(output) == units(clip))
        #expect(try LevelTests.frames(middle).map(\.digest) == LevelTests.frames(clip).map(\.digest))
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

    /// A duration of 10¹³ ms is more nanoseconds than a time can have.
    @Test func hostileDurationsAreBounded() throws {
        let (nanosecond, second) = (try #require(Rational(1, 1_000_000_000)), try #require(Rational(1, 1)))
        #expect(FileCopy.ticks(1e10, nanosecond) == Ticks.bound)
        #expect(FileCopy.ticks(.infinity, nanosecond) == Ticks.bound)
        #expect(FileCopy.ticks(20.4, second) == 20)
    }

    /// libavformat refuses ADTS headers without a frame.
    @Test func packetsThatAreRefusedAreCountedForTheirStream() throws {
        let scratch = try Scratch()
        let (input, output) = (try Self.rich(scratch), scratch.file("out.mov"))
        var options = MediaReader.Options()
        options.includesOtherStreams = true
        options.decoding = .disabled
        let reader = try MediaReader(path: input, options: options)
        let writer = try MediaWriter(path: output, source: reader)
        try writer.start(VideoTrack(reader.video, hvcC: reader.video.codecConfiguration))
        var spoiled = 0
        while let item = try reader.next() {
            guard case .packet(let packet) = item else { continue }
            if packet.streamIndex == reader.video.streamIndex {
                let pts = try #require(packet.pts)
                let dts = try #require(packet.dts)
                try packet.withBytes {
                    try writer.write($0, pts: pts, dts: dts, duration: packet.duration, isSync: packet.isSync)
                }
            } else if packet.streamIndex == 1, spoiled < 2 {
                spoiled += 1
                let header: [UInt8] = [0xFF, 0xF1, 0x50, 0x80, 0x01, 0x7F, 0xFC]
                try writer.write(copied: try #require(packet.replacing(header)))
            } else {
                try writer.write(copied: packet)
            }
        }
        try writer.finish()
        #expect(
            writer.conversionWarnings == [
                "warning: 2 packets of stream 1 (audio, aac) cannot be written and are left out"
            ])
        func counts(_ path: String) throws -> [Int] {
            try probe(path, "-show_entries", "stream=nb_frames").prefix(3).compactMap { Int($0.first ?? "") }
        }
        let (before, after) = (try counts(input), try counts(output))
        try #require(before.count == 3 && after.count == 3)
        #expect(after == [before[0], before[1] - 2, before[2]], "\(before) \(after)")
    }

    /// Messages about pictures before the key frame at which decoding began are no damage, later ones are.
    @Test func unknownReferencesCountFromTheSecondKeyFrame() {
        let tally = ErrorTally()
        var source: UInt8 = 0
        func log() { tally.handleMessage("h264: mmco: unref short failure", from: &source) }
        tally.beginWithin()
        tally.passKeyFrame()
        log()
        #expect(tally.take().count == 0)
        tally.passKeyFrame()
        log()
        #expect(tally.take().count == 1)
        tally.passKeyFrame()
        log()
        #expect(tally.take().count == 1)
    }
}
