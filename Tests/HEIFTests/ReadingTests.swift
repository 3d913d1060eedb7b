// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWDHEIF
import Testing

/// What a file has, as heif-info and heif-convert of libheif 1.15.1 and exiftool 12.57 state it; what they leave out (the
/// items of C008, tiles, hidden items, groups) is from check_heic.py.
struct ExpectedFile: Sendable, CustomTestStringConvertible {
    var name: String
    var brand: FourCC
    var primary: UInt32
    /// The size of the primary picture as it is shown.
    var size: [Int]
    /// Sizes of other pictures that are shown, by id.
    var others: [UInt32: [Int]] = [:]
    var items: Int
    /// Coded pictures that the primary one is made of.
    var tiles = 1
    var thumbnail: [Int]?
    var alpha: UInt32?
    var exif: Int?
    var hasXMP = false
    var bits = 8

    var testDescription: String { name }

    static let all = [
        ExpectedFile(
            name: "heic/C006_alpha.heic", brand: "mif1", primary: 1002, size: [1280, 720], items: 2, alpha: 1005),
        ExpectedFile(
            name: "heic/C008_iden_irot.heic", brand: "mif1", primary: 1006, size: [720, 1280],
            others: [1002: [1280, 720]], items: 3),
        ExpectedFile(
            name: "heic/C013_clap.heic", brand: "mif1", primary: 1002, size: [300, 300],
            others: [1005: [300, 300]], items: 2),
        ExpectedFile(
            name: "heic/C018_overlay.heic", brand: "mif1", primary: 1002, size: [640, 360],
            others: [1006: [1440, 960]], items: 3),
        ExpectedFile(
            name: "heic/C025_grid_small.heic", brand: "mif1", primary: 1002, size: [128, 72],
            others: [
                1014: [128, 72], 1016: [128, 72], 1018: [128, 72], 1020: [128, 72], 1021: [384, 144],
            ], items: 11),
        ExpectedFile(
            name: "heic/C034_exif_no_offset.heic", brand: "mif1", primary: 1002, size: [1280, 720], items: 2,
            exif: 176),
        ExpectedFile(
            name: "heic/empty_icc_odd_grid.heic", brand: "heic", primary: 2, size: [1025, 900],
            others: [5: [932, 1044]], items: 8, exif: 2344, hasXMP: true),
        ExpectedFile(
            name: "heic/motion_photo_mpvd.heic", brand: "heic", primary: 1, size: [1080, 1920], items: 3, exif: 120,
            hasXMP: true),
        ExpectedFile(
            name: "heic/multilayer003_stereo.heic", brand: "mif1", primary: 1002, size: [1024, 512],
            others: [1004: [1024, 512]], items: 2),
        ExpectedFile(
            name: "heic/multilayer005_lhv1.heic", brand: "heis", primary: 20003, size: [512, 256],
            others: [20004: [512, 256]], items: 2),
        ExpectedFile(
            name: "heic/rgba10_29x100.heif", brand: "heic", primary: 2, size: [29, 100], items: 4, alpha: 4,
            bits: 10),
        ExpectedFile(
            name: "still_3images.heic", brand: "heic", primary: 6, size: [64, 64],
            others: [1: [64, 64], 9: [96, 64]], items: 9, thumbnail: [32, 32]),
        ExpectedFile(
            name: "still_androidx.heic", brand: "heic", primary: 1, size: [1080, 1920], items: 2, exif: 120),
        ExpectedFile(
            name: "still_arrow.heic", brand: "heic", primary: 49, size: [3024, 4032], items: 51, tiles: 48,
            thumbnail: [240, 320], exif: 1720),
        ExpectedFile(
            name: "still_exif_xmp.heic", brand: "heic", primary: 1, size: [64, 64], items: 4, exif: 40950,
            hasXMP: true),
    ]
}

