// SPDX-License-Identifier: GPL-2.0-or-later
import HWDBoxes
import HWDHEIF
import HWDModel
import Testing

/// What the configurations of coded pictures say of their samples; ffmpeg 5.1's encoders made them, and ffprobe names them.
@Suite struct SignalTests {
    private func signal(_ type: String, _ box: String, _ hex: String, data: String = "") throws -> CodedSignal? {
        func bytes(_ text: String) -> [UInt8] {
            let digits = Array(text.utf8).map { UInt8($0 <= 57 ? $0 - 48 : $0 - 87) }
            return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        }
        var file = CraftedFile()
        file.properties = [CraftedFile.size(64, 64), Box(FourCC(stringLiteral: box), bytes(hex))]
        file.entries = [.init(id: 1, type: FourCC(stringLiteral: type), properties: [1, 0x82])]
        let picture = try HEIFFile(MemorySource(file.bytes)).picture(1)
        #expect(type == "av01" || !picture.needsDataForSignal)
        #expect(type != "av01" || hex.count > 8 || picture.needsDataForSignal)
        return picture.signal(data: bytes(data))
    }

    @Test(arguments: [
        ("81080c000a0a181dffefda2020202080", ColorDescription(primaries: 1, transfer: 1, matrix: 1), 8, 1),
        (
            "812040000a0d20000002afff9b5f2c24402640",
            ColorDescription(primaries: 9, transfer: 16, matrix: 9, isFullRange: true), 10, 3
        ),
        ("814068000a0d40000002afff9b5f2d02020144", ColorDescription(matrix: 1), 12, 2),
        ("81001c000a0a00000002afff9b5f2540", ColorDescription(isFullRange: true), 8, 0),
        ("81000c000a0618157ffda008", ColorDescription(), 8, 1),
    ])
    func sequenceHeadersOfAV1(_ hex: String, _ color: ColorDescription, _ depth: Int, _ format: Int) throws {
        var found = try #require(try signal("av01", "av1C", hex))
        #expect(found.color == color && found.bitDepth == depth && found.chromaFormat == format)
        // Files exist whose record has none: it is in the item.
        found = try #require(try signal("av01", "av1C", String(hex.prefix(8)), data: String(hex.dropFirst(8))))
        #expect(found.color == color && found.bitDepth == depth && found.chromaFormat == format)
        let alone = try #require(try signal("av01", "av1C", String(hex.prefix(8))))
        #expect(alone.bitDepth == depth && alone.chromaFormat == format && !alone.color.isSpecified)
        // One that is cut off says nothing.
        for count in stride(from: 10, to: hex.count - 4, by: 2) {
            _ = try signal("av01", "av1C", String(hex.prefix(count)))
        }
    }

    @Test func identityOfAV1() throws {
        let found = try #require(try signal("av01", "av1C", "812000000a0d20000002afff9b5f2404340080"))
        #expect(found.color.matrix == 0 && found.color.isFullRange && found.chromaFormat == 3)
    }

    @Test func parameterSetsOfAVC() throws {
        let hex =
            "016e000affe1001c676e000aa6cd94426c05b808080a000003000200000300041e244b2c01000668ebe3cb22c0fdfafa00"
        let found = try #require(try signal("avc1", "avcC", hex))
        #expect(found.color == ColorDescription(primaries: 1, transfer: 1, matrix: 1, isFullRange: true))
        #expect(found.bitDepth == 10 && found.chromaFormat == 1)
        for count in stride(from: 2, to: 60, by: 2) { _ = try signal("avc1", "avcC", String(hex.prefix(count))) }
    }

    /// A picture with alpha in an overlay is blended; one without is copied.
    @Test func overlaysHaveAlpha() throws {
        var file = CraftedFile()
        file.properties = [
            CraftedFile.size(64, 64), Box("auxC", [0, 0, 0, 0] + Array("urn:mpeg:hevc:2015:auxid:1".utf8) + [0]),
        ]
        let body: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 64, 0, 0, 0, 0, 0, 16, 0, 32]
        file.entries = [
            .init(id: 1, properties: [1]), .init(id: 2, properties: [1]), .init(id: 3, properties: [1, 2]),
            .init(id: 4, type: "iovl", properties: [1], data: body),
        ]
        file.references = [("auxl", 3, [2]), ("dimg", 4, [1, 2]), ("prem", 2, [3])]
        file.primary = 4
        let source = MemorySource(file.bytes)
        let plan = try HEIFFile(source).plan(4, from: source)
        #expect(plan.steps.count == 3 && plan.items == [1])
        func blend(_ step: DecodePlan.Step) -> DecodePlan.Blend? {
            if case .blend(let blend) = step { blend } else { nil }
        }
        let blended = try #require(blend(plan.steps[2]))
        #expect(blended.isPremultiplied && blended.copy.item == 2)
        #expect(blended.copy.source == PixelRect(width: 48, height: 32))
        #expect(blended.copy.destination == PixelRect(x: 16, y: 32, width: 48, height: 32))
        let part = try HEIFFile(source)
            .plan(4, region: PixelRect(x: 20, y: 40, width: 10, height: 10), from: source)
        #expect(blend(part.steps[2])?.copy.source == PixelRect(x: 4, y: 8, width: 10, height: 10))
    }

    @Test func listsOfItemsHaveVersion2() throws {
        var file = CraftedFile()
        file.properties = [CraftedFile.size(64, 64)]
        file.entries = [.init(id: 1, properties: [1])]
        var bytes = file.bytes
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("iinf".utf8)) })
        #expect(bytes[place + 4] == 1)
        bytes[place + 4] = 2
        #expect(try HEIFFile(MemorySource(bytes)).picture(1).width == 64)
    }
}
