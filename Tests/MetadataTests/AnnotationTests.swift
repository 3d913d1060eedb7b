// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWDHEVC
import HWDModel
import Testing

@testable import HWDMetadata

/// Sample groups: written ones, and those of other writers.
@Suite struct AnnotationTests {
    /// An access unit with a delimiter, a message and a slice of this type and level.
    static func unit(_ type: NALUnitType, _ level: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for (type, size) in [(NALUnitType.aud, 3), (.prefixSEI, 9), (type, 20), (.suffixSEI, 5)] {
            bytes.appendBigEndian(UInt32(size))
            bytes += [type.rawValue << 1, UInt8(level + 1)] + [UInt8](repeating: 0x80, count: size - 2)
        }
        return bytes
    }

    /// A sample table of so many samples of 41 bytes, one chunk, shown in the order they lie in.
    static func table(_ count: Int, at offset: UInt32 = 0) -> Box {
        func box(_ type: FourCC, _ words: [UInt32]) -> Box {
            var fields: [UInt8] = []
            for word in words { fields.appendBigEndian(word) }
            return Box(type, fields)
        }
        let samples = UInt32(count)
        return Box(
            "stbl",
            children: [
                box("stsd", [0, 0]), box("stts", [0, 1, samples, 10]), box("stss", [0, 1, 1]),
                box("stsc", [0, 1, 1, samples, 1]), box("stsz", [0, 53, samples]), box("stco", [0, 1, offset]),
            ])
    }

    /// Three key frames: closed, open with leading pictures of both kinds, open with one that refers to itself only.
    static let pictures: [(NALUnitType, Int)] = [
        (.idrNLP, 0), (.trailR, 0), (.tsaR, 1), (.tsaN, 2), (.tsaN, 2), (.stsaR, 1),
        (.craNUT, 0), (.raslR, 1), (.raslN, 2), (.radlN, 2), (.trailR, 0), (.craNUT, 0), (.radlN, 2),
    ]

    static func written(_ pictures: [(NALUnitType, Int)] = pictures, isQuickTime: Bool = false) throws -> Box {
        var record = DecoderConfigurationRecord()
        record.profile.profileIdc = 2
        record.profile.profileCompatibilityFlags = 0x2000_0000
        record.profile.constraintIndicatorFlags = 0xB000_0000_0000
        record.generalLevelIdc = 93
        var annotations = PictureAnnotations(record, isQuickTime: isQuickTime)
        for (type, level) in pictures { unit(type, level).withUnsafeBytes { annotations.note($0) } }
        var table = table(pictures.count)
        try annotations.write(into: &table)
        return table
    }

    private func body(_ table: Box, _ type: FourCC, _ group: String) -> String? {
        table.children.first { $0.type == type && $0.fields[4..<8].elementsEqual(group.utf8) }
            .map { Hexadecimal.text($0.fields) }
    }

    @Test func boxesMatchTheStandardByteForByte() throws {
        let table = try Self.written()
        func expect(_ box: FourCC, _ group: String, _ words: String...) {
            let expected = words.joined()
            #expect(body(table, box, group) == expected)
        }
        let rest = "220000000b000000000005d00000000000000"
        expect(
            "sgpd", "tscl", "01000000", "7473636c", "00000014", "00000003", "000", rest, "010", rest, "020", rest)
        // 0 0 1 2 2 1 0 1 2 2 0 0 2, from 1 on.
        let runs = ["21", "12", "23", "12", "11", "12", "23", "21", "13"]
        let map = runs.map { "0000000\($0.prefix(1))0000000\($0.suffix(1))" }.joined()
        expect("sbgp", "tscl", "00000000", "7473636c", "00000009", map)
        expect("sgpd", "tsas", "01000000", "74736173", "00000000", "00000001", "00000000")
        expect(
            "sbgp", "tsas", "00000000", "74736173", "00000003", "0000000200000000", "0000000300000001",
            "0000000800000000")
        expect(
            "sbgp", "stsa", "00000000", "73747361", "00000003", "0000000500000000", "0000000100000001",
            "0000000700000000")
        expect("sgpd", "sync", "01000000", "73796e63", "00000001", "00000002", "1415")
        expect(
            "sbgp", "sync", "00000000", "73796e63", "00000006", "0000000100000001", "0000000500000000",
            "0000000100000002", "0000000400000000", "0000000100000002", "0000000100000000")
        // Three samples are shown before the second key frame, two of which refer back; the third has none that does.
        expect("sgpd", "rap ", "01000000", "72617020", "00000001", "00000001", "83")
        expect(
            "sbgp", "rap ", "00000000", "72617020", "00000003", "0000000600000000", "0000000100000001",
            "0000000600000000")
    }

