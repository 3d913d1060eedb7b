// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDX265
import Foundation
import HWDBoxes
@testable import HWDLibAVReading
@testable import HWDMetadata
import HWDModel
import Testing

/// Tracks with several sample entries, read and written.
@Suite struct SampleEntryTests {
    /// The committed clips: ten frames of each of two sample entries.
    static let clips = ["two_entries.mov", "entries/size.mov", "entries/depth.mov", "entries/422.mov"]

    /// The samples of each chunk and the number of its sample entry.
    private static func chunks(_ path: String) throws -> [[Int]] {
        try ChunkTable(LevelTests.table(path)).chunks.map { [$0.sampleCount, $0.entry] }
    }

    /// A transport stream of the clips' parts: their parameter sets change inside the stream.
    static func stream(_ scratch: Scratch, _ parts: [String]) throws -> String {
        var bytes = Data()
        for (number, options) in parts.enumerated() {
            let path = scratch.file("\(number).ts")
            try run(
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=0.4", "-pix_fmt", "yuv420p",
                "-c:v", "libx265", "-x265-params", "log-level=none:info=0:bframes=2:\(options)", path)
            bytes += try Data(contentsOf: URL(filePath: path))
        }
        let path = scratch.file("in.ts")
        try bytes.write(to: URL(filePath: path))
        return path
    }

    @Test(arguments: clips)
    func packetsHaveTheConfigurationOfTheirEntry(_ name: String) throws {
        var options = MediaReader.Options()
        options.decoding = .disabled
        let path = try Clips.path(name)
        let reader = try MediaReader(path: path, options: options)
        var changes: [Int: [UInt8]] = [:]
        var count = 0
        while let item = try reader.next() {
            guard case .packet(let packet) = item else { continue }
            changes[count] = packet.newConfiguration
            count += 1
        }
        let entries = try #require(try LevelTests.table(path).first("stsd")).children
        #expect(count == 20)
        #expect(changes == [10: try #require(entries.last?.first("hvcC")).fields])
        #expect(try MediaInfo(path: path).video.first?.sampleEntries == 2)
    }

    @Test(arguments: zip(clips, ["mov", "mp4", "mov", "mp4"]))
    func copiesHaveTheEntriesOfTheSource(_ name: String, _ ending: String) throws {
        let scratch = try Scratch()
        let (source, output) = (try Clips.path(name), scratch.file("out.\(ending)"))
        try LevelTests.copy(source, to: output)
        #expect(try LevelTests.frames(output).map(\.digest) == LevelTests.frames(source).map(\.digest))
        #expect(try LevelTests.frames(output).count == 20)
        // libavformat's muxer puts all samples into one chunk, which must be split.
        #expect(try Self.chunks(output) == [[10, 1], [10, 2]])
        let (old, new) = try (LevelTests.table(source), LevelTests.table(output))
        let (before, after) = (old.first("stsd")?.children ?? [], new.first("stsd")?.children ?? [])
        #expect(new.first("stsd")?.fields == [0, 0, 0, 0, 0, 0, 0, 2])
        #expect(after.map(\.type) == ["hvc1", "hvc1"])
        for (old, new) in zip(before, after) {
            #expect(new.first("hvcC") == old.first("hvcC"))
            #expect(new.fields[24..<28] == old.fields[24..<28])
        }
        let sizes = { (table: Box) in table.first("stsz")?.fields.dropFirst(12) }
        #expect(sizes(new) == sizes(old))
    }

    /// A set that comes back shares the sample entry that it had.
    @Test(arguments: ["mov", "mp4", "hevc"])
    func parameterSetsInsideSamplesGetEntries(_ ending: String) throws {
        let scratch = try Scratch()
        let source = try Self.stream(scratch, ["crf=30", "crf=34:ctu=16:min-cu-size=8:no-sao=1", "crf=30"])
        let output = scratch.file("out.\(ending)")
        try LevelTests.copy(source, to: output)
        // Without -xerror: ffmpeg complains of the times' jump, and decodes.
        let digests = { (path: String) in
            String(
                decoding: try run(
                    "ffmpeg", "-v", "quiet", "-i", path, "-fps_mode", "passthrough", "-f", "framemd5", "-"),
                as: UTF8.self
            )
            .split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").last }
        }
        let expected = try digests(source)
        #expect(expected.count == 30)
        #expect(try digests(output) == expected)
        if ending != "hevc" {
            #expect(try Self.chunks(output) == [[10, 1], [10, 2], [10, 1]])
            #expect(try LevelTests.table(output).first("stsd")?.children.count == 2)
            let walk = try #require(try probe(output, "-show_entries", "stream=codec_tag_string,nb_frames").first)
            #expect(walk == ["hvc1", "30"])
        }
    }

