// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAV
internal import HWDMetadata

/// A reader of one kind of input; `MediaReader.open` chooses it.
protocol InputReader: AnyObject {
    var video: VideoDescription { get }
    /// The file's other streams.
    var otherStreams: [OtherStream] { get }
    /// Notices about the input to show before it is used, one line each.
    var warnings: [String] { get }
    /// The counters of decoding so far.
    var report: DecodeReport { get }
    /// Whether `next()` returns frames of the video, not packets.
    var decodes: Bool { get }
    /// Whether the input stores no timestamps.
    var isUntimed: Bool { get }
    /// The temporal levels that were read and dropped; nil where all are read.
    var levelReport: LevelReport? { get }
    /// The most slots that it holds besides the frames that it returned.
    var slotsHeld: Int { get }
    /// Bytes of a slot that it can write into; 0 when its pictures are copied anyway.
    var directByteCount: Int { get }

    /// Decodes here a video that was left to the daemon; called before `use(_:)` and the first `next()`.
    func decodeInProcess() throws(MediaError)
    /// Sets the memory for frames that need no conversion; called before the first `next()`.
    func use(_ memory: any FrameMemory)
    /// The next frame or packet; nil at the end.
    func next() throws(MediaError) -> MediaReader.Item?
}
