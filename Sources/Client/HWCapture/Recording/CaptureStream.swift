// SPDX-License-Identifier: MIT
package import HWDTransport
package import HWMovies

/// What the loop of a recording drives: frames that a session codes, or coded frames that are copied.
///
/// For one thread.
package protocol CaptureStream: AnyObject {
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
    var sizes: [CaptureSession.Size] { get }
    /// Whether `step` takes what the session has.
    var isReceiving: Bool { get }
    /// Whether `drain` has anything to do.
    var isCoding: Bool { get }
    /// When `step` has something to do without an event.
    var deadline: MonotonicTime { get }
    /// Why the recording ends now; nil while it does not.
    var end: CaptureStop? { get }

    func prepare() throws
    /// Takes and writes what can be.
    func step() throws
    /// Writes what was taken, after the source has stopped.
    func drain() throws
    /// Codes the rest of the sound, up to the end of the last frame.
    func endSound() throws
    /// Counts the frames that were taken and are in no file.
    func settle(_ written: Int)
    /// Ends the session.
    func close()
}

/// Why a recording ends.
package enum CaptureStop {
    case request, duration, maxSize
    case source(String)
    case failed(any Error)

    /// Why no more frames come; nil where they do.
    package init?(_ end: CaptureQueue.End?) {
        switch end {
        case .duration: self = .duration
        case .changed(let format):
            self = .source(
                "the frames of the source have a format that is not recorded (\(format.width)x\(format.height))")
        case .source(.finished): self = .source("the source has ended")
        case .source(.gone(let reason)): self = .source(reason)
        case .source(.failed(let reason)): self = .failed(CaptureError(.source, reason))
        case nil: return nil
        }
    }

    /// What ended the recording first is what is reported, but a failure of what follows comes before an end that was wanted.
    mutating func note(_ failure: any Error) {
        if case .failed = self { return }
        self = .failed(failure)
    }
}

/// The sound of a recording: what is heard, as packets of its files.
package protocol RecordedSound: AnyObject, Sendable {
    /// The track of each file.
    var settings: SoundTrackSettings { get }

    /// Begins to take sound, before the first frame.
    func start() throws
    /// Ends that.
    func stop()
    /// Leaves out what is heard from a time of CLOCK_MONOTONIC on.
    func pause(at time: UInt64)
    func resume(at time: UInt64)
    /// Writes what has been heard since the recording's first frame.
    func write(from origin: UInt64, to writer: CaptureWriter) throws
    /// Writes the rest, up to a time, and stops.
    func end(from origin: UInt64, at end: UInt64, to writer: CaptureWriter) throws
}

/// The loop of a recording, for one thread.
package final class CaptureLoop: Sendable {
    private let epoll: Epoll

    /// - Parameter request: readable when `run` is to look for what was asked for.
    package init(request: Int32) throws(SystemError) {
        epoll = try Epoll()
        try epoll.add(request, token: 0, events: .readable)
    }

    /// Waits for a session's descriptor from now on, or no longer.
    package func watch(_ descriptor: Int32, isOpen: Bool) throws(SystemError) {
        if isOpen {
            try epoll.add(descriptor, token: 2, events: .readable)
        } else {
            try epoll.remove(descriptor)
        }
    }

    /// Opens the encoder, and starts the sources.
    /// - Throws: their errors; nothing runs then.
    package func begin(
        _ stream: any CaptureStream, _ source: any CaptureSource, _ sound: (any RecordedSound)?
    ) throws {
        try epoll.add(stream.wake.fileDescriptor, token: 1, events: .readable)
        if let session = stream.descriptor { try watch(session, isOpen: true) }
        try stream.prepare()
        try sound?.start()
        do { try source.start(stream.frames) } catch {
            source.stop()
            sound?.stop()
            throw error
        }
    }

    /// Records until the end, and until every frame that was taken is coded.
    ///
    /// - Parameters:
    ///   - follow: does what was asked for, after each wait; whether the recording is to end.
    ///   - stepped: called after each step, with the time of CLOCK_MONOTONIC in nanoseconds.
    ///   - ended: called when the end is known, before what was taken is coded.
    /// - Returns: why the recording ended, and when, in nanoseconds of CLOCK_MONOTONIC.
    package func run(
        _ stream: any CaptureStream, _ source: any CaptureSource, follow: () -> Bool, stepped: (UInt64) -> Void,
        ended: () -> Void = {}
    ) -> (cause: CaptureStop, time: UInt64) {
        var end: CaptureStop?
        var isReceiving = true
        do {
            while end == nil {
                // Packets that stay in the session would end every wait at once.
                if let session = stream.descriptor, isReceiving != stream.isReceiving {
                    isReceiving.toggle()
                    try epoll.modify(session, token: 2, events: isReceiving ? .readable : [])
                }
                _ = try epoll.wait(until: stream.deadline)
                stream.wake.clear()
                if follow() { end = .request }
                try stream.step()
                stepped(MonotonicTime.now.nanoseconds)
                end = end ?? stream.end
            }
        } catch { end = .failed(error) }
        var cause = end ?? .request
        ended()
        let time = MonotonicTime.now.nanoseconds
        source.stop()
        do { if stream.isCoding { try stream.drain() } } catch { cause.note(error) }
        do { try stream.endSound() } catch { cause.note(error) }
        return (cause, time)
    }
}