    /// A decoder of a temporal level must support the samples of both (`tscl`, ISO/IEC 14496-15 8.4.4).
    @Test(arguments: [["31", "51"], ["51", "31"]])
    func temporalLevelsOfJoinedEncodesNeedTheHighestLevel(_ levels: [String]) throws {
        let scratch = try Scratch()
        let layers = "temporal-layers=\(hwd_x265_two_levels())"
        let source = try Self.stream(scratch, levels.map { "\(layers):level-idc=\($0)" })
        let output = scratch.file("out.mp4")
        try LevelTests.copy(source, to: output)
        #expect(try Self.chunks(output) == [[10, 1], [10, 2]])
        let groups = try LevelTests.table(output).children.filter {
            $0.type == "sgpd" && $0.fields[4..<8].elementsEqual("tscl".utf8)
        }
        let fields = try #require(groups.first).fields
        // Entries of 20 bytes after a header of 16; general_level_idc is 30 times the level.
        #expect(fields.count == 16 + 2 * 20)
        #expect(stride(from: 16 + 12, to: fields.count, by: 20).map { fields[$0] } == [153, 153])
    }

    /// The first sample of an hev1 track has other parameter sets than the record: no sample uses the record's entry.
    @Test func anUnusedEntryIsLeftOut() throws {
        let scratch = try Scratch()
        let clip = { (name: String, options: String) in
            let path = scratch.file(name)
            try run(
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=0.4", "-pix_fmt", "yuv420p",
                "-c:v", "libx265", "-x265-params", "log-level=none:info=0:repeat-headers=1:\(options)", "-tag:v",
                "hev1", path)
            return path
        }
        let (first, second) = try (clip("a.mp4", "crf=30"), clip("b.mp4", "crf=30:ctu=16:min-cu-size=8"))
        // The record of one file in the other; both have the same size.
        let record = { (path: String) in
            try #require(
                try LevelTests.table(path, entry: "hev1").first("stsd")?.children.first?.first("hvcC")?.fields)
        }
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: first)))
        let (old, new) = try (record(first), record(second))
        try #require(old.count == new.count && old != new)
        let place = try #require((0..<bytes.count - old.count).first { Array(bytes[$0..<$0 + old.count]) == old })
        bytes.replaceSubrange(place..<place + old.count, with: new)
        let (mixed, output) = (scratch.file("mixed.mp4"), scratch.file("out.mp4"))
        try Data(bytes).write(to: URL(filePath: mixed))
        try LevelTests.copy(mixed, to: output)
        #expect(try LevelTests.frames(output).map(\.digest) == LevelTests.frames(first).map(\.digest))
        #expect(try Self.chunks(output) == [[10, 1]])
        #expect(try LevelTests.table(output).first("stsd")?.children.count == 1)
    }

    /// From parameter sets inside samples, and from a source's sample entries into the other kind of file.
    @Test func entriesHaveTheirOwnColors() throws {
        let scratch = try Scratch()
        let colors = ["bt709:transfer=bt709:colormatrix=bt709", "bt2020:transfer=smpte2084:colormatrix=bt2020nc"]
        let source = try Self.stream(scratch, colors.map { "colorprim=\($0)" })
        let (first, second) = (scratch.file("out.mp4"), scratch.file("out.mov"))
        try LevelTests.copy(source, to: first)
        try LevelTests.copy(first, to: second)
        func boxes(_ path: String) throws -> [[UInt8]?] {
            try #require(try LevelTests.table(path).first("stsd")).children.map { $0.first("colr")?.fields }
        }
        // The third code point is followed by the range in `nclx`.
        let points: [[UInt8]] = [[0, 1, 0, 1, 0, 1], [0, 9, 0, 16, 0, 9]]
        #expect(try boxes(first) == points.map { Array("nclx".utf8) + $0 + [0] })
        #expect(try boxes(second) == points.map { Array("nclc".utf8) + $0 })
        #expect(try LevelTests.frames(second).map(\.digest) == LevelTests.frames(first).map(\.digest))
    }

    /// Sample entries of the same parameter sets that differ in another box.
    @Test func entriesOfEqualParameterSetsKeepTheirBoxes() throws {
        let scratch = try Scratch()
        let (encoded, source, output) = (scratch.file("in.mp4"), scratch.file("in.mov"), scratch.file("out.mov"))
        try run(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=0.6", "-pix_fmt", "yuv420p",
            "-c:v", "libx265", "-x265-params", "log-level=none:info=0:keyint=5:min-keyint=5", "-tag:v", "hvc1",
            encoded)
        try LevelTests.copy(encoded, to: source)
        let content = Box("dvvC", [1, 0, 0x10, 0x25, 0x40] + [UInt8](repeating: 0, count: 19))
        try MovieFileTests.finish(source) { movie throws(BoxError) in
            let index = movie.children.firstIndex { $0.type == "trak" } ?? 0
            _ = try movie.children[index].edit(Box.sampleTablePath) { table throws(BoxError) in
                _ = try table.edit(["stsd"]) { list throws(BoxError) in
                    var entry = list.children[0]
                    entry.put(content)
                    list.children.append(entry)
                    list.fields[7] = 2
                }
                let samples = try SampleTable(table)
                var chunks = try ChunkTable(table)
                chunks.assign([.init(start: 0, entry: 1), .init(start: 5, entry: 2), .init(start: 10, entry: 1)]) {
                    samples.size($0)
                }
                chunks.write(into: &table)
            }
        }
        try LevelTests.copy(source, to: output)
        #expect(try Self.chunks(output) == [[5, 1], [5, 2], [5, 1]])
        let entries = try #require(try LevelTests.table(output).first("stsd")).children
        #expect(entries.map { $0.first("dvvC") } == [nil, content])
        #expect(try LevelTests.frames(output).map(\.digest) == LevelTests.frames(encoded).map(\.digest))
    }

    /// Full range and HDR metadata of the first parameter sets do not apply to those that follow.
    @Test func entriesHaveTheirOwnRangeAndMetadata() throws {
        let scratch = try Scratch()
        let hdr =
            "colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:range=full:hdr10=1:repeat-headers=1:max-cll=1000,400"
            + ":master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)"
        let source = try Self.stream(
            scratch, [hdr, "colorprim=bt709:transfer=bt709:colormatrix=bt709:range=limited"])
        let output = scratch.file("out.mp4")
        try LevelTests.copy(source, to: output)
        let entries = try #require(try LevelTests.table(output).first("stsd")).children
        try #require(entries.count == 2)
        #expect(entries.map { $0.first("colr")?.fields.last } == [0x80, 0])
        #expect(entries.map { $0.first("mdcv") != nil } == [true, false])
        #expect(entries.map { $0.first("clli") != nil } == [true, false])
    }

    /// ffmpeg keeps x265's repeated headers in the samples of an hvc1 track, which ISO/IEC 14496-15 8.4.1 prohibits.
    @Test func repeatedParameterSetsLeaveTheSamples() throws {
        let scratch = try Scratch()
        let (source, output) = (scratch.file("in.mp4"), scratch.file("out.mp4"))
        try run(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=0.4", "-pix_fmt", "yuv420p",
            "-c:v", "libx265", "-x265-params", "log-level=none:info=0:repeat-headers=1:keyint=5", "-tag:v", "hvc1",
            source)
        func keyFramesWithSets(_ path: String) throws -> Int {
            var options = MediaReader.Options()
            options.decoding = .disabled
            let reader = try MediaReader(path: path, options: options)
            var count = 0
            while let item = try reader.next() {
                guard case .packet(let packet) = item else { continue }
                if packet.withBytes({ SampleKind.hasParameterSets($0, .lengths(4)) }) { count += 1 }
            }
            return count
        }
        try #require(try keyFramesWithSets(source) == 2)
        try LevelTests.copy(source, to: output)
        #expect(try keyFramesWithSets(output) == 0)
        #expect(try Self.chunks(output) == [[10, 1]])
        #expect(try LevelTests.frames(output).map(\.digest) == LevelTests.frames(source).map(\.digest))
    }

    /// The first sample's entry is the second of the track: size and parameter sets are that entry's.
    @Test(arguments: ["two_entries.mov", "entries/size.mov"])
    func theFirstSampleMayHaveTheSecondEntry(_ name: String) throws {
        let scratch = try Scratch()
        let source = try Clips.path(name)
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: source)))
        func place(_ type: String) throws -> Int {
            try #require((0..<bytes.count - 4).last { Array(bytes[$0..<$0 + 4]) == Array(type.utf8) })
        }
        // Two entries behind eight bytes of fields; rows of three words.
        let list = try place("stsd") + 12
        let size = bytes[list..<list + 4].reduce(0) { $0 << 8 | Int($1) }
        let end = try place("stsd") - 4 + bytes[list - 16..<list - 12].reduce(0) { $0 << 8 | Int($1) }
        bytes.replaceSubrange(list..<end, with: bytes[list + size..<end] + bytes[list..<list + size])
        let rows = try place("stsc")
        (bytes[rows + 23], bytes[rows + 35]) = (2, 1)
        let (swapped, output) = (scratch.file("swapped.mov"), scratch.file("out.mp4"))
        try Data(bytes).write(to: URL(filePath: swapped))
        let expected = try LevelTests.frames(source).map(\.digest)
        try #require(try LevelTests.frames(swapped).map(\.digest) == expected)
        let reader = try MediaReader(path: swapped)
        #expect(try reader.video.codecConfiguration == MediaReader(path: source).video.codecConfiguration)
        #expect((reader.video.width, reader.video.height) == (96, 64))
        try LevelTests.copy(swapped, to: output)
        #expect(try LevelTests.frames(output).map(\.digest) == expected)
        #expect(try Self.chunks(output) == [[10, 1], [10, 2]])
        #expect(try LevelTests.table(output).first("stsd")?.children.count == 2)
    }

    @Test func aChangeOfCodecIsRefused() throws {
        #expect(errorKind { _ = try MediaReader(path: try Clips.path("entries/codec.mov")) } == .unsupported)
    }

    /// Sample entries that do not exist, or that no sample has, in every field that names one.
    @Test func damagedEntryNumbersEndCleanly() throws {
        let scratch = try Scratch()
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: try Clips.path("two_entries.mov"))))
        let names = [Array("stsc".utf8), Array("stsd".utf8)]
        for name in names {
            let place = try #require((0..<bytes.count - 4).last { Array(bytes[$0..<$0 + 4]) == name })
            for offset in stride(from: 11, through: name == names[0] ? 35 : 11, by: 4) {
                for value in [0, 3] as [UInt8] {
                    var damaged = bytes
                    damaged[place + offset] = value
                    let path = scratch.file("damaged.mov")
                    try Data(damaged).write(to: URL(filePath: path))
                    let kind = errorKind {
                        try LevelTests.copy(path, to: scratch.file("out.mov"))
                        _ = try LevelTests.table(scratch.file("out.mov"))
                    }
                    // A writer without a packet cannot be finished: usage.
                    let expected: [MediaError.Kind?] = [nil, .badInput, .unsupported, .usage]
                    #expect(expected.contains(kind), "\(name) \(offset) \(value)")
                    let decoding = errorKind { try MediaReader(path: path).forEachFrame { _ in } }
                    #expect(decoding == nil || decoding == .badInput || decoding == .unsupported)
                }
            }
        }
    }

    @Test func chunksAreSplitWhereEntriesChange() throws {
        let sizes = [10, 20, 30, 40, 50]
        func table(_ rows: [UInt32], _ offsets: [UInt32]) -> Box {
            func body(_ count: Int, _ words: [UInt32]) -> [UInt8] {
                var bytes: [UInt8] = [0, 0, 0, 0]
                for word in [UInt32(count)] + words { bytes.appendBigEndian(word) }
                return bytes
            }
            return Box(
                "stbl",
                children: [Box("stsc", body(rows.count / 3, rows)), Box("stco", body(offsets.count, offsets))])
        }
        // Chunks of two, two and one samples.
        let source = table([1, 2, 1, 3, 1, 1], [1000, 2000, 3000])
        var chunks = try ChunkTable(source)
        chunks.assign([.init(start: 0, entry: 1), .init(start: 1, entry: 2), .init(start: 4, entry: 1)]) {
            sizes[$0]
        }
        var written = source
        chunks.write(into: &written)
        #expect(written == table([1, 1, 1, 2, 1, 2, 3, 2, 2, 4, 1, 1], [1000, 1010, 2000, 3000]))
        #expect(try ChunkTable(written) == chunks)
        // Nothing changes where all samples share an entry.
        var same = try ChunkTable(source)
        same.assign([.init(start: 0, entry: 1)]) { sizes[$0] }
        #expect(try same == ChunkTable(source))
    }
}

