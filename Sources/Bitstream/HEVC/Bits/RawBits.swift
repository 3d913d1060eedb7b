// SPDX-License-Identifier: MIT

/// Bits kept without interpretation (extensions of parameter sets).
public struct RawBits: Hashable, Sendable {
    /// Most significant bit first; the last byte is padded with zeros.
    public var bytes: [UInt8] = []
    /// Number of valid bits in `bytes`.
    public var bitCount = 0

    public init() {}

    public init(bytes: [UInt8], bitCount: Int) {
        self.bytes = bytes
        self.bitCount = bitCount
    }
}
