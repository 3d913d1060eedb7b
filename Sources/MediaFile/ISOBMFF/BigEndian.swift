// SPDX-License-Identifier: GPL-2.0-or-later

extension [UInt8] {
    /// Appends a number, most significant byte first.
    mutating func appendBigEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}

extension Collection<UInt8> {
    /// The number in the `count` bytes at `offset`, most significant first; nil when the collection ends before.
    func bigEndian(at offset: Int, _ count: Int) -> UInt64? {
        guard offset >= 0, offset <= self.count, self.count - offset >= count else { return nil }
        return dropFirst(offset).prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The box type in the four bytes at `offset`.
    func fourCC(at offset: Int) -> FourCC? { bigEndian(at: offset, 4).map { FourCC(rawValue: UInt32($0)) } }
}

/// The table that ends a full box: a 32-bit row count, then rows of 32-bit words.
struct BigEndianTable {
    let rowCount: Int
    private let bytes: [UInt8]
    private let start: Int
    private let columns: Int

    /// Reads the row count in the four bytes before `start`; nil when a row is missing.
    ///
    /// Bytes may follow the last row.
    init?(_ bytes: [UInt8], rowsAt start: Int, columns: Int) {
        guard let count = bytes.bigEndian(at: start - 4, 4), Int(count) <= (bytes.count - start) / (4 * columns)
        else { return nil }
        (self.bytes, self.start, self.columns) = (bytes, start, columns)
        rowCount = Int(count)
    }

    /// Whether the last row is the end of the box.
    var fillsBox: Bool { start + 4 * columns * rowCount == bytes.count }

    /// A word; both indices count from 0.
    subscript(row: Int, column: Int) -> UInt32 {
        bytes.withUnsafeBytes {
            let offset = start + 4 * (row * columns + column)
            return UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
    }

    /// A row of one or two columns as a single number.
    func number(_ row: Int) -> UInt64 {
        columns == 1 ? UInt64(self[row, 0]) : UInt64(self[row, 0]) << 32 | UInt64(self[row, 1])
    }
}