@Suite struct ReadingTests {
    @Test(
        "Items, sizes and relations are those that other readers state", .needsMediaSet, arguments: ExpectedFile.all
    )
    func readsWhatOthersRead(_ expected: ExpectedFile) throws {
        let source = try Clips.source(Clips.path(expected.name))
        let file = try HEIFFile(source)
        #expect(file.majorBrand == expected.brand)
        #expect(file.primary == expected.primary)
        #expect(file.items.count == expected.items)
        #expect(file.remarks.isEmpty)
        let picture = try file.picture(expected.primary)
        #expect([picture.shownWidth, picture.shownHeight] == expected.size)
        let others = try file.shownPictures.dropFirst().map { try file.picture($0) }
        #expect(
            Dictionary(uniqueKeysWithValues: others.map { ($0.item.id, [$0.shownWidth, $0.shownHeight]) })
                == expected.others)
        let plan = try file.plan(expected.primary, from: source)
        #expect([plan.width, plan.height] == expected.size && plan.items.count == expected.tiles)
        let depths = try plan.items.map { try #require(try file.picture($0).bitDepths?.first) }
        #expect(depths.allSatisfy { $0 == expected.bits })
        let thumbnail = file.thumbnails(of: expected.primary).last
        #expect(thumbnail.map { [$0.shownWidth, $0.shownHeight] } == expected.thumbnail)
        #expect(try file.alpha(of: expected.primary)?.picture.item.id == expected.alpha)
        let metadata = file.metadata(of: expected.primary)
        let exif = try metadata.first { $0.kind == .exif }.map { try file.exif($0.id, from: source) }
        #expect(exif?.count == expected.exif)
        let xmp = try metadata.first { $0.kind == .xmp }.map { try file.xmp($0.id, from: source) }
        #expect((xmp != nil) == expected.hasXMP)
        if let xmp { #expect(String(decoding: xmp, as: UTF8.self).contains("rdf:RDF")) }
    }

    /// Files and items that heif-convert 1.15.1 writes as YUV, with its number of the item.
    static let converted: [(name: String, item: UInt32, number: Int)] = [
        ("heic/C006_alpha.heic", 1002, 1), ("heic/C013_clap.heic", 1005, 2),
        ("heic/C025_grid_small.heic", 1021, 11),
        ("heic/empty_icc_odd_grid.heic", 2, 1), ("heic/motion_photo_mpvd.heic", 1, 1),
        ("heic/multilayer003_stereo.heic", 1004, 2), ("still_androidx.heic", 1, 1), ("still_arrow.heic", 49, 1),
    ]

    @Test("A plan puts the same samples together as libheif", .needsMediaSet, .needsLibHEIF, arguments: converted)
    func plansGiveLibHEIFsPictures(_ name: String, _ item: UInt32, _ number: Int) throws {
        let path = try Clips.path(name)
        let source = try Clips.source(path)
        let file = try HEIFFile(source)
        let scratch = try Scratch()
        try run("heif-convert", path, scratch.file("out.y4m"))
        let outputs = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
        let output = outputs.count == 1 ? "out.y4m" : "out-\(number).y4m"
        let theirs = try Plane(y4m: scratch.file(output))
        let decoder = PlanDecoder(file: file, source: source)
        let whole = try file.plan(item, from: source)
        #expect(whole.width == theirs.width && whole.height == theirs.height)
        let side = 64
        let (right, bottom) = (theirs.width - side, theirs.height - side)
        for (x, y) in [(0, 0), (right, 0), (0, bottom), (right, bottom), (right / 2, bottom / 2)] {
            let region = PixelRect(x: x, y: y, width: side, height: side)
            let plan = try file.plan(item, region: region, from: source)
            #expect(plan.items.count <= 4)
            let (ours, expected) = (try decoder.luma(plan), theirs.part(region))
            // heif-convert writes full range, whatever the stream has.
            let differences = [
                ours.difference(from: expected, tolerance: 0),
                ours.difference(from: expected, tolerance: 3) { min(max(($0 - 16) * 255 / 219, 0), 255) },
            ]
            #expect(differences.contains { $0 < 0.01 }, "\(x), \(y): \(differences)")
        }
    }

    @Test(.needsMediaSet) func overlaysPaintTheirInputsInOrder() throws {
        let source = try Clips.source(Clips.path("heic/C018_overlay.heic"))
        let plan = try HEIFFile(source).plan(1006, from: source)
        func copy(_ item: UInt32, x: Int, y: Int) -> DecodePlan.Step {
            .copy(
                DecodePlan.Copy(
                    item: item, source: PixelRect(width: 640, height: 360), orientation: .upright,
                    destination: PixelRect(x: x, y: y, width: 640, height: 360)))
        }
        #expect(
            plan.steps == [
                .fill(PixelRect(width: 1440, height: 960), [0, 0, 0, 0]), copy(1005, x: 0, y: 0),
                copy(1002, x: 640, y: 360),
            ])
    }

