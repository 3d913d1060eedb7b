// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The steps of a conversion that scales: perhaps a conversion at the source's size, the scaling, perhaps a conversion at the
/// target's size.
///
/// Colors are converted after scaling, from Y'CbCr of 10 bits or half floats of R'G'B'. Linear light, and colors that are not
/// multiplied by alpha, need a conversion to half floats before, and so do words with components of 10 bits. A list of
/// effects is always applied at the target's size.
public struct ScalingPlan: Sendable {
    /// The conversion at the source's size.
    public let before: Conversion?
    /// The scaling.
    public let scaling: Scaling
    /// The conversion at the target's size.
    public let after: Conversion?

    /// The steps of a conversion whose `isScaled` is true.
    ///
    /// - Throws: the errors of `Conversion.validate`.
    public init(_ conversion: Conversion) throws(SessionError) {
        try conversion.validate()
        let (source, target) = (conversion.source, conversion.target)
        var colors = conversion.options
        colors.scaling = ScalingOptions()
        colors.dither = colors.dither && source.format.bitDepth > 8
        let isLinear = conversion.options.scaling.light == .linear && source.format != .rgba16f
        var from = source
        var opening = colors
        if isLinear {
            from = source.halves(of: .light)
            from.signal.primaries = target.signal.primaries
            // A list's effects depend on positions and change black bars; tone mapping, which precedes it, depends on the
            // source's own transfer function and primaries.
            (opening.effects.list, opening.effects.tables) = (EffectList(), [])
        } else if source.format.isWordPacked || source.format.hasAlpha && source.alpha == .straight {
            from = source.halves(of: source.format == .rgba16f ? .light : .codes)
            (opening.effects, opening.targetHeadroom) = (Effects(), nil)
        }
        before = from == source ? nil : Conversion(source: source, target: from, options: opening)
        if isLinear {
            let effects = colors.effects
            (colors.effects, colors.targetHeadroom) = (Effects(list: effects.list, tables: effects.tables), nil)
        }
        let scaled = from.sized(as: target)
        let rest = Conversion(source: scaled, target: target, options: colors)
        let geometry = try ScalingGeometry(conversion)
        let filter = conversion.options.scaling.filter
        let plan = try ConversionPlan(rest)
        // Codes of RGB; light may be brighter than white, and frames whose alpha is dropped may have none.
        let rings = filter == .lanczos && from.format.isRGB && !from.isLight && target.format.hasAlpha
        if Self.isDirect(plan) {
            scaling = Scaling(
                source: from, target: target, filter: filter, geometry: geometry, dithers: plan.dithers,
                divides: plan.unpremultiplies, clipsToAlpha: rings && !plan.unpremultiplies)
            after = nil
        } else {
            let middle = scaled.deepened
            scaling = Scaling(
                source: from, target: middle, filter: filter, geometry: geometry, dithers: false, divides: false,
                clipsToAlpha: rings)
            after = Conversion(source: middle, target: target, options: colors)
        }
    }

    /// Whether the scaling itself can write the target.
    private static func isDirect(_ plan: ConversionPlan) -> Bool {
        let (source, target) = (plan.conversion.source, plan.conversion.target)
        guard plan.keepsValues, !plan.premultiplies, plan.conversion.options.effects.isNone,
            !target.format.isWordPacked
        else { return false }
        // Half floats of codes become straight bytes in one step, because another would round before the division.
        if source.holdsCodes { return target.format.isRGB && plan.unpremultiplies && !plan.dithers }
        guard !plan.unpremultiplies else { return false }
        if source.format.isYCbCr {
            return target.format.isYCbCr && source.signal.matrix == target.signal.matrix
        }
        return target.format.isRGB && (source.format == .rgba16f) == (target.format == .rgba16f)
    }
}

extension ImageDescription {
    /// The same picture in half floats, with colors multiplied by alpha.
    fileprivate func halves(of values: HalfValues) -> ImageDescription {
        var image = ImageDescription(format: .rgba16f, width: width, height: height, signal: signal)
        if values == .codes { (image.holdsCodes, image.signal) = (true, signal) }
        return image
    }

    fileprivate enum HalfValues { case light, codes }

    /// The same picture at another's size.
    fileprivate func sized(as other: ImageDescription) -> ImageDescription {
        var image = self
        (image.width, image.height) = (other.width, other.height)
        return image
    }

    /// The same picture in a format whose rounding matters less: 10 bits for Y'CbCr without alpha, half floats for RGB.
    fileprivate var deepened: ImageDescription {
        var image = self
        switch format {
        case .nv12: image.format = .p010
        case .yu12: image.format = .i010
        case .bgra8, .rgba8: return halves(of: .codes)
        case .p010, .i010, .yuva, .rgba16f, .bgra10, .rgba10, .bgrx10, .rgbx10: break
        }
        return image
    }
}
