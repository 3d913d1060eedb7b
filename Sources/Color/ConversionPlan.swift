// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The numbers a conversion comes down to, worked out once in Double: what `ReferenceConverter`, shaders and the CPU path
/// share.
///
/// A pixel goes `decode` → (clamp) → `forward` → HLG's OOTF → tone mapping → `light` → HLG's inverse OOTF → `inverse` →
/// (clamp) → `encode`. Where `keepsValues`, everything between the first and the last is left out.
public struct ConversionPlan: Sendable {
    /// What is converted.
    public let conversion: Conversion
    /// Source codes to R'G'B': Y', Cb, Cr codes, bytes of R, G, B, or half floats as they are.
    public let decode: Affine
    /// R'G'B' to the target's codes, not yet rounded.
    public let encode: Affine
    /// Linear light of the source's primaries to the target's, effects included.
    public let light: Matrix3
    /// Whether transfer and primaries stay and no effect is asked for: R'G'B' is not made linear, nor clamped.
    public let keepsValues: Bool
    /// Whether even matrix and siting stay: samples of each plane are only scaled, chroma never moves.
    public let rescales: Bool
    /// Whether R'G'B' is clamped to 0…1 before it becomes light.
    public let clipsSource: Bool
    /// Whether R'G'B' is clamped to 0…1 after it was light.
    public let clipsTarget: Bool
    /// Whether the source's colours are divided by its alpha first (0 where alpha is 0).
    public let unpremultiplies: Bool
    /// Whether the target's colours are multiplied by alpha last.
    public let premultiplies: Bool
    /// What `forward` is multiplied by so that reference white is 1; HLG has its OOTF's factor instead.
    public let forwardScale: Double
    /// What light is multiplied by before `inverse`.
    public let inverseScale: Double
    /// The OOTF's exponent and factors, where the source is HLG.
    public let sourceHLG: HLGDisplay?
    /// The same where the target is HLG.
    public let targetHLG: HLGDisplay?
    /// The way under the target's peak, where one is asked for and the source reaches above it.
    public let toneMapping: ToneMapping?
    /// R'G'B' to Cb and Cr, for the chroma key.
    public let keyMatrix: Matrix3
    /// Whether 8-bit codes are dithered: asked for, and the source is deeper.
    public let dithers: Bool

    /// Checks a conversion and works its numbers out.
    ///
    /// - Throws: What `Conversion.validate` does.
    public init(_ conversion: Conversion) throws(SessionError) {
        try conversion.validate()
        self.conversion = conversion
        let (source, target, options) = (conversion.source, conversion.target, conversion.options)
        decode = Self.codesToRGB(source)
        encode = Self.rgbToCodes(target)
        let effects = options.effects
        light =
            effects.matrix(luminance: target.signal.primaries.luminance)
            * source.signal.primaries.conversion(to: target.signal.primaries)
        toneMapping = ToneMapping(source.signal.transfer, options)
        keepsValues =
            source.signal.transfer == target.signal.transfer && source.signal.primaries == target.signal.primaries
            && effects.isNone && toneMapping == nil
        let isYCbCr = source.format.isYCbCr && target.format.isYCbCr
        let (from, to) = (source.signal, target.signal)
        rescales =
            keepsValues && isYCbCr && from.matrix == to.matrix && from.siting == to.siting
            && source.alpha == target.alpha
        clipsSource = options.overRange == .clip && !keepsValues && source.format != .rgba16f
        clipsTarget = options.overRange == .clip && !keepsValues && target.format != .rgba16f
        unpremultiplies =
            source.format.hasAlpha && source.alpha == .premultiplied && (!keepsValues || target.alpha == .straight)
        let hasAlpha = source.format.hasAlpha || effects.chromaKey != nil
        premultiplies =
            hasAlpha && target.alpha == .premultiplied
            && (unpremultiplies || source.alpha == .straight || !keepsValues)
        forwardScale = from.transfer == .pq ? PQ.peak / options.referenceWhite : 1
        inverseScale = to.transfer == .pq ? options.referenceWhite / PQ.peak : 1
        sourceHLG = from.transfer == .hlg ? HLGDisplay(options, from.primaries) : nil
        targetHLG = to.transfer == .hlg ? HLGDisplay(options, to.primaries) : nil
        keyMatrix = (source.format.isYCbCr ? from.matrix : .bt709).fromRGB
        dithers = options.dither && target.format.bitDepth == 8 && source.format.bitDepth > 8
    }

    /// Largest E' that `decode` can give in absolute value, and to which tables of `forward` reach: above 1 only
    /// where the curve goes on.
    ///
    /// Codes outside their range and extreme chroma stay below 2.17.
    public var forwardLimit: Double {
        clipsSource || conversion.source.signal.transfer == .pq || !conversion.source.format.isYCbCr ? 1 : 2.25
    }

    private static func codesToRGB(_ image: ImageDescription) -> Affine {
        guard image.format.isYCbCr else {
            return Affine(.diagonal(Triple(repeating: image.format == .rgba16f ? 1 : 1.0 / 255)))
        }
        let range = SampleRange(bitDepth: image.format.bitDepth, isFullRange: image.signal.isFullRange)
        let matrix = image.signal.matrix.toRGB * .diagonal(1 / range.span)
        return Affine(matrix, -(matrix * range.zero))
    }

    private static func rgbToCodes(_ image: ImageDescription) -> Affine {
        guard image.format.isYCbCr else {
            return Affine(.diagonal(Triple(repeating: image.format == .rgba16f ? 1 : 255)))
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
