// SPDX-License-Identifier: MIT

extension BitReader: SyntaxCoder {
    var isReading: Bool { true }

    private mutating func note(_ name: StaticString, _ value: Int) {
        trace?.append(SyntaxElement(name: name.description, value: value))
    }

    mutating func u(_ name: StaticString, _ bits: Int, _ value: inout Int) throws(BitstreamError) {
        value = 0
        if bits > 32 { value = Int(try readBits(bits - 32)) << 32 }
        value |= Int(try readBits(min(bits, 32)))
        note(name, value)
    }

    mutating func flag(_ name: StaticString, _ value: inout Bool) throws(BitstreamError) {
        value = try readFlag()
        note(name, value ? 1 : 0)
    }

    mutating func ue(
        _ name: StaticString, _ value: inout Int, _ range: ClosedRange<Int>
    ) throws(BitstreamError) {
        let code = Int(try readUE())
        try check(name, code, range)
        value = code
        note(name, value)
    }

    mutating func se(
        _ name: StaticString, _ value: inout Int, _ range: ClosedRange<Int>
    ) throws(BitstreamError) {
        let code = Int(try readSE())
        try check(name, code, range)
        value = code
        note(name, value)
    }

    mutating func extensionData(_ value: inout RawBits) throws(BitstreamError) {
        guard let stop = stopBit, stop >= position else {
            throw BitstreamError(.truncated, "the stop bit of rbsp_trailing_bits is missing")
        }
        value = try readRaw(stop - position)
    }

    mutating func rbspTrailingBits() throws(BitstreamError) { try readTrailingBits() }

    mutating func byteAlignment() throws(BitstreamError) { try readByteAlignment() }

    func require(bits: Int) throws(BitstreamError) {
        guard bits <= bitsLeft else {
            throw BitstreamError(.truncated, "the data end \(bits - bitsLeft) bits early")
        }
    }

    /// The next `count` bits, uninterpreted.
    mutating func readRaw(_ count: Int) throws(BitstreamError) -> RawBits {
        guard count <= bitsLeft else {
            throw BitstreamError(.truncated, "the data end \(count - bitsLeft) bits early")
        }
        var copy = BitWriter()
        var left = count
        while left > 0 {
            let take = min(left, 32)
            try copy.writeBits(try readBits(take), take)
            left -= take
        }
        return RawBits(bytes: copy.bytes, bitCount: count)
    }
}
