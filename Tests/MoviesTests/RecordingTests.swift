// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDX265
import Foundation
import HWDBoxes
import HWMovies
import Testing

@Suite struct RecordingTests {
    /// A movie with B frames and sound that begins with priming, as packets in the order of their decode times.
    struct Source {
        let movie: Movie
        var tracks: [(track: MovieTrack, packets: [MoviePacket])] = []
        var order: [(track: Int, packet: MoviePacket)] = []

        init(_ path: String) throws {
            movie = try Movie(path: path)
            var timed: [(seconds: Double, track: Int, packet: MoviePacket)] = []
            for track in movie.tracks where track.kind == .sound || track.entries.first?.hevc != nil {
                let list = try packets(movie, track, reading: true)
                for packet in list {
                    timed.append((Double(packet.decodeTime) / Double(track.timeScale), tracks.count, packet))
                }
                tracks.append((track, list))
            }
            timed.sort { $0.seconds < $1.seconds }
            order = timed.map { ($0.track, $0.packet) }
        }

        func start(_ path: String, _ change: (inout VideoTrackSettings) -> Void = { _ in }) throws -> MovieRecorder
        {
            let recorder = try MovieRecorder(path: path)
            for (track, _) in tracks {
                let entry = track.entries[0]
                if let record = entry.hevc {
                    var settings = VideoTrackSettings(timeScale: track.timeScale, configuration: record)
                    (settings.color, settings.masteringDisplay) = (entry.color, entry.masteringDisplay)
                    (settings.contentLight, settings.cleanAperture) = (entry.contentLight, entry.cleanAperture)
                    change(&settings)
                    _ = try recorder.addVideo(settings)
                } else {
                    var settings = SoundTrackSettings(timeScale: track.timeScale, entry: entry.box)
                    settings.rollDistance = -1
                    let number = try recorder.addSound(settings)
                    try recorder.end(track: number, at: track.duration)
                }
            }
            return recorder
        }

        func record(_ path: String, to recorder: MovieRecorder) throws {
            var entry: [Int: Int] = [:]
            for (track, packet) in order {
                if packet.entry != entry[track, default: 0],
                    let record = tracks[track].track.entries[packet.entry].hevc
                {
                    try recorder.changeConfiguration(of: track, to: record)
                }
                entry[track] = packet.entry
                try recorder.append(WrittenPacket(packet), to: track)
            }
        }
    }

    /// The presentation time, the size and the MD5 of every packet of the video.
    static func videoPackets(_ path: String) throws -> [String] {
        let text = try run([
            "ffmpeg", "-v", "error", "-copyts", "-i", path, "-map", "0:v", "-c", "copy", "-f", "framemd5", "-",
        ])
        // Decode times and durations are libavformat's own where a file has fragments.
        return String(decoding: text, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
            let fields = $0.split(separator: ",")
            return "\(fields[2])\(fields[4])\(fields[5])"
        }
    }

    /// The end of the last packet that libavformat reads in full, in seconds.
    static func end(_ path: String) throws -> Double {
        // It fails on a file without a whole fragment, and reads one that ends within a fragment's box without its index.
        let text = try? run([
            "ffprobe", "-v", "quiet", "-fflags", "+ignidx", "-select_streams", "v", "-show_entries",
            "packet=pts_time,duration_time", "-of", "csv=p=0", path,
        ])
        return String(decoding: text ?? Data(), as: UTF8.self).split(separator: "\n").compactMap {
            line -> Double? in
            let fields = line.split(separator: ",").compactMap { Double($0) }
            return fields.count == 2 ? fields[0] + fields[1] : nil
        }.max() ?? 0
    }

