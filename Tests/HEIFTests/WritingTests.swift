// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWDHEIF
import HWDHEVC
import Testing

@Suite struct WritingTests {
    /// The kinds of files that are written.
    enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case single, oddGrid, oddSingle, pq, displayP3, premultiplied, depthAndGainMap, burst, mirrored

        var testDescription: String { rawValue }
    }

    /// A TIFF structure with the orientation alone.
    static func tiff(orientation: UInt8) -> [UInt8] {
        [0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0]
    }

    static let xmp = Array(
        """
        <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></x:xmpmeta>
        """.utf8)

    /// The depth range of an iPhone: an SEI message with its length, twice.
    static let depthRange: [UInt8] = [
        0, 0, 0, 0x11, 0, 0, 0, 0x0D, 0x4E, 1, 0xB1, 9, 0x35, 0x1F, 0x7B, 0xFC, 1, 0x0B, 0xC6, 0x20, 0x20,
    ]

    @Test("A range of disparities is written as an iPhone writes it")
    func depthRangeIsThatOfAnIPhone() throws {
        #expect(DepthRange(min: 1.498047, max: 4.382812)?.subtype == Self.depthRange)
        for (low, high) in [(2.0, 1.0), (1, 1), (-1, 1), (0, 1001), (.nan, 1), (0, .infinity)] {
            #expect(DepthRange(min: low, max: high) == nil)
        }
        let xmp = String(decoding: try #require(DepthRange(min: 0, max: 0.5)).xmp, as: UTF8.self)
        #expect(xmp.contains("<apdi:FloatMaxValue>0.5</apdi:FloatMaxValue>"), "\(xmp)")
    }

    static func make(_ kind: Kind) throws -> WrittenFile {
        var options = CodedPicture.Options()
        switch kind {
        case .single: return WrittenFile([try CodedPicture(options)])
        case .oddSingle:
            (options.width, options.height, options.tile) = (641, 481, (642, 482))
            return WrittenFile([try CodedPicture(options)])
        case .pq:
            options.format = "yuv420p10le"
            options.colors = ("bt2020", "smpte2084", "bt2020nc")
            options.codePoints = (9, 16, 9)
            var coded = try CodedPicture(options)
            coded.picture.light = [Box("clli", [3, 232, 1, 144])]
            return WrittenFile([coded])
        case .displayP3:
            options.colors.primaries = "smpte432"
            options.codePoints = (12, 13, 6)
            var file = WrittenFile([try CodedPicture(options)])
            try file.add(.alpha, .gray(options))
            return file
        case .depthAndGainMap:
            var file = WrittenFile([try CodedPicture(options)])
            file.xmp = xmp
            try file.add(.depth, .gray(options)) { ($0.subtype, $0.hasXMP) = (depthRange, true) }
            options.tile = (64, 64)
            try file.add(.gainMap, .gray(options)) { $0.hasXMP = true }
            return file
        case .burst:
            return WrittenFile(
                try (0..<3).map {
                    options.time = $0
                    return try CodedPicture(options)
                })
        case .oddGrid, .premultiplied, .mirrored: return try grid(kind, options)
        }
    }

    private static func grid(_ kind: Kind, _ start: CodedPicture.Options) throws -> WrittenFile {
        var options = start
        (options.width, options.height, options.columns, options.rows) = (301, 211, 3, 2)
        var coded = try CodedPicture(options)
        let exif: UInt8 = kind == .oddGrid ? 6 : kind == .mirrored ? 5 : 1
        coded.picture.orientation = Orientation(exif: Int(exif))
        var file = WrittenFile([coded])
        var small = CodedPicture.Options()
        small.tile = (128, 90)
        file.setThumbnail(try CodedPicture(small))
        (file.exif, file.still.hasExif) = (ExifItem.bytes(tiff: tiff(orientation: exif)), true)
        (file.xmp, file.still.hasXMP) = (xmp, true)
        try file.add(.alpha, .gray(options)) { $0.isPremultiplied = kind == .premultiplied }
        return file
    }

    @Test("A written file is read again as it was described", arguments: Kind.allCases)
    func readsWhatItWrites(_ kind: Kind) throws {
        let written = try Self.make(kind)
        let bytes = try written.bytes()
        #expect(try written.bytes() == bytes)
        let source = MemorySource(bytes)
        let file = try HEIFFile(source)
        #expect(file.topLevelTypes == ["ftyp", "meta", "mdat"] && file.remarks.isEmpty)
        let id = try #require(file.primary)
        let (picture, first) = (try file.picture(id), written.pictures[0])
        #expect(picture.width == first.picture.width && picture.height == first.picture.height)
        #expect(picture.orientation == first.picture.orientation)
        #expect(picture.colors == first.picture.colors && picture.light == first.picture.light)
        let plan = try file.plan(id, from: source)
        #expect(plan.items.count == first.tiles.count)
        for (item, tile) in zip(plan.items.sorted(), first.tiles) {
            #expect(try file.data(of: item, from: source, limit: 1 << 20) == tile)
            #expect(try file.picture(item).hevc == first.picture.configuration)
        }
        #expect(
            file.auxiliaries(of: id).map(\.kind) == written.still.auxiliaries.map { AuxiliaryKind(urn: $0.urn) })
        #expect(file.auxiliaries(of: id).map(\.subtype) == written.still.auxiliaries.map(\.subtype))
        #expect(
            try file.alpha(of: id)?.isPremultiplied
                == (written.still.auxiliaries.first.flatMap {
                    AuxiliaryKind(urn: $0.urn) == .alpha ? $0.isPremultiplied : nil
                }))
        #expect(file.thumbnails(of: id).count == (written.thumbnail == nil ? 0 : 1))
        if written.still.hasExif {
            let exif = try #require(file.metadata(of: id).first { $0.kind == .exif })
            #expect(try file.exif(exif.id, from: source) == written.exif.suffix(26))
        }
        #expect(file.groups.map(\.type) == (written.pictures.count > 1 ? ["brst"] : []))
        #expect(file.groups.allSatisfy { $0.entities == file.shownPictures })
    }

    @Test("A written file passes an independent check", .needsChecker, arguments: Kind.allCases)
    func passesTheChecker(_ kind: Kind) throws {
        let scratch = try Scratch()
        let path = scratch.file("out.heic")
        try Data(Self.make(kind).bytes()).write(to: URL(filePath: path))
        var arguments = ["python3", try #require(Clips.checker), path, "--strict"]
        switch kind {
        case .oddGrid, .mirrored, .premultiplied:
            arguments += ["--expect-grid", "2x3", "--expect-tile", "128", "--expect-exif", "--expect-thumb"]
            arguments += ["--expect-alpha", kind == .premultiplied ? "premultiplied" : "straight"]
        case .displayP3: arguments += ["--expect-alpha", "straight"]
        case .depthAndGainMap: arguments += ["--expect-depth"]
        case .oddSingle: arguments += ["--expect-grid", "1x1"]
        default: break
        }
        try run(arguments)
    }

    @Test("libheif shows the coded pictures", .needsLibHEIF, arguments: Kind.allCases)
    func libHEIFReadsIt(_ kind: Kind) throws {
        let scratch = try Scratch()
        let path = scratch.file("in.heic")
        let written = try Self.make(kind)
        let bytes = try written.bytes()
        try Data(bytes).write(to: URL(filePath: path))
        let source = MemorySource(bytes)
        let file = try HEIFFile(source)
        let info = try run("heif-info", path)
        for id in file.shownPictures {
            let picture = try file.picture(id)
            #expect(info.contains("image: \(picture.shownWidth)x\(picture.shownHeight) (id=\(id))"), "\(info)")
        }
        #expect(info.contains("thumbnail: ") == (written.thumbnail != nil))
        try run("heif-convert", path, scratch.file("out.y4m"))
        let outputs = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
            .filter { $0.hasPrefix("out") && $0.hasSuffix(".y4m") }.sorted()
        let theirs = try Plane(y4m: scratch.file(try #require(outputs.first { !$0.contains("depth") })))
        let plan = try file.plan(try #require(file.primary), from: source)
        let ours = try PlanDecoder(file: file, source: source).luma(plan)
        // heif-convert 1.15 writes the matrix of BT.601, and goes through RGB: colors outside of it are clipped.
        if kind != .pq { #expect(ours.difference(from: theirs, tolerance: 0) < 0.02) }
    }

    @Test("irot and imir are those that readers expect for Exif's orientations")
    func orientations() throws {
        // ISO/IEC 23008-12 6.5.10, 6.5.12 against the TIFF tag 0x0112.
        let expected: [Int: [[UInt8]]] = [
            1: [], 2: [[1]], 3: [[2]], 4: [[0]], 5: [[1], [0]], 6: [[3]], 7: [[1], [1]], 8: [[1]],
        ]
        let coded = try CodedPicture(.init())
        for (exif, bodies) in expected {
            var picture = coded.picture
            picture.orientation = Orientation(exif: exif)
            let layout = try StillLayout(StillFile([picture]))
            let file = try HEIFFile(MemorySource(layout.file(coded.tiles)))
            let properties = file.properties(of: file.items[0]).map(\.property)
            let boxes = try properties.filter { ["irot", "imir"].contains($0.type) }.map { try $0.box().fields }
            #expect(boxes == bodies, "Exif \(exif)")
            #expect(try file.picture(1).orientation == picture.orientation)
        }
    }

    @Test(
        "Coded stills have the profile that cameras state",
        arguments: ["yuv420p", "yuv420p10le", "gray", "gray10le"])
    func relabelledSets(_ format: String) throws {
        var options = CodedPicture.Options()
        (options.format, options.tile) = (format, (512, 512))
        let record = try CodedPicture(options).picture.configuration
        // general_profile_space to general_constraint_indicator_flags, as iPhones and Sony's cameras write them.
        let expected: [String: [UInt8]] = [
            "yuv420p": [3, 0x70, 0, 0, 0, 0xB0, 0, 0, 0, 0, 0],
            "yuv420p10le": [2, 0x20, 0, 0, 0, 0xB0, 0x10, 0, 0, 0, 0],
            "gray": [4, 8, 0, 0, 0, 0xBF, 0xC8, 0, 0, 0, 0], "gray10le": [4, 8, 0, 0, 0, 0xBD, 0xC8, 0, 0, 0, 0],
        ]
        // Level 3 suffices for 512x512.
        #expect(try Array(record.bytes()[1..<13]) == expected[format].map { $0 + [90] })
        #expect(record.arrays.map(\.nalUnitType) == [.vps, .sps, .pps])
        #expect(record.arrays.allSatisfy { $0.arrayCompleteness && $0.nalUnits.count == 1 })
        let sps = try SequenceParameterSet(nal: record.arrays[1].nalUnits[0])
        let vps = try VideoParameterSet(nal: record.arrays[0].nalUnits[0])
        #expect(sps.profileTierLevel == vps.profileTierLevel && sps.profileTierLevel.general == record.profile)
        #expect(
            sps.orderingInfo.subLayers == [SubLayerOrdering()] && vps.orderingInfo.subLayers == [SubLayerOrdering()]
        )
        #expect(try record.relabelledAsStill() == record)
    }

    @Test func largeFilesHaveLargeOffsets() throws {
        var file = try Self.make(.single)
        let small = try file.bytes()
        file.still.usesLargeOffsets = true
        let layout = try StillLayout(file.still)
        let source = MemorySource(try layout.file(file.data(layout)))
        #expect(source.length == UInt64(small.count + 16))
        let read = try HEIFFile(source)
        #expect(try read.data(of: 1, from: source, limit: 1 << 20) == file.pictures[0].tiles[0])
        file.still.usesLargeOffsets = false
        expectFault(.limit, "more than 4 GiB") { try StillLayout(file.still).head(sizes: [1 << 32]) }
        expectFault(.malformed, "1 parts") { try StillLayout(file.still).head(sizes: [0]) }
    }

    @Test func aGigapixelGridIsWrittenAndAPartOfItPlanned() throws {
        var options = CodedPicture.Options()
        options.tile = (512, 512)
        var coded = try CodedPicture(options)
        (coded.picture.width, coded.picture.height) = (91000, 32000)
        let layout = try StillLayout(StillFile([coded.picture]))
        #expect(layout.parts.count == 11214)
        let head = try layout.head(sizes: layout.parts.map { _ in UInt64(coded.tiles[0].count) })
        #expect(head.count == layout.headSize && head.count < 64 * 11214)
        // The data are not there; the head alone states the structure.
        let source = SparseSource(head: head, length: UInt64(head.count + 11214 * coded.tiles[0].count))
        let file = try HEIFFile(source)
        let region = PixelRect(x: 45000, y: 16000, width: 1000, height: 1000)
        let plan = try file.plan(try #require(file.primary), region: region, from: source)
        #expect(plan.items.count == 9 && plan.steps.count == 9)
        expectFault(.limit, "at once") { try file.plan(try #require(file.primary), from: source) }
        (coded.picture.width, coded.picture.height) = (512 * 256, 512 * 256)
        expectFault(.limit, "256x256 tiles") { try StillLayout(StillFile([coded.picture])) }
    }

    @Test func manyItemsHaveWideNumbers() throws {
        var options = CodedPicture.Options()
        options.tile = (64, 64)
        var coded = try CodedPicture(options)
        (coded.picture.width, coded.picture.height) = (64 * 256, 64 * 130)
        let layout = try StillLayout(StillFile([coded.picture, coded.picture]))
        let head = try layout.head(sizes: layout.parts.map { _ in 1 })
        let file = try HEIFFile(SparseSource(head: head, length: UInt64(head.count + layout.parts.count)))
        #expect(file.items.count == 2 * (256 * 130 + 1) && file.items.last?.id == 66_562)
        let source = SparseSource(head: head, length: UInt64(head.count + layout.parts.count))
        #expect(try file.plan(66_562, from: source).items.last == 66_561)
    }
}

/// A file whose data are zeros.
struct SparseSource: ByteSource {
    var head: [UInt8]
    var length: UInt64

    func read(_ range: Range<UInt64>) throws(HEIFError) -> [UInt8] {
        range.map { $0 < head.count ? head[Int($0)] : 0 }
    }
}
