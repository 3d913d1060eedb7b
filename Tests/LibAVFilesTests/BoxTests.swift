// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import Testing

@testable import HWDLibAVReading
@testable import HWDLibAVWriting

/// The `moov` of a file, header included, found independently of the code under test.
func movieBytes(_ path: String) throws -> [UInt8] {
    let data = try Data(contentsOf: URL(filePath: path))
    var position = 0
    while position + 8 <= data.count {
        var size = data[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
        if size == 1 { size = data[position + 8..<position + 16].reduce(0) { $0 << 8 | Int($1) } }
        if data[position + 4..<position + 8] == Data("moov".utf8) { return Array(data[position..<position + size]) }
        guard size >= 8 else { break }
        position += size
    }
    throw ToolFailure(description: "\(path) has no moov")
}

@Suite struct BoxTests {
    static let movies = [
        "bbb_720p_main10.mp4", "bbb_720p.mp4", "dolby_vision_84.mov", "pq.mov", "hlg.mov", "fps240.mp4",
        "two_tracks.mp4", "bframes.mp4", "bbb_alpha.mov", "alpha_prores4444.mov",
    ]

    @Test(arguments: movies)
    func parsingAndSerializingChangesNothing(_ name: String) throws {
        let bytes = try movieBytes(Clips.path(name))
        let boxes = try Box.parse(bytes[...])
        #expect(boxes.count == 1)
        #expect(boxes[0].bytes == bytes)
        #expect(boxes[0].size == bytes.count)
        let entry = boxes[0].children.compactMap { $0.first("mdia", "minf", "stbl", "stsd")?.children.first }
        #expect(entry.contains { $0.isContainer && !$0.children.isEmpty }, "no video sample entry was parsed")
    }

    @Test func everyProperPrefixIsRefused() throws {
        let bytes = try movieBytes(Clips.hevc10)
        for length in 0..<bytes.count {
            if let boxes = try? Box.parse(bytes.prefix(length)) { #expect(boxes.isEmpty && length == 0) }
        }
    }

    @Test func mutatedBoxesAreRefusedOrKeepTheirSize() throws {
        let bytes = try movieBytes(Clips.hevc10)
        var random = SystemRandomNumberGenerator()
        var kept = 0
        for _ in 0..<2000 {
            var mutated = bytes
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                mutated[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            if let boxes = try? Box.parse(mutated[...]) {
                kept += 1
                // A size of 0, "to the end", is written out as a number; a `largesize` that is not needed is dropped.
                let dropped = mutated.count - boxes.reduce(0) { $0 + $1.size }
                #expect(dropped >= 0 && dropped % (Box.largeHeaderSize - Box.headerSize) == 0)
            }
        }
        #expect(kept > 0)
    }

    @Test(
        arguments: [
            [0, 0, 0, 7, 0x6D, 0x6F, 0x6F, 0x76], [0, 0, 0, 9, 0x6D, 0x6F, 0x6F, 0x76],
            [0, 0, 0, 1, 0x6D, 0x6F, 0x6F, 0x76, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [0, 0, 0, 1, 0x6D, 0x6F, 0x6F, 0x76, 0, 0, 0, 0, 0, 0, 0, 15],
            [0, 0, 0, 12, 0x73, 0x74, 0x73, 0x64, 0, 0, 0, 0],
        ] as [[UInt8]])
    func refusesImpossibleBoxes(_ bytes: [UInt8]) {
        #expect(throws: BoxError.self) { try Box.parse(bytes[...]) }
    }

    @Test func boundsDepthAndNumberOfBoxes() {
        var deep = Box("trak", children: [])
        for _ in 0..<100 { deep = Box("trak", children: [deep]) }
        #expect(throws: BoxError.self) { try Box.parse(deep.bytes[...]) }
        let many = [UInt8](repeating: 0, count: 0) + Box("moov", children: []).bytes
        let flood = Array((0..<70_000).map { _ in many }.joined())
        #expect(throws: BoxError.self) { try Box.parse(flood[...]) }
    }

    @Test func putsAndReplacesBoxes() throws {
        var movie = try #require(Box.parse(try movieBytes(Clips.hevc10)[...]).first)
        let before = movie.size
        let path: [FourCC] = ["trak", "mdia", "minf", "stbl", "stsd", "hvc1"]
        #expect(try movie.edit(path) { $0.put(Box("test", [1, 2, 3])) })
        #expect(movie.size == before + 11)
        #expect(try movie.edit(path) { $0.put(Box("test", [4])) })
        #expect(movie.size == before + 9)
        #expect(try !movie.edit(["trak", "none"]) { $0.put(Box("test", [])) })
        let again = try #require(try Box.parse(movie.bytes[...]).first)
        #expect(again == movie)
        #expect(again.first("trak", "mdia", "minf", "stbl", "stsd", "hvc1", "test")?.fields == [4])
    }

    @Test func readsLargeSizes() throws {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(UInt32(1))
        bytes += Array("mdat".utf8)
        bytes.appendBigEndian(UInt64(5_000_000_000))
        let header = try #require(BoxHeader(bytes, available: 6_000_000_000))
        #expect(header.size == 5_000_000_000 && header.headerSize == 16 && header.isWhole)
        #expect(BoxHeader(bytes, available: 4_000_000_000)?.isWhole == false)
        #expect(BoxHeader(bytes.prefix(12), available: 6_000_000_000) == nil)
    }

    static func movie(_ offsets: [UInt32]) -> Box {
        var fields: [UInt8] = [0, 0, 0, 0]
        fields.appendBigEndian(UInt32(offsets.count))
        for offset in offsets { fields.appendBigEndian(offset) }
        return Box(
            "moov",
            children: [
                Box(
                    "trak",
                    children: [
                        Box(
                            "mdia",
                            children: [
                                Box("minf", children: [Box("stbl", children: [Box("stco", fields)])])
                            ])
                    ])
            ])
    }

    static func offsets(_ movie: Box) -> (FourCC, [UInt64])? {
        guard let box = movie.first("trak", "mdia", "minf", "stbl")?.children.first else { return nil }
        let width = box.type == "co64" ? 8 : 4
        let values = stride(from: 8, to: box.fields.count, by: width).map { place in
            box.fields[place..<place + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        return (box.type, values)
    }

    @Test func chunkOffsetsFollowTheSamples() throws {
        // ftyp 20 bytes, samples, then a moov that has grown by 40 since it was written at 1000.
        var movie = Self.movie([20, 500])
        let old = MovieFile.Entry(type: "moov", offset: 1000, size: UInt64(movie.size) - 40)
        let size = UInt64(movie.size)
        try MovieFile.relocate(&movie, from: old, to: 20)
        let after = try #require(Self.offsets(movie))
        #expect(after.0 == "stco" && after.1 == [20 + size, 500 + size])
    }

    @Test func widensOffsetsBeyond32Bits() throws {
        let last = UInt32.max - 10
        var movie = Self.movie([100, last])
        let old = MovieFile.Entry(type: "moov", offset: UInt64(UInt32.max), size: UInt64(movie.size))
        let before = UInt64(movie.size)
        try MovieFile.relocate(&movie, from: old, to: 20)
        let after = try #require(Self.offsets(movie))
        // Two offsets, four bytes more each.
        let size = before + 8
        #expect(UInt64(movie.size) == size)
        #expect(after.0 == "co64" && after.1 == [100 + size, UInt64(last) + size])
    }

    @Test func refusesOffsetsIntoTheMovie() {
        var movie = Self.movie([1010])
        let old = MovieFile.Entry(type: "moov", offset: 1000, size: 100)
        #expect(throws: BoxError.self) { try MovieFile.relocate(&movie, from: old, to: 20) }
        var damaged = Self.movie([1])
        _ = try? damaged.edit(["trak", "mdia", "minf", "stbl", "stco"]) { $0.fields.removeLast() }
        #expect(throws: BoxError.self) { try MovieFile.relocate(&damaged, from: old, to: 20) }
    }
}
