// SPDX-License-Identifier: GPL-2.0-or-later

/// Color primaries; the white point is D65 (0.3127, 0.3290) in all.
///
/// The raw value is the command line's name.
public enum Primaries: String, CaseIterable, Hashable, Sendable {
    /// ITU-R BT.709, also sRGB's.
    case bt709 = "709"
    /// Display P3 (SMPTE EG 432-1 with D65).
    case displayP3 = "p3"
    /// ITU-R BT.2020 and BT.2100.
    case bt2020 = "2020"
    /// BT.601 for 525 lines (SMPTE C).
    case bt601_525 = "601-525"
    /// BT.601 for 625 lines (EBU).
    case bt601_625 = "601-625"

    /// CIE 1931 x and y of red, green and blue (H.273 table 2).
    var chromaticities: (red: (Double, Double), green: (Double, Double), blue: (Double, Double)) {
        switch self {
        case .bt709: ((0.64, 0.33), (0.30, 0.60), (0.15, 0.06))
        case .displayP3: ((0.68, 0.32), (0.265, 0.69), (0.15, 0.06))
        case .bt2020: ((0.708, 0.292), (0.17, 0.797), (0.131, 0.046))
        case .bt601_525: ((0.63, 0.34), (0.31, 0.595), (0.155, 0.07))
        case .bt601_625: ((0.64, 0.33), (0.29, 0.60), (0.15, 0.06))
        }
    }

    /// Linear RGB to CIE XYZ with white at Y = 1 (SMPTE RP 177), unrounded.
    public var toXYZ: Matrix3 {
        func column(_ xy: (Double, Double)) -> Triple { [xy.0 / xy.1, 1, (1 - xy.0 - xy.1) / xy.1] }
        let (red, green, blue) = (
            column(chromaticities.red), column(chromaticities.green), column(chromaticities.blue)
        )
        let unscaled = Matrix3(
            [red.x, green.x, blue.x], [red.y, green.y, blue.y], [red.z, green.z, blue.z])
        let scale = unscaled.inverse * column((0.3127, 0.3290))
        return unscaled * .diagonal(scale)
    }

    /// Linear RGB of these primaries to linear RGB of others; no adaptation, since the white point is the same.
    public func conversion(to other: Primaries) -> Matrix3 {
        self == other ? .identity : other.toXYZ.inverse * toXYZ
    }

    /// The weights of red, green and blue in luminance; for BT.2020 the rounded numbers of BT.2100's OOTF.
    public var luminance: Triple { self == .bt2020 ? [0.2627, 0.6780, 0.0593] : toXYZ.rows.1 }
}
