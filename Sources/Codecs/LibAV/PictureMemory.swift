// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A session's memory for pictures: decoders write into it, and pictures that they could not write there are copied.
public protocol PictureMemory: FrameMemory {
    /// A free slot of at least `byteCount` bytes for a copy; blocks until the client returns one or the timeout passes.
    ///
    /// Only called on the thread that drives the decoder, between calls into it.
    /// - Throws: an error that ends the session: no slot in time, or no memory.
    func slotForCopy(byteCount: Int) throws(SessionError) -> FrameSlot

    /// Checks that the session may take private memory of `byteCount` bytes.
    ///
    /// - Throws: an error that ends the session: it would have more memory than it may.
    func require(byteCount: Int) throws(SessionError)
}

extension PictureMemory {
    /// No limit.
    public func require(byteCount: Int) throws(SessionError) {}
}

/// Returns a slot when deinitialized.
final class SlotHolder: Sendable {
    private let memory: any PictureMemory
    private let slot: Int

    init(_ memory: any PictureMemory, _ slot: Int) {
        self.memory = memory
        self.slot = slot
    }

    deinit { memory.free(slot) }
}
