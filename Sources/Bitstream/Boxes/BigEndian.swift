// SPDX-License-Identifier: MIT

extension [UInt8] {
    /// Numbers one after another, most significant bytes first.
    public init(bigEndian numbers: [UInt32]) {
        self = []
        reserveCapacity(4 * numbers.count)
        for number in numbers { appendBigEndian(number) }
    }

    /// Appends a number, most significant byte first.
    @inlinable public mutating func appendBigEndian(_ value: some FixedWidthInteger) {
        var shift = value.bitWidth
        while shift > 0 {
            shift -= 8
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}

extension Collection<UInt8> {
    /// The number in the `count` bytes at `offset`, most significant first; nil when the collection ends before.
    @inlinable public func bigEndian(at offset: Int, _ count: Int) -> UInt64? {
        guard offset >= 0, offset <= self.count, self.count - offset >= count else { return nil }
        return dropFirst(offset).prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The box type in the four bytes at `offset`.
    public func fourCC(at offset: Int) -> FourCC? { bigEndian(at: offset, 4).map { FourCC(rawValue: UInt32($0)) } }
}

/// The table that ends a full box: a 32-bit row count, then rows of 32-bit words.
public struct BigEndianTable: Sendable {
    /// The number of rows.
    public let rowCount: Int
    private let bytes: [UInt8]
    private let start: Int
    private let columns: Int

    /// Reads the row count in the four bytes before `start`; nil when a row is missing.
    ///
    /// Bytes may follow the last row.
    public init?(_ bytes: [UInt8], rowsAt start: Int, columns: Int) {
        guard let count = bytes.bigEndian(at: start - 4, 4), Int(count) <= (bytes.count - start) / (4 * columns)
        else { return nil }
        (self.bytes, self.start, self.columns) = (bytes, start, columns)
        rowCount = Int(count)
    }

    /// Whether the last row is the end of the box.
    public var fillsBox: Bool { start + 4 * columns * rowCount == bytes.count }

    /// A word; both indices count from 0.
    public subscript(row: Int, column: Int) -> UInt32 {
        let offset = start + 4 * (row * columns + column)
        return UInt32(bytes[offset]) << 24 | UInt32(bytes[offset + 1]) << 16 | UInt32(bytes[offset + 2]) << 8
            | UInt32(bytes[offset + 3])
    }

    /// A row of one or two columns as a single number.
    public func number(_ row: Int) -> UInt64 {
        columns == 1 ? UInt64(self[row, 0]) : UInt64(self[row, 0]) << 32 | UInt64(self[row, 1])
    }
}
