// SPDX-License-Identifier: GPL-2.0-or-later

/// Bits this module carries without interpreting them (extensions of parameter sets).
public struct RawBits: Hashable, Sendable {
    /// The bits, most significant first; the last byte is filled up with zeros.
    public var bytes: [UInt8] = []
    /// How many bits count.
    public var bitCount = 0

    /// No bits.
    public init() {}

    /// The first `bitCount` bits of `bytes`.
    public init(bytes: [UInt8], bitCount: Int) {
        self.bytes = bytes
        self.bitCount = bitCount
    }
}
