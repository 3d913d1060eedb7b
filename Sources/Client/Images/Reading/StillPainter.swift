// SPDX-License-Identifier: MIT
package import HWDHEIF
package import HWDModel

/// Decodes a picture of a HEIF file, or a part of it, to a canvas.
package struct StillPainter {
    let input: StillInput
    let tiles: StillTiles

    package init(input: StillInput, tiles: StillTiles) { (self.input, self.tiles) = (input, tiles) }

    /// Decodes a picture as it is shown.
    ///
    /// - Parameters:
    ///   - part: nil for all of it.
    ///   - alpha: the picture's alpha, which is joined; nil without.
    ///   - format: the canvas's format without alpha; nil is `yu12`, or `i010` for a picture of more than 8 bits.
    package func paint(
        _ id: UInt32, part: PixelRect?, alpha: AuxiliaryPicture?, as format: PixelFormat? = nil
    ) throws -> (StillCanvas, PictureColor) {
        let (file, source) = (input.file, input.source)
        let (plan, picture) = try input.naming { () throws(HEIFError) in
            (try file.plan(id, region: part, from: source), try file.picture(id))
        }
        let coded = try plan.items.first.map { item in
            try input.naming { () throws(HEIFError) in try file.picture(item) }
        }
        let color = PictureColor(picture, coded: coded)
        let depth = (coded?.bitDepths ?? picture.bitDepths ?? [8]).max() ?? 8
        let base = alpha == nil ? format ?? (depth > 8 ? .i010 : .yu12) : .yu12
        let canvas = try StillCanvas(alpha == nil ? base : .yuva, width: plan.width, height: plan.height)
        try paint(plan, on: canvas, as: base, color) { canvas.paint($0, $1) }
        guard let alpha else { return (canvas, color) }
        canvas.makeOpaque()
        let shown = PixelRect(width: picture.shownWidth, height: picture.shownHeight)
        let mask = try input.naming { () throws(HEIFError) in
            try file.plan(alpha.picture.item.id, region: part ?? shown, from: source)
        }
        try paint(mask, on: nil, as: .yu12, color) { canvas.paintAlpha($0, $1) }
        return (canvas, color)
    }

    /// Runs a plan; without fills, every item is decoded once however many places show it.
    private func paint(
        _ plan: DecodePlan, on canvas: StillCanvas?, as format: PixelFormat, _ color: PictureColor,
        _ copy: @escaping ([PlaneView], DecodePlan.Copy) -> Void
    ) throws {
        var batch: [(item: UInt32, copies: [DecodePlan.Copy])] = []
        var places: [UInt32: Int] = [:]
        var isOrdered = plan.steps.contains { if case .fill = $0 { true } else { false } }
        isOrdered = isOrdered && plan.steps.count > 1
        func flush() throws {
            try tiles.decode(
                batch.map { entry in
                    StillTiles.Work(item: entry.item) { planes, size in
                        for part in entry.copies {
                            guard size.intersection(part.source) == part.source else {
                                throw ImageError(
                                    .damaged,
                                    "\(input.path): item \(entry.item) codes \(size.width)x\(size.height) samples, fewer than it states"
                                )
                            }
                            copy(planes, part)
                        }
                    }
                }, as: format)
            (batch, places) = ([], [:])
        }
        for step in plan.steps {
            switch step {
            case .fill(let rect, let sixteen):
                try flush()
                canvas?.fill(rect, color.samples(of: sixteen, depth: format.bitDepth))
            case .copy(let part):
                if isOrdered {
                    if batch.last?.item == part.item {
                        batch[batch.count - 1].copies.append(part)
                    } else {
                        batch.append((part.item, [part]))
                    }
                } else if let place = places[part.item] {
                    batch[place].copies.append(part)
                } else {
                    places[part.item] = batch.count
                    batch.append((part.item, [part]))
                }
            }
        }
        try flush()
    }
}
