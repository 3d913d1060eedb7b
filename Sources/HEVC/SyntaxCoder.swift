// SPDX-License-Identifier: GPL-2.0-or-later

/// One syntax element as it was read, under the standard's name.
struct SyntaxElement: Hashable, Sendable {
    let name: String
    let value: Int
}

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

/// A direction of coding: one syntax table, written once, serves the reader and the writer alike.
///
/// Every call names the syntax element as the standard does. A reader stores into the variable, a writer takes from it;
/// both refuse values outside the range.
protocol SyntaxCoder {
    var isReading: Bool { get }
    /// u(n), n ≤ 62.
    mutating func u(_ name: StaticString, _ bits: Int, _ value: inout Int) throws(BitstreamError)
    mutating func flag(_ name: StaticString, _ value: inout Bool) throws(BitstreamError)
    mutating func ue(_ name: StaticString, _ value: inout Int, _ range: ClosedRange<Int>) throws(BitstreamError)
    mutating func se(_ name: StaticString, _ value: inout Int, _ range: ClosedRange<Int>) throws(BitstreamError)
    /// Everything up to the stop bit of rbsp_trailing_bits().
    mutating func extensionData(_ value: inout RawBits) throws(BitstreamError)
    mutating func rbspTrailingBits() throws(BitstreamError)
    mutating func byteAlignment() throws(BitstreamError)
    /// Refuses a large table before memory is taken for it.
    func require(bits: Int) throws(BitstreamError)
}

/// The largest value of ue(v).
let maxUE = 0xFFFF_FFFE

/// Throws unless `value` lies in `range`.
func check(_ name: StaticString, _ value: Int, _ range: ClosedRange<Int>) throws(BitstreamError) {
    guard range.contains(value) else {
        throw BitstreamError(
            .outOfRange, "\(name) is \(value); it must be \(range.lowerBound) to \(range.upperBound).")
    }
}

/// Ceil( Log2( value ) ) of the standard, 0 for values up to 1.
func ceilLog2(_ value: Int) -> Int {
    value <= 1 ? 0 : Int.bitWidth - (value - 1).leadingZeroBitCount
}

extension SyntaxCoder {
    /// u(n) with a range narrower than n bits give.
    mutating func u(
        _ name: StaticString, _ bits: Int, _ value: inout Int, _ range: ClosedRange<Int>
    ) throws(BitstreamError) {
        try u(name, bits, &value)
        try check(name, value, range)
    }

    /// ue(v) with the descriptor's whole range.
    mutating func ue(_ name: StaticString, _ value: inout Int) throws(BitstreamError) {
        try ue(name, &value, 0...maxUE)
    }

    /// A flag that says whether a substructure follows.
    mutating func presence<T>(
        _ name: StaticString, _ value: inout T?, _ empty: @autoclosure () -> T
    ) throws(BitstreamError) {
        var present = value != nil
        try flag(name, &present)
        if isReading { value = present ? empty() : nil }
    }

    /// Gives an array that is about to be read its size; checks the size of one about to be written.
    func size<T>(_ name: StaticString, _ array: inout [T], _ count: Int, _ fill: T) throws(BitstreamError) {
        if isReading {
            array = Array(repeating: fill, count: count)
        } else if array.count != count {
            throw BitstreamError(.malformed, "\(name) has \(array.count) entries where \(count) are needed.")
        }
    }

    /// Keeps a count and its array in step: the array's own size is what gets written.
    func count<T>(_ value: inout Int, of array: [T]) {
        if !isReading { value = array.count }
    }

    /// Bits that must have one value, such as reserved ones.
    mutating func constant(_ name: StaticString, _ bits: Int, _ expected: Int) throws(BitstreamError) {
        var value = expected
        try u(name, bits, &value)
        try check(name, value, expected...expected)
    }
}

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
            throw BitstreamError(.truncated, "The stop bit of rbsp_trailing_bits is missing.")
        }
        value = try readRaw(stop - position)
    }

    mutating func rbspTrailingBits() throws(BitstreamError) { try readTrailingBits() }

    mutating func byteAlignment() throws(BitstreamError) { try readByteAlignment() }

    func require(bits: Int) throws(BitstreamError) {
        guard bits <= bitsLeft else {
            throw BitstreamError(.truncated, "The data end \(bits - bitsLeft) bits too early.")
        }
    }

    /// The next `count` bits as they are.
    mutating func readRaw(_ count: Int) throws(BitstreamError) -> RawBits {
        guard count <= bitsLeft else {
            throw BitstreamError(.truncated, "The data end \(count - bitsLeft) bits too early.")
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

    /// Bits as they are.
    mutating func writeRaw(_ raw: RawBits) throws(BitstreamError) {
        guard raw.bitCount >= 0, raw.bitCount <= raw.bytes.count * 8 else {
            throw BitstreamError(.malformed, "Raw bits claim to be longer than their bytes.")
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
