// SPDX-License-Identifier: MIT
internal import Glibc

/// Memory of this process alone, whose pages are allocated when they are used.
final class PrivateMemory {
    /// Aligned to a huge page.
    let base: UnsafeMutableRawPointer
    private let mapping: UnsafeMutableRawBufferPointer

    private static let hugePageSize = 2 << 20

    /// Nil where there is no memory.
    ///
    /// - Parameter usesHugePages: asks for huge pages, of which the last one that is used may be mostly empty.
    init?(size: Int, usesHugePages: Bool) {
        let length = size + Self.hugePageSize
        let start = mmap(
            nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let start, start != MAP_FAILED else { return nil }
        mapping = UnsafeMutableRawBufferPointer(start: start, count: length)
        base = start.alignedUp(toMultipleOf: Self.hugePageSize)
        // A system without them refuses, and the pages are small ones.
        if usesHugePages { _ = madvise(base, size, MADV_HUGEPAGE) }
    }

    /// Gives back the whole pages of a part that begins with a page; their bytes are 0 from now on.
    func freePages(at offset: Int, size: Int) {
        let pageSize = sysconf(Int32(_SC_PAGESIZE))
        guard pageSize > 0, offset % pageSize == 0 else { return }
        // The kernel would round up, to a page that has other bytes.
        _ = madvise(base + offset, size / pageSize * pageSize, MADV_DONTNEED)
    }

    deinit { munmap(mapping.baseAddress, mapping.count) }
}
