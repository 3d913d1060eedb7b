// SPDX-License-Identifier: GPL-2.0-or-later

/// IEEE 754 binary16 as pixels hold it.
public enum Half {
    /// The largest finite value.
    public static let limit = 65504.0

    /// Bits of a value: nearest, ties to even, NaN as 0, what is too large as ±65504; subnormals stay.
    public static func bits(_ value: Double) -> UInt16 {
        value.isNaN ? 0 : Float16(min(max(value, -limit), limit)).bitPattern
    }

    /// The value of bits: NaN as 0, infinities as ±65504.
    public static func value(_ bits: UInt16) -> Double {
        let value = Double(Float16(bitPattern: bits))
        return value.isNaN ? 0 : min(max(value, -limit), limit)
    }
}
