// SPDX-License-Identifier: MIT

extension BitWriter: SyntaxCoder {
    var isReading: Bool { false }

    mutating func u(_ name: StaticString, _ bits: Int, _ value: inout Int) throws(BitstreamError) {
        try check(name, value, 0...((1 << bits) - 1))
        if bits > 32 { try writeBits(UInt32(truncatingIfNeeded: value >> 32), bits - 32) }
        try writeBits(UInt32(truncatingIfNeeded: value), min(bits, 32))
    }

    mutating func flag(_ name: StaticString, _ value: inout Bool) throws(BitstreamError) {
        try writeFlag(value)
    }

    mutating func ue(
        _ name: StaticString, _ value: inout Int, _ range: ClosedRange<Int>
    ) throws(BitstreamError) {
        try check(name, value, range)
        try check(name, value, 0...maxUE)
        try writeUE(UInt32(truncatingIfNeeded: value))
    }

    mutating func se(
        _ name: StaticString, _ value: inout Int, _ range: ClosedRange<Int>
    ) throws(BitstreamError) {
        try check(name, value, range)
        try check(name, value, -0x7FFF_FFFF...0x7FFF_FFFF)
        try writeSE(Int32(truncatingIfNeeded: value))
    }

    mutating func extensionData(_ value: inout RawBits) throws(BitstreamError) {
        try writeRaw(value)
    }

    mutating func rbspTrailingBits() throws(BitstreamError) { try writeTrailingBits() }

    mutating func byteAlignment() throws(BitstreamError) { try writeTrailingBits() }

    func require(bits: Int) throws(BitstreamError) {}

    mutating func writeRaw(_ raw: RawBits) throws(BitstreamError) {
        guard raw.bitCount >= 0, raw.bitCount <= raw.bytes.count * 8 else {
            throw BitstreamError(.malformed, "the raw bits are longer than their bytes")
        }
        var reader = BitReader(raw.bytes)
        var left = raw.bitCount
        while left > 0 {
            let take = min(left, 32)
            try writeBits(try reader.readBits(take), take)
            left -= take
        }
    }
}
