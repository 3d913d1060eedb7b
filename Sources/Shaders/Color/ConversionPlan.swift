// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The numbers of a conversion, computed once in Double and shared by `ReferenceConverter`, shaders and the CPU path.
///
/// A pixel passes (`mapping`) → `decode` → (clamp) → `forward` → (`mapping.light`) → HLG's OOTF → tone mapping → `light` →
/// `effects` → HLG's inverse OOTF → `inverse` → (clamp) → `encode`; steps in parentheses are not in every plan. With
/// `keepsValues` only the first and the last step apply.
public struct ConversionPlan: Sendable {
    /// The conversion.
    public let conversion: Conversion
    /// The mapping of source codes to PQ, if there is one.
    public let mapping: SignalMapping?
    /// Source codes to R'G'B': Y', Cb, Cr codes or what a mapping makes of them, codes of R, G, B, or half floats unchanged.
    public let decode: Affine
    /// R'G'B' to the target's codes, not yet rounded.
    public let encode: Affine
    /// Linear light of the source's primaries to the target's; affine effects before all others are included.
    public let light: Affine
    /// The other effects, applied to light of the target's primaries.
    public let effects: [EffectStep]
    /// Whether transfer function and primaries are equal and there is no effect: R'G'B' is neither linearised nor clamped.
    public let keepsValues: Bool
    /// Whether matrix and siting are equal too: samples of each plane are only rescaled.
    public let rescales: Bool
    /// Whether R'G'B' is clamped to 0…1 before conversion to light.
    public let clipsSource: Bool
    /// Whether R'G'B' is clamped to 0…1 after conversion from light.
    public let clipsTarget: Bool
    /// Whether the source's color is divided by its alpha first (0 where alpha is 0).
    public let unpremultiplies: Bool
    /// Whether the target's color is multiplied by alpha last.
    public let premultiplies: Bool
    /// The factor on `forward` that makes reference white 1; HLG uses its OOTF's factor instead.
    public let forwardScale: Double
    /// The factor on light before `inverse`.
    public let inverseScale: Double
    /// The OOTF's exponent and factors if the source is HLG.
    public let sourceHLG: HLGDisplay?
    /// The same if the target is HLG.
    public let targetHLG: HLGDisplay?
    /// Tone mapping to the target's peak, if one is requested and the source exceeds it.
    public let toneMapping: ToneMapping?
    /// Whether 8-bit codes are dithered: requested, and the source is deeper.
    public let dithers: Bool

    /// Checks a conversion and computes its numbers.
    ///
    /// - Throws: the errors of `Conversion.validate`; `PixelTransferNotSupported` for a conversion that scales, which is a
    ///   `ScalingPlan`.
    public init(_ conversion: Conversion) throws(SessionError) {
        try conversion.validate()
        guard !conversion.isScaled else {
            throw SessionError(
                .pixelTransferNotSupported,
                "\(conversion.source.width)x\(conversion.source.height) cannot become "
                    + "\(conversion.target.width)x\(conversion.target.height): only color is converted here")
        }
        self.conversion = conversion
        let (source, target, options) = (conversion.source, conversion.target, conversion.options)
        mapping = options.mapping
        decode = options.mapping?.toRGB ?? Self.codesToRGB(source)
        encode = Self.rgbToCodes(target)
        let primaries = source.signal.primaries.conversion(to: target.signal.primaries)
        var steps = try EffectStep.steps(conversion)
        if case .affine(let first)? = steps.first {
            steps.removeFirst()
            light = first * Affine(primaries)
        } else {
            light = Affine(options.effects.matrix(luminance: target.signal.primaries.luminance) * primaries)
        }
        effects = steps
        toneMapping = ToneMapping(source.signal.transfer, options)
        keepsValues =
            source.signal.transfer == target.signal.transfer && source.signal.primaries == target.signal.primaries
            && options.effects.isNone && toneMapping == nil && mapping == nil
        let isYCbCr = source.format.isYCbCr && target.format.isYCbCr
        let (from, to) = (source.signal, target.signal)
        rescales =
            keepsValues && isYCbCr && from.matrix == to.matrix && from.siting == to.siting
            && source.alpha == target.alpha
        clipsSource = options.overRange == .clip && !keepsValues && !source.isLight
        clipsTarget = options.overRange == .clip && !keepsValues && !target.isLight
        unpremultiplies =
            source.format.hasAlpha && source.alpha == .premultiplied && (!keepsValues || target.alpha == .straight)
        let hasAlpha = source.format.hasAlpha || options.effects.list.makesAlpha
        premultiplies =
            hasAlpha && target.alpha == .premultiplied
            && (unpremultiplies || source.alpha == .straight || !keepsValues)
        forwardScale = from.transfer == .pq ? PQ.peak / options.referenceWhite : 1
        inverseScale = to.transfer == .pq ? options.referenceWhite / PQ.peak : 1
        sourceHLG = from.transfer == .hlg ? HLGDisplay(options, from.primaries) : nil
        targetHLG = to.transfer == .hlg ? HLGDisplay(options, to.primaries) : nil
        dithers = options.dither && target.format.bitDepth == 8 && source.format.bitDepth > 8
    }

