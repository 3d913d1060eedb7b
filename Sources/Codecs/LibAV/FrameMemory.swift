// SPDX-License-Identifier: GPL-2.0-or-later

/// A part of a pool that holds one frame.
public struct FrameSlot: @unchecked Sendable {
    /// The owner's number for it, passed to `FrameMemory.free`.
    public let id: Int
    /// The first byte; aligned to 64 bytes or more, so that libavcodec can decode into it.
    public let base: UnsafeMutableRawPointer
    /// Bytes from the start of the pool to `base`: frame layouts count from the pool's start.
    public let poolOffset: UInt64
    /// Usable bytes from `base` on.
    public let byteCount: Int

    /// A slot of a pool.
    public init(id: Int, base: UnsafeMutableRawPointer, poolOffset: UInt64, byteCount: Int) {
        self.id = id
        self.base = base
        self.poolOffset = poolOffset
        self.byteCount = byteCount
    }
}

/// A pool of slots, owned by the caller, that a reader may put frames into.
///
/// Both calls come from any thread, libavcodec's among them, and may not block: a decoder that waits for a slot
/// that only its own progress can free deadlocks.
public protocol FrameMemory: AnyObject, Sendable {
    /// A free slot of at least `byteCount` bytes, or nil: the frame is then in the reader's own memory.
    func allocate(byteCount: Int) -> FrameSlot?
    /// Returns a slot that neither the decoder nor a `SourceFrame` uses any more.
    func free(_ id: Int)
}
