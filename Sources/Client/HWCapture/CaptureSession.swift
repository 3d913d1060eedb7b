// SPDX-License-Identifier: MIT
public import HWClient

/// A recording: frames of a source in, HEVC in a .mov or .mp4 out, in real time.
///
/// The file has its final name from its first fragment on and plays up to the last half second before any crash, of the app, the
/// daemon or the machine; at the end it is finished in place (`MovieRecorder`). The compression session is replayed where its process fails,
/// and no frame is lost by that. A frame that finds no room, because the encoder or the disk is behind, is dropped before it is
/// coded; the one before it lasts longer, so that times stay those of the source. `Receipt` has the time and the cause of each.
///
/// The source, a camera, a screen or the app itself by `CaptureFeed`, calls on its own thread and never waits. A thread of the
/// session codes, and another writes. When the last reference goes, the recording ends as by `stop`, without a wait for it.
public final class CaptureSession: Sendable {
    private let recorder: CaptureRecorder

    private init(_ recorder: CaptureRecorder) { self.recorder = recorder }

    deinit { recorder.requestStop() }

    /// Begins a recording; returns when the encoder is open and the source has begun.
    ///
    /// The file is created with the first frame, so that `Options.replaces` replaces nothing where there is none.
    /// - Parameters:
    ///   - daemon: of `Daemon.find()`.
    ///   - source: frames of NV12, YU12, P010, I010, AR24, AB24 or AB4H. Where their size or format changes, they are coded by another
    ///     session, with a sample entry of their own in the file.
    ///   - path: a name that ends with .mov is a QuickTime movie, others are MP4.
    ///   - options: by default a recording until `stop`.
    /// - Throws: `format`, `file`, `session` or `source`; nothing was written.
    public static func start(
        _ daemon: Daemon, _ source: any CaptureSource, to path: String, _ options: Options = Options()
    ) async throws(CaptureError) -> CaptureSession {
        let recorder: CaptureRecorder
        do { recorder = try CaptureRecorder(daemon, source, path, options) } catch { throw CaptureError(error) }
        try await recorder.start()
        return CaptureSession(recorder)
    }

    /// What happened so far.
    public var counts: Counts { recorder.counts }

    /// Whether frames and sound are left out.
    public var isPaused: Bool { recorder.timeline?.isPaused ?? false }

    /// Leaves out frames and sound from now on, which are not counted: what follows `resume` continues the file's time line.
    ///
    /// - Returns: false while a pause lasts, after the end, and for more than 1,000 pauses.
    @discardableResult
    public func pause() -> Bool { recorder.timeline?.pause(at: CaptureFeed.now) != nil }

    /// Takes frames and sound again.
    /// - Returns: false without a pause.
    @discardableResult
    public func resume() -> Bool { recorder.timeline?.resume() != nil }

    /// Begins a chapter now: the finished file has it, and one that is repaired after a crash.
    ///
    /// - Parameter title: nil for the chapter's number.
    /// - Returns: false after the end, for more than 10,000 chapters, and while the disk is too far behind.
    @discardableResult
    public func mark(_ title: String? = nil) -> Bool { recorder.timeline?.mark(title, at: CaptureFeed.now) != nil }

    /// What was recorded, after the end; nil before it, and where there is no file.
    public var receipt: Receipt? { recorder.receipt }

    /// Ends the recording and returns when the file is finished and on the disk, even where the task is canceled.
    ///
    /// May be called again, and after the end.
    /// - Throws: why the recording failed, or `noFrames`; `receipt` states what is in the file.
    @discardableResult
    public func stop() async throws(CaptureError) -> Receipt {
        recorder.requestStop()
        await recorder.waitForEnd()
        return try recorder.result()
    }

    /// Waits until the recording has ended: by the source, its duration, a failure, or `stop` of another task.
    ///
    /// - Throws: as `stop`; `CancellationError` where the task is canceled: the recording continues.
    @discardableResult
    public func waitUntilEnd() async throws -> Receipt {
        await recorder.waitForEnd(isCancelable: true)
        if !recorder.hasEnded { try Task.checkCancellation() }
        return try recorder.result()
    }
}
