// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDCaptureSound
internal import HWDControlCommands
internal import HWDModel
internal import HWDTransport

/// What the loop of a recording drives: frames that a session codes, or coded frames that are copied.
///
/// For one thread.
protocol CaptureStream: AnyObject {
    /// What the source sends to.
    var frames: any PausableQueue { get }
    /// Signaled for what arrives, and at the end.
    var wake: EventFD { get }
    /// Readable when `step` has something to receive; nil without a session.
    var descriptor: Int32? { get }
    var counts: CaptureQueue.Counts { get }
    /// How often the session continued in another process.
    var restartCount: Int { get }
    /// The sizes of the pictures, the first one and those that followed.
    var sizes: [CaptureReceipt.Size] { get }
    /// Whether `step` takes what the session has.
    var isReceiving: Bool { get }
    /// Whether `drain` has anything to do.
    var isCoding: Bool { get }
    /// When `step` has something to do without an event.
    var deadline: MonotonicTime { get }
    /// Why the recording ends now; nil while it does not.
    var end: CaptureJob.End? { get }

    func prepare() throws
    /// Takes and writes what can be.
    func step() throws
    /// Writes what was taken, after the source has stopped.
    func drain() throws
    /// Codes the rest of the sound, up to the end of the last frame.
    func endSound() throws(CommandFailure)
    /// Counts the frames that were taken and are in no file.
    func settle(_ written: Int)
    /// Ends the session.
    func close()
}

extension CaptureJob.End {
    /// Why no more frames come; nil where they do.
    init?(_ end: CaptureQueue.End?) {
        switch end {
        case .duration: self = .duration
        case .changed(let format):
            self = .source(
                "the frames of the source have a format that is not recorded (\(format.width)x\(format.height))")
        case .source(.finished): self = .source("the source has ended")
        case .source(.gone(let reason)): self = .source(reason)
        case .source(.failed(let reason)): self = .failure(CommandFailure(.ioError, reason))
        case nil: return nil
        }
    }
}

extension CaptureSound {
    /// Codes what has been heard since the recording's first frame.
    func write(from origin: UInt64, to writer: CaptureWriter) throws(CommandFailure) {
        if let reason = news { Console.note("warning: the recording continues with silence: \(reason)") }
        track.begin(at: origin)
        writer.append(try packets(now: MonotonicTime.now.nanoseconds))
    }

    /// Codes the rest, up to a time, and stops the source.
    func end(from origin: UInt64, at end: UInt64, to writer: CaptureWriter) throws(CommandFailure) {
        defer { stop() }
        // Its true time is known half a second later.
        while MonotonicTime.now.nanoseconds < end + Self.hold { usleep(20_000) }
        stop()
        track.begin(at: origin)
        writer.append(try finish(at: end))
        writer.endSound(at: track.duration)
    }
}