    @Test(.needsMediaSet) func aGridNeedsOnlyTheTilesOfARegion() throws {
        let source = try Clips.source(Clips.path("heic/C025_grid_small.heic"))
        let file = try HEIFFile(source)
        #expect(try file.plan(1021, from: source).items == [1002, 1004, 1006, 1008, 1010, 1012])
        let region = PixelRect(x: 127, y: 71, width: 2, height: 2)
        #expect(try file.plan(1021, region: region, from: source).items == [1002, 1004, 1008, 1010])
        let corner = PixelRect(x: 256, y: 72, width: 128, height: 72)
        #expect(try file.plan(1021, region: corner, from: source).items == [1012])
        #expect(throws: HEIFError.self) {
            try file.plan(1021, region: PixelRect(x: 256, y: 72, width: 129, height: 72), from: source)
        }
    }

    @Test(.needsMediaSet) func readsGroupsAndSequences() throws {
        let stereo = try HEIFFile(Clips.source(Clips.path("heic/multilayer003_stereo.heic")))
        #expect(stereo.groups == [EntityGroup(type: "ster", id: 1005, entities: [1002, 1004])])
        #expect(stereo.groups(of: 1004).count == 1 && stereo.groups(of: 1005).isEmpty)
        let file = try HEIFFile(Clips.source(Clips.path("heic/C041_sequence_edit.heic")))
        #expect(file.primary == nil && file.items.isEmpty)
        let track = try #require(file.sequence?.tracks.first)
        // ffprobe: 9 packets of 1920x1080, time base 1/1000.
        #expect(track.samples.count == 9 && track.timeScale == 1000 && track.isIntraOnly == true)
        #expect([track.width, track.height] == [1920, 1080] && track.handler == "pict" && track.hevc != nil)
        #expect(track.edits == 1 && file.sequence?.tracks.count == 1)
    }

    @Test func theCommittedPictureIsRead() throws {
        let source = try Clips.source(Clips.still)
        let file = try HEIFFile(source)
        let plan = try file.plan(try #require(file.primary), from: source)
        #expect([plan.width, plan.height] == [1080, 1920] && plan.steps.count == 1)
        #expect(file.metadata(of: 1).map(\.kind) == [.exif])
    }

    /// Grids of two tiles have two inputs, too.
    @Test func toneMapsAreFoundByTheirPicture() throws {
        var crafted = CraftedFile()
        crafted.properties = [CraftedFile.size(64, 64), CraftedFile.size(128, 64)]
        crafted.entries = [
            .init(id: 1, properties: [1]), .init(id: 2, properties: [1]),
            .init(id: 3, type: "tmap", properties: [1], data: [UInt8](repeating: 0, count: 62)),
            .init(
                id: 4, type: "grid", properties: [2], data: CraftedFile.grid(rows: 1, columns: 2, 128, 64)),
        ]
        crafted.references = [("dimg", 3, [1, 2]), ("dimg", 4, [1, 1])]
        let file = try crafted.open().file
        let found = file.toneMaps(of: 1)
        #expect(found.map(\.item) == [3] && found.map(\.gainMap) == [2])
        #expect(file.toneMaps(of: 2).isEmpty)
    }
}
