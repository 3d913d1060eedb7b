// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWMovies
import Testing

@Suite struct WritingTests {
    /// Copies the tracks of HEVC and of sound of a movie.
    static func copy(_ source: String, to path: String, _ change: (inout VideoTrackSettings) -> Void = { _ in })
        throws
    {
        let movie = try Movie(path: source)
        let writer = try MovieWriter(path: path)
        var tracks: [(number: Int, track: MovieTrack, packets: [MoviePacket])] = []
        for track in movie.tracks {
            guard let entry = track.entries.first else { continue }
            if let record = entry.hevc {
                var settings = VideoTrackSettings(timeScale: track.timeScale, configuration: record)
                (settings.color, settings.masteringDisplay) = (entry.color, entry.masteringDisplay)
                (settings.contentLight, settings.cleanAperture) = (entry.contentLight, entry.cleanAperture)
                (settings.rotation, settings.language) = (track.rotation ?? 0, track.language)
                change(&settings)
                tracks.append((try writer.addVideo(settings), track, try packets(movie, track, reading: true)))
            } else if track.kind == .sound {
                var settings = SoundTrackSettings(timeScale: track.timeScale, entry: entry.box)
                settings.rollDistance = -1
                let number = try writer.addSound(settings)
                try writer.end(track: number, at: track.duration)
                tracks.append((number, track, try packets(movie, track, reading: true)))
            }
        }
        // In the order of decode times.
        var all:
            [(
                seconds: Double, track: (number: Int, track: MovieTrack, packets: [MoviePacket]),
                packet: MoviePacket
            )] = []
        for track in tracks {
            for packet in track.packets {
                all.append((Double(packet.decodeTime) / Double(track.track.timeScale), track, packet))
            }
        }
        all.sort { $0.seconds < $1.seconds }
        var entry: [Int: Int] = [:]
        for (_, track, packet) in all {
            if packet.entry != entry[track.number, default: 0], let record = track.track.entries[packet.entry].hevc
            {
                try writer.changeConfiguration(of: track.number, to: record)
            }
            entry[track.number] = packet.entry
            let written = WrittenPacket(
                bytes: packet.bytes, time: packet.time, decodeTime: packet.decodeTime, duration: packet.duration)
            try writer.append(written, to: track.number)
        }
        try writer.finish()
    }

    /// The MD5 of every decoded picture and of all sound.
    static func digest(_ path: String) throws -> [String] {
        let video = try run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-f", "framemd5", "-"])
        let sound = try run([
            "ffmpeg", "-v", "error", "-i", path, "-map", "0:a?", "-map", "0:v", "-c:v", "copy", "-f", "streamhash",
            "-",
        ])
        let lines = [video, sound].flatMap { String(decoding: $0, as: UTF8.self).split(separator: "\n") }
        return lines.filter { !$0.hasPrefix("#") && !$0.contains(",v,") }.map { String($0) }
    }

    @Test("Files that are written decode as their source, and have its packets", arguments: ["mov", "mp4"])
    func copies(_ suffix: String) throws {
        let scratch = try Scratch()
        let sources = [
            try Recipe.all[0].make(in: scratch), Clips.path("hlg.mov"), Clips.path("pq.mov"),
            Clips.path("two_entries.mov"),
            Clips.path("bbb_720p_main10.mp4"),
        ]
        for (number, source) in sources.enumerated() {
            let path = scratch.file("copy\(number).\(suffix)")
            try Self.copy(source, to: path)
            try compare(path)
            #expect(try Self.digest(path) == Self.digest(source), "\(source)")
            let (ours, theirs) = (try Movie(path: path), try Movie(path: source))
            #expect(ours.brand == (suffix == "mov" ? "qt  " : "isom") && ours.remarks.isEmpty)
            for (copy, track) in zip(ours.tracks, theirs.tracks) {
                let (mine, other) = (
                    try packets(ours, copy, reading: true), try packets(theirs, track, reading: true)
                )
                #expect(mine.map(\.bytes) == other.map(\.bytes) && mine.map(\.time) == other.map(\.time))
                #expect(mine.map(\.entry) == other.map(\.entry) && mine.map(\.isKey) == other.map(\.isKey))
                #expect(mine.map(\.isShown) == other.map(\.isShown))
                #expect(copy.entries.map(\.masteringDisplay) == track.entries.map(\.masteringDisplay))
                #expect(copy.entries.map(\.contentLight) == track.entries.map(\.contentLight))
                #expect(copy.entries.map(\.hevc) == track.entries.map(\.hevc))
            }
        }
    }

    @Test("A track's turn, aperture, shape of samples and language are written")
    func settings() throws {
        let scratch = try Scratch()
        let path = scratch.file("settings.mp4")
        try Self.copy(Clips.path("bframes.mp4"), to: path) { settings in
            (settings.rotation, settings.language) = (90, "fra")
            settings.pixelAspect = Rational(4, 3)
            settings.color = MovieColor(primaries: 12, transfer: 1, matrix: 1, isFullRange: false)
        }
        let track = try #require(try Movie(path: path).tracks.first)
        #expect(track.rotation == 90 && track.language == "fra" && track.entries[0].pixelAspect == Rational(4, 3))
        let probed = String(
            decoding: try run([
                "ffprobe", "-v", "error", "-show_entries",
                "stream=sample_aspect_ratio:stream_side_data=rotation:stream_tags=language", "-of",
                "default=nw=1", path,
            ]), as: UTF8.self)
        #expect(track.entries[0].color == MovieColor(primaries: 12, transfer: 1, matrix: 1, isFullRange: false))
        for line in ["sample_aspect_ratio=4:3", "rotation=-90", "TAG:language=fra"] {
            #expect(probed.contains(line), "\(probed)")
        }
    }

