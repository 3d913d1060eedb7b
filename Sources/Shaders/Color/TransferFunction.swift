// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.exp
import func Glibc.log
import func Glibc.pow

/// A transfer function: converts a nonlinear value E' to light and back.
///
/// The raw value is the name on the command line.
public enum TransferFunction: String, CaseIterable, Hashable, Sendable {
    /// ITU-R BT.1886 with a black level of 0: E'^2.4, the reference EOTF for BT.709 and BT.2020 SDR.
    case bt1886
    /// The inverse of BT.709's camera curve (H.273 table 3, value 1): scene light.
    case bt709OETF = "bt709-oetf"
    /// IEC 61966-2-1.
    case sRGB = "srgb"
    /// E'^1.961, how CoreVideo reads BT.709.
    case apple709
    /// SMPTE ST 2084, BT.2100 table 4.
    case pq
    /// ARIB STD-B67, BT.2100 table 5, as display light (with its OOTF).
    case hlg
    /// HLG scene light times 12 without the OOTF: 0…12, E' = 0.5 is 1.0, as Apple's extended-linear layers use it.
    case hlgApple12 = "hlg-apple12"
    /// Linear: E' is light.
    case linear
    /// E'^2.2 (H.273 table 3, value 4).
    case gamma22 = "gamma2.2"
    /// E'^2.4.
    case gamma24 = "gamma2.4"
    /// E'^2.8 (H.273 table 3, value 5).
    case gamma28 = "gamma2.8"

    /// Converts a value in 0…1 (and above, where the curve is extended) to light: 1.0 is SDR white, 10000 cd/m² for PQ, and for
    /// HLG the scene's peak, before its OOTF.
    ///
    /// `hlgApple12` gives 0…12.
    ///
    /// Negative values are mirrored: f(−x) = −f(x). PQ stops at ±1, beyond which its formula has a pole.
    public func decode(_ value: Double) -> Double {
        if value < 0 { return -decode(-value) }
        switch self {
        case .linear: return value
        case .bt1886, .gamma24: return pow(value, 2.4)
        case .apple709: return pow(value, 1.961)
        case .gamma22: return pow(value, 2.2)
        case .gamma28: return pow(value, 2.8)
        case .sRGB: return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
        case .bt709OETF:
            return value < 4.5 * BT709.beta
                ? value / 4.5 : pow((value + BT709.alpha - 1) / BT709.alpha, 1 / 0.45)
        case .pq:
            let p = pow(min(value, 1), 1 / PQ.m2)
            return pow(max(p - PQ.c1, 0) / (PQ.c2 - PQ.c3 * p), 1 / PQ.m1)
        case .hlg: return HLG.decode(value)
        case .hlgApple12: return 12 * HLG.decode(value)
        }
    }

    /// Converts light to a value; the inverse of `decode`.
    ///
    /// PQ of 0 is 7.3e-7, not 0.
    public func encode(_ light: Double) -> Double {
        if light < 0 { return -encode(-light) }
        switch self {
        case .linear: return light
        case .bt1886, .gamma24: return pow(light, 1 / 2.4)
        case .apple709: return pow(light, 1 / 1.961)
        case .gamma22: return pow(light, 1 / 2.2)
        case .gamma28: return pow(light, 1 / 2.8)
        case .sRGB: return light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
        case .bt709OETF:
            return light < BT709.beta ? 4.5 * light : BT709.alpha * pow(light, 0.45) - (BT709.alpha - 1)
        case .pq:
            let p = pow(light, PQ.m1)
            return pow((PQ.c1 + PQ.c2 * p) / (1 + PQ.c3 * p), PQ.m2)
        case .hlg: return HLG.encode(light)
        case .hlgApple12: return HLG.encode(light / 12)
        }
    }

    /// Whether the range exceeds SDR: PQ and both variants of HLG.
    public var isHDR: Bool { self == .pq || self == .hlg || self == .hlgApple12 }
}

/// H.273 table 3's constants of BT.709: exact ones, so that the two pieces meet.
enum BT709 {
    static let alpha = 1.09929682680944
    static let beta = 0.018053968510807
}

/// BT.2100 table 4.
enum PQ {
    static let m1 = 2610.0 / 16384
    static let m2 = 78.84375
    static let c1 = 0.8359375
    static let c2 = 18.8515625
    static let c3 = 18.6875
    /// cd/m² of E' = 1.
    static let peak = 10000.0
}

/// BT.2100 table 5.
public enum HLG {
    static let a = 0.17883277
    static let b = 1 - 4 * a
    static let c = 0.5 - a * log(4 * a)

    /// Scene light 0…1 of E'.
    static func decode(_ value: Double) -> Double {
        value <= 0.5 ? value * value / 3 : (exp((value - c) / a) + b) / 12
    }

    /// E' of scene light.
    static func encode(_ light: Double) -> Double {
        light <= 1.0 / 12 ? pow(3 * light, 0.5) : a * log(12 * light - b) + c
    }

    /// The OOTF's exponent for a display with this peak: BT.2100 note 5f from 400 to 2000 cd/m², else BT.2390 6.2.
    public static func gamma(peak: Double) -> Double {
        (400...2000).contains(peak)
            ? 1.2 + 0.42 * log(peak / 1000) / log(10) : 1.2 * pow(1.111, log(peak / 1000) / log(2))
    }
}
