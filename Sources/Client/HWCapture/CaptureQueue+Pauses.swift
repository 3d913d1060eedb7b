// SPDX-License-Identifier: MIT
internal import HWClient
internal import Synchronization

extension CaptureQueue: PausableQueue {
    /// Whether frames are left out.
    package var isPaused: Bool { state.withLock { $0.pauses.isPaused } }

    /// Leaves out frames from a time of CLOCK_MONOTONIC on, but none that was taken.
    ///
    /// Frames of a pause are not counted.
    /// - Returns: when the pause begins; nil while one lasts, and where there are too many.
    package func pause(at time: UInt64) -> UInt64? {
        state.withLock { state in
            guard !state.pauses.isPaused else { return nil }
            guard state.origin != nil else { return state.pauses.pause(at: time) }
            // As at the end of a recording.
            if state.stage.keepsLast { repeatLast(&state, at: time, isEnd: true) }
            return state.pauses.pause(at: max(time, state.last + Self.shortestStep))
        }
    }

    /// Takes frames again from a time of CLOCK_MONOTONIC on.
    /// - Returns: when the pause ends; nil while there is none.
    package func resume(at time: UInt64) -> UInt64? {
        state.withLock { state in
            guard let end = state.pauses.resume(at: time) else { return nil }
            // A source that sends only what changes has sent what is shown now. After the first frame `repeatLast` finds it.
            if state.origin == nil { begin(&state, at: end) }
            return end
        }
    }

    /// Nanoseconds of the recording at a time of CLOCK_MONOTONIC, without pauses; 0 before the first frame.
    package func elapsed(at clock: UInt64) -> UInt64 {
        state.withLock { state in state.origin.map { state.pauses.time(at: clock, from: $0) } ?? 0 }
    }

    /// CLOCK_MONOTONIC of a time of the recording; nil before the first frame.
    package func clock(at time: UInt64) -> UInt64? {
        state.withLock { state in state.origin.map { state.pauses.clock(at: time, from: $0) } }
    }

    /// The pauses with their times in the recording and their lengths, in seconds.
    /// - Parameter now: ends a pause that lasts.
    package func pauses(now: UInt64) -> [(time: Double, duration: Double)] {
        state.withLock { $0.pauses.list(from: $0.origin ?? now, now: now) }
    }
}
