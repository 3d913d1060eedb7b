// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A frame that lies in a slot of the caller's `FrameMemory`, ready to be used in place.
public struct DirectFrame: Hashable, Sendable {
    /// The slot's name.
    public let slot: Int
    /// Where the picture's planes lie, counted from the pool's start; already moved to the display window.
    public let layout: FrameLayout
}
