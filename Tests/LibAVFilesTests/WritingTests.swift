// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEdits
import HWDLibAVReading
import HWDLibAVWriting
import HWDMetadata
import HWDModel
import Testing

/// Copies a file's HEVC packets, and its audio, through `MediaWriter`.
@discardableResult
func remux(
    _ input: String, to output: String, change: (inout VideoTrack) -> Void = { _ in }
) throws -> (reader: MediaReader, notes: [String]) {
    var options = MediaReader.Options()
    options.includesOtherStreams = true
    options.decoding = .disabled
    let reader = try MediaReader(path: input, options: options)
    var track = VideoTrack(reader.video, hvcC: reader.video.codecConfiguration)
    change(&track)
    var edits = FileEdits()
    edits.isCopy = track.isCopy
    let writer = try MediaWriter(path: output, source: reader, edits: edits)
    try writer.start(track)
    while let item = try reader.next() {
        guard case .packet(let packet) = item else { continue }
        if packet.streamIndex == reader.video.streamIndex {
            let pts = try #require(packet.pts)
            let dts = try #require(packet.dts)
            try packet.withBytes {
                try writer.write($0, pts: pts, dts: dts, duration: packet.duration, isSync: packet.isSync)
            }
        } else {
            try writer.write(copied: packet)
        }
    }
    try writer.finish()
    return (reader, writer.notes)
}

/// The types of a file's top-level boxes, in order.
func boxes(_ path: String) throws -> [String] {
    let data = try Data(contentsOf: URL(filePath: path))
    var position = 0
    var types: [String] = []
    while position + 8 <= data.count {
        let head = data[position..<position + 8]
        let size = head.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        types.append(String(decoding: head.suffix(4), as: UTF8.self))
        guard size >= 8 else { break }
        position += size
    }
    return types
}

@Suite struct WritingTests {
    /// HEVC clips with the streams that are copied.
    ///
    /// Without dolby_vision_84.mov, whose negative composition offsets libavformat 5.1 reads as pts < dts.
    static let sources: [(String, [String])] = [
        ("bbb_720p_main10.mp4", ["v:0", "a:0"]), ("pq.mov", ["v:0"]), ("hlg.mov", ["v:0"]),
        ("two_tracks.mp4", ["v:0"]), ("bframes.mp4", ["v:0"]), ("fps240.mp4", ["v:0"]), ("bbb_alpha.mov", ["v:0"]),
    ]

