// SPDX-License-Identifier: GPL-2.0-or-later

/// Counters of a reader's decoding.
public struct DecodeReport: Hashable, Sendable {
    /// Frames returned.
    public var frames = 0
    /// Of these, frames that were decoded directly into the caller's `FrameMemory`.
    public var directFrames = 0
    /// Errors that the demuxer and the decoder reported; pictures in which they concealed damage are returned too.
    public var errors = 0
    /// The position and text of the first error, in one line.
    public var firstError: String?
    /// Frames whose timestamp did not exceed its predecessor's, and was set one tick after it.
    public var repairedTimestamps = 0
    /// Jumps of the file's timestamps that were removed, as where two MPEG-TS files are concatenated.
    public var discontinuities = 0

    /// Frames with HDR metadata or captions that cannot be written, such as values outside of their range.
    public var incompleteMetadata = 0

    /// Pictures whose size or format differs from the first one's.
    public var changes = FormatChanges()

    /// All counters at 0.
    public init() {}
}
