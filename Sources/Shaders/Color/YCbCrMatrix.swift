// SPDX-License-Identifier: GPL-2.0-or-later

/// The non-constant luminance matrices of H.273 table 4.
public enum YCbCrMatrix: String, CaseIterable, Hashable, Sendable {
    /// BT.601, both line counts.
    case bt601 = "601"
    /// BT.709.
    case bt709 = "709"
    /// BT.2020 non-constant luminance.
    case bt2020 = "2020"

    /// Kr and Kb, rounded as in H.273 table 4.
    var weights: (red: Double, blue: Double) {
        switch self {
        case .bt601: (0.299, 0.114)
        case .bt709: (0.2126, 0.0722)
        case .bt2020: (0.2627, 0.0593)
        }
    }

    /// Y' of 0…1 and Cb, Cr of −0.5…0.5 to R'G'B' (the inverse of H.273 equations 38–40).
    public var toRGB: Matrix3 {
        let (kr, kb) = weights
        let kg = 1 - kr - kb
        return Matrix3(
            [1, 0, 2 * (1 - kr)], [1, -2 * kb * (1 - kb) / kg, -2 * kr * (1 - kr) / kg], [1, 2 * (1 - kb), 0])
    }

    /// R'G'B' to Y'CbCr (H.273 equations 38–40).
    public var fromRGB: Matrix3 {
        let (kr, kb) = weights
        let luma = Triple(kr, 1 - kr - kb, kb)
        return Matrix3(luma, (Triple(0, 0, 1) - luma) / (2 * (1 - kb)), (Triple(1, 0, 0) - luma) / (2 * (1 - kr)))
    }
}

/// Maps n-bit codes to Y' of 0…1 and Cb, Cr of −0.5…0.5 (H.273 equations 20–31).
public struct SampleRange: Hashable, Sendable {
    /// The ranges of Y' and of the chroma components, in codes.
    public let span: Triple
    /// The codes of Y' = 0 and of zero chroma.
    public let zero: Triple
    /// The largest code.
    public let top: Double

    /// The range for a bit depth at full or video ("limited") range.
    public init(bitDepth: Int, isFullRange: Bool) {
        let scale = Double(1 << (bitDepth - 8))
        top = Double(1 << bitDepth) - 1
        if isFullRange {
            (span, zero) = ([top, top, top], [0, 128 * scale, 128 * scale])
        } else {
            (span, zero) = (scale * [219, 224, 224], scale * [16, 128, 128])
        }
    }
}
