// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The position of a frame in the caller's `FrameMemory`.
public struct DirectFrame: Hashable, Sendable {
    /// The slot's number.
    public let slot: Int
    /// The planes of the display window; offsets are from the pool's start.
    public let layout: FrameLayout
}
