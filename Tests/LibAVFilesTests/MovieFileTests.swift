// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import Testing

@testable import HWDLibAVReading
@testable import HWDLibAVWriting

/// Edits of finished files in place, checked with ffmpeg and by bytes.
@Suite struct MovieFileTests {
    /// Every packet of every stream, as ffprobe prints it.
    static func packets(_ path: String) throws -> [[String]] {
        try probe(path, "-show_data_hash", "md5", "-show_entries", "packet=stream_index,pts,dts,size,data_hash")
            .map { Array($0.prefix(5)) }
    }

    static func finish(_ path: String, _ edit: (inout Box) throws(BoxError) -> Void) throws {
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        #expect(descriptor >= 0)
        try MovieFile.finish(descriptor, edit: edit)
    }

    /// The movie at the end and at the front, growing and shrinking by amounts around the size of a block, so that ranges
    /// overlap themselves or not.
    @Test(arguments: ["0", "faststart"], [-1, 0, 40, 5_000_000, 9_000_000])
    func samplesStayReachableAfterMoves(_ flags: String, _ growth: Int) throws {
        let scratch = try Scratch()
        let path = scratch.file("a.mp4")
        try run("ffmpeg", "-v", "error", "-i", Clips.hevc10, "-c", "copy", "-movflags", flags, path)
        if growth < 0 {
            // A box to remove later.
            try Self.finish(path) { $0.put(Box("free", [UInt8](repeating: 7, count: 300_000))) }
        }
        let before = try Self.packets(path)
        let size = try Data(contentsOf: URL(filePath: path)).count
        var change = 0
        try Self.finish(path) { movie throws(BoxError) in
            let old = movie.size
            if growth < 0 {
                movie.children.removeAll { $0.type == "free" }
            } else if growth > 0 {
                movie.put(Box("free", [UInt8](repeating: 7, count: growth - 8)))
            }
            change = movie.size - old
        }
        #expect(change == (growth < 0 ? -300_008 : growth))
        #expect(try Self.packets(path) == before)
        #expect(!before.isEmpty)
        #expect(try Data(contentsOf: URL(filePath: path)).count == size + change)
        #expect(try boxes(path).prefix(2) == ["ftyp", "moov"])
        try run("ffmpeg", "-v", "error", "-xerror", "-i", path, "-f", "null", "-")
    }

    @Test func refusesOtherFilesWithoutChangingThem() throws {
        let scratch = try Scratch()
        let fragmented = scratch.file("f.mp4")
        try run(
            "ffmpeg", "-v", "error", "-i", Clips.hevc10, "-c", "copy", "-movflags", "empty_moov+frag_keyframe",
            fragmented)
        let text = scratch.file("text.mp4")
        try Data("no boxes here at all".utf8).write(to: URL(filePath: text))
        let empty = scratch.file("empty.mp4")
        try Data().write(to: URL(filePath: empty))
        for path in [fragmented, text, empty] {
            let before = try Data(contentsOf: URL(filePath: path))
            #expect(throws: BoxError.self) { try Self.finish(path) { _ in } }
            #expect(try Data(contentsOf: URL(filePath: path)) == before)
        }
    }

    @Test(arguments: InputTests.damaged)
    func damagedFilesAreRefusedOrKeepTheirSamples(_ name: String) throws {
        let source = try Clips.path(name)
        let scratch = try Scratch()
        let path = scratch.file("copy")
        try Data(contentsOf: URL(filePath: source)).write(to: URL(filePath: path))
        do {
            try Self.finish(path) { $0.put(Box("free", [1, 2, 3])) }
            #expect(try boxes(path).prefix(2) == ["ftyp", "moov"])
        } catch let error as BoxError {
            #expect(!error.reason.isEmpty)
        }
    }
}