    @Test("Times before 0 are not shown, a later begin is kept, and a track ends where it is asked to")
    func times() throws {
        let scratch = try Scratch()
        let movie = try Movie(path: Clips.path("bframes.mp4"))
        let track = movie.tracks[0]
        let record = try #require(track.entries[0].hevc)
        let source = try packets(movie, track, reading: true)
        for shift in [Int64(-1024), 0, 6400] {
            let path = scratch.file("shift\(shift).mp4")
            let writer = try MovieWriter(path: path)
            let number = try writer.addVideo(VideoTrackSettings(timeScale: track.timeScale, configuration: record))
            for packet in source {
                try writer.append(
                    WrittenPacket(
                        bytes: packet.bytes, time: packet.time + shift, decodeTime: packet.decodeTime + shift,
                        duration: packet.duration), to: number)
            }
            try writer.end(track: number, at: 12800)
            try writer.finish()
            try compare(path)
            let read = try Movie(path: path)
            let shown = try packets(read, read.tracks[0]).filter(\.isShown)
            #expect(shown.map(\.time).min() == max(0, shift) && read.tracks[0].duration == 12800)
            #expect(shown.count == source.filter { (0..<12800).contains($0.time + shift) }.count)
        }
    }

    @Test("Temporal levels become sample groups")
    func levels() throws {
        let scratch = try Scratch()
        let path = scratch.file("levels.mov")
        let movie = try Movie(path: Clips.path("bframes.mp4"))
        let track = movie.tracks[0]
        let writer = try MovieWriter(path: path)
        let record = try #require(track.entries[0].hevc)
        let number = try writer.addVideo(VideoTrackSettings(timeScale: track.timeScale, configuration: record))
        var expected: [Int] = []
        for packet in try packets(movie, track, reading: true) {
            var bytes = packet.bytes
            // The level of every second picture becomes 1: the low three bits of a slice's header, less 1.
            let level = packet.isKey ? 0 : packet.sample % 2
            var place = 0
            while let length = bytes.bigEndian(at: place, 4), place + 5 < bytes.count {
                if bytes[place + 4] >> 1 < 32 { bytes[place + 5] = bytes[place + 5] & 0xF8 | UInt8(level + 1) }
                place += 4 + Int(length)
            }
            expected.append(level)
            try writer.append(
                WrittenPacket(
                    bytes: bytes, time: packet.time, decodeTime: packet.decodeTime, duration: packet.duration),
                to: number)
        }
        try writer.finish()
        let read = try Movie(path: path)
        let written = try packets(read, read.tracks[0])
        #expect(written.map(\.level) == expected && read.tracks[0].highestLevel == 1)
        #expect(read.tracks[0].groupTypes.contains("tscl") && read.tracks[0].groupTypes.contains("sync"))
        #expect(read.tracks[0].entries[0].hevc?.numTemporalLayers == 2)
        #expect(written.contains { $0.dependencies.byte != 0 })
    }

    @Test("What cannot be written is refused, and leaves no file")
    func refusals() throws {
        let scratch = try Scratch()
        let path = scratch.file("refused.mov")
        let movie = try Movie(path: Clips.path("bframes.mp4"))
        let source = try packets(movie, movie.tracks[0], reading: true)
        let record = try #require(movie.tracks[0].entries[0].hevc)
        func code(_ body: () throws(MovieError) -> Void) -> MovieError.Code? {
            do throws(MovieError) {
                try body()
                return nil
            } catch { return error.code }
        }
        let writer = try MovieWriter(path: path)
        let number = try writer.addVideo(VideoTrackSettings(timeScale: 12800, configuration: record))
        #expect(code { () throws(MovieError) in try writer.finish() } == .usage)
        func append(_ bytes: [UInt8], _ time: Int64, _ decodeTime: Int64, to track: Int) -> MovieError.Code? {
            code { () throws(MovieError) in
                try writer.append(
                    WrittenPacket(bytes: bytes, time: time, decodeTime: decodeTime, duration: 1), to: track)
            }
        }
        let bytes = source[0].bytes
        #expect(append([0, 0, 0, 1, 0x26, 1, 0x80], 0, 0, to: number) == .usage)
        #expect(append(bytes, 0, 1, to: number) == .usage && append(bytes, 0, 0, to: 7) == .usage)
        #expect(append(bytes, .max, 0, to: number) == .usage)
        #expect(append(bytes, 10, 10, to: number) == nil && append(bytes, 10, 9, to: number) == .usage)
        var settings = VideoTrackSettings(timeScale: 12800, configuration: record)
        settings.rotation = 45
        #expect(code { () throws(MovieError) in _ = try writer.addVideo(settings) } == .usage)
        settings.rotation = 0
        settings.contentLight = [1]
        #expect(code { () throws(MovieError) in _ = try writer.addVideo(settings) } == .usage)
        writer.discard()
        #expect(append(bytes, 20, 20, to: number) == .usage)
        #expect(
            code { () throws(MovieError) in _ = try MovieWriter(path: scratch.path + "/none/file.mov") }
                == .cannotCreate)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).isEmpty)
    }
}