/// Which parameter sets of a sample begin another sample entry.
@Suite struct CopiedParameterSetsTests {
    /// The parameter sets of a clip's sample entries.
    private static func sets(_ name: String) throws -> [[[UInt8]]] {
        let entries = try #require(try LevelTests.table(try Clips.path(name)).first("stsd")).children
        return try entries.map { HEVCConfiguration(try #require($0.first("hvcC")).fields).nalUnits }
    }

    @Test func knownSetsChangeNothing() throws {
        let all = try Self.sets("two_entries.mov")
        var sets = CopiedParameterSets(all[0])
        #expect(try sets.take(all[0], isKeyFrame: false) == .none)
        #expect(try sets.take([], isKeyFrame: true) == .none)
        #expect(sets.units == CopiedParameterSets(all[0]).units)
    }

    @Test func setsWithKnownNumbersReplaceOthersAtKeyFrames() throws {
        let all = try Self.sets("two_entries.mov")
        var sets = CopiedParameterSets(all[0])
        #expect(throws: (any Error).self) { try sets.take(all[1], isKeyFrame: false) }
        #expect(sets == CopiedParameterSets(all[0]))
        #expect(try sets.take(all[1], isKeyFrame: true) == .replaced)
        #expect(Set(sets.units) == Set(CopiedParameterSets(all[1]).units))
    }

    @Test func setsThatCannotBeParsedReplaceEachOther() throws {
        // SPSs of layer 1 that end after their headers.
        let (first, second): ([UInt8], [UInt8]) = ([0x42, 0x09, 1], [0x42, 0x09, 2])
        var sets = CopiedParameterSets([first])
        #expect(throws: (any Error).self) { try sets.take([second], isKeyFrame: false) }
        #expect(try sets.take([second], isKeyFrame: true) == .replaced)
        #expect(sets.units == [second])
    }

    @Test func trailingZerosMakeNoDifference() throws {
        let all = try Self.sets("two_entries.mov")
        var sets = CopiedParameterSets(all[0].map { $0 + [0, 0] })
        #expect(try sets.take(all[0], isKeyFrame: true) == .none)
    }

    @Test func addedSetsHaveNoTrailingZeros() throws {
        let all = try Self.sets("two_entries.mov")
        var sets = CopiedParameterSets([])
        #expect(
            try sets.take(all[0].map { $0 + [0, 0] }, isKeyFrame: false)
                == .added(CopiedParameterSets(all[0]).units))
    }

    @Test func setsWithOtherNumbersAreAdded() throws {
        let all = try Self.sets("two_entries.mov")
        // A track without parameter sets in its record.
        var sets = CopiedParameterSets([])
        #expect(try sets.take(all[0], isKeyFrame: false) == .added(CopiedParameterSets(all[0]).units))
        #expect(Set(sets.units) == Set(CopiedParameterSets(all[0]).units))
    }
}
