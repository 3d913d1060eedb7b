// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWMovies
import Testing

/// What a power cut leaves of a recording, and what its end costs.
@Suite struct PowerCutTests {
    /// Six seconds with B frames and sound, in fragments, as they are before the end.
    ///
    /// - Parameter chapters: each comes before what is shown at its time.
    private static func recording(_ scratch: Scratch, _ chapters: [MovieChapter] = []) throws -> [UInt8] {
        let made = try Recipe.all[0].make(in: scratch)
        let source = try RecordingTests.Source(made)
        let path = scratch.file("recorded.mov")
        let recorder = try source.start(path)
        var rest = chapters[...]
        for round in 0..<3 {
            for (track, packet) in source.order {
                let list = source.tracks[track].packets
                let length = list.reduce(0) { $0 + $1.duration }
                var written = WrittenPacket(packet)
                written.time += Int64(round) * length
                written.decodeTime += Int64(round) * length
                let time = Double(written.decodeTime) / Double(source.tracks[track].track.timeScale)
                while let next = rest.first, next.seconds <= time + 0.2 {
                    recorder.chapters.append(next)
                    rest.removeFirst()
                }
                try recorder.append(written, to: track)
            }
        }
        try recorder.flush()
        defer { recorder.discard() }
        return try Clips.bytes(path)
    }

    /// The boxes at the file's top level.
    private static func boxes(_ bytes: [UInt8]) -> [(type: FourCC, range: Range<Int>)] {
        var (position, result): (Int, [(FourCC, Range<Int>)]) = (0, [])
        while let header = BoxHeader(bytes[position...], available: UInt64(bytes.count - position)), header.isWhole
        {
            result.append((header.type, position..<position + Int(header.size)))
            position += Int(header.size)
        }
        return result
    }

