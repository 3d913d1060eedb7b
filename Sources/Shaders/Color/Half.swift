// SPDX-License-Identifier: GPL-2.0-or-later

/// IEEE 754 binary16 as stored in pixels.
public enum Half {
    /// The largest finite value.
    public static let limit = 65504.0

    /// Bits of a value: nearest, ties to even; NaN becomes 0, overflow becomes ±65504, subnormals are kept.
    public static func bits(_ value: Double) -> UInt16 {
        value.isNaN ? 0 : Float16(min(max(value, -limit), limit)).bitPattern
    }

    /// The value of bits; NaN becomes 0, infinities become ±65504.
    public static func value(_ bits: UInt16) -> Double {
        let value = Double(Float16(bitPattern: bits))
        return value.isNaN ? 0 : min(max(value, -limit), limit)
    }
}
