// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.pow
internal import HWDModel

/// The light of a pixel as the PQ code of max(R, G, B) of its display light, 0…4095: what level 1 of Dolby Vision summarizes
/// (SMPTE ST 2094-10).
///
/// HLG is shown at 1,000 cd/m² with gamma 1.2, which is what Dolby Vision 8.4 maps it to.
public struct LightMeasure: Sendable {
    /// Number of codes.
    public static let codes = 4096

    /// Y'CbCr codes to R'G'B'.
    public let toRGB: Affine
    /// Nil for PQ.
    private let display: HLGDisplay?
    private static let white = 203.0

    /// Returns nil where the picture is no Y'CbCr or its transfer function is neither PQ nor HLG.
    public init?(_ image: ImageDescription) {
        guard image.format.isYCbCr, image.signal.transfer == .pq || image.signal.transfer == .hlg else {
            return nil
        }
        toRGB = ConversionPlan.codesToRGB(image)
        display =
            image.signal.transfer == .hlg
            ? HLGDisplay(ConversionOptions(referenceWhite: Self.white, hlgPeak: 1000), image.signal.primaries) : nil
    }

    /// The code of a pixel, not rounded; R'G'B' is clamped to 0…1.
    public func code(y: Double, cb: Double, cr: Double) -> Double {
        let value = (toRGB.matrix * [y, cb, cr] + toRGB.offset).clamped(lowerBound: .zero, upperBound: .one)
        guard let display else { return Self.scale * value.max() }
        let light = Triple(HLG.decode(value.x), HLG.decode(value.y), HLG.decode(value.z))
        let gain = display.displayGain(sceneLuminance: (light * display.luminance).sum())
        return Self.code(nits: light.max() * gain * Self.white)
    }

    private static let scale = Double(codes - 1)

    private static func code(nits: Double) -> Double {
        nits > 0 ? scale * TransferFunction.pq.encode(min(nits, PQ.peak) / PQ.peak) : 0
    }
}

/// The numbers of loops that count codes: light as a sum of logarithms, so that a pixel needs no power.
extension LightMeasure {
    /// Steps of the table in an octave of light.
    private static let steps = 512.0
    /// The least light, as a power of 2.
    private static let lowest = -32.0

    /// The weights of R, G and B in luminance; nil for PQ, whose codes follow from the largest component alone.
    public var luminanceWeights: Triple? { display?.luminance }

    /// The least light whose logarithm is taken.
    public var leastLight: Double { pow(2, Self.lowest) }

    /// The numbers of an index of `codeTable`, or of a code of PQ.
    ///
    /// An index is `scale · log2(l) + gain · log2(y) + offset` of the scene's largest component l and its luminance y; a code of
    /// PQ is `scale · max(R', G', B') + offset`. Both are truncated.
    public var indexing: (scale: Double, gain: Double, offset: Double) {
        guard let display else { return (Self.scale, 0, 0.5) }
        let gain = Self.steps * (display.gamma - 1)
        return (Self.steps, gain, -Self.lowest * (Self.steps + gain) + 0.5)
    }

    /// PQ codes by index; empty for PQ.
    public var codeTable: [UInt16] {
        guard let display else { return [] }
        // Both logarithms are 0 at most.
        return (0...Int(indexing.offset)).map { index in
            let light = Double(index) / Self.steps + Self.lowest * display.gamma
            return UInt16(Self.code(nits: display.peak * Self.white * pow(2, light)).rounded())
        }
    }
}
