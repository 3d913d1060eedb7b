// SPDX-License-Identifier: MIT
internal import HWDBoxes
internal import HWDHEIF
internal import HWDHEVC
internal import HWDModel

/// The plan of a picture or a part of it, with the colors by which its pieces are read.
struct StillSheet {
    let plan: DecodePlan
    let picture: PictureDescription
    /// The part of the shown picture.
    let region: PixelRect
    /// The color of the result.
    let color: PictureColor
    /// The color of most pieces: in an overlay that of the first, for `colr` of an overlay describes the result.
    private let common: PictureColor
    /// The colors of pieces that are coded in another way.
    private let others: [UInt32: PictureColor]

    /// - Parameter part: nil for all of the picture.
    init(_ id: UInt32, part: PixelRect?, in input: StillInput) throws(ImageError) {
        let (file, source) = (input.file, input.source)
        (plan, picture) = try input.naming { () throws(HEIFError) in
            (try file.plan(id, region: part, from: source), try file.picture(id))
        }
        region = part ?? PixelRect(width: plan.width, height: plan.height)
        let coded = file.firstCoded(of: picture)
        color = try input.color(of: picture, coded: coded)
        let isOverlay = plan.steps.contains { if case .fill = $0 { true } else { false } }
        var common = color
        if isOverlay, let coded { common = try input.color(of: coded, coded: coded) }
        self.common = common
        var others: [UInt32: PictureColor] = [:]
        for item in plan.items where item != coded?.item.id {
            let piece = try input.naming { () throws(HEIFError) in try file.picture(item) }
            guard let coded, !piece.isCoded(like: coded) else { continue }
            others[item] = try input.color(of: isOverlay ? piece : picture, coded: piece)
        }
        self.others = others
    }

    /// The color by which a coded piece is read.
    func color(of item: UInt32) -> PictureColor { others[item] ?? common }

    /// Whether 4:2:0 of one color cannot hold it: it has pictures with alpha, several colors, or a matrix without weights.
    var needsRGB: Bool {
        let hasAlpha = plan.steps.contains { if case .blend = $0 { true } else { false } }
        return hasAlpha || !color.isWeighted || !common.readsLike(color)
            || others.values.contains { !$0.readsLike(color) }
    }

    /// Whether its samples are RGB, or have more chroma than 4:2:0 or chroma at other places than the result.
    var exceeds420: Bool {
        needsRGB || !plan.keepsChroma || ([common] + Array(others.values)).contains { ($0.chromaFormat ?? 1) > 1 }
    }
}

extension StillInput {
    /// Bytes of an item that hold the sequence header of AV1.
    private static let headerBytes: UInt64 = 4096

    /// The color of a picture.
    ///
    /// - Parameter coded: the first coded picture that it is made of; nil without one.
    func color(of picture: PictureDescription, coded: PictureDescription?) throws(ImageError) -> PictureColor {
        guard let coded, coded.needsDataForSignal else { return PictureColor(picture, coded: coded) }
        let data = try naming { () throws(HEIFError) -> [UInt8] in
            guard let span = try file.spans(of: coded.item.id).first else { return [] }
            return try file.bytes(of: span, most: Self.headerBytes, from: source)
        }
        return PictureColor(picture, coded: coded, data: data)
    }
}

extension PictureDescription {
    /// Whether both have the same configuration and the same colors.
    fileprivate func isCoded(like other: PictureDescription) -> Bool {
        item.type == other.item.type && colors == other.colors && hevc == other.hevc
            && codecConfigurations == other.codecConfigurations
    }
}

extension HEIFFile {
    /// The first coded picture that a picture is made of; nil where there is none.
    func firstCoded(of picture: PictureDescription) -> PictureDescription? {
        var picture = picture
        for _ in 0...HEIFLimits.depth {
            if picture.kind == .coded { return picture }
            guard let input = targets("dimg", of: picture.item.id).first, let next = try? self.picture(input) else {
                return nil
            }
            picture = next
        }
        return nil
    }
}
