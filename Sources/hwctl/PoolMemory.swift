// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import MediaFile
internal import Synchronization

/// A session's frame pool as the place a reader decodes into, so that a frame is never copied on its way.
final class PoolMemory: FrameMemory {
    private let pool = Mutex<FramePool?>(nil)

    /// Puts the pool in place; until then frames lie in the reader's own memory.
    ///
    /// The pool's size depends on what the reader finds in the file, so it can only come after the reader.
    func attach(_ pool: FramePool) { self.pool.withLock { $0 = pool } }

    func allocate(byteCount: Int) -> FrameSlot? {
        guard let pool = pool.withLock({ $0 }), byteCount <= pool.slotSize, let slot = pool.acquire(),
            let base = pool.bytes(of: slot).baseAddress
        else { return nil }
        return FrameSlot(id: slot.index, base: base, poolOffset: UInt64(slot.offset), byteCount: pool.slotSize)
    }

    func free(_ id: Int) { pool.withLock { $0 }?.release(slot: id) }
}
