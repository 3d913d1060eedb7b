// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWDHEIF
import Testing

/// Numbers that are the same in every run.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}

@Suite struct MutationTests {
    /// Reads everything that a file has; returns the number of pictures that could be planned.
    static func visit(_ source: MemorySource) throws -> Int {
        let file = try HEIFFile(source)
        var planned = 0
        for id in file.shownPictures.prefix(8) {
            _ = (file.thumbnails(of: id).count, file.auxiliaries(of: id).count, try? file.alpha(of: id)?.urn)
            for item in file.metadata(of: id).prefix(8) { _ = try? file.exif(item.id, from: source) }
            guard let picture = try? file.picture(id) else { continue }
            let region = PixelRect(
                x: picture.shownWidth / 2, y: picture.shownHeight / 2, width: (picture.shownWidth + 1) / 2,
                height: (picture.shownHeight + 1) / 2)
            for part in [nil, region] {
                guard let plan = try? file.plan(id, region: part, from: source) else { continue }
                #expect(plan.steps.count <= HEIFLimits.tiles && plan.width * plan.height <= HEIFLimits.pixels)
                let canvas = PixelRect(width: plan.width, height: plan.height)
                for case .copy(let copy) in plan.steps.prefix(1000) {
                    #expect(copy.destination.intersection(canvas) == copy.destination)
                    #expect(copy.source.x >= 0 && copy.source.y >= 0)
                }
                planned += 1
            }
        }
        return planned
    }

    /// A grid with alpha and a thumbnail, an overlay and an identity, all of pictures that are not HEVC.
    static var crafted: [UInt8] {
        var file = CraftedFile()
        file.properties = [
            CraftedFile.size(64, 64), CraftedFile.size(150, 100), Box("irot", [1]), Box("imir", [1]),
            Box("auxC", [0, 0, 0, 0] + Array("urn:mpeg:hevc:2015:auxid:1".utf8) + [0]),
            Box("pixi", [0, 0, 0, 0, 3, 8, 8, 8]), Box("colr", Array("nclx".utf8) + [0, 1, 0, 13, 0, 6, 0x80]),
        ]
        file.entries = (1...6).map { .init(id: $0, properties: [0x81, 6, 7], data: [1, 2, 3]) }
        file.entries.append(
            .init(
                id: 10, type: "grid", properties: [2, 0x83, 0x84],
                data: CraftedFile.grid(rows: 2, columns: 3, 150, 100)))
        file.entries.append(.init(id: 11, type: "iden", properties: [2], data: nil))
        file.entries.append(.init(id: 12, properties: [2, 5]))
        let overlay: [UInt8] = [0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 150, 0, 100, 0xFF, 0xF0, 0, 5, 0, 60, 0, 50]
        file.entries.append(.init(id: 13, type: "iovl", properties: [2], data: overlay))
        file.references = [
            ("dimg", 10, [1, 2, 3, 4, 5, 6]), ("dimg", 11, [13]), ("auxl", 12, [10]), ("thmb", 1, [10]),
            ("dimg", 13, [2, 3]),
        ]
        file.primary = 10
        return file.bytes
    }

    @Test func theCraftedFileIsRead() throws {
        let source = MemorySource(Self.crafted)
        #expect(try Self.visit(source) == 4)
        let file = try HEIFFile(source)
        #expect(try file.picture(10).shownWidth == 100 && file.alpha(of: 10) != nil)
    }

    @Test func mutatedFilesNeitherTrapNorExceedLimits() throws {
        let seeds = [Self.crafted, [UInt8](try Data(contentsOf: URL(filePath: Clips.still)))]
        var random = SplitMix(state: 22)
        var outcomes: [HEIFError.Code: Int] = [:]
        var read = 0
        for round in 0..<5000 {
            var bytes = seeds[round % seeds.count]
            // The structure is in the first bytes.
            let end = min(bytes.count, 1200)
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: 0..<end, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 1: bytes[place] = [0, 1, 127, 128, 255].randomElement(using: &random) ?? 0
                case 2: bytes[place] = .random(in: 0...255, using: &random)
                default: bytes.swapAt(place, Int.random(in: 0..<end, using: &random))
                }
            }
            if round % 10 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
            do { read += try Self.visit(MemorySource(bytes)) } catch let error as HEIFError {
                outcomes[error.code, default: 0] += 1
            }
        }
        // Mutations reach both what is refused and what is read.
        #expect(read > 500 && outcomes.values.reduce(0, +) > 500, "\(read) \(outcomes)")
    }
}
