// SPDX-License-Identifier: MIT
package import HWDTransport

/// What a recording's frames wait in, and what a pause leaves them out of.
///
/// Times are nanoseconds of CLOCK_MONOTONIC.
package protocol PausableQueue: CaptureSink {
    /// Signaled for each frame, and at the end.
    var wake: EventFD { get }
    /// Whether frames are left out.
    var isPaused: Bool { get }
    /// Leaves out frames from a time on, but none that was taken.
    /// - Returns: when the pause begins; nil while one lasts, and where there are too many.
    func pause(at time: UInt64) -> UInt64?
    /// Takes frames again from a time on.
    /// - Returns: when the pause ends; nil while there is none.
    func resume(at time: UInt64) -> UInt64?
    /// Nanoseconds of the recording at a time, without pauses; 0 before the first frame.
    func elapsed(at clock: UInt64) -> UInt64
    /// The time of something in the recording; nil before the first frame.
    func clock(at time: UInt64) -> UInt64?
    /// The pauses with their times in the recording and their lengths, in seconds.
    /// - Parameter now: ends a pause that lasts.
    func pauses(now: UInt64) -> [(time: Double, duration: Double)]
}

/// What is left out of a recording, and the times of the rest.
///
/// Times are nanoseconds of CLOCK_MONOTONIC; those of the recording begin with its first frame, and leave out pauses.
package struct CapturePauses: Sendable {
    private struct Pause {
        var begin: UInt64
        /// nil while it lasts.
        var end: UInt64?
    }

    private var pauses: [Pause] = []

    /// The most pauses: each frame's time depends on all of them.
    package static let greatestCount = 1000

    package init() {}

    package var isPaused: Bool { pauses.last.map { $0.end == nil } ?? false }

    /// When the last pause ended; nil while it lasts, and before the first.
    package var end: UInt64? { pauses.last?.end }

    /// Leaves out what is recorded from a time on.
    /// - Returns: when the pause begins; nil while one lasts, and for more than the most pauses.
    package mutating func pause(at time: UInt64) -> UInt64? {
        guard !isPaused, pauses.count < Self.greatestCount else { return nil }
        let begin = max(time, pauses.last?.end ?? 0)
        pauses.append(Pause(begin: begin))
        return begin
    }

    /// Ends a pause.
    /// - Returns: when; nil while there is none.
    package mutating func resume(at time: UInt64) -> UInt64? {
        guard isPaused, let last = pauses.indices.last else { return nil }
        let end = max(time, pauses[last].begin)
        pauses[last].end = end
        return end
    }

    /// Whether what is recorded at a time is left out.
    package func contains(_ time: UInt64) -> Bool {
        pauses.contains { $0.begin <= time && time < $0.end ?? .max }
    }

    /// A time of the recording; within a pause, that of its begin; 0 before the recording.
    /// - Parameter origin: when the recording begins.
    package func time(at clock: UInt64, from origin: UInt64) -> UInt64 {
        guard clock > origin else { return 0 }
        return pauses.reduce(clock - origin) { time, pause in
            let begin = max(origin, min(pause.begin, clock))
            return time - (max(begin, min(pause.end ?? .max, clock)) - begin)
        }
    }

    /// When something of the recording happens: before a pause that it precedes or that begins then.
    package func clock(at time: UInt64, from origin: UInt64) -> UInt64 {
        var clock = origin + min(time, .max - origin)
        for pause in pauses where pause.begin < clock {
            guard let end = pause.end else { return max(origin, pause.begin) }
            clock += max(end, origin) - max(pause.begin, origin)
        }
        return clock
    }

    /// The pauses with their times in the recording, in seconds; `now` ends one that lasts.
    package func list(from origin: UInt64, now: UInt64) -> [(time: Double, duration: Double)] {
        pauses.map { pause in
            let end = max(pause.begin, pause.end ?? now)
            return (Double(time(at: pause.begin, from: origin)) / 1e9, Double(end - pause.begin) / 1e9)
        }
    }
}
