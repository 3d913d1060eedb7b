// SPDX-License-Identifier: MIT
internal import Glibc
public import HWDTransport
internal import Synchronization

/// Memory for frames, cut into slots of one size, that a session can read: a sealed memfd.
///
/// A slot is counted: whoever reads or writes it (a decoder that still refers to it, the session it was sent to) holds
/// it, and it is free when the last one lets go. Any thread may hold and release.
public final class FramePool: Sendable {
    /// One place for a frame.
    public struct Slot: Hashable, Sendable {
        /// Its number, 0 ..< `slotCount`.
        public let index: Int
        /// Bytes from the pool's start.
        public let offset: Int
    }

    /// Bytes a slot has; a multiple of the page size.
    public let slotSize: Int
    /// How many there are.
    public let slotCount: Int
    /// The memory.
    public let memory: SharedMemory

    private let holders: Mutex<[Int]>

    /// Makes a pool.
    ///
    /// - Parameters:
    ///   - slotSize: bytes, rounded up to whole pages.
    ///   - slotCount: at least 1.
    /// - Throws: `ENOMEM` and the like.
    public init(slotSize: Int, slotCount: Int) throws(SystemError) {
        let page = 4096
        let rounded = (max(1, slotSize) + page - 1) / page * page
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

    /// Lets go of a slot.
    public func release(_ slot: Slot) { holders.withLock { $0[slot.index] -= 1 } }

    /// Lets go of a slot by its number.
    public func release(slot index: Int) { holders.withLock { $0[index] -= 1 } }

    /// Slots that nobody holds.
    public var freeCount: Int { holders.withLock { $0.count { $0 == 0 } } }

    /// A slot's memory, for writing; valid as long as the pool lives.
    public func bytes(of slot: Slot) -> UnsafeMutableRawBufferPointer {
        guard let all = memory.mutableBytes else { return UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        return UnsafeMutableRawBufferPointer(rebasing: all[slot.offset..<slot.offset + slotSize])
    }
}
