// SPDX-License-Identifier: MIT

/// A frame to convert, as a client of a pixel-transfer session announces it.
public struct TransferFrame: Hashable, Sendable {
    /// The location of one side's samples.
    public struct Place: Hashable, Sendable {
        /// The pool that holds the samples.
        public var poolID: UInt32
        /// The planes' offsets in the pool, and their strides.
        public var layout: FrameLayout

        public init(poolID: UInt32, layout: FrameLayout) {
            self.poolID = poolID
            self.layout = layout
        }
    }

    /// The client's number for it, unique among its frames in flight.
    public var frameID: UInt64
    /// The samples to convert.
    public var source: Place
    /// The converted samples; the client must not touch them before the answer.
    public var target: Place
    /// The source's color, where it differs from the one that Create named.
    public var color: ColorDescription?
    /// Its time, by which changes of effects hold for it; nil without one.
    public var pts: Int64?

    public init(
        frameID: UInt64, source: Place, target: Place, color: ColorDescription? = nil, pts: Int64? = nil
    ) {
        self.frameID = frameID
        self.source = source
        self.target = target
        self.color = color
        self.pts = pts
    }
}
