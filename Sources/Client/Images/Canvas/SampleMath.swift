// SPDX-License-Identifier: MIT
internal import HWDModel

/// The equations between the samples of a picture and R'G'B' from 0 to 1 (H.273 8.3).
struct SampleMath {
    private enum Kind { case weights, identity, yCgCo }

    private let kind: Kind
    private let kr: Float
    private let kb: Float
    private let (lumaZero, lumaScale): (Float, Float)
    private let (chromaZero, chromaScale): (Float, Float)
    private let most: Float

    init(_ color: ColorDescription, depth: Int) {
        kind = color.matrix == 0 ? .identity : color.matrix == 8 ? .yCgCo : .weights
        (kr, kb) = Self.weights(color)
        most = Float((1 << depth) - 1)
        let unit = Float(1 << depth) / 256
        chromaZero = 128 * unit
        (lumaZero, lumaScale) = color.isFullRange ? (0, most) : (16 * unit, 219 * unit)
        chromaScale = color.isFullRange ? most : 224 * unit
    }

    /// The parts of red and blue in luma (H.273 table 4); BT.601's where there are none.
    static func weights(_ color: ColorDescription) -> (kr: Float, kb: Float) {
        switch color.matrix {
        case 1: (0.2126, 0.0722)
        case 4: (0.30, 0.11)
        case 7: (0.212, 0.087)
        case 9, 10: (0.2627, 0.0593)
        // Derived from the primaries.
        case 12, 13:
            [1: (0.2126, 0.0722), 9: (0.2627, 0.0593), 12: (0.2290, 0.0793)][color.primaries] ?? (0.299, 0.114)
        default: (0.299, 0.114)
        }
    }

    /// Whether both have the same weights of red and blue.
    func hasMatrix(of other: SampleMath) -> Bool { (kind, kr, kb) == (other.kind, other.kr, other.kb) }

    /// R, G and B of samples.
    @inline(__always)
    func rgb(_ y: Float, _ cb: Float, _ cr: Float) -> SIMD3<Float> {
        let luma = (y - lumaZero) / lumaScale
        switch kind {
        case .identity: return SIMD3((cr - lumaZero) / lumaScale, luma, (cb - lumaZero) / lumaScale)
        case .yCgCo:
            let (green, orange) = ((cb - chromaZero) / chromaScale, (cr - chromaZero) / chromaScale)
            return SIMD3(luma - green + orange, luma + green, luma - green - orange)
        case .weights:
            let (blue, red) = ((cb - chromaZero) / chromaScale, (cr - chromaZero) / chromaScale)
            let r = luma + 2 * (1 - kr) * red
            let b = luma + 2 * (1 - kb) * blue
            return SIMD3(r, (luma - kr * r - kb * b) / (1 - kr - kb), b)
        }
    }

    /// The gray of a picture without chroma.
    @inline(__always)
    func gray(_ y: Float) -> SIMD3<Float> { SIMD3(repeating: (y - lumaZero) / lumaScale) }

    /// Y', Cb and Cr of a color, by the weights of the matrix, neither rounded nor clipped.
    @inline(__always)
    func samples(_ rgb: SIMD3<Float>) -> SIMD3<Float> {
        let luma = kr * rgb.x + (1 - kr - kb) * rgb.y + kb * rgb.z
        return SIMD3(
            lumaZero + lumaScale * luma, chromaZero + chromaScale * (rgb.z - luma) / (2 * (1 - kb)),
            chromaZero + chromaScale * (rgb.x - luma) / (2 * (1 - kr)))
    }

    /// A sample as it is stored.
    @inline(__always)
    func code(_ value: Float) -> Int { Int(min(max(value.rounded(), 0), most)) }
}
