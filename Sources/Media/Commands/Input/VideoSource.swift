// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAVReading
internal import HWDMetadata

/// The progress of decoding, in a session or in this process.
struct SourceReport {
    var frames = 0
    /// Damage that the demuxer and the decoder reported.
    var errors = 0
    var firstError: String?
    var damagedFrames = 0
    var droppedFrames = 0
    /// Frames that are opaque because their alpha is missing, and the reason for the first.
    var alphaMissingFrames = 0
    var firstAlphaError: String?
    /// Frames that were mapped by their RPUs, those whose RPU cannot be applied, and the reason for the first.
    var mappedFrames = 0
    var refusedRPUs = 0
    var firstRPURefusal: String?
    /// Packets above the maximum temporal level, which the session dropped.
    var leftOut = 0
    var repairedTimestamps = 0
    /// Jumps of the file's timestamps that were removed.
    var discontinuities = 0
    /// Frames with HDR metadata or captions that could not be read.
    var incompleteMetadata = 0
    /// Frames whose size or format differs from the first one's, converted by the file's reader.
    var changes = FormatChanges()

    /// A warning about metadata that were lost while reading, in one line; nil without any.
    var metadataWarning: String? {
        guard incompleteMetadata > 0 else { return nil }
        let frames = incompleteMetadata == 1 ? "1 frame" : "\(incompleteMetadata) frames"
        return "warning: HDR metadata or captions of \(frames) of the input cannot be read and are left out"
    }
}

/// A media file whose frames come in presentation order: decoded by the daemon where it can, else in this process.
protocol VideoSource: AnyObject {
    /// The next frame, or packet of another stream; nil at the end.
    func next() throws -> MediaReader.Item?
    /// The progress so far.
    var report: SourceReport { get }
}

/// A video that libavcodec decodes in this process.
final class LocalSource: VideoSource {
    private let reader: MediaReader

    init(_ reader: MediaReader) { self.reader = reader }

    func next() throws -> MediaReader.Item? { try reader.next() }

    var report: SourceReport {
        let report = reader.report
        return SourceReport(
            frames: report.frames, errors: report.errors, firstError: report.firstError,
            repairedTimestamps: report.repairedTimestamps, discontinuities: report.discontinuities,
            incompleteMetadata: report.incompleteMetadata,
            changes: report.changes)
    }
}
