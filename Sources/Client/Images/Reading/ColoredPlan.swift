// SPDX-License-Identifier: MIT
internal import HWDBoxes
internal import HWDHEIF
internal import HWDHEVC
internal import HWDModel

/// The plan of a picture or a part of it, with the colors by which its pieces are read.
struct ColoredPlan {
    let plan: DecodePlan
    let picture: PictureDescription
    /// The part of the shown picture.
    let region: PixelRect
    /// The color of the result.
    let color: PictureColor
    /// What its plan shares with those of pictures that are blended in it; their alpha has as many pieces as they have.
    private let state: PlanningState
    let alphaState: PlanningState
    /// The color of pieces that are described like the first.
    private let common: PictureColor
    /// The colors of the other pieces.
    private let others: [UInt32: PictureColor]

    /// - Parameters:
    ///   - part: nil for all of the picture.
    ///   - outer: the plan of the overlay that blends the picture; nil for a picture by itself.
    init(
        _ id: UInt32, part: PixelRect?, in input: StillInput, blendedIn outer: ColoredPlan? = nil
    ) throws(ImageError) {
        let (file, source) = (input.file, input.source)
        let state = outer?.state ?? PlanningState()
        (self.state, alphaState) = (state, outer?.alphaState ?? PlanningState())
        let (plan, picture) = try input.naming { () throws(HEIFError) in
            (try file.plan(id, region: part, from: source, sharing: state), try file.picture(id))
        }
        (self.plan, self.picture) = (plan, picture)
        region = part ?? PixelRect(width: plan.width, height: plan.height)
        let coded = file.firstCoded(of: picture)
        color = try input.color(of: picture, coded: coded)
        // `colr` of an overlay describes the result, that of its inputs their samples.
        let isOverlay = plan.steps.contains { if case .fill = $0 { true } else { false } }
        let first = isOverlay ? file.firstStating(below: picture) ?? coded ?? picture : picture
        common = isOverlay ? try input.color(of: first, coded: coded) : color
        var others: [UInt32: PictureColor] = [:]
        for item in plan.items where item != coded?.item.id {
            guard let coded else { continue }
            let (piece, stating) = try input.naming { () throws(HEIFError) in
                (try file.picture(item), isOverlay ? try file.picture(plan.stating[item] ?? item) : picture)
            }
            if piece.isCoded(like: coded), stating.colors == first.colors { continue }
            others[item] = try input.color(of: stating, coded: piece)
        }
        self.others = others
    }

    /// The color by which a coded piece is read.
    func color(of item: UInt32) -> PictureColor { others[item] ?? common }

    /// Where a part of the shown picture is in what is decoded of it.
    func crop(_ part: PixelRect) -> PixelRect {
        PixelRect(x: part.x - region.x, y: part.y - region.y, width: part.width, height: part.height)
    }

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
        firstInputs(of: picture).first { $0.kind == .coded }
    }

    /// Of the first pictures below the last overlay that one is made of, the one that states its color first.
    fileprivate func firstStating(below picture: PictureDescription) -> PictureDescription? {
        let inputs = firstInputs(of: picture)
        let start = inputs.lastIndex { $0.kind == .overlay }.map { $0 + 1 } ?? 0
        return inputs[start...].first { !$0.colors.isEmpty }
    }

    /// A picture, the first that it is made of, the first of that one, and so on to a coded one.
    private func firstInputs(of picture: PictureDescription) -> [PictureDescription] {
        var inputs = [picture]
        while let last = inputs.last, last.kind != .coded, inputs.count <= HEIFLimits.depth + 1,
            let input = targets("dimg", of: last.item.id).first, let next = try? self.picture(input)
        { inputs.append(next) }
        return inputs
    }
}
