// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// Random access to an open input, a few bytes at a time.
final class PositionedReader {
    private let descriptor: Int32
    private var block: [UInt8] = []
    private var blockStart: UInt64 = 0

    /// Bytes per pread(2): a slice header and, in most streams, the SEI messages before it.
    private static let blockSize = 512

    /// Opens a file; nil where that fails.
    init?(path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        if descriptor < 0 { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// `count` bytes at `offset`; nil when the file ends before.
    func read(at offset: UInt64, _ count: Int) -> [UInt8]? {
        guard count > 0, count <= Self.blockSize, offset < 1 << 62 else { return nil }
        if offset < blockStart || offset + UInt64(count) > blockStart + UInt64(block.count) {
            var bytes = [UInt8](repeating: 0, count: Self.blockSize)
            let done = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
            block = Array(bytes.prefix(max(0, done)))
            blockStart = offset
        }
        let start = Int(offset - blockStart)
        guard start + count <= block.count else { return nil }
        return Array(block[start..<start + count])
    }
}
