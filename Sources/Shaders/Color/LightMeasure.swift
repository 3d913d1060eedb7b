// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.log2
import func Glibc.pow
internal import HWDModel

/// The light of a pixel as the PQ code of max(R, G, B) of its display light, 0…4095: what level 1 of Dolby Vision summarizes
/// (SMPTE ST 2094-10).
///
/// HLG is shown at 1,000 cd/m² with gamma 1.2, which is what Dolby Vision 8.4 maps it to.
public struct LightMeasure: Sendable {
    /// Number of codes.
    public static let codes = 4096

    /// Codes of the picture to R'G'B'.
    private let toRGB: Affine
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

/// The tables of loops that count codes: light as sums of logarithms, so that a pixel needs no power.
extension LightMeasure {
    /// The largest index of a component of R'G'B'.
    public static let top = 8191
    /// Steps of the tables in an octave of light.
    private static let steps = 512.0
    /// The least light, as a power of 2.
    private static let lowest = -32.0
    /// The smallest luminance in the table, as a float's upper 16 bits.
    public static let firstLuminance = Float(sign: .plus, exponent: -33, significand: 1).bitPattern >> 16

    /// Y'CbCr codes to indexes plus 1/2, for truncation.
    public var toIndex: Affine {
        let scale = Triple(repeating: Double(Self.top))
        return Affine(Matrix3.diagonal(scale) * toRGB.matrix, scale * toRGB.offset + Triple(repeating: 0.5))
    }

    /// The weights of R, G and B in luminance; nil for PQ, whose codes follow from the largest index alone.
    public var luminanceWeights: Triple? { display?.luminance }

    /// The scene's light of each index; empty for PQ.
    public var sceneLight: [Float] { display == nil ? [] : (0...Self.top).map { Float(Self.light(index: $0)) } }

    /// The largest component's term of the sum, by its index; empty for PQ.
    public var largestTerms: [UInt16] {
        display == nil ? [] : (0...Self.top).map { Self.steps(log2(Self.light(index: $0)) - Self.lowest) }
    }

    /// The luminance's term, by a float's upper 16 bits from `firstLuminance` on; empty for PQ.
    public var luminanceTerms: [UInt16] {
        guard let display else { return [] }
        // Sums of weights may exceed 1 by a rounding error.
        let last = Float(1.004).bitPattern >> 16
        return (Self.firstLuminance...last).map { upper in
            let middle = Double(Float(bitPattern: upper << 16 | 0x8000))
            return Self.steps((log2(middle) - Self.lowest + 1) * (display.gamma - 1))
        }
    }

    /// PQ codes by the sum of both terms; by index for PQ.
    public var codeTable: [UInt16] {
        guard let display else {
            return (0...Self.top).map { UInt16((Self.scale * Double($0) / Double(Self.top)).rounded()) }
        }
        let exponent = display.gamma - 1
        let count = Int(largestTerms.last ?? 0) + Int(luminanceTerms.last ?? 0) + 1
        return (0..<count).map { sum in
            let light = Double(sum) / Self.steps + Self.lowest + (Self.lowest - 1) * exponent
            return UInt16(Self.code(nits: display.peak * Self.white * pow(2, light)).rounded())
        }
    }

    private static func light(index: Int) -> Double {
        max(HLG.decode(Double(index) / Double(top)), pow(2, lowest))
    }

    private static func steps(_ octaves: Double) -> UInt16 { UInt16(max(0, octaves * steps).rounded()) }
}
