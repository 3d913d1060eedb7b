// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWDHEIF
import Testing

/// A file whose boxes a test puts together field by field, legal or not.
struct CraftedFile {
    /// An item with its properties, by number from 1; the top bit of a number marks an essential one.
    struct Entry {
        var id: UInt32
        var type: FourCC = "jpeg"
        var properties: [UInt8] = []
        /// Bytes in `idat`; nil for an item without a location.
        var data: [UInt8]? = [1]
    }

    var entries: [Entry] = []
    var properties: [Box] = []
    var references: [(type: FourCC, from: UInt32, to: [UInt32])] = []
    var primary: UInt32 = 1
    /// Replaces the `iloc` box.
    var location: Box?
    /// What follows the boxes.
    var tail: [UInt8] = []

    /// The `ispe` box of a size.
    static func size(_ width: Int, _ height: Int) -> Box {
        var bytes: [UInt8] = [0, 0, 0, 0]
        for side in [width, height] { bytes.appendBigEndian(UInt32(side)) }
        return Box("ispe", bytes)
    }

    /// The body of a grid with sizes of 32 bits.
    static func grid(rows: Int, columns: Int, _ width: Int, _ height: Int) -> [UInt8] {
        var bytes: [UInt8] = [0, 1, UInt8(rows - 1), UInt8(columns - 1)]
        for side in [width, height] { bytes.appendBigEndian(UInt32(side)) }
        return bytes
    }

    private func full(_ version: UInt8, _ parts: [UInt8]...) -> [UInt8] { [version, 0, 0, 0] + parts.joined() }

    private func number(_ value: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(value)
        return bytes
    }

    var bytes: [UInt8] {
        let handler = full(0, number(0), Array("pict".utf8), [UInt8](repeating: 0, count: 13))
        let items = entries.map { entry in
            Box("infe", full(3, number(entry.id), [0, 0], number(entry.type.rawValue), [0]))
        }
        let names = references.map { reference in
            var body = number(reference.from)
            body.appendBigEndian(UInt16(truncatingIfNeeded: reference.to.count))
            return Box(reference.type, body + reference.to.flatMap(number))
        }
        let associations = entries.flatMap { entry in
            number(entry.id) + [UInt8(entry.properties.count)] + entry.properties
        }
        let meta = Box(
            "meta", fields: [0, 0, 0, 0],
            children: [
                Box("hdlr", handler), Box("pitm", full(1, number(primary))),
                Box("iinf", fields: full(1, number(UInt32(entries.count))), children: items),
                Box("iref", fields: [1, 0, 0, 0], children: names),
                Box(
                    "iprp",
                    children: [
                        Box("ipco", children: properties),
                        Box("ipma", full(1, number(UInt32(entries.count)), associations)),
                    ]),
                Box("idat", entries.flatMap { $0.data ?? [] }), location ?? locations,
            ])
        return Box("ftyp", Array("heic".utf8) + number(0) + Array("mif1heic".utf8)).bytes + meta.bytes + tail
    }

    /// Every item with data in one extent in `idat`.
    private var locations: Box {
        var (body, position, count) = ([UInt8](), UInt32(0), UInt32(0))
        for entry in entries {
            guard let data = entry.data else { continue }
            body += number(entry.id) + [0, 1, 0, 0, 0, 1] + number(position) + number(UInt32(data.count))
            position += UInt32(data.count)
            count += 1
        }
        return Box("iloc", full(2, [0x44, 0], number(count), body))
    }

    func open() throws -> (file: HEIFFile, source: MemorySource) {
        let source = MemorySource(bytes)
        return (try HEIFFile(source), source)
    }
}

