// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWMovies
import Testing

/// Movies that ffmpeg makes.
struct Recipe: CustomTestStringConvertible {
    let name: String
    let options: [String]
    var known: KnownDifferences = []
    var testDescription: String { name }

    private static let hevc = [
        "-c:v", "libx265", "-x265-params", "log-level=0:keyint=12:bframes=3", "-tag:v", "hvc1",
    ]
    private static let aac = ["-c:a", "aac"]
    private static let fragments = ["-movflags", "frag_keyframe+delay_moov+default_base_moof"]

    static let all = [
        Recipe(name: "bframes.mp4", options: hevc + aac),
        Recipe(name: "bframes.mov", options: hevc + aac),
        Recipe(name: "h264.mov", options: ["-c:v", "libx264", "-bf", "2", "-g", "12", "-c:a", "alac"]),
        Recipe(name: "negative.mp4", options: ["-c:v", "libx264", "-movflags", "negative_cts_offsets"] + aac),
        Recipe(name: "pcm.mov", options: ["-c:v", "libx264", "-c:a", "pcm_s16le", "-timecode", "01:00:00:00"]),
        Recipe(name: "pcm24.mov", options: ["-c:v", "libx264", "-c:a", "pcm_s24le", "-ac", "2"]),
        Recipe(name: "delayed.mp4", options: hevc + aac + ["-output_ts_offset", "0.7"]),
        Recipe(name: "front.mp4", options: hevc + aac + ["-movflags", "faststart"]),
        Recipe(name: "fragments.mp4", options: hevc + aac + fragments, known: .hidden),
        Recipe(
            name: "fragments.mov", options: hevc + aac + fragments + ["-frag_duration", "300000"], known: .hidden),
        Recipe(name: "dash.mp4", options: hevc + aac + ["-movflags", "dash+delay_moov"], known: .hidden),
        Recipe(name: "positions.mp4", options: hevc + aac + ["-movflags", "frag_keyframe+empty_moov"]),
        Recipe(
            name: "separate.mp4", options: hevc + aac + ["-movflags", "frag_keyframe+empty_moov+separate_moof"]),
    ]

    /// Makes the movie: two seconds of 96x64 at 25 Hz with a tone.
    func make(in scratch: Scratch) throws -> String {
        let path = scratch.file(name)
        try run(
            [
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=2", "-f", "lavfi", "-i",
                "sine=d=2:r=48000", "-preset", "ultrafast", "-pix_fmt", "yuv420p",
            ] + options + [path])
        return path
    }
}

@Suite struct ReadingTests {
    @Test("Packets are those of libavformat", arguments: Recipe.all)
    func packetsOfLibavformat(_ recipe: Recipe) throws {
        let scratch = try Scratch()
        #expect(try compare(try recipe.make(in: scratch), recipe.known) > 60)
    }

    @Test(
        "Packets of committed files are those of libavformat",
        arguments: [
            "bbb_720p.mp4", "bbb_720p_main10.mp4", "bframes.mp4", "fps240.mp4", "two_tracks.mp4",
            "alpha_prores4444.mov", "alpha_qtrle.mov", "bbb_alpha.mov", "hlg.mov", "pq.mov", "two_entries.mov",
            "entries/422.mov", "entries/depth.mov", "entries/size.mov",
        ])
    func committedFiles(_ name: String) throws { #expect(try compare(Clips.path(name)) > 2) }

    @Test("Packets of the media set are those of libavformat", .needsMediaSet)
    func mediaSet() throws {
        let folder = try #require(Clips.mediaSet)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { name in
            [".mov", ".mp4"].contains { name.lowercased().hasSuffix($0) }
        }
        #expect(names.count >= 13)
        // An iPhone's composition times precede its decode times.
        for name in names { try compare("\(folder)/\(name)", name.hasPrefix("dv84") ? .decodeTimes : []) }
    }

