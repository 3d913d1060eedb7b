// SPDX-License-Identifier: MIT

/// The facts about a video that presets depend on.
public struct ExportSource: Hashable, Sendable {
    /// The displayed size.
    public var size: ExportPreset.Size
    /// Frames per second; nil where that is not known.
    public var frameRate: Double?
    /// Bits of a sample.
    public var bitDepth: Int
    /// Whether it has alpha.
    public var hasAlpha: Bool

    /// Describes a video.
    public init(width: Int, height: Int, frameRate: Double?, bitDepth: Int = 8, hasAlpha: Bool = false) {
        size = ExportPreset.Size(width: width, height: height)
        (self.frameRate, self.bitDepth, self.hasAlpha) = (frameRate, bitDepth, hasAlpha)
    }
}
