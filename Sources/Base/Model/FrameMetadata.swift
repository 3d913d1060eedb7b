// SPDX-License-Identifier: MIT

/// What a frame has besides its samples: color and HDR metadata.
public struct FrameMetadata: Hashable, Sendable {
    /// The frame's color; nil where it is the session's.
    public var color: ColorDescription?
    /// At most one entry of each kind.
    public var sideData: [FrameSideData]

    public init(color: ColorDescription? = nil, sideData: [FrameSideData] = []) {
        self.color = color
        self.sideData = sideData
    }
}
