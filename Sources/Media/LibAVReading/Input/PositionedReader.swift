// SPDX-License-Identifier: GPL-2.0-or-later

/// Random access to an open input, a few bytes at a time.
package final class PositionedReader {
    private let file: InputFile
    private var block: [UInt8] = []
    private var blockStart: UInt64 = 0

    /// Bytes per pread(2): a slice header and, in most streams, the SEI messages before it.
    private static let blockSize = 512

    init(_ file: InputFile) { self.file = file }

    /// `count` bytes at `offset`; nil when the file ends before.
    func read(at offset: UInt64, _ count: Int) -> [UInt8]? {
        guard count > 0, count <= Self.blockSize, offset < 1 << 62 else { return nil }
        if offset < blockStart || offset + UInt64(count) > blockStart + UInt64(block.count) {
            block = file.bytes(at: Int64(offset), upTo: Self.blockSize)
            blockStart = offset
        }
        let start = Int(offset - blockStart)
        guard start + count <= block.count else { return nil }
        return Array(block[start..<start + count])
    }
}