    @Test(arguments: sources, ["mov", "mp4"])
    func packetsAndTheirTimesAreKept(_ source: (String, [String]), _ ending: String) throws {
        let input = try Clips.path(source.0)
        let scratch = try Scratch()
        let output = scratch.file("out.\(ending)")
        let (reader, notes) = try remux(input, to: output)
        // Timed metadata are copied, too, which the list has not.
        let others = reader.otherStreams.count { !$0.isTimedMetadata }
        #expect(notes.count == others - source.1.count + 1)
        for stream in source.1 {
            let entries = "packet=pts_time,dts_time,duration_time,size,flags,data_hash"
            let options = ["-select_streams", stream, "-show_data_hash", "md5", "-show_entries", entries]
            func rows(_ path: String) throws -> [[String]] {
                // The last column has side data, which differs between containers.
                try probe(path, options[0], options[1], options[2], options[3], options[4], options[5])
                    .filter { $0.count >= 6 }.map { Array($0.prefix(6)) }
            }
            let (before, after) = (try rows(input), try rows(output))
            #expect(!before.isEmpty)
            #expect(after == before, "\(stream)")
        }
        let entry = try probe(output, "-select_streams", "v:0", "-show_entries", "stream=codec_tag_string")
        #expect(entry.first?.first == "hvc1")
        let order = try boxes(output)
        let moov = try #require(order.firstIndex(of: "moov"))
        #expect(moov < (try #require(order.firstIndex(of: "mdat"))))
        #expect(scratch.contents == ["out.\(ending)"])
        // The pictures are the same, and the decoder reports no error.
        let hash = ["-map", "0:v:0", "-fps_mode", "passthrough", "-f", "md5", "-"]
        #expect(
            try run(["ffmpeg", "-v", "error", "-xerror", "-i", output] + hash)
                == run(["ffmpeg", "-v", "error", "-i", input] + hash))
    }

    @Test(arguments: ["mov", "mp4"], [false, true])
    func writesColorAspectRatioAndRotation(_ ending: String, _ fullRange: Bool) throws {
        let scratch = try Scratch()
        let output = scratch.file("out.\(ending)")
        try remux(Clips.hevc10, to: output) { track in
            track.color = ColorDescription(primaries: 9, transfer: 18, matrix: 9, isFullRange: fullRange)
            track.sampleAspectRatio = Rational(4, 3)
            // 90° clockwise, in 16.16 and 2.30.
            track.displayMatrix = [0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30]
        }
        let reader = try MediaReader(path: output)
        #expect(reader.video.rotation == 90)
        #expect(reader.video.sampleAspectRatio == Rational(4, 3))
        let data = try Data(contentsOf: URL(filePath: output))
        let kind = ending == "mov" ? "nclc" : "nclx"
        let colr = try #require(data.range(of: Data("colr\(kind)".utf8)))
        var expected: [UInt8] = [0, 9, 0, 18, 0, 9]
        if ending == "mp4" { expected.append(fullRange ? 0x80 : 0) }
        #expect(Array(data[colr.upperBound..<colr.upperBound + expected.count]) == expected)
        #expect(data.range(of: Data("pasp".utf8)) != nil)
    }

    @Test func writesTheRecordUnchanged() throws {
        let scratch = try Scratch()
        let output = scratch.file("out.mov")
        let (reader, _) = try remux(Clips.hevc10, to: output)
        #expect(try MediaReader(path: output).video.codecConfiguration == reader.video.codecConfiguration)
        let data = try Data(contentsOf: URL(filePath: output))
        #expect(data.range(of: Data(reader.video.codecConfiguration)) != nil)
    }

    @Test(arguments: [Int64(0), 132_000, 90_001, -3_000])
    func startOffsetsAreExact(_ offset: Int64) throws {
        let scratch = try Scratch()
        let output = scratch.file("out.mp4")
        var options = MediaReader.Options()
        options.decoding = .disabled
        let reader = try MediaReader(path: Clips.hevc10, options: options)
        let writer = try MediaWriter(path: output)
        var track = VideoTrack(reader.video, hvcC: reader.video.codecConfiguration)
        let base = try #require(Rational(1, 90_000))
        track.timeBase = base
        try writer.start(track)
        var expected: [Int64] = []
        while case .packet(let packet)? = try reader.next() {
            let (pts, dts) = (try #require(packet.pts), try #require(packet.dts))
            // 256 ticks of 1/15360 s a frame are 1,500 of 1/90000 s.
            func moved(_ value: Int64) -> Int64 { value / 256 * 1500 + offset }
            try packet.withBytes {
                try writer.write(
                    $0, pts: moved(pts), dts: moved(dts), duration: 1500, isSync: packet.isSync)
            }
            expected.append(moved(pts))
        }
        try writer.finish()
        let rows = try probe(output, "-select_streams", "v:0", "-show_entries", "packet=pts")
        #expect(rows.compactMap { $0.first.flatMap { Int64($0) } } == expected)
    }

    @Test func convertsOrNamesAudioThatTheContainerCannotHold() throws {
        let scratch = try Scratch()
        let reader = try MediaReader(path: Clips.path("vp8_vorbis.webm"))
        let writer = try MediaWriter(path: scratch.file("out.mov"), source: reader)
        #expect(writer.notes.isEmpty && writer.copiedStreams.count == 1)
        #expect(writer.conversions.count == 1 && writer.conversions[0].contains("is converted to AAC"))
        var edits = FileEdits()
        edits.sound.form = .copy
        #expect(throws: MediaError.self) {
            try MediaWriter(path: scratch.file("out.mov"), source: reader, edits: edits)
        }
        edits.sound.dropsUnsupported = true
        let silent = try MediaWriter(path: scratch.file("out.mov"), source: reader, edits: edits)
        #expect(silent.notes == ["stream 1 (audio, vorbis) is not copied: .mov holds no vorbis"])
        let stream = try MediaWriter(path: scratch.file("out.hevc"), source: reader)
        #expect(stream.notes.count == 1 && stream.notes[0].hasPrefix("stream 1 (audio, vorbis)"))
    }

    @Test func copiesAudioOfTransportStreams() throws {
        let scratch = try Scratch()
        let input = scratch.file("in.ts")
        try run("ffmpeg", "-v", "error", "-i", Clips.hevc10, "-c", "copy", input)
        var options = MediaReader.Options()
        options.includesOtherStreams = true
        let reader = try MediaReader(path: input, options: options)
        let output = scratch.file("out.mp4")
        let writer = try MediaWriter(path: output, source: reader)
        #expect(writer.notes.isEmpty)
        // The video's packets are the mp4's; only the audio comes from the transport stream.
        let video = try MediaReader(path: Clips.hevc10)
        try writer.start(VideoTrack(video.video, hvcC: video.video.codecConfiguration))
        var packets = 0
        while let item = try reader.next() {
            guard case .packet(let packet) = item else { continue }
            try writer.write(copied: packet)
            packets += 1
        }
        try withAccessUnit { try writer.write($0, pts: 0, dts: 0, duration: 256, isSync: true) }
        try writer.finish()
        let rows = try probe(
            output, "-select_streams", "a:0", "-count_packets", "-show_entries", "stream=nb_read_packets")
        #expect(packets > 0)
        #expect(rows.first?.first == "\(packets)")
        try run("ffmpeg", "-v", "error", "-xerror", "-i", output, "-map", "0:a", "-f", "null", "-")
    }

    @Test func copiesMetadata() throws {
        let scratch = try Scratch()
        let input = scratch.file("in.mp4")
        try run(
            "ffmpeg", "-v", "error", "-i", Clips.hevc10, "-c", "copy", "-metadata", "title=A title", "-metadata",
            "artist=Someone", input)
        for ending in ["mov", "mp4"] {
            let output = scratch.file("out.\(ending)")
            try remux(input, to: output)
            let tags = try probe(output, "-show_entries", "format_tags=title,artist")
            #expect(tags.first?.sorted() == ["A title", "Someone"])
        }
    }

    @Test func refusesPacketsOutOfOrder() throws {
        let scratch = try Scratch()
        let writer = try MediaWriter(path: scratch.file("out.mov"))
        try withAccessUnit { unit in
            #expect(errorKind { try writer.write(unit, pts: 0, dts: 0, duration: 1, isSync: true) } == .usage)
            let reader = try MediaReader(path: Clips.hevc10)
            try writer.start(VideoTrack(reader.video, hvcC: reader.video.codecConfiguration))
            try writer.write(unit, pts: 4, dts: 2, duration: 1, isSync: true)
            #expect(errorKind { try writer.write(unit, pts: 4, dts: 2, duration: 1, isSync: true) } == .usage)
            #expect(errorKind { try writer.write(unit, pts: 2, dts: 3, duration: 1, isSync: true) } == .usage)
        }
        writer.cancel()
        #expect(scratch.contents.isEmpty)
    }

    /// Calls `body` with the first access unit of the committed HEVC clip.
    func withAccessUnit(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        var options = MediaReader.Options()
        options.decoding = .disabled
        guard case .packet(let packet)? = try MediaReader(path: Clips.hevc10, options: options).next() else {
            throw ToolFailure(description: "the clip has no packet")
        }
        try packet.withBytes { try body($0) }
    }
}
