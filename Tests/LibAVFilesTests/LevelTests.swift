// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDX265
import Foundation
import HWDBoxes
import HWDHEVC
import HWDModel
import Testing

@testable import HWDLibAVReading
@testable import HWDLibAVWriting
@testable import HWDMetadata

/// Files with x265's two temporal levels: written, read and filtered, compared with ffmpeg.
@Suite struct LevelTests {
    /// A clip of two levels: every other picture between key frames is of level 1.
    static func clip(_ scratch: Scratch, _ name: String = "source.mp4", frames: Int = 34) throws -> String {
        let path = scratch.file(name)
        try run(
            "ffmpeg", "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=60", "-frames:v",
            "\(frames)", "-pix_fmt", "yuv420p", "-c:v", "libx265", "-preset", "ultrafast", "-tag:v", "hvc1",
            "-x265-params",
            "temporal-layers=\(hwd_x265_two_levels()):keyint=16:min-keyint=16:bframes=1:b-adapt=0:scenecut=0"
                + ":open-gop=0:log-level=none:info=0",
            path)
        return path
    }

    /// Copies a file's video, without the levels above `limit`.
    @discardableResult
    static func copy(_ source: String, to path: String, limit: Int? = nil) throws -> LevelReport? {
        var options = MediaReader.Options()
        options.decoding = .disabled
        options.maxLevel = limit
        let reader = try MediaReader(path: source, options: options)
        var copy = try VideoCopy(reader)
        let writer = try MediaWriter(path: path, source: reader)
        var track = VideoTrack(reader.video, hvcC: copy.hvcC)
        track.isCopy = true
        try writer.start(track)
        var durations = DisplayDurations<MediaPacket>(reorderDepth: copy.reorderDepth)
        func write(_ timed: [DisplayDurations<MediaPacket>.Timed]) throws {
            for item in timed {
                let sample = try copy.sample(item.packet)
                if let configuration = sample.configuration { try writer.change(to: configuration) }
                let bytes = sample.bytes ?? item.packet.withBytes { Array($0) }
                try bytes.withUnsafeBytes {
                    try writer.write(
                        $0, pts: item.pts, dts: item.dts, duration: item.duration, isSync: item.packet.isSync)
                }
            }
        }
        while let item = try reader.next() {
            guard case .packet(let packet) = item, let pts = packet.pts else { continue }
            try write(durations.add(packet, pts: pts, dts: packet.dts, duration: packet.duration))
        }
        if let end = reader.levels?.end { durations.pass(pts: end, duration: 0) }
        try write(durations.finish())
        try writer.finish()
        return reader.levels
    }