/// Faults that are named: the code, and words of the sentence.
func expectFault<Value>(
    _ code: HEIFError.Code, _ words: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Value
) {
    do {
        _ = try body()
        Issue.record("nothing was thrown, expected: \(words)", sourceLocation: sourceLocation)
    } catch let error as HEIFError {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
        #expect(error.reason.contains(words), "\(error)", sourceLocation: sourceLocation)
        #expect(!error.reason.hasSuffix(".") && !error.reason.contains("\n"), sourceLocation: sourceLocation)
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
}

@Suite struct HostileTests {
    private func plan(_ crafted: CraftedFile, region: PixelRect? = nil) throws -> DecodePlan {
        let (file, source) = try crafted.open()
        return try file.plan(crafted.primary, region: region, from: source)
    }

    /// A grid over `tiles`, each of which is a picture of 64x64.
    private func gridFile(
        rows: Int, columns: Int, _ width: Int, _ height: Int, tiles: [UInt32]? = nil
    ) -> CraftedFile {
        let ids = tiles ?? (0..<rows * columns).map { UInt32($0 + 2) }
        var crafted = CraftedFile()
        crafted.properties = [CraftedFile.size(width, height), CraftedFile.size(64, 64)]
        crafted.entries = [
            .init(
                id: 1, type: "grid", properties: [1],
                data: CraftedFile.grid(rows: rows, columns: columns, width, height))
        ]
        crafted.entries += Set(ids).sorted().map { .init(id: $0, properties: [2]) }
        crafted.references = [("dimg", 1, ids)]
        return crafted
    }

    @Test func circlesAreNamed() {
        var crafted = CraftedFile()
        crafted.properties = [CraftedFile.size(64, 64)]
        crafted.entries = (1...3).map { .init(id: $0, type: "iden", properties: [1], data: nil) }
        crafted.references = [("dimg", 1, [2]), ("dimg", 2, [3]), ("dimg", 3, [1])]
        expectFault(.cycle, "lead back to it") { try crafted.open() }
        crafted.references = [("dimg", 1, [1])]
        expectFault(.cycle, "item 1 lead back") { try crafted.open() }
        crafted.references = [("thmb", 2, [3]), ("thmb", 3, [2])]
        expectFault(.cycle, "\"thmb\"") { try crafted.open() }
        crafted.references = [("auxl", 2, [2])]
        expectFault(.cycle, "\"auxl\"") { try crafted.open() }
    }

    @Test func deepDerivationsAreRefused() throws {
        var crafted = CraftedFile()
        crafted.properties = [CraftedFile.size(64, 64)]
        crafted.entries = (1...20).map { .init(id: $0, type: "iden", properties: [1], data: nil) }
        crafted.entries.append(.init(id: 21, properties: [1]))
        crafted.references = (1...20).map { ("dimg", $0, [$0 + 1]) }
        expectFault(.limit, "more than 8 times") { try crafted.open() }
        // Eight derivations are read.
        crafted.references = (13...20).map { ("dimg", $0, [$0 + 1]) }
        crafted.primary = 13
        #expect(try plan(crafted).items == [21])
    }

    @Test func tooManyTilesAreRefused() throws {
        // One item may fill every place of a grid.
        let tiles = [UInt32](repeating: 2, count: 255 * 256)
        let crafted = gridFile(rows: 255, columns: 256, 64 * 256, 64 * 255, tiles: tiles)
        #expect(try plan(crafted, region: PixelRect(x: 5000, y: 5000, width: 100, height: 100)).items == [2])
        #expect(try plan(crafted).steps.count == 255 * 256)
        // Grids of grids multiply.
        var nested = gridFile(rows: 256, columns: 255, 64 * 256 * 255, 64 * 255 * 256, tiles: tiles)
        nested.entries.append(
            .init(
                id: 3, type: "grid", properties: [1],
                data: CraftedFile.grid(rows: 255, columns: 256, 64 * 256, 64 * 255)))
        nested.properties.append(CraftedFile.size(64 * 256, 64 * 255))
        nested.properties.append(CraftedFile.size(64 * 256 * 16, 64 * 255 * 16))
        nested.entries[0] = .init(
            id: 1, type: "grid", properties: [4],
            data: CraftedFile.grid(rows: 16, columns: 16, 64 * 256 * 16, 64 * 255 * 16))
        nested.entries[2].properties = [3]
        nested.references = [("dimg", 1, [UInt32](repeating: 3, count: 256)), ("dimg", 3, tiles)]
        expectFault(.limit, "at once") { try plan(nested) }
        expectFault(.limit, "more than 65536 others") {
            try plan(nested, region: PixelRect(x: 100, y: 100, width: 32768, height: 32767))
        }
    }

    @Test func aCountOfTilesIsChecked() {
        expectFault(.malformed, "2x2 places for 3 tiles") {
            try plan(gridFile(rows: 2, columns: 2, 128, 128, tiles: [2, 3, 4]))
        }
        expectFault(.malformed, "do not cover grid 1 of 30000x30000") {
            try plan(gridFile(rows: 2, columns: 2, 30000, 30000))
        }
        var other = gridFile(rows: 2, columns: 2, 128, 128)
        other.properties.append(CraftedFile.size(64, 32))
        other.entries[3].properties = [3]
        expectFault(.malformed, "tile 4 of grid 1 is 64x32") { try plan(other) }
        var missing = gridFile(rows: 2, columns: 2, 128, 128)
        missing.entries.removeLast()
        expectFault(.malformed, "item 5 does not exist") { try plan(missing) }
        var size = gridFile(rows: 2, columns: 2, 128, 128)
        size.properties[0] = CraftedFile.size(100, 128)
        expectFault(.malformed, "grid 1 is 128x128, its item states 100x128") { try plan(size) }
        var huge = gridFile(rows: 2, columns: 2, 128, 128)
        huge.properties[0] = CraftedFile.size(1 << 25, 128)
        expectFault(.malformed, "its size is 33554432x128") { try plan(huge) }
    }

    @Test func anOverlayOfManyPlacesIsReadOnce() throws {
        // Each of the grid's 4,096 places is the same overlay of 1,024 pictures outside of its canvas.
        var crafted = CraftedFile()
        crafted.properties = [CraftedFile.size(64 * 64, 64 * 64), CraftedFile.size(64, 64)]
        var body: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 64, 0, 64]
        body += (0..<14).flatMap { _ in [0, 64, 0, 64] as [UInt8] }
        crafted.entries = [
            .init(id: 1, type: "grid", properties: [1], data: [0, 0, 63, 63, 16, 0, 16, 0]),
            .init(id: 2, type: "iovl", properties: [2], data: body), .init(id: 3, properties: [2]),
        ]
        crafted.references = [
            ("dimg", 1, [UInt32](repeating: 2, count: 4096)), ("dimg", 2, [UInt32](repeating: 3, count: 14)),
        ]
        let (file, memory) = try crafted.open()
        let source = CountingSource(memory)
        let plan = try file.plan(1, from: source)
        #expect(plan.steps.count == 4096 && source.reads.value <= 2)
    }

    @Test func bytesOutsideOfTheFileAreNamed() throws {
        var crafted = CraftedFile()
        crafted.properties = [CraftedFile.size(64, 64)]
        crafted.entries = [.init(id: 1, properties: [1])]
        func location(_ version: UInt8, _ body: [UInt8]) -> Box { Box("iloc", [version, 0, 0, 0] + body) }
        // Offset and length of 8 bytes, base offset 0.
        let ones = [UInt8](repeating: 255, count: 8)
        crafted.location = location(0, [0x88, 0, 0, 1, 0, 1, 0, 0, 0, 1] + [0, 0, 0, 0, 0, 0, 0, 9] + ones)
        expectFault(.truncated, "the bytes of item 1 lead outside") { try plan(crafted) }
        // Base and offset overflow 64 bits.
        crafted.location = location(0, [0x88, 0x80, 0, 1, 0, 1, 0, 0] + ones + [0, 1] + ones + ones)
        expectFault(.malformed, "exceeds any file size") { try crafted.open() }
        // Extents without fields: each is the whole file.
        crafted.location = location(0, [0, 0, 0, 1, 0, 1, 0, 0, 255, 255])
        expectFault(.malformed, "more bytes than the file") { try plan(crafted) }
        let counts = [UInt8](repeating: 0, count: 2) + (1...40).flatMap { [0, UInt8($0), 0, 0, 255, 255] }
        crafted.entries = (1...40).map { .init(id: $0, properties: [1]) }
        crafted.location = location(0, [0, 0, 0, 40] + counts.dropFirst(2))
        expectFault(.malformed, "more than 1048576 extents") { try crafted.open() }
        // Another file.
        crafted.entries = [.init(id: 1, properties: [1])]
        crafted.location = location(0, [0x44, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4])
        expectFault(.unsupported, "in another file") { try plan(crafted) }
        crafted.location = location(0, [0x34, 0, 0, 0])
        expectFault(.malformed, "fields of 3 bytes") { try crafted.open() }
    }

    @Test func itemsMadeOfOthersAreRead() throws {
        var crafted = CraftedFile()
        crafted.properties = [CraftedFile.size(64, 64)]
        crafted.entries = (1...3).map { .init(id: $0, properties: [1], data: [1, 2, 3, 4].map { $0 * UInt8($0) }) }
        crafted.entries[1].data = [10, 11, 12, 13]
        crafted.entries[2].data = [20, 21, 22, 23]
        crafted.references = [("iloc", 1, [2, 3])]
        func extent(_ index: UInt8, _ offset: UInt8, _ length: UInt8) -> [UInt8] {
            [0, 0, 0, index, 0, 0, 0, offset, 0, 0, 0, length]
        }
        // Item 1: bytes 1 and 2 of item 2, then all of item 3 from byte 3 on, then all of item 2 (index 1).
        var body: [UInt8] = [1, 0, 0, 0, 0x44, 0x04, 0, 3]
        body += [0, 1, 0, 2, 0, 0, 0, 3] + extent(1, 1, 2) + extent(2, 3, 0) + extent(0, 0, 4)
        body += [0, 2, 0, 1, 0, 0, 0, 2] + extent(0, 4, 2) + extent(0, 6, 2)
        body += [0, 3, 0, 1, 0, 0, 0, 1] + extent(0, 8, 4)
        crafted.location = Box("iloc", body)
        let (file, source) = try crafted.open()
        #expect(try file.data(of: 2, from: source, limit: 100) == [10, 11, 12, 13])
        #expect(try file.data(of: 1, from: source, limit: 100) == [11, 12, 23, 10, 11, 12, 13])
        #expect(try file.spans(of: 1).count == 5)
        expectFault(.limit, "item 1 has 7 bytes; 6 are supported") { try file.data(of: 1, from: source, limit: 6) }
        crafted.references = [("iloc", 1, [2])]
        expectFault(.malformed, "an item that it does not name") {
            let (file, source) = try crafted.open()
            return try file.data(of: 1, from: source, limit: 100)
        }
        crafted.references = [("iloc", 1, [1])]
        expectFault(.cycle, "\"iloc\"") { try crafted.open() }
    }

    @Test func propertiesAreChecked() {
        var crafted = CraftedFile()
        crafted.entries = [.init(id: 1, properties: [1, 0x82])]
        crafted.properties = [CraftedFile.size(64, 64), Box("abcd", [1])]
        expectFault(.unsupported, "item 1 needs the property \"abcd\"") { try plan(crafted) }
        crafted.entries[0].properties = [1, 3]
        expectFault(.malformed, "item 1 has property 3 of 2") { try crafted.open() }
        crafted.properties[1] = Box("clap", [UInt8](repeating: 0, count: 32))
        crafted.entries[0].properties = [1, 2]
        expectFault(.malformed, "denominator of 0") { try plan(crafted) }
        var clap: [UInt8] = []
        for number in [65, 1, 64, 1, 0, 1, 0, 1] { clap.appendBigEndian(UInt32(number)) }
        crafted.properties[1] = Box("clap", clap)
        expectFault(.malformed, "leads outside of its 64x64 samples") { try plan(crafted) }
        crafted.properties[1] = CraftedFile.size(32, 32)
        expectFault(.malformed, "two sizes") { try plan(crafted) }
        crafted.properties[1] = Box("hvcC", [1, 2, 3])
        expectFault(.malformed, "hvcC record is damaged") { try plan(crafted) }
        crafted.entries[0].properties = []
        expectFault(.malformed, "item 1 has no size") { try plan(crafted) }
        crafted.entries[0] = .init(id: 1, type: "hvc1", properties: [1])
        expectFault(.malformed, "no hvcC record") { try plan(crafted) }
        crafted.entries[0].type = "abcd"
        expectFault(.unsupported, "no known picture") { try crafted.open() }
        crafted.entries.append(crafted.entries[0])
        expectFault(.malformed, "two items 1") { try crafted.open() }
    }

    @Test func anAlphaOfAnotherSizeIsNamed() throws {
        var crafted = CraftedFile()
        let urn = Array("urn:mpeg:hevc:2015:auxid:1".utf8) + [0]
        crafted.properties = [
            CraftedFile.size(64, 64), CraftedFile.size(64, 32), Box("auxC", [0, 0, 0, 0] + urn),
            CraftedFile.size(65, 64),
        ]
        crafted.entries = [.init(id: 1, properties: [1]), .init(id: 2, properties: [2, 0x83])]
        crafted.references = [("auxl", 2, [1])]
        expectFault(.malformed, "the alpha of item 1 is 64x32, its picture 64x64") {
            try crafted.open().file.alpha(of: 1)
        }
        // Cameras exist that write one sample more.
        crafted.entries[1].properties = [4, 3]
        crafted.references.append(("prem", 1, [2]))
        #expect(try crafted.open().file.alpha(of: 1)?.isPremultiplied == true)
    }

    /// Overlays with alpha that name the next one 64 times: each has a plan, and all of them share the limits.
    @Test func overlaysThatBlendEachOtherShareTheLimits() throws {
        var crafted = CraftedFile()
        let name = Array("urn:mpeg:hevc:2015:auxid:1".utf8)
        crafted.properties = [CraftedFile.size(64, 64), Box("auxC", [0, 0, 0, 0] + name + [0])]
        let body: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 64] + [UInt8](repeating: 0, count: 4 * 64)
        for id: UInt32 in 1...4 {
            crafted.entries.append(.init(id: id, type: "iovl", properties: [1], data: body))
            crafted.references.append(("dimg", id, [UInt32](repeating: id + 1, count: 64)))
        }
        crafted.entries += [.init(id: 5, properties: [1]), .init(id: 6, properties: [1, 2])]
        crafted.references.append(("auxl", 6, [2, 3, 4, 5]))
        let (file, source) = try crafted.open()
        let state = PlanningState()
        var plans = 0
        func expand(_ id: UInt32) throws {
            plans += 1
            for step in try file.plan(id, from: source, sharing: state).steps {
                if case .blend(let blend) = step { try expand(blend.copy.item) }
            }
        }
        expectFault(.limit, "made of more than") { try expand(1) }
        #expect(plans > 64 && plans <= HEIFLimits.tiles)
    }

    @Test func whatNoPictureNeedsIsIgnored() throws {
        var crafted = CraftedFile()
        crafted.properties = [CraftedFile.size(64, 64)]
        crafted.entries = [.init(id: 1, properties: [1])]
        crafted.references = [("cdsc", 7, [1]), ("thmb", 1, [9])]
        crafted.tail = [1, 2, 3]
        let (file, _) = try crafted.open()
        #expect(file.remarks.count == 2 && file.remarks[1].contains("names item 9, which does not exist"))
    }

    @Test("Damaged files give one named error", .needsMediaSet)
    func damagedFilesAreNamed() throws {
        func open(_ name: String) throws -> DecodePlan {
            let source = try Clips.source(Clips.path("bad/\(name)"))
            let file = try HEIFFile(source)
            for id in file.shownPictures.dropFirst() { _ = try file.plan(id, from: source) }
            return try file.plan(file.shownPictures[0], from: source)
        }
        expectFault(.malformed, "version 32") { try open("fuzz_clap-overflow-divide-zero.heic") }
        expectFault(.malformed, "no ftyp box") { try open("fuzz_github_15.heic") }
        expectFault(.malformed, "version 32") { try open("fuzz_github_44.heic") }
        expectFault(.malformed, "exceeds its parent") { try open("meta_bitflips.heic") }
        expectFault(.truncated, "the bytes of item 2 lead outside") { try open("pillow_truncated.heic") }
        expectFault(.truncated, "the bytes of item 16 lead outside") { try open("trunc.heic") }
    }
}

/// A file in memory that counts how often it is read.
private struct CountingSource: ByteSource {
    final class Count { var value = 0 }

    private let memory: MemorySource
    let reads = Count()

    init(_ memory: MemorySource) { self.memory = memory }

    var length: UInt64 { memory.length }

    func read(_ range: Range<UInt64>) throws(HEIFError) -> [UInt8] {
        reads.value += 1
        return try memory.read(range)
    }
}
