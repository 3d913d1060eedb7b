// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWDHEVC
import HWDModel
import Testing

@testable import HWDLibAVReading
@testable import HWDMetadata

/// Copies of streams whose pictures, layers or tables would need memory without limit, and of parameter sets that change.
@Suite struct HostileCopyTests {
    private static func byteStream(_ units: [[UInt8]]) -> [UInt8] { units.flatMap { [0, 0, 0, 1] + $0 } }

    private static func type(_ nal: [UInt8]) -> NALUnitType? { (try? NALUnitHeader(nal: nal))?.nalUnitType }

    private static func encoded(_ scratch: Scratch, _ parameters: String) throws -> [[UInt8]] {
        let path = scratch.file("encoded.hevc")
        try run(
            "ffmpeg", "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=0.8",
            "-pix_fmt",
            "yuv420p", "-c:v", "libx265", "-x265-params", "log-level=none:info=0:repeat-headers=1:\(parameters)",
            path)
        return AnnexB.NALUnits([UInt8](try Data(contentsOf: URL(filePath: path)))).map { Array($0) }
    }

    private static func reader(_ path: String) throws -> MediaReader {
        var options = MediaReader.Options()
        options.decoding = .disabled
        return try MediaReader(path: path, options: options)
    }

    private static func order(_ path: String) throws {
        let reader = try reader(path)
        var order = try OutputOrder(reader, VideoCopy(reader))
        while let item = try reader.next() {
            guard case .packet(let packet) = item else { continue }
            _ = try order.add(packet)
        }
        _ = try order.finish()
    }

    /// A leading picture that repeats: the key frame, which has the highest picture order count, is never output.
    @Test func pictureOrderWithoutAnEndIsRefused() throws {
        let scratch = try Scratch()
        let units = try Self.encoded(scratch, "keyint=10:min-keyint=10:open-gop=1:bframes=3")
        let key = try #require(units.firstIndex { Self.type($0)?.isCRA ?? false })
        let leading = try #require(units[key...].first { Self.type($0)?.isRASL ?? false })
        let path = scratch.file("endless.hevc")
        for (count, expected) in [(500, nil), (1500, MediaError.Kind.badInput)] {
            let bytes = Self.byteStream(units[...key] + Array(repeating: leading, count: count))
            try Data(bytes).write(to: URL(filePath: path))
            #expect(errorKind { try Self.order(path) } == expected, "\(count)")
        }
    }

    /// Slices of layer 1 of 4 MiB each, all of one access unit.
    @Test func accessUnitsOfManyLayersAreRefused() throws {
        let scratch = try Scratch()
        let units = try Self.encoded(scratch, "keyint=10")
        let picture = try #require(units.firstIndex { Self.type($0)?.isSlice ?? false })
        let slice = [UInt8]([2, 9]) + [UInt8](repeating: 0xAA, count: 4 << 20)
        let path = scratch.file("layers.hevc")
        for (count, expected) in [(2, nil), (17, MediaError.Kind.badInput)] {
            let bytes = Self.byteStream(units[...picture] + Array(repeating: slice, count: count))
            try Data(bytes).write(to: URL(filePath: path))
            #expect(errorKind { try Self.order(path) } == expected, "\(count)")
        }
    }

    @Test func tablesOfTooManyRowsAreRefused() {
        let count = 1 << 24 + 1
        func body(rowSize: Int) -> [UInt8] {
            var bytes: [UInt8] = [0, 0, 0, 0]
            bytes.appendBigEndian(UInt32(count))
            return bytes + [UInt8](repeating: 0, count: count * rowSize)
        }
        let table = Box(
            "stbl", children: [Box("stsc", [UInt8](repeating: 0, count: 8)), Box("stco", body(rowSize: 4))])
        #expect(throws: BoxError.self) { try ChunkTable(table) }
        #expect(EditListEnd.durations(Box("elst", body(rowSize: 12))) == nil)
    }

    /// Another SPS at a key frame leaves the alpha_channel_info message (H.265 F.14.2.8) in the record.
    @Test func messagesStayWhenParameterSetsAreReplaced() throws {
        let scratch = try Scratch()
        let first = scratch.file("first.hevc")
        try LevelTests.copy(try Clips.path("bbb_alpha.mov"), to: first)
        let units = AnnexB.NALUnits([UInt8](try Data(contentsOf: URL(filePath: first)))).map { Array($0) }
        let changed = try units.map { nal in
            guard Self.type(nal) == .sps, var sps = try? SequenceParameterSet(nal: nal), sps.header.nuhLayerId == 0
            else { return nal }
            sps.profileTierLevel.generalLevelIdc += 3
            return try sps.nalUnit()
        }
        try #require(changed != units)
        let path = scratch.file("both.hevc")
        try Data(Self.byteStream(units + changed)).write(to: URL(filePath: path))
        let reader = try Self.reader(path)
        var copy = try VideoCopy(reader)
        var records = [copy.hvcC]
        while let item = try reader.next() {
            guard case .packet(let packet) = item else { continue }
            if let next = try copy.sample(packet).configuration { records.append(next.hvcC) }
        }
        let messages = try records.map { record in
            try DecoderConfigurationRecord(bytes: record).nalUnits.filter {
                !(Self.type($0)?.isParameterSet ?? true)
            }
        }
        try #require(messages.count == 2 && !messages[0].isEmpty)
        #expect(messages[1] == messages[0])
    }

    /// The configuration box of a clip of profile 8.4, changed to profiles 5 and 7.
    @Test(arguments: [(5, true), (7, false), (8, false)])
    func dolbyVisionProfile5IsReported(_ profile: UInt8, _ isReported: Bool) throws {
        let scratch = try Scratch()
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: try Clips.path("dolby_vision_84.mov"))))
        let place = try #require(
            bytes.indices.dropLast(8).first { Array(bytes[$0..<$0 + 4]) == Array("dvvC".utf8) })
        try #require(bytes[place + 6] >> 1 == 8)
        bytes[place + 6] = profile << 1 | bytes[place + 6] & 1
        let path = scratch.file("in.mov")
        try Data(bytes).write(to: URL(filePath: path))
        #expect(try (Self.reader(path).dolbyVisionWarning != nil) == isReported)
    }
}
