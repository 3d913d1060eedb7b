// SPDX-License-Identifier: MIT

/// One syntax element as it was read, with its name in the standard.
struct SyntaxElement: Hashable, Sendable {
    let name: String
    let value: Int
}

/// A direction of coding, so that one function per syntax table serves the reader and the writer.
///
/// Every call names the syntax element as the standard does. A reader stores the value, a writer codes it; both
/// refuse values outside the range. Public properties have the syntax element's name in camel case, and their
/// comments state units and range only.
protocol SyntaxCoder {
    var isReading: Bool { get }
    /// byte_aligned().
    var isByteAligned: Bool { get }
    /// u(n), n ≤ 62.
    mutating func u(_ name: StaticString, _ bits: Int, _ value: inout Int) throws(BitstreamError)
    mutating func flag(_ name: StaticString, _ value: inout Bool) throws(BitstreamError)
    mutating func ue(_ name: StaticString, _ value: inout Int, _ range: ClosedRange<Int>) throws(BitstreamError)
    mutating func se(_ name: StaticString, _ value: inout Int, _ range: ClosedRange<Int>) throws(BitstreamError)
    /// Everything up to the stop bit of rbsp_trailing_bits().
    mutating func extensionData(_ value: inout RawBits) throws(BitstreamError)
    mutating func rbspTrailingBits() throws(BitstreamError)
    mutating func byteAlignment() throws(BitstreamError)
    /// Throws when fewer bits are left, before memory is allocated for a large table.
    func require(bits: Int) throws(BitstreamError)
}

/// The largest value of ue(v).
let maxUE = 0xFFFF_FFFE

/// Throws unless `value` is in `range`.
func check(_ name: StaticString, _ value: Int, _ range: ClosedRange<Int>) throws(BitstreamError) {
    guard range.contains(value) else {
        throw BitstreamError(
            .outOfRange, "\(name) is \(value); it must be \(range.lowerBound) to \(range.upperBound)")
    }
}

/// Ceil( Log2( value ) ) of the standard, 0 for values up to 1.
func ceilLog2(_ value: Int) -> Int {
    value <= 1 ? 0 : Int.bitWidth - (value - 1).leadingZeroBitCount
}

extension SyntaxCoder {
    /// u(n) with a range narrower than n bits allow.
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

    /// A flag that is 1 when a substructure follows.
    mutating func presence<T>(
        _ name: StaticString, _ value: inout T?, _ empty: @autoclosure () -> T
    ) throws(BitstreamError) {
        var present = value != nil
        try flag(name, &present)
        if isReading { value = present ? empty() : nil }
    }

    /// Resizes an array that is about to be read; checks the size of one that is about to be written.
    func size<T>(_ name: StaticString, _ array: inout [T], _ count: Int, _ fill: T) throws(BitstreamError) {
        if isReading {
            array = Array(repeating: fill, count: count)
        } else if array.count != count {
            throw BitstreamError(.malformed, "\(name) has \(array.count) entries where \(count) are needed")
        }
    }

    /// Bits that must have one value, such as reserved ones.
    mutating func constant(_ name: StaticString, _ bits: Int, _ expected: Int) throws(BitstreamError) {
        var value = expected
        try u(name, bits, &value)
        try check(name, value, expected...expected)
    }
}