    @Test("A recording that is cut off at any byte plays up to a second before the cut, and is finished")
    func cuts() throws {
        let scratch = try Scratch()
        let bytes = try Self.recording(scratch)
        let whole = try Movie(MovieMemory(bytes))
        let video = try #require(whole.tracks.first { $0.kind == .video })
        let list = try packets(whole, video)
        #expect(list.count == 150)
        let media = Self.boxes(bytes).filter { $0.type == "mdat" }.map(\.range)
        try #require(media.count >= 10)
        // Fifty cuts behind the first fragment; the others behind its first packet.
        let first = media[0].lowerBound + Box.headerSize + list[0].size
        let file = scratch.file("cut.mov")
        var generator = SplitMix(state: 49)
        for number in 0..<60 {
            let range = number < 50 ? media[0].upperBound..<bytes.count : first..<media[0].upperBound
            let cut = Int.random(in: range, using: &generator)
            try Data(bytes.prefix(cut)).write(to: URL(filePath: file))
            // What was being shown when the byte at the cut was written.
            let at = list.filter { $0.position < UInt64(cut) }.map { Double($0.time + $0.duration) }.max() ?? 0
            let seconds = at / Double(video.timeScale)
            let played = try RecordingTests.end(file)
            #expect(played >= seconds - 1.0, "cut at \(cut): \(played) of \(seconds) s")
            #expect(try Movie(path: file).isFragmented)
            let repair = try MovieRepair(path: file)
            #expect(repair.outcome == .finished && repair.duration >= seconds - 1.0, "cut at \(cut)")
            try RecordingTests.checkPlain(file)
            try compare(file)
            let finished = try Movie(path: file)
            let kept = try packets(finished, try #require(finished.tracks.first { $0.kind == .video }))
            #expect(!kept.isEmpty && kept.map(\.time) == list.prefix(kept.count).map(\.time), "cut at \(cut)")
            try Self.checkTables(file, kept)
        }
        // Within the first packet: there is nothing to finish, and the file stays as it is.
        let part = Data(bytes.prefix(first - 1))
        try part.write(to: URL(filePath: file))
        #expect { try MovieRepair(path: file) } throws: { ($0 as? MovieError)?.code == .truncated }
        #expect(try Clips.bytes(file) == [UInt8](part))
    }

    /// The begin of each chapter in milliseconds, and its title, as ffprobe reads them.
    private static func chapters(_ path: String) throws -> [String] {
        let text = try run([
            "ffprobe", "-v", "error", "-show_entries", "chapter=start_time:chapter_tags=title", "-of", "csv=p=0",
            path,
        ])
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map { line in
            let fields = line.split(separator: ",", maxSplits: 1)
            return "\(Int(((Double(fields[0]) ?? -1) * 1000).rounded())) \(fields.dropFirst().joined())"
        }
    }

    @Test("The chapters before a cut are in the finished file")
    func cutChapters() throws {
        let scratch = try Scratch()
        let titles = (0..<16).map { MovieChapter(seconds: Double($0) * 0.375, title: "Kapitel № \($0)") }
        let bytes = try Self.recording(scratch, titles)
        let media = Self.boxes(bytes).filter { $0.type == "mdat" }.map(\.range)
        let file = scratch.file("cut.mov")
        var generator = SplitMix(state: 7)
        for _ in 0..<30 {
            let cut = Int.random(in: media[0].upperBound...bytes.count, using: &generator)
            try Data(bytes.prefix(cut)).write(to: URL(filePath: file))
            let repair = try MovieRepair(path: file)
            let wanted = titles.filter { $0.seconds < repair.duration }.map {
                "\(Int($0.seconds * 1000)) \($0.title)"
            }
            #expect(try Self.chapters(file) == wanted, "cut at \(cut): \(repair.duration) s")
            try RecordingTests.checkPlain(file)
            #expect(try Movie(path: file).remarks.isEmpty)
        }
        #expect(try Self.chapters(file).count > 1)
    }

    @Test("Long titles, and more chapters than a list has, are in the finished file")
    func manyChapters() throws {
        let scratch = try Scratch()
        let many = (0..<600).map { MovieChapter(seconds: Double($0) / 100, title: "\($0)") }
        let path = scratch.file("many.mov")
        try Data(Self.recording(scratch, many)).write(to: URL(filePath: path))
        let repair = try MovieRepair(path: path)
        let shown = many.filter { $0.seconds < repair.duration }
        #expect(shown.count > 500)
        #expect(
            try Self.chapters(path) == shown.map { "\(Int(($0.seconds * 1000).rounded())) \($0.title)" })
        let long = [
            MovieChapter(seconds: 0, title: String(repeating: "é", count: 300)),
            MovieChapter(seconds: 1, title: String(repeating: "a", count: 255)),
        ]
        try Data(Self.recording(try Scratch(), long)).write(to: URL(filePath: path))
        _ = try MovieRepair(path: path)
        #expect(
            try Self.chapters(path) == [
                "0 \(String(repeating: "é", count: 127))", "1000 \(String(repeating: "a", count: 255))",
            ])
    }

    @Test("A fragment repeats few bytes of earlier chapters")
    func repeatedChapters() throws {
        let long = (0..<600).map {
            MovieChapter(seconds: Double($0) / 100, title: "\($0) \(String(repeating: "é", count: 100))")
        }
        let scratch = try Scratch()
        let path = scratch.file("long.mov")
        let bytes = try Self.recording(scratch, long)
        let plain = try Self.recording(try Scratch())
        let fragments = Self.boxes(bytes).count { $0.type == "moof" }
        // An entry has 9 bytes beside its title, and the list less than 64.
        let once = long.reduce(0) { $0 + 9 + $1.title.utf8.count }
        #expect(fragments > 8 && bytes.count - plain.count < once + fragments * (4096 + 64))
        try Data(bytes).write(to: URL(filePath: path))
        let repair = try MovieRepair(path: path)
        let shown = long.filter { $0.seconds < repair.duration }
        #expect(shown.count > 500)
        #expect(
            try Self.chapters(path) == shown.map { "\(Int(($0.seconds * 1000).rounded())) \($0.title)" })
    }

    @Test("Pictures that refer to another track have chapters as well", arguments: ["cdsc", "chap"] as [FourCC])
    func references(type: FourCC) throws {
        let scratch = try Scratch()
        var bytes = try Self.recording(scratch, [MovieChapter(seconds: 0, title: "Start")])
        let boxes = Self.boxes(bytes)
        let movie = try #require(boxes.first { $0.type == "moov" }).range
        let space = try #require(boxes.first { $0.type == "free" && $0.range.lowerBound == movie.upperBound }).range
        let tracks = try Movie(MovieMemory(bytes)).tracks
        let pictures = try #require(tracks.first { $0.kind == .video })
        let sound = try #require(tracks.first { $0.kind == .sound })
        var children = try Box.parse(bytes[movie.lowerBound + Box.headerSize..<movie.upperBound])
        let place = try #require(children.firstIndex { $0.trackID == Int(pictures.id) })
        children[place].children.append(Box("tref", Box(type, [UInt8](bigEndian: [sound.id])).bytes))
        let changed = Box("moov", children: children).bytes
        let left = space.count - (changed.count - movie.count) - Box.headerSize
        bytes.replaceSubrange(
            movie.lowerBound..<space.upperBound,
            with: changed + Box("free", [UInt8](repeating: 0, count: left)).bytes)
        let path = scratch.file("references.mov")
        try Data(bytes).write(to: URL(filePath: path))
        let repair = try MovieRepair(path: path)
        let read = try #require(try Movie(path: path).tracks.first { $0.kind == .video })
        #expect(read.references[type] == [sound.id])
        if type == "chap" {
            // Which it has already.
            #expect(repair.remarks.count == 1 && repair.remarks[0].contains("chapters"), "\(repair.remarks)")
        } else {
            #expect(repair.remarks.isEmpty && read.references["chap"]?.count == 1)
            #expect(try Self.chapters(path) == ["0 Start"])
        }
    }

    @Test("Damaged chapters are left out, and no packet is")
    func damagedChapters() throws {
        let scratch = try Scratch()
        var bytes = try Self.recording(scratch, [MovieChapter(seconds: 0, title: "Start")])
        let path = scratch.file("damaged.mov")
        let list = try #require(Data(bytes).range(of: Data("chpl".utf8)))
        // The number of entries.
        bytes[list.upperBound + 8] = 200
        try Data(bytes).write(to: URL(filePath: path))
        let whole = try Movie(MovieMemory(bytes))
        let repair = try MovieRepair(path: path)
        #expect(repair.remarks.count == 1 && repair.remarks[0].contains("chpl"), "\(repair.remarks)")
        // With that of the chapter that could be read.
        #expect(repair.packetCount == whole.tracks.reduce(0) { $0 + $1.sampleCount } + 1)
    }

    /// The sample table of the video has the boxes that its samples need.
    private static func checkTables(_ path: String, _ kept: [MoviePacket]) throws {
        let bytes = try Clips.bytes(path)
        let range = try #require(boxes(bytes).last { $0.type == "moov" }?.range)
        let tracks = try Box.parse(bytes[range].dropFirst(Box.headerSize)).filter { $0.type == "trak" }
        let table = try #require(tracks.first?.first(path: Box.sampleTablePath))
        let types = Set(table.children.map(\.type))
        #expect(types.contains("stss") == kept.contains { !$0.isKey })
        #expect(types.contains("sdtp") || !kept.contains { !$0.isKey })
        #expect(types.contains("ctts") == kept.contains { $0.time != $0.decodeTime })
        #expect(types.contains("sgpd") && types.contains("sbgp"))
    }

    @Test("A recording of more than 4 GiB is finished in place, with positions of 64 bits")
    func wide() throws {
        let scratch = try Scratch()
        let bytes = try Self.recording(scratch)
        let path = scratch.file("wide.mov")
        let all = try Movie(MovieMemory(bytes))
        // Media that nothing refers to, as a hole in the file, between two fragments: their offsets are relative.
        let fragments = Self.boxes(bytes).filter { $0.type == "moof" }
        try #require(fragments.count > 4)
        let offset = fragments[4].range.lowerBound
        let hole: UInt64 = 5 << 30
        var header = [UInt8](bigEndian: [1, ("mdat" as FourCC).rawValue])
        header.appendBigEndian(hole)
        try Data(bytes[..<offset] + header).write(to: URL(filePath: path))
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seek(toOffset: UInt64(offset) + hole)
        try file.write(contentsOf: bytes[offset...])
        try file.close()
        let repair = try MovieRepair(path: path)
        #expect(repair.outcome == .finished && repair.bytesWritten < 64 << 10)
        try compare(path)
        let read = try Movie(path: path)
        let positions = try read.tracks.flatMap { try packets(read, $0).map(\.position) }
        #expect(try #require(positions.max()) > UInt64(UInt32.max) && #require(positions.min()) < UInt64(offset))
        for (track, other) in zip(read.tracks, all.tracks) {
            let wanted = try packets(all, other, reading: true).map(\.bytes)
            #expect(try packets(read, track, reading: true).map(\.bytes) == wanted)
        }
    }

    @Test("Sample groups whose descriptions differ in length are kept")
    func descriptions() throws {
        let scratch = try Scratch()
        let original = try RecordingFaultTests.dead(scratch, try Recipe.all[0].make(in: scratch))
        var (bytes, fragments): ([UInt8], Int) = ([], 0)
        for (type, range) in Self.boxes(original) {
            guard type == "moof" else {
                bytes += original[range]
                continue
            }
            // One sample of each fragment has a description of as many bytes as fragments precede it.
            var group = SampleGroup("abcd", entries: [[UInt8](repeating: UInt8(fragments + 1), count: fragments)])
            group.append(0x1_0001)
            let added = group.boxes.flatMap(\.bytes)
            var children = try Box.parse(original[range].dropFirst(Box.headerSize))
            for (index, child) in children.enumerated() where child.type == "traf" {
                var boxes = try Box.parse(child.fields[...])
                for run in boxes.indices where boxes[run].type == "trun" {
                    let offset = UInt32(try #require(boxes[run].fields.bigEndian(at: 8, 4))) + UInt32(added.count)
                    boxes[run].fields.replaceSubrange(8..<12, with: [UInt8](bigEndian: [offset]))
                }
                children[index] = Box("traf", boxes.flatMap(\.bytes) + (index == 1 ? added : []))
            }
            bytes += Box("moof", children: children).bytes
            fragments += 1
        }
        let path = scratch.file("groups.mov")
        try Data(bytes).write(to: URL(filePath: path))
        func groups(_ movie: Movie) throws -> [[UInt8]] {
            let track = try #require(movie.tracks.first)
            return (0..<track.sampleCount).compactMap { track.group("abcd", of: $0) }
        }
        let before = try groups(try Movie(path: path))
        // The last fragment may have only sound.
        #expect(before.count > 3 && before.map(\.count) == Array(0..<before.count))
        #expect(try MovieRepair(path: path).outcome == .finished)
        #expect(try groups(try Movie(path: path)) == before)
        try compare(path)
    }

    @Test("The end of a recording of 8 Mbit/s writes less than a two-thousandth of its size")
    func end() throws {
        let scratch = try Scratch()
        let path = scratch.file("large.mov")
        let source = try RecordingTests.Source(try Recipe.all[0].make(in: scratch))
        let recorder = try source.start(path) { $0.timeScale = 90_000 }
        let sound = try #require(source.tracks.firstIndex { $0.track.kind == .sound })
        let keys = source.tracks[1 - sound].packets.filter(\.isKey)
        // Filler data behind a picture, and 30 pictures a second beside 48,000 samples of sound in packets of 1024.
        let length = 33_000
        let payload = [0x4C, 1] + [UInt8](repeating: 0xFF, count: length - 3) + [0x80]
        let filler = [UInt8](bigEndian: [UInt32(length)]) + payload
        let silence = [UInt8](repeating: 0, count: 340)
        var samples: Int64 = 0
        let frames = (128 << 20) / length
        for frame in 0..<Int64(frames) {
            let picture = WrittenPacket(bytes: keys[0].bytes + filler, time: frame * 3000, duration: 3000)
            try recorder.append(picture, to: 1 - sound)
            while samples < (frame + 1) * 1600 {
                try recorder.append(WrittenPacket(bytes: silence, time: samples, duration: 1024), to: sound)
                samples += 1024
            }
        }
        try recorder.end(track: sound, at: samples)
        try recorder.flush()
        let (size, before) = (recorder.size, try Self.bytesWritten())
        try recorder.finish()
        let written = try Self.bytesWritten() - before
        #expect(written > 0 && written < size / 2000, "\(written) of \(size)")
        let movie = try Movie(path: path)
        #expect(movie.tracks.map(\.sampleCount).max() == max(frames, Int(samples / 1024)))
        #expect(try packets(movie, movie.tracks[1 - sound]).count == frames)
    }

    /// Bytes that this thread has passed to the system for writing.
    private static func bytesWritten() throws -> UInt64 {
        let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("wchar:") })
        return try #require(UInt64(line.dropFirst(6).trimmingCharacters(in: .whitespaces)))
    }
}
