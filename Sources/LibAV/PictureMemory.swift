// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A session's memory for pictures: a decoder writes into it, and where it could not, its pictures are copied there.
public protocol PictureMemory: FrameMemory {
    /// A free slot of at least `byteCount` bytes for a copy; waits for the client as long as it is given.
    ///
    /// Only called on the thread that drives the decoder, while the decoder does nothing.
    /// - Throws: what ends the session: the client gives nothing back, or there is no memory.
    func slotForCopy(byteCount: Int) throws(SessionError) -> FrameSlot
}

/// A slot that is given back when this object goes.
final class SlotHolder: Sendable {
    private let memory: any PictureMemory
    private let slot: Int

    init(_ memory: any PictureMemory, _ slot: Int) {
        self.memory = memory
        self.slot = slot
    }

    deinit { memory.free(slot) }
}
