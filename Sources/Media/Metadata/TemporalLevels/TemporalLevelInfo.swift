// SPDX-License-Identifier: GPL-2.0-or-later

/// A temporal level of a video track, and the frame rate when all levels above it are dropped.
public struct TemporalLevelInfo: Hashable, Sendable, Encodable {
    /// TemporalId, from 0 on.
    public var level: Int
    /// Frames of this single level; nil when not the whole track was scanned.
    public var frames: Int?
    /// Frames per second of the levels from 0 to this one, as `n/d`; nil when not known.
    public var frameRate: String?

    enum CodingKeys: String, CodingKey {
        case level, frames
        case frameRate = "frame_rate"
    }

    /// Describes a level.
    package init(level: Int, frames: Int?, frameRate: String?) {
        (self.level, self.frames, self.frameRate) = (level, frames, frameRate)
    }
}
