// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDLibAV
internal import HWDMediaFile
internal import HWDModel
internal import HWDTransport

/// A frame on its way through a command, wherever it was decoded.
struct SourceFrame {
    /// Where its samples are.
    enum Place {
        /// In a decompression session's arena.
        case session(SharedMemory, arenaID: UInt32, FrameLayout)
        /// Where this process's decoder put it.
        case local(DecodedFrame)
    }

    var index: Int
    var pts: Int64
    var duration: Int64
    var width: Int
    var height: Int
    var format: PixelFormat
    var color: ColorDescription
    /// How its colours stand to its alpha; nil where it has none of its own.
    var alphaMode: AlphaChannelMode?
    var place: Place
    /// Gives the samples up.
    var release: () throws -> Void
}

/// What a command reads.
enum SourceItem {
    case frame(SourceFrame)
    case packet(MediaPacket)
}

/// How decoding goes, whoever does it.
struct SourceReport {
    var frames = 0
    /// Damage that was told of, by the file's reader and by the decoder.
    var errors = 0
    var firstError: String?
    var damagedFrames = 0
    var droppedFrames = 0
    /// Frames that are opaque because their alpha did not come, and why of the first.
    var alphaMissingFrames = 0
    var firstAlphaError: String?
    /// Packets above the temporal level that is wanted, which the session left out.
    var leftOut = 0
    var repairedTimestamps = 0
}

/// A media file whose frames come in presentation order: decoded by the daemon where it can, else in this process.
protocol VideoSource: AnyObject {
    /// The next frame, or packet of another stream; nil at the end.
    func next() throws -> SourceItem?
    /// How it went so far.
    var report: SourceReport { get }
}

/// Decoded in this process, by libavcodec.
final class LocalSource: VideoSource {
    private let reader: MediaReader

    init(_ reader: MediaReader) { self.reader = reader }

    func next() throws -> SourceItem? {
        switch try reader.next() {
        case .packet(let packet)?: return .packet(packet)
        case .frame(let frame)?:
            return .frame(
                SourceFrame(
                    index: frame.index, pts: frame.pts, duration: frame.duration, width: frame.width,
                    height: frame.height, format: frame.format, color: reader.video.color,
                    alphaMode: reader.video.alphaMode,
                    place: .local(frame),
                    release: { frame.release() }))
        case nil: return nil
        }
    }

    var report: SourceReport {
        let report = reader.report
        return SourceReport(
            frames: report.frames, errors: report.errors, firstError: report.firstError,
            repairedTimestamps: report.repairedTimestamps)
    }
}
