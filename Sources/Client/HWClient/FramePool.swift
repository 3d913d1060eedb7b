// SPDX-License-Identifier: MIT
internal import Glibc
public import HWDTransport
internal import Synchronization

/// Memory for frames that a session can read: a sealed memfd, divided into slots of equal size.
///
/// Slots are reference counted: everything that reads or writes one (a decoder that still refers to it, the session it
/// was sent to) holds it, and the last release frees it. Any thread may hold and release.
public final class FramePool: Sendable {
    /// Room for one frame.
    public struct Slot: Hashable, Sendable {
        /// The slot's number, 0 ..< `slotCount`.
        public let index: Int
        /// Bytes from the pool's start.
        public let offset: Int
    }

    /// Bytes of a slot; a multiple of the page size.
    public let slotSize: Int
    /// The number of slots.
    public let slotCount: Int
    /// The memory of all slots.
    public let memory: SharedMemory

    private static let pageSize = 4096

    private let holders: Mutex<[Int]>

    /// Allocates a pool.
    ///
    /// - Parameters:
    ///   - slotSize: bytes, rounded up to whole pages.
    ///   - slotCount: at least 1.
    /// - Throws: `ENOMEM`, `EMFILE` and others of memfd_create(2), ftruncate(2) and mmap(2), `EFBIG` beyond RLIMIT_FSIZE.
    public init(slotSize: Int, slotCount: Int) throws(SystemError) {
        let rounded = (max(1, slotSize) + Self.pageSize - 1) / Self.pageSize * Self.pageSize
        let (size, overflow) = rounded.multipliedReportingOverflow(by: max(1, slotCount))
        guard !overflow else { throw SystemError(errno: ENOMEM, call: "memfd_create") }
        self.slotSize = rounded
        self.slotCount = max(1, slotCount)
        memory = try SharedMemory(creating: "hwdaemon-frames", size: size)
        holders = Mutex(Array(repeating: 0, count: max(1, slotCount)))
    }

    /// A free slot, held once; nil when there is none, or when fewer than `others` would stay free.
    public func acquire(leaving others: Int = 0) -> Slot? {
        holders.withLock { holders in
            guard let index = holders.firstIndex(of: 0), others == 0 || holders.count(where: { $0 == 0 }) > others
            else { return nil }
            holders[index] = 1
            return Slot(index: index, offset: index * slotSize)
        }
    }

    /// Holds a slot once more.
    public func hold(_ slot: Slot) { holders.withLock { $0[slot.index] += 1 } }

    /// Releases a slot once.
    public func release(_ slot: Slot) { release(slot: slot.index) }

    /// Releases a slot, named by its number, once.
    public func release(slot index: Int) { holders.withLock { $0[index] -= 1 } }

    /// The number of slots that nothing holds.
    public var freeCount: Int { holders.withLock { $0.count { $0 == 0 } } }

    /// A slot's memory, for writing; valid as long as the pool exists.
    public func bytes(of slot: Slot) -> UnsafeMutableRawBufferPointer {
        guard let all = memory.mutableBytes else { return UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        return UnsafeMutableRawBufferPointer(rebasing: all[slot.offset..<slot.offset + slotSize])
    }
}
