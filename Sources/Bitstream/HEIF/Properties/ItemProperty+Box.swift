// SPDX-License-Identifier: MIT
public import HWDBoxes
internal import HWDHEVC

extension ItemProperty {
    /// The property's box.
    /// - Throws: `malformed` for an `hvcC` record whose values do not fit their fields, and for a damaged property.
    public func box() throws(HEIFError) -> Box {
        switch self {
        case .size(let width, let height): full([width, height])
        case .bitDepths(let bits):
            Box("pixi", [0, 0, 0, 0, UInt8(truncatingIfNeeded: bits.count)] + bits.map(UInt8.init))
        case .color(let color): Box("colr", color.bytes)
        case .hevc(let record): Box("hvcC", try Self.bytes(record))
        case .rotation(let turns): Box("irot", [UInt8(turns & 3)])
        case .mirror(let isLeftRight): Box("imir", [isLeftRight ? 1 : 0])
        case .cleanAperture(let aperture): aperture.box
        case .pixelAspectRatio(let horizontal, let vertical):
            Box("pasp", Array(full([horizontal, vertical]).fields.dropFirst(4)))
        case .auxiliary(let urn, let subtype): Box("auxC", [0, 0, 0, 0] + Self.text(urn) + subtype)
        case .relativeLocation(let x, let y): full([x, y])
        case .layer(let layer): Box("lsel", [UInt8(layer >> 8 & 255), UInt8(layer & 255)])
        case .userDescription(let texts):
            Box(
                "udes",
                [0, 0, 0, 0] + [texts.language, texts.name, texts.description, texts.tags].flatMap(Self.text))
        case .alternativeText(let text, let language):
            Box("altt", [0, 0, 0, 0] + Self.text(text) + Self.text(language))
        case .requiredReferences(let types):
            Box(
                "rref",
                [0, 0, 0, 0, UInt8(truncatingIfNeeded: types.count)]
                    + full(types.map { Int($0.rawValue) }).fields.dropFirst(4))
        case .codec(let type, let bytes), .light(let type, let bytes), .unknown(let type, let bytes):
            Box(type, bytes)
        case .damaged(let type, let reason):
            throw HEIFError(.malformed, "the property \"\(type)\" cannot be written: \(reason)")
        }
    }

    /// A full box of 32-bit numbers.
    private func full(_ numbers: [Int]) -> Box {
        var bytes: [UInt8] = [0, 0, 0, 0]
        for number in numbers { bytes.appendBigEndian(UInt32(truncatingIfNeeded: number)) }
        return Box(type, bytes)
    }

    private static func text(_ text: String) -> [UInt8] { text.utf8.filter { $0 != 0 } + [0] }

    private static func bytes(_ record: DecoderConfigurationRecord) throws(HEIFError) -> [UInt8] {
        do throws(BitstreamError) { return try record.bytes() } catch {
            throw HEIFError(.malformed, "the hvcC record cannot be written: \(error.reason)")
        }
    }
}
