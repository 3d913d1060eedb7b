// SPDX-License-Identifier: MIT

/// The mapping from sample values to color: ITU-T H.273 code points, as in H.265 Annex E and the `colr` box.
public struct ColorDescription: Hashable, Sendable {
    /// `colour_primaries` (H.273 table 2): 1 BT.709, 9 BT.2020, 12 P3-D65, 2 unspecified.
    public var primaries: UInt8
    /// `transfer_characteristics` (H.273 table 3): 1 BT.709, 13 sRGB, 16 PQ, 18 HLG, 2 unspecified.
    public var transfer: UInt8
    /// `matrix_coefficients` (H.273 table 4): 1 BT.709, 6 BT.601, 9 BT.2020 non-constant luminance, 2 unspecified.
    public var matrix: UInt8
    /// `video_full_range_flag`: false is video ("limited") range.
    public var isFullRange: Bool
    /// `chroma_sample_loc_type` (H.265 E.3.1): 0 left, 1 center, 2 top left, …; nil when unspecified.
    public var chromaLocation: UInt8?

    /// The code point for "unspecified".
    public static let unspecified: UInt8 = 2

    /// Makes a description; omitted code points are unspecified, the range is video.
    public init(
        primaries: UInt8 = unspecified, transfer: UInt8 = unspecified, matrix: UInt8 = unspecified,
        isFullRange: Bool = false, chromaLocation: UInt8? = nil
    ) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.isFullRange = isFullRange
        self.chromaLocation = chromaLocation
    }

    /// The description of RGB samples: 0 (identity, R'G'B') says no more than that no matrix applies.
    public var withoutIdentityMatrix: ColorDescription {
        var color = self
        if color.matrix == 0 { color.matrix = Self.unspecified }
        return color
    }

    /// Whether any of the three code points is specified.
    public var isSpecified: Bool {
        primaries != Self.unspecified || transfer != Self.unspecified || matrix != Self.unspecified
    }

    /// Whether the transfer function is PQ (16) or HLG (18).
    public var isHDR: Bool { transfer == 16 || transfer == 18 }
}