    /// The plan of a conversion that differs from this one's in the numbers of its mapping, and in the parameters and tables of
    /// the same effects in the same order, alone; nil for any other.
    ///
    /// Curves and gains are the same, so that converters keep their tables.
    /// - Throws: the errors of `Conversion.validate`.
    public func changed(for other: Conversion) throws(SessionError) -> ConversionPlan? {
        let (own, new) = (conversion.options, other.options)
        let (list, newList) = (own.effects.list, new.effects.list)
        guard (mapping == nil) == (new.mapping == nil), list.effects.map(\.name) == newList.effects.map(\.name),
            mapping != nil || !list.isEmpty
        else { return nil }
        var same = other
        same.options.mapping = own.mapping
        (same.options.effects.list, same.options.effects.tables) = (list, own.effects.tables)
        guard same == conversion else { return nil }
        let plan = try ConversionPlan(other)
        return plan.toneMapping == toneMapping ? plan : nil
    }

    /// The largest absolute E' that `decode` can return, which is the end of `forward`'s tables: above 1 only where the
    /// curve is extended.
    ///
    /// Codes outside their range and extreme chroma stay below 2.17.
    public var forwardLimit: Double {
        clipsSource || conversion.source.signal.transfer == .pq || !conversion.source.format.isYCbCr ? 1 : 2.25
    }

    static func codesToRGB(_ image: ImageDescription) -> Affine {
        guard image.format.isYCbCr else {
            return Affine(.diagonal(Triple(repeating: 1 / image.format.rgbTop)))
        }
        let range = SampleRange(bitDepth: image.format.bitDepth, isFullRange: image.signal.isFullRange)
        let matrix = image.signal.matrix.toRGB * .diagonal(1 / range.span)
        return Affine(matrix, -(matrix * range.zero))
    }

    private static func rgbToCodes(_ image: ImageDescription) -> Affine {
        guard image.format.isYCbCr else {
            return Affine(.diagonal(Triple(repeating: image.format.rgbTop)))
        }
        let range = SampleRange(bitDepth: image.format.bitDepth, isFullRange: image.signal.isFullRange)
        return Affine(.diagonal(range.span) * image.signal.matrix.fromRGB, range.zero)
    }

    /// Codes of one plane's samples to codes of the other side's, where `rescales`: factor and offset of luma and chroma.
    public var rescaling: (factor: Triple, offset: Triple) {
        let from = SampleRange(
            bitDepth: conversion.source.format.bitDepth, isFullRange: conversion.source.signal.isFullRange)
        let to = SampleRange(
            bitDepth: conversion.target.format.bitDepth, isFullRange: conversion.target.signal.isFullRange)
        let factor = to.span / from.span
        return (factor, to.zero - from.zero * factor)
    }
}

extension PixelFormat {
    /// The code of 1.0 in R, G and B.
    fileprivate var rgbTop: Double { packing.map { Double($0.top) } ?? 1 }
}