    @Test func dependenciesFollowFromNALUnitTypes() throws {
        let table = try Self.written()
        let types = table.children.map(\.type)
        #expect(types.firstIndex(of: "sdtp") == types.firstIndex(of: "stss").map { $0 + 1 })
        // is_leading, depends on, is depended on, redundancy: two bits each.
        let iso: [UInt8] = [
            0b10_10_01_10, 0b10_01_01_10, 0b10_01_01_10, 0b10_01_10_10, 0b10_01_10_10, 0b10_01_01_10,
            0b10_10_01_10, 0b01_01_01_10, 0b01_01_10_10, 0b11_01_10_10, 0b10_01_01_10, 0b10_10_01_10, 0b11_01_10_10,
        ]
        #expect(table.first("sdtp")?.fields == [0, 0, 0, 0] + iso)
        // QuickTime defines the first two bits differently.
        let quickTime = try Self.written(isQuickTime: true).first("sdtp")?.fields
        #expect(quickTime == [0, 0, 0, 0] + iso.map { $0 & 0x3F })
    }

    @Test func oneLevelHasNoLevelGroups() throws {
        let table = try Self.written([(.idrWRADL, 0), (.trailR, 0), (.trailN, 0)])
        #expect(table.children.map(\.type).suffix(3) == ["stco", "sgpd", "sbgp"])
        #expect(body(table, "sgpd", "sync") != nil)
        #expect(table.first("sdtp")?.fields.suffix(3) == [0b10_10_01_10, 0b10_01_01_10, 0b10_01_10_10])
        let keyFrames = try Self.written([(.idrWRADL, 0), (.idrWRADL, 0)])
        #expect(keyFrames.first("sdtp") == nil)
    }

    @Test func writesNothingForUnknownPictures() throws {
        var annotations = PictureAnnotations(DecoderConfigurationRecord(), isQuickTime: false)
        Self.unit(.idrNLP, 0).withUnsafeBytes { annotations.note($0) }
        [UInt8]([0, 0, 0, 9, 1]).withUnsafeBytes { annotations.note($0) }
        let before = Self.table(2)
        var table = before
        try annotations.write(into: &table)
        #expect(table == before)
        // A table with another number of samples is an error.
        var other = PictureAnnotations(DecoderConfigurationRecord(), isQuickTime: false)
        Self.unit(.idrNLP, 0).withUnsafeBytes { other.note($0) }
        #expect(throws: BoxError.self) { try other.write(into: &table) }
    }

    @Test("The levels of a track with several parameter sets have the highest profile, tier and level")
    func levelsOfSeveralRecords() throws {
        var records: [DecoderConfigurationRecord] = []
        for (profile, tier, level) in [(1, true, 93), (2, false, 120), (1, false, 150)] {
            var record = DecoderConfigurationRecord()
            (record.profile.profileIdc, record.profile.tierFlag, record.generalLevelIdc) = (profile, tier, level)
            // Main's pictures conform to Main 10 too; only Main's are said to be progressive.
            record.profile.profileCompatibilityFlags = profile == 1 ? 0x6000_0000 : 0x2000_0000
            record.profile.constraintIndicatorFlags = profile == 1 ? 0x9000_0000_0000 : 0x1000_0000_0000
            records.append(record)
        }
        var annotations = PictureAnnotations(records[0], isQuickTime: false)
        for record in records {
            annotations.change(to: record)
            for (type, level) in [(NALUnitType.idrNLP, 0), (.tsaN, 1)] {
                Self.unit(type, level).withUnsafeBytes { annotations.note($0) }
            }
        }
        var table = Self.table(6)
        try annotations.write(into: &table)
        let rest = "22" + "20000000" + "100000000000" + "96" + "00000000000000"
        let entries = ["01000000", "7473636c", "00000014", "00000002", "00" + rest, "01" + rest].joined()
        #expect(body(table, "sgpd", "tscl") == entries)
    }

    @Test func readsWhatItWrites() throws {
        let table = try Self.written()
        var read = TrackAnnotations(table, subLayers: 3)
        #expect(read.kinds == ["tscl", "tsas", "stsa", "sync", "rap ", "sdtp"])
        #expect(read.levels == Self.pictures.map { UInt8($0.1) })
        read.compare(with: Self.pictures.map { SampleKind(type: $0.0.rawValue, temporalID: UInt8($0.1)) })
        #expect(read.faults.isEmpty)
    }

    @Test func reportsEveryContradiction() throws {
        let cases: [(Int, NALUnitType, Int, String)] = [
            (2, .tsaR, 2, "\"tscl\": sample 3"), (3, .trailN, 2, "\"tsas\": sample 4"),
            (5, .tsaR, 1, "\"stsa\": sample 6"), (6, .idrNLP, 0, "\"sync\": sample 7"),
            (6, .trailR, 0, "\"rap \": sample 7"), (1, .idrNLP, 0, "\"sdtp\": sample 2"),
        ]
        for (sample, type, level, start) in cases {
            var kinds = Self.pictures.map { SampleKind(type: $0.0.rawValue, temporalID: UInt8($0.1)) }
            kinds[sample] = SampleKind(type: type.rawValue, temporalID: UInt8(level))
            var read = TrackAnnotations(try Self.written(), subLayers: 3)
            read.compare(with: kinds)
            #expect(read.faults.contains { $0.hasPrefix(start) }, "\(read.faults)")
            #expect((read.levels == nil) == start.contains("tscl"))
            #expect(read.areLevelsDamaged == start.contains("tscl"))
        }
    }

