// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDBoxes
import HWMovies
import Testing

@Suite struct RecordingFaultTests {
    /// Whether a file system can be mounted here, by trying.
    private static let canMount: Bool = {
        guard let scratch = try? Scratch(), mount("tmpfs", scratch.path, "tmpfs", 0, "size=64k") == 0 else {
            return false
        }
        return umount(scratch.path) == 0
    }()

    @Test(
        "A disk that becomes full ends a recording well",
        .enabled(if: canMount, "needs permission to mount a file system"))
    func fullDisk() throws {
        let scratch = try Scratch()
        let folder = scratch.file("full")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try #require(mount("tmpfs", folder, "tmpfs", 0, "size=1m") == 0)
        defer { umount(folder) }
        let source = try RecordingTests.Source(Clips.path("bbb_720p_main10.mp4"))
        let path = folder + "/full.mov"
        let recorder = try source.start(path)
        var (failure, shift): (MovieError?, Int64) = (nil, 0)
        let list = source.tracks[0].packets
        let length = list[list.count - 1].decodeTime + list[0].duration - list[0].decodeTime
        while failure == nil, shift < 1000 * length {
            do throws(MovieError) {
                for (track, packet) in source.order where track == 0 {
                    var written = WrittenPacket(packet)
                    written.time += shift
                    written.decodeTime += shift
                    try recorder.append(written, to: track)
                }
            } catch { failure = error }
            shift += length
        }
        let error = try #require(failure)
        #expect(error.code == .io && error.reason.contains("No space left"), "\(error)")
        try recorder.finish()
        try RecordingTests.checkPlain(path)
        try compare(path)
        #expect(try RecordingTests.end(path) > 0)
    }

