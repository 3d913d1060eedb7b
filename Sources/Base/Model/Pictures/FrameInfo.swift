// SPDX-License-Identifier: MIT

/// What is known of a decoded frame besides its samples.
///
/// It is passed on as a whole from the decoder to what encodes or writes the frame.
public struct FrameInfo: Hashable, Sendable {
    /// Presentation time in ticks of the stream's time base.
    public var pts: Int64
    /// Duration in the same ticks; 0 when unknown.
    public var duration: Int64
    /// Width in luma samples.
    public var width: Int
    /// Height in rows of luma samples.
    public var height: Int
    /// The pixel format of its samples.
    public var format: PixelFormat
    /// The color of its samples.
    public var color: ColorDescription
    /// HDR metadata and captions, as the stream has them.
    public var sideData: [FrameSideData]

    public init(
        pts: Int64, duration: Int64, size: (width: Int, height: Int), format: PixelFormat,
        color: ColorDescription = ColorDescription(), sideData: [FrameSideData] = []
    ) {
        (self.pts, self.duration, self.format) = (pts, duration, format)
        (width, height) = size
        (self.color, self.sideData) = (color, sideData)
    }
}
