// SPDX-License-Identifier: MIT

/// Reads the descriptors of H.265 7.2 and 9.2 from an RBSP; reading past the end throws.
public struct BitReader: Sendable {
    private let bytes: [UInt8]
    /// Number of bits read.
    public private(set) var position = 0
    /// Every syntax element read, in order; nil when they are not collected.
    var trace: [SyntaxElement]?

    /// A reader at the first bit of `bytes` (emulation prevention already removed).
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    public var bitCount: Int { bytes.count * 8 }

    public var bitsLeft: Int { bitCount - position }

    /// True at a byte boundary (`byte_aligned()`).
    public var isByteAligned: Bool { position & 7 == 0 }

    /// `u(n)`: an unsigned number of 0 to 32 bits, most significant bit first.
    public mutating func readBits(_ count: Int) throws(BitstreamError) -> UInt32 {
        guard count >= 0, count <= 32 else {
            throw BitstreamError(.outOfRange, "a number of \(count) bits cannot be read")
        }
        guard count <= bitsLeft else {
            throw BitstreamError(.truncated, "the data end \(count - bitsLeft) bits early")
        }
        let end = position + count
        var value: UInt64 = 0
        // At most five bytes hold 32 bits at any alignment.
        for index in (position >> 3)..<((end + 7) >> 3) {
            value = value << 8 | UInt64(bytes[index])
        }
        value >>= UInt64((8 - end & 7) & 7)
        position = end
        return UInt32(truncatingIfNeeded: value & ((1 << UInt64(count)) - 1))
    }

    public mutating func skip(_ count: Int) throws(BitstreamError) {
        guard count >= 0, count <= bitsLeft else {
            throw BitstreamError(.truncated, "the data end \(count - bitsLeft) bits early")
        }
        position += count
    }

    /// `u(1)`.
    public mutating func readFlag() throws(BitstreamError) -> Bool {
        try readBits(1) != 0
    }

    /// `ue(v)`: 0 … 2³² − 2 (9.2).
    public mutating func readUE() throws(BitstreamError) -> UInt32 {
        var leadingZeroBits = 0
        while try readBits(1) == 0 {
            leadingZeroBits += 1
            guard leadingZeroBits < 32 else {
                throw BitstreamError(.malformed, "an Exp-Golomb code has more than 31 leading zero bits")
            }
        }
        return ((1 << UInt32(leadingZeroBits)) - 1) + (try readBits(leadingZeroBits))
    }

    /// `se(v)`: −2³¹ + 1 … 2³¹ − 1 (9.2.2).
    public mutating func readSE() throws(BitstreamError) -> Int32 {
        let code = Int64(try readUE())
        return Int32(truncatingIfNeeded: code & 1 == 1 ? (code + 1) / 2 : -(code / 2))
    }

    /// `more_rbsp_data()`: true until the stop bit of `rbsp_trailing_bits()`.
    public var hasMoreRBSPData: Bool {
        guard let stop = stopBit else { return false }
        return position < stop
    }

    /// Position of the last 1 bit; nil when all bits are 0.
    var stopBit: Int? {
        guard let last = bytes.lastIndex(where: { $0 != 0 }) else { return nil }
        return last * 8 + 7 - bytes[last].trailingZeroBitCount
    }

    /// Reads `rbsp_trailing_bits()`: a 1 bit, then zeros up to the end of the data.
    public mutating func readTrailingBits() throws(BitstreamError) {
        guard try readFlag() else {
            throw BitstreamError(.malformed, "the stop bit of rbsp_trailing_bits is missing")
        }
        guard let stop = stopBit, stop < position else {
            throw BitstreamError(.malformed, "data follow rbsp_trailing_bits")
        }
        position = bitCount
    }

    /// Reads `byte_alignment()` (7.3.2.13): a 1 bit, then zeros up to the next byte boundary.
    public mutating func readByteAlignment() throws(BitstreamError) {
        let rest = 8 - position & 7
        guard try readBits(rest) == 1 << UInt32(rest - 1) else {
            throw BitstreamError(.malformed, "byte_alignment is not a 1 bit followed by zeros")
        }
    }
}
