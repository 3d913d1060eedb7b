// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDEncoderTesting
import HWDLibAVReading
import HWDLibAVWriting
import HWDMetadata
import HWDModel
import Testing

@testable import HWDEdits
@testable import hwctl_media

/// `hwctl join` copies a part unchanged, or refuses it.
@Suite struct PartContentTests {
    private let folder: URL
    private let scan: SegmentScan
    private let source: String
    /// A part that has all of the source, and what it is joined to.
    private let part: String
    private let bytes: [UInt8]
    private let whole: [UInt8]

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "parts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        source = tests.appending(path: "Media/bframes.mp4").path
        scan = try SegmentScan(MediaReader(path: source, options: SegmentScan.options))
        part = folder.appending(path: "part-1.mov").path
        try Self.write(part, of: source, scan)
        bytes = Array(try Data(contentsOf: URL(filePath: part)))
        whole = try Self.join(part, scan)
    }

    /// Writes a part as `hwctl encode --segment=1/1` does.
    private static func write(
        _ path: String, of source: String, _ scan: SegmentScan, options: [String] = []
    ) throws {
        let plan = scan.plan(count: 1)
        let segment = plan.segments[0]
        let record = PartRecord(segment, of: plan, scan, options: options, sound: nil, preset: nil)
        let work = try SegmentWork(segment, scan.timeBase, record)
        let reader = try MediaReader(path: source, options: SegmentScan.options)
        let writer = try MediaWriter(path: path)
        try writer.start(VideoTrack(reader.video, hvcC: reader.video.codecConfiguration))
        var frames = 0
        while let item = try reader.next() {
            guard case .packet(let packet) = item, packet.streamIndex == reader.video.streamIndex else { continue }
            let (pts, dts) = (try #require(packet.pts), try #require(packet.dts))
            try packet.withBytes { (bytes) throws(MediaError) in
                try writer.write(
                    bytes, pts: pts - segment.start, dts: dts - segment.start, duration: packet.duration,
                    isSync: packet.isSync)
            }
            packet.withBytes { work.add($0) }
            frames += 1
        }
        try work.annotate(writer, frames: frames, "x265")
        try writer.finish()
    }

    /// Joins a part; `change` is called between the check and the copying, or before the packet with this number.
    private static func join(
        _ path: String, _ scan: SegmentScan, before number: Int? = nil, _ change: () throws -> Void = {}
    ) throws -> [UInt8] {
        let output = "\(path)-joined.mov"
        defer { try? FileManager.default.removeItem(atPath: output) }
        do {
            let packets = try JoinedPackets([try PartFile(path)], scan) { _ in }
            if number == nil { try change() }
            let writer = try MediaWriter(path: output)
            var track = try packets.track()
            track.timeBase = scan.timeBase
            try writer.start(track)
            repeat {
                if packets.written == number { try change() }
            } while try packets.write(to: writer)
            try writer.finish()
            #expect(packets.written == scan.times.count)
        } catch {
            #expect(!FileManager.default.fileExists(atPath: output))
            throw error
        }
        return Array(try Data(contentsOf: URL(filePath: output)))
    }

    /// The error of a join; nil where it gives what the undamaged part gives.
    private func failure(
        _ path: String, before number: Int? = nil, _ change: () throws -> Void = {}
    ) throws -> MediaError? {
        do {
            let joined = try Self.join(path, scan, before: number, change)
            #expect(joined == whole, "a damaged part was joined")
            return nil
        } catch let error as MediaError {
            #expect(error.reason.contains(path) && !error.reason.contains("\n"), "\(error.reason)")
            return error
        }
    }

    /// A part with other bytes.
    private func damaged(_ name: String, _ bytes: some Collection<UInt8>) throws -> String {
        let path = folder.appending(path: name).path
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    /// The bytes of a box, header included.
    private func box(_ type: String) throws -> Range<Int> {
        let found = try #require(Data(bytes).range(of: Data(type.utf8)))
        let start = found.lowerBound - 4
        return start..<start + bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
    }

    @Test("No byte of the sample description can change")
    func sampleDescription() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let entry = try box("stsd")
        #expect(entry.count > 100)
        for offset in sampled(Array(entry), oneIn: 16) {
            var changed = bytes
            changed[offset] ^= 1 << UInt8(offset % 8)
            let error = try failure(try damaged("changed.mov", changed))
            #expect(error?.exitStatus == .badInput, "byte \(offset - entry.lowerBound) of stsd")
        }
    }

    @Test("A byte of the file can change only where it is not copied")
    func anyByte() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let movie = try box("moov")
        for offset in sampled(Array(stride(from: 0, to: bytes.count, by: 97)), oneIn: 11) {
            var changed = bytes
            changed[offset] ^= 0x10
            let error = try failure(try damaged("changed.mov", changed))
            if movie.contains(offset) { #expect(error != nil, "byte \(offset - movie.lowerBound) of moov") }
        }
        for length in [bytes.count - 1, bytes.count / 2, movie.upperBound, movie.lowerBound + 100] {
            #expect(try failure(try damaged("cut.mov", bytes.prefix(length))) != nil, "\(length) bytes")
        }
    }

    @Test("What a part says about itself cannot change")
    func record() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.contains(#""digest":""#) && !text.contains(PartDigest.blank))
        for (old, new) in [
            (#""encoder":"x265""#, #""encoder":"x266""#), (#""count":1"#, #""count":2"#),
            (#""options":[]"#, #""options":[ "#), (#""segment":1"#, #""segment":2"#),
        ] {
            var changed = Data(bytes)
            let range = try #require(changed.range(of: Data(old.utf8)), "\(old)")
            changed.replaceSubrange(range, with: Data(new.utf8))
            #expect(try failure(try damaged("record.mov", changed))?.exitStatus == .badInput, "\(new)")
        }
    }

    @Test("A part of another version is refused, with what to do", arguments: [0, 1, 3, 9])
    func versions(schema: Int) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        var changed = Data(bytes)
        let range = try #require(changed.range(of: Data(#""schema":2"#.utf8)))
        changed.replaceSubrange(range, with: Data(#""schema":\#(schema)"#.utf8))
        let path = try damaged("old.mov", changed)
        let error = try #require(try failure(path))
        let which = schema < 2 ? "an earlier" : "another"
        #expect(error.reason == "\(path) was written by \(which) version of hwctl: encode this segment again")
        #expect(error.exitStatus == .badInput)
    }

    @Test("A part that another file replaces is joined as it was")
    func replaced() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let other = folder.appending(path: "other.mov").path
        for number in [nil, 0, 1, scan.times.count - 1] {
            let path = try damaged("part.mov", bytes)
            try Self.write(other, of: source, scan, options: ["--quality=0.9"])
            let error = try failure(path, before: number) {
                #expect(rename(other, path) == 0)
            }
            #expect(error == nil, "\(error?.reason ?? "")")
        }
    }

    /// Writes bytes over a file.
    private func overwrite(_ path: String, at offset: Int, _ bytes: some Collection<UInt8>) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    @Test("A part that is rewritten in place is refused, or joined as it was")
    func rewritten() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let movie = try box("moov")
        let ranges = [0..<bytes.count, movie, movie.upperBound..<bytes.count, bytes.count / 2..<bytes.count]
        for (index, range) in ranges.enumerated() {
            for number in [nil, 0, 1, scan.times.count - 1] {
                let path = try damaged("part.mov", bytes)
                let error = try failure(path, before: number) {
                    try overwrite(path, at: range.lowerBound, bytes[range].map { $0 ^ 0x55 })
                }
                // The movie box has been read already; packets are read ahead, so later changes may go unnoticed.
                if number == nil { #expect((error == nil) == (index == 1), "\(range)") }
                if let error { #expect(error.exitStatus == .badInput, "\(error.reason)") }
            }
        }
    }

    @Test("A part that is overwritten with another whole part is refused")
    func overwritten() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let other = folder.appending(path: "other.mov").path
        try Self.write(other, of: source, scan, options: ["--quality=0.9"])
        let path = try damaged("part.mov", bytes)
        let contents = Array(try Data(contentsOf: URL(filePath: other)))
        // The records differ in length, so all that follows has another offset.
        #expect(contents.count != bytes.count)
        let error = try failure(path) { try overwrite(path, at: 0, contents) }
        #expect(error?.exitStatus == .badInput)
    }
}
