// SPDX-License-Identifier: MIT

/// Writes the descriptors of H.265 7.2 and 9.2 into an RBSP, most significant bit first.
public struct BitWriter: Sendable {
    /// The bytes written; the last one is padded with zero bits.
    public private(set) var bytes: [UInt8] = []
    public private(set) var bitCount = 0

    public init() {}

    /// True at a byte boundary (`byte_aligned()`).
    public var isByteAligned: Bool { bitCount & 7 == 0 }

    /// `u(n)`: the low `count` bits of `value`; throws when `value` needs more or `count` is not in 0…32.
    public mutating func writeBits(_ value: UInt32, _ count: Int) throws(BitstreamError) {
        guard count >= 0, count <= 32, UInt64(value) >> UInt64(count) == 0 else {
            throw BitstreamError(.outOfRange, "\(value) does not fit in \(count) bits")
        }
        var left = count
        while left > 0 {
            let free = 8 - bitCount & 7
            if free == 8 { bytes.append(0) }
            let take = min(free, left)
            let chunk = (value >> UInt32(left - take)) & ((1 << UInt32(take)) - 1)
            bytes[bytes.count - 1] |= UInt8(truncatingIfNeeded: chunk << UInt32(free - take))
            bitCount += take
            left -= take
        }
    }

    public mutating func writeFlag(_ value: Bool) throws(BitstreamError) {
        try writeBits(value ? 1 : 0, 1)
    }

    /// `ue(v)`: 0 … 2³² − 2 (9.2).
    public mutating func writeUE(_ value: UInt32) throws(BitstreamError) {
        guard value < UInt32.max else {
            throw BitstreamError(.outOfRange, "\(value) exceeds the largest ue(v), 4294967294")
        }
        let code = value + 1
        let length = 32 - code.leadingZeroBitCount
        try writeBits(0, length - 1)
        try writeBits(code, length)
    }

    /// `se(v)`: −2³¹ + 1 … 2³¹ − 1 (9.2.2).
    public mutating func writeSE(_ value: Int32) throws(BitstreamError) {
        guard value > Int32.min else {
            throw BitstreamError(.outOfRange, "\(value) is below the smallest se(v), -2147483647")
        }
        try writeUE(value > 0 ? value.magnitude * 2 - 1 : value.magnitude * 2)
    }

    /// Writes `rbsp_trailing_bits()` or `byte_alignment()`: a 1 bit, then zeros to the byte boundary.
    public mutating func writeTrailingBits() throws(BitstreamError) {
        try writeFlag(true)
        bitCount = bytes.count * 8
    }
}