    /// QuickTime's rules for a plain movie, and what a recording must not leave.
    static func checkPlain(_ path: String) throws {
        let bytes = try Clips.bytes(path)
        var (position, types): (Int, [FourCC]) = (0, [])
        while let header = BoxHeader(bytes[position...], available: UInt64(bytes.count - position)), header.isWhole
        {
            types.append(header.type)
            // One write of 16 bytes made the media's header, so its size has 64 bits.
            if header.type == "mdat" { #expect(header.headerSize == Box.largeHeaderSize) }
            if header.type == "moov" {
                let start = position + header.headerSize
                let boxes = try Box.parse(bytes[start..<position + Int(header.size)])
                #expect(boxes.first?.type == "mvhd" && !boxes.contains { $0.type == "mvex" })
                for track in boxes where track.type == "trak" {
                    let table = try #require(track.first(path: Box.sampleTablePath))
                    // Each table once, and the order that QuickTime recommends: descriptions, times, places.
                    for name in ["stsd", "stts", "stsc", "stsz"] as [FourCC] {
                        #expect(table.children.filter { $0.type == name }.count == 1, "\(name)")
                    }
                    #expect(table.children.contains { $0.type == "stco" || $0.type == "co64" })
                    #expect(track.first("edts", "elst") != nil)
                }
            }
            position += Int(header.size)
        }
        #expect(position == bytes.count, "\(path) has bytes that are no box")
        #expect(types == ["ftyp", "mdat", "moov"], "\(path): \(types)")
    }

    @Test("A recording has its source's packets before it is finished and after", arguments: ["mov", "mp4"])
    func records(_ suffix: String) throws {
        let scratch = try Scratch()
        let sources = [
            try Recipe.all[0].make(in: scratch), Clips.path("hlg.mov"), Clips.path("pq.mov"),
            Clips.path("two_entries.mov"), Clips.path("bbb_720p_main10.mp4"),
        ]
        for (number, path) in sources.enumerated() {
            let source = try Source(path)
            let (whole, dead) = (scratch.file("whole\(number).\(suffix)"), scratch.file("dead\(number).\(suffix)"))
            let recorder = try source.start(whole)
            try source.record(path, to: recorder)
            try recorder.flush()
            // What a killed program leaves.
            try Data(Clips.bytes(whole)).write(to: URL(filePath: dead))
            try recorder.finish()
            try Self.checkPlain(whole)
            // Finished in place: 16 bytes are others, and the movie box is appended.
            let (before, after) = (try Clips.bytes(dead), try Clips.bytes(whole))
            let changed = zip(before, after).enumerated().filter { $0.element.0 != $0.element.1 }.map(\.offset)
            #expect(try #require(changed.last) - #require(changed.first) < 16 && after.count > before.count)
            try compare(whole)
            try compare(dead, [.decodeTimes, .hidden])
            #expect(try WritingTests.digest(whole) == WritingTests.digest(path), "\(path)")
            let video = try Self.videoPackets(dead)
            let repair = try MovieRepair(path: dead)
            #expect(repair.outcome == .finished)
            try Self.checkPlain(dead)
            try compare(dead)
            #expect(try video == Self.videoPackets(dead) && video == Self.videoPackets(whole), "\(path)")
            #expect(try MovieRepair(path: dead).outcome == .complete)
            for file in [whole, dead] {
                try Self.checkPackets(file, source)
                try Self.checkGroups(file, plain: path, scratch)
            }
        }
    }

    /// The packets and sample entries of a recording are its source's.
    private static func checkPackets(_ file: String, _ source: Source) throws {
        let read = try Movie(path: file)
        #expect(read.remarks.isEmpty && read.tracks.count == source.tracks.count)
        for (copy, (track, list)) in zip(read.tracks, source.tracks) {
            let mine = try packets(read, copy, reading: true)
            #expect(mine.map(\.bytes) == list.map(\.bytes) && mine.map(\.time) == list.map(\.time))
            #expect(mine.map(\.entry) == list.map(\.entry) && mine.map(\.isKey) == list.map(\.isKey))
            #expect(copy.entries.map(\.masteringDisplay) == track.entries.map(\.masteringDisplay))
            #expect(copy.entries.map(\.contentLight) == track.entries.map(\.contentLight))
            #expect(copy.entries.map(\.hevc) == track.entries.map(\.hevc))
        }
    }

    /// The sample groups are those that the writer of plain movies writes.
    private static func checkGroups(_ file: String, plain source: String, _ scratch: Scratch) throws {
        let plain = scratch.file("plain.mov")
        try WritingTests.copy(source, to: plain)
        for (copy, track) in zip(try Movie(path: file).tracks, try Movie(path: plain).tracks) {
            #expect(copy.groupTypes == track.groupTypes, "\(file)")
            for sample in 0..<track.sampleCount {
                // The leading pictures of a key frame may be in the next fragment.
                for type in track.groupTypes where type != "rap " {
                    #expect(copy.group(type, of: sample) == track.group(type, of: sample))
                }
            }
        }
    }

    @Test("Chapters, an aperture and temporal levels are in the finished file")
    func finishes() throws {
        let scratch = try Scratch()
        let path = scratch.file("chapters.mov")
        let source = try Source(Clips.path("bframes.mp4"))
        let size = source.tracks[0].track.displaySize
        let aperture = CleanAperture(
            width: 64, height: 48, ofCodedWidth: Int(size.width >> 16), codedHeight: Int(size.height >> 16))
        let recorder = try source.start(path) { $0.cleanAperture = aperture }
        for (track, packet) in source.order {
            var written = WrittenPacket(packet)
            // The level of every second picture becomes 1: the low three bits of a slice's header, less 1.
            let level = packet.isKey ? 0 : packet.sample % 2
            var place = 0
            while let length = written.bytes.bigEndian(at: place, 4), place + 5 < written.bytes.count {
                if written.bytes[place + 4] >> 1 < 32 {
                    written.bytes[place + 5] = written.bytes[place + 5] & 0xF8 | UInt8(level + 1)
                }
                place += 4 + Int(length)
            }
            try recorder.append(written, to: track)
        }
        try recorder.flush()
        let fragmented = try Movie(path: path)
        #expect(try packets(fragmented, fragmented.tracks[0]).contains { $0.level == 1 })
        recorder.chapters = [MovieChapter(seconds: 0, title: "Début"), MovieChapter(seconds: 0.5, title: "Two")]
        try recorder.finish()
        let read = try Movie(path: path)
        let written = try packets(read, read.tracks[0])
        #expect(written.map(\.level) == written.map { $0.isKey ? 0 : $0.sample % 2 })
        #expect(read.tracks[0].entries[0].cleanAperture == aperture && aperture != nil)
        #expect(read.tracks[0].entries[0].hevc?.numTemporalLayers == 2)
        let text = String(
            decoding: try run(["ffprobe", "-v", "error", "-show_chapters", "-of", "csv=p=0", path]), as: UTF8.self)
        let lines = text.split(separator: "\n").map { String($0) }
        #expect(lines.count == 2 && lines.first?.hasSuffix("Début") == true, "\(text)")
        #expect(lines.last?.contains("0.500000") == true && lines.last?.hasSuffix("Two") == true, "\(text)")
    }

    /// A checker of sample groups that shares no code with this project; nil in a clone without it.
    private static let checker: String? = Clips.mediaSet.map {
        URL(filePath: $0).deletingLastPathComponent().appending(path: "tools/check_temporal.py").path
    }.flatMap { FileManager.default.fileExists(atPath: $0) ? $0 : nil }

    @Test(
        "A recording with temporal levels passes an independent check, finished or repaired",
        .enabled(if: checker != nil, "needs check_temporal.py beside the repository"))
    func levels() throws {
        let checker = try #require(Self.checker)
        let scratch = try Scratch()
        let clip = scratch.file("levels.mp4")
        try run([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=60:d=2", "-pix_fmt", "yuv420p",
            "-c:v", "libx265", "-preset", "ultrafast", "-tag:v", "hvc1", "-x265-params",
            "temporal-layers=\(hwd_x265_two_levels()):keyint=16:min-keyint=16:bframes=1:b-adapt=0:scenecut=0"
                + ":open-gop=0:log-level=none:info=0",
            clip,
        ])
        let (whole, dead) = (scratch.file("whole.mov"), scratch.file("dead.mov"))
        let source = try Source(clip)
        let recorder = try source.start(whole)
        try source.record(clip, to: recorder)
        try recorder.flush()
        try Data(Clips.bytes(whole)).write(to: URL(filePath: dead))
        try recorder.finish()
        #expect(try MovieRepair(path: dead).outcome == .finished)
        for path in [whole, dead] {
            try run(["python3", checker, path, "--expect-levels", "2"])
        }
    }

    @Test("A gap between packets lengthens the one before, and sound that begins later is late")
    func gaps() throws {
        let scratch = try Scratch()
        let made = try Recipe.all[0].make(in: scratch)
        let source = try Source(made)
        let path = scratch.file("gap.mov")
        let dead = scratch.file("dead.mov")
        let recorder = try source.start(path)
        for (number, (track, _)) in source.tracks.enumerated() where track.kind == .sound {
            try recorder.end(track: number, at: track.duration + 2 * Int64(track.timeScale))
        }
        var expected: [Int64] = []
        for (track, packet) in source.order {
            var written = WrittenPacket(packet)
            let scale = Int64(source.tracks[track].track.timeScale)
            // The video pauses for three seconds behind its tenth packet, and sound begins after two.
            if source.tracks[track].track.kind == .sound {
                guard packet.time >= 0 else { continue }
                written.time += 2 * scale
                written.decodeTime += 2 * scale
            } else {
                if packet.sample >= 10 {
                    written.time += 3 * scale
                    written.decodeTime += 3 * scale
                }
                expected.append(written.time)
            }
            try recorder.append(written, to: track)
        }
        try recorder.flush()
        try Data(Clips.bytes(path)).write(to: URL(filePath: dead))
        try recorder.finish()
        _ = try MovieRepair(path: dead)
        for file in [path, dead] {
            try compare(file)
            let movie = try Movie(path: file)
            for track in movie.tracks {
                let list = try packets(movie, track)
                if track.kind == .video {
                    #expect(list.map(\.time) == expected, "\(file)")
                } else {
                    #expect(list.first?.time == 2 * Int64(track.timeScale), "\(file)")
                }
            }
        }
    }
}

extension WrittenPacket {
    init(_ packet: MoviePacket) {
        self.init(
            bytes: packet.bytes, time: packet.time, decodeTime: packet.decodeTime, duration: packet.duration)
    }
}
