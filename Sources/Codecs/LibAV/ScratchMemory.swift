// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDCoding
internal import HWDModel
internal import Synchronization

/// Private memory for pictures that are processed further before a client receives them.
final class ScratchMemory: PictureMemory {
    private struct State {
        var lent: [Int: FrameSlot] = [:]
        var spare: [FrameSlot] = []
        var lastID = 0
    }

    private let state = Mutex(State())
    /// The session's memory, which counts this too.
    private let session: any PictureMemory

    /// Slots kept for later pictures; a decoder returns about as many as it takes.
    private static let maxSpare = 8
    private static let alignment = 64

    init(of session: any PictureMemory) { self.session = session }

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
            guard size > 0, (try? session.require(byteCount: size)) != nil,
                let base = aligned_alloc(Self.alignment, size)
            else { return nil }
            // Samples that a damaged stream leaves unwritten must not show an earlier picture.
            memset(base, 0, size)
            let slot = FrameSlot(id: state.lastID, base: base, poolOffset: 0, byteCount: size)
            state.lent[slot.id] = slot
            return slot
        }
    }

    func slotForCopy(byteCount: Int) throws(SessionError) -> FrameSlot {
        guard let slot = allocate(byteCount: byteCount) else {
            try session.require(byteCount: byteCount)
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

    /// The first byte of a slot that is lent; nil for any other.
    func base(of id: Int) -> UnsafeMutableRawPointer? { state.withLock { $0.lent[id] }?.base }
}