    @Test("A track states its codec, configuration, color, turn and language")
    func tracks() throws {
        let movie = try Movie(path: Clips.path("dolby_vision_84.mov"))
        #expect(movie.brand == "qt  " && movie.remarks.isEmpty && !movie.isFragmented && !movie.isCutShort)
        #expect(movie.tracks.map(\.kind) == [.video, .sound, .metadata, .metadata, .metadata])
        let video = movie.tracks[0]
        let entry = try #require(video.entries.first)
        #expect(entry.type == "hvc1" && entry.isHEVC && entry.width > 0 && entry.configuration?.type == "hvcC")
        #expect(entry.hevc?.lengthSize == 4 && entry.color == MovieColor(primaries: 9, transfer: 18, matrix: 9))
        #expect(video.rotation == 90 && video.groupTypes == ["sync", "tscl"] && video.highestLevel == 0)
        #expect(!movie.metadata.isEmpty && video.matrix.count == 9)
        let sound = movie.tracks[1]
        #expect(sound.entries.first?.type == "mp4a" && sound.entries.first?.sampleRate == 44100)
        #expect(sound.group("roll", of: 0) == [0xFF, 0xFF] || sound.group("roll", of: 0)?.count == 2)
        let scratch = try Scratch()
        let path = scratch.file("language.mp4")
        try run([
            "ffmpeg", "-v", "error", "-i", Clips.path("bframes.mp4"), "-c", "copy", "-metadata:s:v", "language=fra",
            path,
        ])
        #expect(try Movie(path: path).tracks.first?.language == "fra")
        let hdr = try #require(try Movie(path: Clips.path("pq.mov")).tracks.first?.entries.first)
        #expect(hdr.masteringDisplay?.count == 24 && hdr.contentLight?.count == 4)
    }

    /// libavformat leaves out the samples of the second entry, which has another codec.
    @Test("Each packet states its sample entry")
    func entries() throws {
        let movie = try Movie(path: Clips.path("entries/codec.mov"))
        let track = try #require(movie.tracks.first)
        let read = try packets(movie, track)
        #expect(track.entries.map(\.type) == ["hvc1", "avc1"] && track.entries.map(\.isH264) == [false, true])
        #expect(read.map(\.entry) == Array(repeating: 0, count: 10) + Array(repeating: 1, count: 10))
    }

    @Test("Positions up to 2^40 bytes are read (co64)")
    func largeOffsets() throws {
        let scratch = try Scratch()
        let path = scratch.file("large.mp4")
        // Behind a hole; a .mp4 of ffmpeg has its media before its movie box.
        let hole: UInt64 = 1 << 40 - 1 << 20
        let bytes = try editMovie(Clips.path("bframes.mp4")) { movie in
            for track in movie.children.indices where movie.children[track].type == "trak" {
                try movie.children[track].edit(Box.sampleTablePath) { table throws(BoxError) in
                    let chunks = try ChunkTable(table).chunks.map {
                        ChunkTable.Chunk(offset: $0.offset + hole, sampleCount: $0.sampleCount, entry: $0.entry)
                    }
                    table.children.removeAll { $0.type == "stco" }
                    table.children.append(Box("co64", []))
                    ChunkTable(chunks).write(into: &table)
                }
            }
        }
        var head = [UInt8](bigEndian: [1, ("free" as FourCC).rawValue])
        head.appendBigEndian(hole)
        _ = FileManager.default.createFile(atPath: path, contents: Data(head))
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seek(toOffset: hole)
        try file.write(contentsOf: Data(bytes))
        try file.close()
        #expect(try compare(path) == 30)
        let movie = try Movie(path: path)
        #expect(try packets(movie, movie.tracks[0]).allSatisfy { $0.position > hole })
    }

    @Test("Seek points are the key packets, and decoding from one reaches the time")
    func seeking() throws {
        let scratch = try Scratch()
        for recipe in [Recipe.all[0], Recipe.all[8]] {
            let movie = try Movie(path: try recipe.make(in: scratch))
            let track = try #require(movie.tracks.first { $0.kind == .video })
            let all = try packets(movie, track)
            let keys = all.filter(\.isKey)
            var reader = try movie.packets(of: track)
            #expect(keys.count >= 4)
            for packet in all {
                let before = try #require(keys.last { $0.time <= packet.time })
                #expect(reader.seekPoint(atOrBefore: packet.time)?.time == before.time)
                #expect(reader.seekPoint(after: packet.time)?.time == keys.first { $0.time > packet.time }?.time)
                #expect(reader.seek(to: packet.time)?.sample == before.sample)
                #expect(try reader.next(reading: false)?.sample == before.sample)
            }
            #expect(reader.seekPoint(atOrBefore: -1) == nil)
            #expect(reader.seek(to: .max)?.time == keys.last?.time)
        }
    }
}
