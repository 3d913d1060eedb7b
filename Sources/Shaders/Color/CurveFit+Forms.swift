// SPDX-License-Identifier: GPL-2.0-or-later

/// The forms that the CPU loops support, fastest first.
extension CurveFit.Form {
    /// For arguments from 0 to a limit, AVX-512: 32 segments fill two registers.
    ///
    /// Most curves use the first form, HLG the second, PQ the third and with effects the last; the others are for conversions that need
    /// more precision.
    public static let stepsOf32 = [
        Self(segments: 32, octaveBits: 2, degree: 3, isShifted: true),
        Self(segments: 32, octaveBits: 3, degree: 3, isShifted: true),
        Self(
            segments: 32, octaveBits: 3, degree: 3, isShifted: true,
            squaring: Squaring(count: 1, unusedStart: 0.25, usedEnd: 1, nodeExponent: 1)),
        Self(segments: 32, octaveBits: 3, degree: 4, isShifted: true),
        Self(segments: 32, octaveBits: 2, degree: 4, isShifted: true),
        Self(
            segments: 32, octaveBits: 2, degree: 4, isShifted: false,
            squaring: Squaring(count: 1, unusedStart: 0.25, usedEnd: 1, nodeExponent: 1)),
    ]

    /// The same for AVX2: 8 segments fill one register.
    ///
    /// Most curves use the first form, PQ the second and with effects the last, HLG the third.
    public static let stepsOf8 = [
        Self(segments: 8, octaveBits: 0, degree: 5, isShifted: false),
        Self(
            segments: 8, octaveBits: 0, degree: 5, isShifted: false,
            squaring: Squaring(count: 2, unusedStart: 0.55, usedEnd: 0.5, nodeExponent: 0.9)),
        Self(segments: 8, octaveBits: 1, degree: 7, isShifted: false),
        Self(
            segments: 8, octaveBits: 0, degree: 7, isShifted: false,
            squaring: Squaring(count: 1, unusedStart: 0.25, usedEnd: 1, nodeExponent: 1)),
    ]

    /// For arguments of many magnitudes, AVX-512.
    public static let octavesOf32 = [
        Self(segments: 32, octaveBits: 0, degree: 4, isShifted: false),
        Self(segments: 32, octaveBits: 1, degree: 4, isShifted: false),
    ]
}
