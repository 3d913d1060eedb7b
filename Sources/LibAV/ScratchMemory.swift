// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSessions
internal import Synchronization

/// Memory of this process alone, for pictures that are read once more before a client gets them.
final class ScratchMemory: PictureMemory {
    private struct State {
        var lent: [Int: FrameSlot] = [:]
        var spare: [FrameSlot] = []
        var lastID = 0
    }

    private let state = Mutex(State())

    /// Slots kept for the next picture; a decoder gives back about as many as it takes.
    private static let maxSpare = 8
    private static let alignment = 64

    init() {}

    deinit {
        state.withLock { state in
            for slot in state.spare + state.lent.values { Glibc.free(slot.base) }
        }
    }

    func allocate(byteCount: Int) -> FrameSlot? {
        state.withLock { state in
            state.lastID += 1
            if let index = state.spare.firstIndex(where: {
                $0.byteCount >= byteCount && $0.byteCount / 2 <= byteCount
            }) {
                let old = state.spare.remove(at: index)
                let slot = FrameSlot(id: state.lastID, base: old.base, poolOffset: 0, byteCount: old.byteCount)
                state.lent[slot.id] = slot
                return slot
            }
            let size = (byteCount + Self.alignment - 1) & ~(Self.alignment - 1)
            guard size > 0, let base = aligned_alloc(Self.alignment, size) else { return nil }
            // What a damaged stream leaves unwritten is black, and no picture of before.
            memset(base, 0, size)
            let slot = FrameSlot(id: state.lastID, base: base, poolOffset: 0, byteCount: size)
            state.lent[slot.id] = slot
            return slot
        }
    }

    func slotForCopy(byteCount: Int) throws(SessionError) -> FrameSlot {
        guard let slot = allocate(byteCount: byteCount) else {
            throw SessionError(.allocationFailed, "no memory for a picture of \(byteCount) bytes")
        }
        return slot
    }

    func free(_ id: Int) {
        let gone: FrameSlot? = state.withLock { state in
            guard let slot = state.lent.removeValue(forKey: id) else { return nil }
            state.spare.append(slot)
            return state.spare.count > Self.maxSpare ? state.spare.removeFirst() : nil
        }
        if let gone { Glibc.free(gone.base) }
    }

    /// Where a slot begins, as long as it is lent.
    func base(of id: Int) -> UnsafeMutableRawPointer? { state.withLock { $0.lent[id] }?.base }
}