    @Test("What cannot be recorded or repaired is refused")
    func refusals() throws {
        let scratch = try Scratch()
        func code(_ body: () throws(MovieError) -> Void) -> MovieError.Code? {
            do throws(MovieError) {
                try body()
                return nil
            } catch { return error.code }
        }
        let path = scratch.file("recorded.mov")
        let source = try RecordingTests.Source(Clips.path("bframes.mp4"))
        let recorder = try source.start(path)
        // Two recorders of a file, and its repair while it is recorded.
        #expect(code { () throws(MovieError) in _ = try MovieRecorder(path: path) } == .cannotCreate)
        #expect(code { () throws(MovieError) in _ = try MovieRepair(path: path) } == .inUse)
        #expect(code { () throws(MovieError) in try recorder.finish() } == .usage)
        // Nothing was recorded: no file remains.
        #expect(!FileManager.default.fileExists(atPath: path))
        // Another file that has the name by then stays.
        let empty = try MovieRecorder(path: path)
        try FileManager.default.moveItem(atPath: path, toPath: scratch.file("moved.mov"))
        try Data("another".utf8).write(to: URL(filePath: path))
        empty.discard()
        #expect(try Clips.bytes(path) == Array("another".utf8))
        try FileManager.default.removeItem(atPath: path)
        #expect(code { () throws(MovieError) in _ = try MovieRecorder(path: scratch.path) } == .cannotCreate)
        #expect(
            code { () throws(MovieError) in _ = try MovieRecorder(path: path, fragmentDuration: 2) } == .usage)
        #expect(code { () throws(MovieError) in _ = try MovieRepair(path: path) } == .unreadable)
        try Data("no movie at all".utf8).write(to: URL(filePath: path))
        #expect(
            code { () throws(MovieError) in _ = try MovieRecorder(path: path, replaces: false) } == .cannotCreate)
        #expect(code { () throws(MovieError) in _ = try MovieRepair(path: path) } == .truncated)
        // A plain file that is cut off has no fragments to finish.
        let plain = try Clips.bytes(Clips.path("hlg.mov"))
        try Data(plain.dropLast(10)).write(to: URL(filePath: path))
        let bytes = try Clips.bytes(path)
        #expect(code { () throws(MovieError) in _ = try MovieRepair(path: path) } != nil)
        #expect(try Clips.bytes(path) == bytes)
    }

    @Test("A recording whose bytes are changed is read, repaired or refused")
    func mutations() throws {
        let scratch = try Scratch()
        let path = scratch.file("mutated.mov")
        let source = try RecordingTests.Source(Clips.path("bframes.mp4"))
        let recorder = try source.start(path)
        for (track, packet) in source.order { try recorder.append(WrittenPacket(packet), to: track) }
        try recorder.flush()
        let original = try Clips.bytes(path)
        recorder.discard()
        // The boxes of the movie and of its fragments: media is not looked at.
        var (position, boxes): (Int, [Range<Int>]) = (0, [])
        while let header = BoxHeader(original[position...], available: UInt64(original.count - position)) {
            let end = position + Int(header.size)
            if header.type != "mdat", header.type != "free" { boxes.append(position..<end) }
            position = end
        }
        var generator = SplitMix(state: 49)
        var (finished, refused) = (0, 0)
        for _ in 0..<600 {
            var bytes = original
            var changes: [Int: UInt8] = [:]
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                guard let box = boxes.randomElement(using: &generator) else { continue }
                let place = Int.random(in: box, using: &generator)
                let bit = UInt8.random(in: 0...7, using: &generator)
                bytes[place] = [0, 1, 0x7F, 0xFF, bytes[place] ^ 1 << bit].randomElement(using: &generator) ?? 0
                changes[place] = bytes[place]
            }
            try Data(bytes).write(to: URL(filePath: path))
            do throws(MovieError) {
                let repair = try MovieRepair(path: path)
                let read = try Movie(path: path)
                #expect(
                    read.tracks.contains { $0.sampleCount > 0 } || repair.outcome == .complete, "\(changes)")
                finished += 1
            } catch {
                #expect(error.code != .io && error.code != .usage, "\(error): \(changes)")
                // What is refused is not changed.
                #expect(try Clips.bytes(path) == bytes)
                refused += 1
            }
        }
        #expect(finished > 0 && refused > 0)
    }

    /// A recording as its recorder leaves it when it is killed.
    static func dead(_ scratch: Scratch, _ made: String) throws -> [UInt8] {
        let source = try RecordingTests.Source(made)
        let path = scratch.file("dead.mov")
        let recorder = try source.start(path)
        try source.record(made, to: recorder)
        try recorder.flush()
        defer { recorder.discard() }
        return try Clips.bytes(path)
    }

    @Test("The repair of a recording that is cut off can stop at any write and be made again")
    func interruptedCut() throws {
        let scratch = try Scratch()
        let whole = try Self.dead(scratch, try Recipe.all[0].make(in: scratch))
        let path = scratch.file("cut.mov")
        var (position, cuts): (Int, [Int]) = (0, [])
        // Within every kind of box and its header, from the second fragment on.
        while let header = BoxHeader(whole[position...], available: UInt64(whole.count - position)) {
            let size = Int(header.size)
            if header.type == "moof" || header.type == "mdat" {
                cuts += [4, 8, size / 2, size - 1].map { position + $0 }
            }
            position += size
        }
        #expect(cuts.count > 16)
        var generator = SplitMix(state: 50)
        for cut in cuts.dropFirst(8).shuffled(using: &generator).prefix(24) {
            let bytes = Array(whole.prefix(cut))
            try Data(bytes).write(to: URL(filePath: path))
            #expect(try MovieRepair(path: path).outcome == .finished, "cut at \(cut)")
            let finished = try Clips.bytes(path)
            let expected = try Self.contents(path)
            // The head as it was: the last write has not been made.
            let head = try #require(
                zip(finished, bytes).enumerated().first { $0.element.0 != $0.element.1 }?.offset)
            var stopped = finished
            stopped.replaceSubrange(head / 4 * 4..<head / 4 * 4 + 16, with: bytes[head / 4 * 4..<head / 4 * 4 + 16])
            for length in [cut, cut + 5, cut + 100, finished.count] {
                try Data(stopped.prefix(length)).write(to: URL(filePath: path))
                #expect(try MovieRepair(path: path).outcome == .finished)
                #expect(try Self.contents(path) == expected, "cut at \(cut), stopped at \(length)")
                try RecordingTests.checkPlain(path)
            }
        }
    }

    private static func contents(_ path: String) throws -> [[[UInt8]]] {
        let movie = try Movie(path: path)
        return try movie.tracks.map { try packets(movie, $0, reading: true).map(\.bytes) }
    }

    @Test("What another program writes, or a repair would lose, is refused and not changed")
    func losses() throws {
        let scratch = try Scratch()
        let original = try Self.dead(scratch, Clips.path("bframes.mp4"))
        let path = scratch.file("refused.mov")
        func refusal(_ bytes: [UInt8]) throws -> MovieError.Code? {
            try Data(bytes).write(to: URL(filePath: path))
            return try refusal()
        }
        func refusal() throws -> MovieError.Code? {
            let before = try Clips.bytes(path)
            defer { #expect((try? Clips.bytes(path)) == before) }
            do throws(MovieError) {
                _ = try MovieRepair(path: path)
                return nil
            } catch { return error.code }
        }
        func changed(_ old: String, _ new: String) throws -> [UInt8] {
            var bytes = original
            let place = try #require(bytes.indices.first { bytes[$0...].starts(with: old.utf8) })
            bytes.replaceSubrange(place..<place + 4, with: new.utf8)
            return bytes
        }
        #expect(try refusal(changed("stsd", "free")) == .malformed)
        #expect(try refusal(changed("hvc1", "encv")) == .unsupported)
        #expect(try refusal(changed("tfdt", "senc")) == .unsupported)
        // The first fragment of several is damaged.
        #expect(try refusal(changed("tfhd", "free")) == .malformed || (try refusal()) == .unsupported)
        // A writer without a lock, as ffmpeg is one.
        try Data(original).write(to: URL(filePath: path))
        let writer = open(path, O_WRONLY | O_CLOEXEC)
        #expect(writer >= 0)
        #expect(try refusal() == .inUse)
        close(writer)
        #expect(try MovieRepair(path: path).outcome == .finished)
    }

    @Test("A repair that stopped before its last write can be made again")
    func interruptedRepair() throws {
        let scratch = try Scratch()
        let made = try Recipe.all[0].make(in: scratch)
        let source = try RecordingTests.Source(made)
        let path = scratch.file("stopped.mov")
        let recorder = try source.start(path)
        try source.record(made, to: recorder)
        try recorder.flush()
        let before = try Clips.bytes(path)
        recorder.discard()
        _ = try MovieRepair(path: path)
        // The movie box is appended in part or whole, and the head is not switched.
        let appended = Array(try Clips.bytes(path).dropFirst(before.count))
        let expected = try RecordingTests.videoPackets(path)
        for count in [1, 7, 9, appended.count / 2, appended.count] {
            try Data(before + appended.prefix(count)).write(to: URL(filePath: path))
            #expect(try RecordingTests.videoPackets(path) == expected)
            #expect(try MovieRepair(path: path).outcome == .finished)
            #expect(try RecordingTests.videoPackets(path) == expected)
            try RecordingTests.checkPlain(path)
        }
    }
}
