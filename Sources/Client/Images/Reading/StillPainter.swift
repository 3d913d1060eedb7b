// SPDX-License-Identifier: MIT
package import HWDHEIF
package import HWDModel

/// Decodes a picture of a HEIF file, or a part of it, to a canvas.
package struct StillPainter {
    let input: StillInput
    let tiles: StillTiles

    package init(input: StillInput, tiles: StillTiles) { (self.input, self.tiles) = (input, tiles) }

    /// A decoded picture in the form that keeps all of it.
    package enum Samples {
        /// 4:2:0, of which a part is shown.
        case yCbCr(StillCanvas, crop: PixelRect)
        case rgb(RGBCanvas)
    }

    /// How the steps of a plan are painted.
    private struct Painting {
        /// Whether pictures that no session decodes come as they are coded, not as 4:2:0.
        var takesAnyChroma = false
        var fill: (PixelRect, [UInt16]) -> Void = { _, _ in }
        var copy: (CodedPlanes, DecodePlan.Copy) -> Void
        var blend: (DecodePlan.Blend) throws -> Void
    }

    /// Decodes a picture as it is shown, as 4:2:0.
    ///
    /// - Parameters:
    ///   - part: nil for all of it.
    ///   - alpha: the picture's alpha, which is joined; nil without.
    ///   - format: the canvas's format without alpha; nil is `yu12`, or `i010` for a picture of more than 8 bits.
    package func paint(
        _ id: UInt32, part: PixelRect?, alpha: AuxiliaryPicture?, as format: PixelFormat? = nil
    ) throws -> (StillCanvas, PictureColor) {
        let colored = try ColoredPlan(id, part: part, in: input)
        guard colored.needsRGB else {
            // Chroma of a part at an odd position lies between samples of the picture's.
            guard let odd = part, (odd.x | odd.y) & 1 == 1, let wide = try? plan(id, around: odd), !wide.needsRGB,
                StillCanvas.canHold(width: wide.plan.width, height: wide.plan.height)
            else { return (try canvas(colored, part, alpha, format), colored.color) }
            return (try canvas(wide, wide.region, alpha, format).cropped(wide.crop(odd)), colored.color)
        }
        let color = colored.color.ofRGB
        let usual: PixelFormat = colored.color.bitDepth > 8 ? .i010 : .yu12
        let canvas = try rgbCanvas(colored, part, alpha)
            .yCbCr(alpha == nil ? format ?? usual : .yuva, color.color)
        return (canvas, color)
    }

    /// Decodes a picture as it is shown, without a loss of chroma.
    ///
    /// - Returns: the samples, and the color of those that are not RGB.
    package func picture(
        _ id: UInt32, part: PixelRect?, alpha: AuxiliaryPicture?
    ) throws -> (Samples, PictureColor) {
        let wider = part.flatMap { part in try? plan(id, around: part) }
        let colored = try wider ?? ColoredPlan(id, part: part, in: input)
        let wide = colored.region
        if colored.exceeds420 {
            let exact = part == nil || wide == part ? colored : try ColoredPlan(id, part: part, in: input)
            return (.rgb(try rgbCanvas(exact, part, alpha)), colored.color)
        }
        let canvas = try canvas(colored, wide, alpha, nil)
        return (.yCbCr(canvas, crop: colored.crop(part ?? wide)), colored.color)
    }

    /// Samples around a part whose chroma those of the part are interpolated from.
    private static let margin = 4

    /// The plan of a part with the samples around it that share its chroma: whole squares of 2x2, and a margin where that
    /// needs no other coded picture and no RGB.
    private func plan(_ id: UInt32, around part: PixelRect) throws(ImageError) -> ColoredPlan {
        let picture = try input.naming { () throws(HEIFError) in try input.file.picture(id) }
        let shown = PixelRect(width: picture.shownWidth, height: picture.shownHeight)
        guard shown.intersection(part) == part else { return try ColoredPlan(id, part: part, in: input) }
        func enlarged(_ margin: Int) -> PixelRect {
            let (left, top) = (max(0, part.x - margin) & ~1, max(0, part.y - margin) & ~1)
            let right = min(shown.width, (part.maxX + margin + 1) & ~1)
            let bottom = min(shown.height, (part.maxY + margin + 1) & ~1)
            return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
        }
        let near = try ColoredPlan(id, part: enlarged(0), in: input)
        guard let far = try? ColoredPlan(id, part: enlarged(Self.margin), in: input),
            far.plan.items.count == near.plan.items.count, far.needsRGB == near.needsRGB
        else { return near }
        return far
    }

    /// Paints a picture whose pieces are 4:2:0, or become it, in one color.
    private func canvas(
        _ colored: ColoredPlan, _ part: PixelRect?, _ alpha: AuxiliaryPicture?, _ format: PixelFormat?
    ) throws -> StillCanvas {
        let usual: PixelFormat = colored.color.bitDepth > 8 ? .i010 : .yu12
        let base = alpha == nil ? format ?? usual : .yu12
        let canvas = try StillCanvas(
            alpha == nil ? base : .yuva, width: colored.plan.width, height: colored.plan.height)
        let painting = Painting(
            fill: { canvas.fill($0, colored.color.samples(of: $1, depth: base.bitDepth)) },
            copy: { canvas.paint($0.planes, $1) }, blend: refuse)
        try run(colored.plan, as: base, painting)
        guard let alpha else { return canvas }
        canvas.makeOpaque()
        let mask = Painting(copy: { canvas.paintAlpha($0.planes, $1) }, blend: refuse)
        try run(try plan(alpha, of: colored, part), as: .yu12, mask)
        return canvas
    }

    /// Paints a picture in RGB, each piece by its own color.
    private func rgbCanvas(
        _ colored: ColoredPlan, _ part: PixelRect?, _ alpha: AuxiliaryPicture?
    ) throws -> RGBCanvas {
        let canvas = try RGBCanvas(width: colored.plan.width, height: colored.plan.height)
        let painting = Painting(
            takesAnyChroma: true, fill: canvas.fill,
            copy: { canvas.paint($0, colored.color(of: $1.item).color, $1) },
            blend: { blend in
                try tiles.checkCancellation()
                let copy = blend.copy
                let alpha = try input.naming { () throws(HEIFError) in try input.file.alpha(of: copy.item) }
                let above = try rgbCanvas(
                    try ColoredPlan(copy.item, part: copy.source, in: input, blendedIn: colored), copy.source,
                    alpha)
                canvas.blend(above, isPremultiplied: blend.isPremultiplied, copy)
            })
        try run(colored.plan, as: colored.color.bitDepth > 8 ? .i010 : .yu12, painting)
        guard let alpha else { return canvas }
        var mask = Painting(copy: canvas.paintAlpha, blend: refuse)
        mask.takesAnyChroma = true
        try run(try plan(alpha, of: colored, part), as: .yu12, mask)
        return canvas
    }

    /// The plan of a picture's alpha.
    private func plan(
        _ alpha: AuxiliaryPicture, of colored: ColoredPlan, _ part: PixelRect?
    ) throws(ImageError) -> DecodePlan {
        let shown = PixelRect(width: colored.picture.shownWidth, height: colored.picture.shownHeight)
        return try input.naming { () throws(HEIFError) in
            try input.file.plan(
                alpha.picture.item.id, region: part ?? shown, from: input.source, sharing: colored.alphaState)
        }
    }

    private func refuse(_ blend: DecodePlan.Blend) throws {
        throw ImageError(
            .unsupported, "\(input.path): item \(blend.copy.item) has alpha inside of an alpha picture")
    }

    /// Runs a plan; without fills, every item is decoded once however many places show it.
    private func run(_ plan: DecodePlan, as format: PixelFormat, _ painting: Painting) throws {
        var batch: [(item: UInt32, copies: [DecodePlan.Copy])] = []
        var places: [UInt32: Int] = [:]
        var isOrdered = plan.steps.contains { if case .fill = $0 { true } else { false } }
        isOrdered = isOrdered && plan.steps.count > 1
        func flush() throws {
            let works = batch.map { entry in
                StillTiles.Work(item: entry.item) { coded in try paint(entry.item, entry.copies, coded, painting) }
            }
            (batch, places) = ([], [:])
            try tiles.decode(works, as: format, takesAnyChroma: painting.takesAnyChroma)
        }
        for step in plan.steps {
            switch step {
            case .fill(let rect, let sixteen):
                try flush()
                painting.fill(rect, sixteen)
            case .blend(let blend):
                try flush()
                try painting.blend(blend)
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

    private func paint(
        _ item: UInt32, _ copies: [DecodePlan.Copy], _ coded: CodedPlanes, _ painting: Painting
    ) throws(ImageError) {
        for part in copies {
            guard coded.size.intersection(part.source) == part.source else {
                throw ImageError(
                    .damaged,
                    "\(input.path): item \(item) codes \(coded.size.width)x\(coded.size.height) samples, fewer than it states"
                )
            }
            painting.copy(coded, part)
        }
    }
}