    /// Replaces four bytes of a group's box.
    private func damaged(_ type: FourCC, at place: Int, _ value: UInt32) throws -> Box {
        var table = try Self.written()
        let index = try #require(
            table.children.firstIndex { $0.type == type && $0.fields[4..<8].elementsEqual("tscl".utf8) })
        var bytes: [UInt8] = []
        bytes.appendBigEndian(value)
        table.children[index].fields.replaceSubrange(place..<place + 4, with: bytes)
        return table
    }

    @Test func reportsAndIgnoresDamagedBoxes() throws {
        let cases: [(Box, String)] = [
            (try damaged("sbgp", at: 24, 9), "number 9, of which there are 3"),
            (try damaged("sbgp", at: 12, 500), "more samples than the 13"),
            (try damaged("sbgp", at: 12, .max), "more samples than the 13"),
            (try damaged("sbgp", at: 12, 1), "1 samples are in no group"),
            (try damaged("sbgp", at: 8, 4_000_000), "cut off"),
            (try damaged("sgpd", at: 12, .max), "descriptions"),
            (try damaged("sgpd", at: 8, 21), "cut off"),
            (try damaged("sgpd", at: 8, 4), "has 4 bytes, not 20"),
            (try damaged("sgpd", at: 16, 0x0502_2000), "temporal level 5, and the parameter sets have 3"),
            (try damaged("sgpd", at: 16, 0x0102_2000), "temporal level 1 twice"),
            (try damaged("sgpd", at: 0, 0x0900_0000), "version 9"),
        ]
        for (table, part) in cases {
            let read = TrackAnnotations(table, subLayers: 3)
            #expect(read.levels == nil && read.areLevelsDamaged, "\(part)")
            #expect(read.faults.contains { $0.contains(part) }, "\(part): \(read.faults)")
        }
    }

    @Test func acceptsApplesDescriptionOfOneLevel() throws {
        // One entry, and no sample in it.
        var table = Self.table(5)
        var group = SampleGroup("tscl", entries: [[0, 2] + [UInt8](repeating: 0, count: 18)])
        group.append(0)
        table.children.append(group.boxes[0])
        let read = TrackAnnotations(table, subLayers: 1)
        #expect(read.kinds == ["tscl"] && read.faults.isEmpty && read.levels == nil && !read.areLevelsDamaged)
        #expect(!TrackAnnotations(table, subLayers: 2).faults.isEmpty)
    }

    @Test func readsOtherVersions() throws {
        var table = Self.table(4)
        // sgpd version 2 with a default, sbgp version 1 with a parameter, and no run for the last three samples.
        func words(_ words: [UInt32]) -> [UInt8] {
            var bytes: [UInt8] = []
            for word in words { bytes.appendBigEndian(word) }
            return bytes
        }
        let tscl: UInt32 = 0x7473_636C
        let entries = (0..<2).flatMap { [UInt8($0)] + [UInt8](repeating: 0, count: 19) }
        table.children.append(Box("sgpd", words([0x0200_0000, tscl, 20, 1, 2]) + entries))
        table.children.append(Box("sbgp", words([0x0100_0000, tscl, 7, 1, 1, 2])))
        #expect(TrackAnnotations(table, subLayers: nil).levels == [1, 0, 0, 0])
        // Version 0 has no lengths.
        table.children.removeAll { $0.type == "sgpd" || $0.type == "sbgp" }
        table.children.append(Box("sgpd", words([0, tscl, 2]) + entries))
        table.children.append(Box("sbgp", words([0, tscl, 2, 3, 1, 1, 2])))
        #expect(TrackAnnotations(table, subLayers: nil).levels == [0, 0, 0, 1])
    }

    @Test func survivesMutatedTables() throws {
        let whole = try Self.written()
        var random = SystemRandomNumberGenerator()
        for _ in 0..<3000 {
            var table = whole
            let index = Int.random(in: table.children.indices, using: &random)
            for _ in 0..<Int.random(in: 1...3, using: &random) where !table.children[index].fields.isEmpty {
                let place = Int.random(in: table.children[index].fields.indices, using: &random)
                table.children[index].fields[place] =
                    [0, 1, 0x7F, 0xFF, 20, .random(in: 0...255)].randomElement() ?? 0
            }
            if Bool.random() {
                table.children[index].fields.removeLast(
                    Int.random(in: 0...table.children[index].fields.count, using: &random))
            }
            var read = TrackAnnotations(table, subLayers: 3)
            read.compare(with: Self.pictures.map { SampleKind(type: $0.0.rawValue, temporalID: UInt8($0.1)) })
            if let levels = read.levels { #expect(levels.count == read.table?.count) }
        }
    }
}
