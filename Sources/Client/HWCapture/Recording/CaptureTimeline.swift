// SPDX-License-Identifier: MIT
internal import HWDTransport
internal import Synchronization

/// Pauses and chapters of a recording, from any thread.
///
/// Times are nanoseconds of CLOCK_MONOTONIC.
package final class CaptureTimeline: Sendable {
    private struct State {
        var marks: [CaptureSession.Mark] = []
        /// When all of what precedes a pause is coded; nil once it is written.
        var flushTime: UInt64?
        var isClosed = false
    }

    private let queue: any PausableQueue
    private let writer: CaptureWriter
    private let sound: (any RecordedSound)?
    private let state = Mutex(State())

    /// Nanoseconds after which a frame and its sound are coded: sound is held for half a second until its true time is known.
    package static let codingTime: UInt64 = 750_000_000

    package init(_ queue: any PausableQueue, _ writer: CaptureWriter, _ sound: (any RecordedSound)?) {
        (self.queue, self.writer, self.sound) = (queue, writer, sound)
    }

    package var isPaused: Bool { queue.isPaused }
    package var marks: [CaptureSession.Mark] { state.withLock { $0.marks } }
    /// The pauses so far; one that lasts ends now.
    package var pauses: [CaptureSession.Pause] {
        queue.pauses(now: MonotonicTime.now.nanoseconds).map { CaptureSession.Pause(time: $0, duration: $1) }
    }

    /// Leaves out what is seen and heard from a time on, but none that was taken.
    /// - Returns: when the pause begins; nil while one lasts, where there are too many, and after `close`.
    package func pause(at time: UInt64) -> UInt64? {
        state.withLock { state in
            guard !state.isClosed, let begin = queue.pause(at: time) else { return nil }
            sound?.pause(at: begin)
            // A pause may last, and what precedes it is not to be lost.
            state.flushTime = begin + Self.codingTime
            // The last frame may have been repeated for the time before.
            queue.wake.signal()
            return begin
        }
    }

    /// Ends the pause now: frames that have come since that was asked for are left out already.
    /// - Returns: when; nil while there is none, and after `close`.
    package func resume() -> UInt64? {
        state.withLock { state in
            guard !state.isClosed, let end = queue.resume(at: MonotonicTime.now.nanoseconds) else { return nil }
            sound?.resume(at: end)
            state.flushTime = nil
            queue.wake.signal()
            return end
        }
    }

    /// Begins a chapter at a time.
    /// - Parameter title: nil for the chapter's number.
    /// - Returns: nil where there are too many, while the disk is too far behind, and after `close`.
    package func mark(_ title: String?, at time: UInt64) -> CaptureSession.Mark? {
        state.withLock { state in
            guard !state.isClosed, state.marks.count < CaptureMarks.greatestCount else { return nil }
            let elapsed = queue.elapsed(at: time)
            let mark = CaptureSession.Mark(
                time: Double(elapsed / 1_000_000) / 1000, title: title ?? "Chapter \(state.marks.count + 1)")
            guard writer.mark(mark.title, at: CaptureFiles.ticks(elapsed)) else { return nil }
            state.marks.append(mark)
            return mark
        }
    }

    /// Ends it: what is asked for later would not be in the file.
    package func close() { state.withLock { $0.isClosed = true } }

    /// Writes what precedes a pause once it is coded, for the recording's thread.
    package func step(at now: UInt64) {
        let isDue = state.withLock { state in
            guard let time = state.flushTime, now >= time else { return false }
            state.flushTime = nil
            return true
        }
        if isDue { writer.flush() }
    }
}