    /// Every frame's time and checksum from ffmpeg, which must report no error.
    static func frames(_ path: String) throws -> [(time: String, digest: String)] {
        let text = String(
            decoding: try run(
                "ffmpeg", "-v", "error", "-xerror", "-i", path, "-map", "0:v:0", "-fps_mode", "passthrough",
                "-enc_time_base",
                "1:60000", "-f", "framemd5", "-"), as: UTF8.self)
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let fields = line.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            return (fields[2], fields[5])
        }
    }

    /// The boxes of the video's sample table.
    static func table(_ path: String, entry type: FourCC = "hvc1") throws -> Box {
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        let entry = try #require(try MovieFile.entries(descriptor).first { $0.type == "moov" })
        let movie = try MovieFile.movie(descriptor, entry)
        let track = try #require(
            movie.children.first { $0.first("mdia", "minf", "stbl", "stsd", type) != nil })
        return try #require(track.first("mdia", "minf", "stbl"))
    }

    @Test(arguments: ["mov", "mp4"])
    func annotatesLevelsAndKeepsSamples(_ ending: String) throws {
        let scratch = try Scratch()
        let source = try Self.clip(scratch)
        let path = scratch.file("out.\(ending)")
        try Self.copy(source, to: path)
        let table = try Self.table(path)
        let read = TrackAnnotations(table, subLayers: 2)
        #expect(read.kinds == ["tscl", "tsas", "sync", "sdtp"])
        #expect(read.faults.isEmpty)
        #expect(read.levels?.count == 34 && read.levels?.contains(1) == true)
        let packets = { try MovieFileTests.packets($0).map { Array($0.suffix(2)) } }
        #expect(try packets(path) == packets(source))
        #expect(try Self.frames(path).map(\.digest) == Self.frames(source).map(\.digest))
        // Only level 1 is disposable, and key frames are where they were.
        let dependencies = try #require(table.first("sdtp")?.fields.dropFirst(4))
        #expect(dependencies.map { $0 >> 2 & 3 == 2 } == read.levels?.map { $0 == 1 })
        let flags = { try probe($0, "-show_entries", "packet=flags").map { $0[0].prefix(1) } }
        #expect(try flags(path) == flags(source))
        #expect(try boxes(path).prefix(2) == ["ftyp", "moov"])
        let info = try MediaInfo(path: path).video[0]
        #expect(info.temporalLayers == 2 && info.annotations == read.kinds && info.annotationFaults == nil)
        #expect(info.levels?.map(\.level) == [0, 1])
        #expect(info.levels?.last?.frameRate == "60/1" && info.levels?.compactMap(\.frames).reduce(0, +) == 34)
    }

    /// A checker of sample groups that shares no code with this project; nil in a clone without it.
    static let checker: String? = Clips.mediaSet.map {
        URL(filePath: $0).deletingLastPathComponent().appending(path: "tools/check_temporal.py").path
    }.flatMap { FileManager.default.fileExists(atPath: $0) ? $0 : nil }

    @Suite struct Long {
        @Test(.enabled(if: LevelTests.checker != nil, "needs check_temporal.py beside the repository"))
        func annotationsPassAnIndependentCheck() throws {
            let checker = try #require(LevelTests.checker)
            let scratch = try Scratch()
            let source = try LevelTests.clip(scratch)
            for name in ["out.mov", "out.mp4"] {
                let path = scratch.file(name)
                try LevelTests.copy(source, to: path)
                try run("python3", checker, path, "--expect-levels", "2", "--require-tscl", "--no-decode")
            }
        }
    }

    @Test(arguments: ["mov", "mp4"])
    func droppingLevelsKeepsTheOthers(_ ending: String) throws {
        let scratch = try Scratch()
        let whole = scratch.file("whole.\(ending)")
        try Self.copy(try Self.clip(scratch), to: whole)
        let levels = try #require(TrackAnnotations(try Self.table(whole), subLayers: 2).levels)
        let path = scratch.file("base.\(ending)")
        let report = try #require(try Self.copy(whole, to: path, limit: 0))
        #expect(report.source == .annotations && report.warning == nil && report.note == nil)
        #expect(report.kept == levels.count { $0 == 0 } && report.dropped == levels.count { $0 == 1 })
        // The frames of level 0, found by their times in the whole.
        let packets = try probe(whole, "-show_entries", "packet=pts_time").map { $0[0] }
        let times = packets.map { Int(((Double($0) ?? -1) * 60000).rounded()) }
        let kept = Set(zip(times, levels).filter { $0.1 == 0 }.map(\.0))
        let expected = try Self.frames(whole).filter { kept.contains(Int($0.time) ?? -1) }
        let frames = try Self.frames(path)
        #expect(frames.map(\.time) == expected.map(\.time))
        #expect(frames.map(\.digest) == expected.map(\.digest) && !frames.isEmpty)
        // The duration is the same, and nothing declares two levels any more.
        let duration = { try probe($0, "-show_entries", "stream=duration", "-select_streams", "v")[0][0] }
        #expect(try duration(path) == duration(whole))
        let info = try MediaInfo(path: path).video[0]
        #expect(info.temporalLayers == 1 && info.levels == nil && info.annotationFaults == nil)
        #expect(info.annotations == ["sync", "sdtp"])
    }

    @Test func filtersByHeadersWithoutAnnotations() throws {
        let scratch = try Scratch()
        let source = try Self.clip(scratch)
        let matroska = scratch.file("source.mkv")
        let transport = scratch.file("source.ts")
        for path in [matroska, transport] { try run("ffmpeg", "-v", "error", "-i", source, "-c", "copy", path) }
        var digests: [[String]] = []
        for path in [source, matroska, transport] {
            let output = scratch.file("out.mov")
            let report = try #require(try Self.copy(path, to: output, limit: 0))
            #expect(report.source == .headers && report.warning == nil)
            #expect(report.note?.contains("does not annotate") == true)
            #expect(try MediaInfo(path: output).video[0].annotationFaults == nil)
            digests.append(try Self.frames(output).map(\.digest))
        }
        #expect(digests[0] == digests[1] && digests[0] == digests[2] && digests[0].count > 10)
    }

    @Test func reportsWrongAnnotationsAndUsesHeaders() throws {
        let scratch = try Scratch()
        let whole = scratch.file("whole.mov")
        try Self.copy(try Self.clip(scratch), to: whole)
        let good = scratch.file("good.mov")
        try Self.copy(whole, to: good, limit: 0)
        // Every sample of level 1 becomes one of level 0, and the other way round.
        try MovieFileTests.finish(whole) { movie throws(BoxError) in
            try movie.forEach { box throws(BoxError) in
                if box.type == "sbgp", box.fields[4..<8].elementsEqual("tscl".utf8) {
                    for place in stride(from: 19, to: box.fields.count, by: 8) { box.fields[place] ^= 3 }
                }
            }
        }
        let info = try MediaInfo(path: whole).video[0]
        #expect(
            info.annotationFaults?.first?.contains("\"tscl\": sample 1 is marked as temporal level 1") == true)
        let path = scratch.file("base.mov")
        let report = try #require(try Self.copy(whole, to: path, limit: 0))
        #expect(report.source == .headers && report.warning?.contains("annotations") == true)
        #expect(try Self.frames(path).map(\.digest) == Self.frames(good).map(\.digest))
    }

    @Test func refusesOrNotesStreamsWithoutLevels() throws {
        #expect(errorKind { try Self.copy(Clips.h264, to: "/tmp/never.mov", limit: 0) } == .unsupported)
        let scratch = try Scratch()
        let report = try Self.copy(Clips.hevc10, to: scratch.file("a.mov"), limit: 0)
        #expect(report?.dropped == 0 && report?.note?.contains("one temporal level") == true)
    }

    @Test func durationsReachTheNextKeptPicture() {
        // Shown at 0 40 80 120 160, decoded as 0 80 40 160 120: a reorder depth of one.
        var durations = DisplayDurations<Int>(reorderDepth: 1)
        var done: [DisplayDurations<Int>.Timed] = []
        for (number, pts) in [0, 80, 40, 160, 120].enumerated() {
            done += durations.add(pts, pts: Int64(pts), dts: Int64(number * 20 - 20), duration: 10)
        }
        #expect(done.map(\.packet) == [0])
        durations.pass(pts: 170, duration: 10)
        done += durations.finish()
        #expect(done.map(\.packet) == [0, 80, 40, 160, 120])
        #expect(done.map(\.duration) == [40, 40, 40, 20, 40])
        #expect(done.map(\.dts) == [-40, 0, 40, 80, 120])
    }

    @Test func longStreamsKeepTheirTimes() {
        var durations = DisplayDurations<Int>(reorderDepth: 1)
        var done: [DisplayDurations<Int>.Timed] = []
        for number in 0..<4000 {
            // 0 2 1 4 3 6 5 …
            let order = number == 0 ? 0 : number % 2 == 1 ? number + 1 : number - 1
            let (pts, dts) = (Int64(order) * 8, Int64(number) * 8 - 9)
            done += durations.add(number, pts: pts, dts: dts, duration: 1)
        }
        done += durations.finish()
        #expect(done.map(\.packet) == Array(0..<4000))
        let even = (0..<4000).map { number -> Int64 in Int64(number) * 8 - 8 }
        #expect(done.map(\.dts) == even)
        #expect(done.dropLast(3).allSatisfy { $0.duration == 8 })
    }

    @Test func ratesAreWholeFractionsOfTheFullRate() {
        var rates = LevelRates()
        let level: [UInt8] = [0, 3, 2, 3, 1, 3, 2, 3]
        for frame in 0..<97 { rates.add(level: level[frame % 8], time: Int64(frame) * 125) }
        let found = (0..<4).map { rates.rate($0, full: Rational(240), tick: 1 / 30000.0)?.description }
        #expect(found == ["30/1", "60/1", "120/1", "240/1"])
        let ntsc = (0..<4).map { rates.rate($0, full: Rational(240000, 1001), tick: 1 / 30000.0)?.description }
        #expect(ntsc == ["30000/1001", "60000/1001", "120000/1001", "240000/1001"])
        #expect((0..<4).map { rates.total($0) } == [13, 25, 49, 97])
    }
}
