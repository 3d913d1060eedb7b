// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDLibAV

/// A session's frame pool as the memory a reader decodes into, so that frames are not copied.
final class PoolMemory: FrameMemory {
    private let pool: FramePool

    init(_ pool: FramePool) { self.pool = pool }

    func allocate(byteCount: Int) -> FrameSlot? {
        // One slot stays free for copies: a decoder that held all of them would deadlock.
        guard byteCount <= pool.slotSize, let slot = pool.acquire(leaving: 1),
            let base = pool.bytes(of: slot).baseAddress
        else { return nil }
        return FrameSlot(id: slot.index, base: base, poolOffset: UInt64(slot.offset), byteCount: pool.slotSize)
    }

    func free(_ id: Int) { pool.release(slot: id) }
}
