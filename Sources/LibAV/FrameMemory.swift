// SPDX-License-Identifier: GPL-2.0-or-later

/// One piece of a pool that holds one frame.
public struct FrameSlot: @unchecked Sendable {
    /// The owner's name for it, given back to `FrameMemory.free`.
    public let id: Int
    /// The first byte; at least 64-byte aligned for decoding straight into it.
    public let base: UnsafeMutableRawPointer
    /// Bytes from the start of the pool to `base`: frame layouts count from the pool's start.
    public let poolOffset: UInt64
    /// Bytes that may be used from `base` on.
    public let byteCount: Int

    /// Names a slot.
    public init(id: Int, base: UnsafeMutableRawPointer, poolOffset: UInt64, byteCount: Int) {
        self.id = id
        self.base = base
        self.poolOffset = poolOffset
        self.byteCount = byteCount
    }
}

/// Where a reader may put frames: a pool of slots that belongs to the caller.
///
/// Both calls come from any thread, libavcodec's among them, and may not block: a decoder that waits for a slot
/// which only its own progress would free waits for ever.
public protocol FrameMemory: AnyObject, Sendable {
    /// A free slot of at least `byteCount` bytes, or nil: then the frame lies in the reader's own memory.
    func allocate(byteCount: Int) -> FrameSlot?
    /// Takes a slot back: neither the decoder nor a `DecodedFrame` uses it any more.
    func free(_ id: Int)
}
