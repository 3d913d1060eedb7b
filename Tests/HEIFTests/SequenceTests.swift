// SPDX-License-Identifier: GPL-2.0-or-later
import HWDBoxes
import HWDHEIF
import Testing

/// Image sequences that are written, and read again.
@Suite struct SequenceTests {
    /// A sequence of three pictures with alpha; the tiles of a grid are its pictures.
    private static func make(alpha: Bool = true) throws -> (
        file: SequenceFile, pictures: [[UInt8]], alpha: [[UInt8]]
    ) {
        var options = CodedPicture.Options()
        (options.columns, options.width, options.height) = (3, 128, 128)
        let coded = try CodedPicture(options)
        var file = SequenceFile(coded.picture, timeScale: 600, durations: [20, 20, 60])
        file.cover = 1
        let gray = try CodedPicture.gray(options)
        if alpha { file.alpha = gray.picture }
        return (file, coded.tiles, alpha ? gray.tiles : [])
    }

    @Test(arguments: [true, false]) func isReadAsItWasWritten(hasAlpha: Bool) throws {
        let (sequence, pictures, alpha) = try Self.make(alpha: hasAlpha)
        let source = MemorySource(try SequenceLayout(sequence).file(pictures, alpha: alpha))
        let file = try HEIFFile(source)
        #expect(file.majorBrand == "hevc" && file.brands.contains("msf1") && file.brands.contains("heic"))
        let tracks = try #require(file.sequence?.tracks)
        #expect(tracks.map(\.handler) == (hasAlpha ? ["pict", "auxv"] : ["pict"]))
        #expect(
            tracks.allSatisfy { $0.samples.times == [0, 20, 40] && $0.duration == 100 && $0.isIntraOnly == true })
        let primary = try #require(file.primary)
        #expect(try file.data(of: primary, from: source, limit: 1 << 20) == pictures[1])
        for number in 1...3 {
            let picture = try file.picture(ofSequence: number)
            let id = try #require(picture.primary)
            #expect(try picture.data(of: id, from: source, limit: 1 << 20) == pictures[number - 1])
            #expect(try picture.picture(id).shownWidth == 128)
            let mask = try picture.alpha(of: id)
            #expect((mask != nil) == hasAlpha)
            guard let mask else { continue }
            #expect(try picture.data(of: mask.picture.item.id, from: source, limit: 1 << 20) == alpha[number - 1])
        }
        for number in [0, 4, -1, .max] {
            #expect(throws: HEIFError.self) { try file.picture(ofSequence: number) }
        }
    }

    @Test func refusesWhatATrackCannotHold() throws {
        var (sequence, pictures, alpha) = try Self.make()
        #expect(throws: HEIFError.self) { try SequenceLayout(sequence).file(pictures, alpha: []) }
        #expect(throws: HEIFError.self) { try SequenceLayout(sequence).file([pictures[0]], alpha: alpha) }
        sequence.cover = 3
        #expect(throws: HEIFError.self) { try SequenceLayout(sequence) }
        (sequence.cover, sequence.durations) = (0, [1, 0, 1])
        #expect(throws: HEIFError.self) { try SequenceLayout(sequence) }
        sequence.durations = [.max, 1]
        #expect(throws: HEIFError.self) { try SequenceLayout(sequence) }
        (sequence.durations, sequence.picture.width) = ([1, 1, 1], 384)
        #expect(throws: HEIFError.self) { try SequenceLayout(sequence) }
    }

    /// The offset of what follows the type of a box, counted from 0 among those of the type.
    private static func body(_ type: String, _ number: Int = 0, in bytes: [UInt8]) throws -> Int {
        let type = Array(type.utf8)
        let places = bytes.indices.filter { bytes[$0...].starts(with: type) }
        try #require(places.count > number)
        return places[number] + 4
    }

    @Test func refusesPicturesThatReferToEachOther() throws {
        let (sequence, pictures, alpha) = try Self.make()
        var bytes = try SequenceLayout(sequence).file(pictures, alpha: alpha)
        let flags = try Self.body("ccst", in: bytes) + 4
        #expect(bytes[flags] == 0x80)
        bytes[flags] = 0
        let file = try HEIFFile(MemorySource(bytes))
        #expect(throws: HEIFError.self) { try file.picture(ofSequence: 1) }
    }

    /// Alpha belongs to the picture of the same time, in seconds.
    @Test func alphaMayHaveAnotherTimeScale() throws {
        let (sequence, pictures, alpha) = try Self.make()
        var bytes = try SequenceLayout(sequence).file(pictures, alpha: alpha)
        func set(_ value: Int, at place: Int) {
            bytes.replaceSubrange(place..<place + 4, with: [0, 0, UInt8(value >> 8), UInt8(value & 255)])
        }
        func masks() throws -> [Bool] {
            let file = try HEIFFile(MemorySource(bytes))
            return try (1...3).map { number in
                let picture = try file.picture(ofSequence: number)
                return try picture.alpha(of: try #require(picture.primary)) != nil
            }
        }
        set(1200, at: try Self.body("mdhd", 1, in: bytes) + 12)
        // Alpha at 0, 20 and 40 of 1200 ticks, pictures at 0, 20 and 40 of 600.
        #expect(try masks() == [true, true, false])
        set(40, at: try Self.body("stts", 1, in: bytes) + 12)
        #expect(try masks() == [true, true, true])
    }
}
