// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDTransport
internal import Synchronization

/// Coded frames between a source and the files.
///
/// Those that depend on a frame that was lost are kept: a decoder conceals that better than a gap up to the next key frame.
package final class CopyQueue: PausableQueue {
    /// An access unit of Annex B.
    package struct Unit: Sendable {
        package var bytes: [UInt8]
        package var isKeyFrame: Bool
        /// Nanoseconds of CLOCK_MONOTONIC.
        package var time: UInt64
        /// Whether the one before is in the queue, too.
        var isContinuous: Bool
    }

    private struct State {
        var counts = CaptureQueue.Counts()
        var waiting: [Unit] = []
        /// Bytes of those that wait.
        var size = 0
        var end: CaptureQueue.End?
        /// CLOCK_MONOTONIC of the first frame that is in a file, of the first and of the last that came.
        var origin: UInt64?
        var first: UInt64?
        var last: UInt64 = 0
        var sequence: UInt64?
        var isBroken = false
        var pauses = CapturePauses()

        func elapsed(_ time: UInt64) -> UInt64 { origin.map { pauses.time(at: time, from: $0) } ?? 0 }
        func seconds(_ time: UInt64) -> Double { Double(elapsed(time)) / 1e9 }
    }

    /// Bytes that wait at most, beside one frame.
    private static let greatestBacklog = 64 << 20

    /// Signaled for each frame, and at the end.
    package let wake: EventFD
    private let limit: UInt64?
    private let content: CaptureFormat.Content
    private let period: Double
    private let state = Mutex(State())

    /// - Parameter limit: the duration in nanoseconds; nil without an end.
    package init(_ format: CaptureFormat, limit: UInt64?) throws(SystemError) {
        wake = try EventFD()
        (self.limit, content) = (limit, format.content)
        period = format.rate.map { 1 / $0.perSecond } ?? 0
    }

    package var counts: CaptureQueue.Counts { state.withLock { $0.counts } }
    package var end: CaptureQueue.End? { state.withLock { $0.end } }
    /// CLOCK_MONOTONIC of the first frame that is in a file; nil before it.
    package var origin: UInt64? { state.withLock { $0.origin } }
    /// Nanoseconds since the first frame that came, without pauses; nil before it.
    package func waited(at clock: UInt64) -> UInt64? {
        state.withLock { state in state.first.map { state.pauses.time(at: clock, from: $0) } }
    }

    /// The next frame, in order.
    package func next() -> Unit? {
        state.withLock { state in
            guard !state.waiting.isEmpty else { return nil }
            let unit = state.waiting.removeFirst()
            state.size -= unit.bytes.count
            return unit
        }
    }

    /// Begins the recording's time with the first frame that is written.
    package func begin(at time: UInt64) { state.withLock { $0.origin = $0.origin ?? time } }

    /// Counts a frame that is not in a file.
    package func drop(_ unit: Unit, _ cause: DropCause) { drop(1, at: unit.time, cause) }

    func drop(_ frames: Int, at time: UInt64, _ cause: DropCause) {
        state.withLock { $0.counts.log.add(frames, at: $0.seconds(time), cause, period: period) }
    }

    package func coded(_ unit: UnsafeRawBufferPointer, isKeyFrame: Bool, at time: UInt64, sequence: UInt64?) {
        coded(unit, isKeyFrame: isKeyFrame, at: time, sequence: sequence, arrival: MonotonicTime.now.nanoseconds)
    }

    /// A frame that arrives at a time of CLOCK_MONOTONIC, in nanoseconds.
    package func coded(
        _ unit: UnsafeRawBufferPointer, isKeyFrame: Bool, at stated: UInt64, sequence: UInt64?, arrival: UInt64
    ) {
        state.withLock { state in
            guard state.end == nil else { return }
            // A coded frame cannot be left out because of its time.
            var time = CaptureQueue.plausible(stated, arrival)
            if state.first != nil { time = max(time, state.last + CaptureQueue.shortestStep) }
            guard !state.pauses.contains(time) else {
                state.sequence = sequence ?? state.sequence
                // What follows the pause depends on frames of it, up to a key frame.
                state.isBroken = true
                return
            }
            if let limit, state.elapsed(time) >= limit {
                state.end = .duration
                return
            }
            let seconds = state.seconds(time)
            state.counts.noteGap(sequence, &state.sequence, at: seconds, period: period)
            state.counts.captured += 1
            (state.first, state.last) = (state.first ?? time, time)
            guard state.size + unit.count <= Self.greatestBacklog || state.waiting.isEmpty else {
                state.counts.log.add(1, at: seconds, .queue, period: period)
                state.isBroken = true
                return
            }
            state.size += unit.count
            state.waiting.append(
                Unit(bytes: Array(unit), isKeyFrame: isKeyFrame, time: time, isContinuous: !state.isBroken))
            state.isBroken = false
        }
        wake.signal()
    }

    package func frame(_ planes: [CapturePlane], at time: UInt64, sequence: UInt64?) {
        ended(.failed("the source sends pictures beside the coded ones, which are copied"))
    }

    package func lost(_ count: Int, at time: UInt64, cause: String) {
        guard count > 0 else { return }
        state.withLock { state in
            guard !state.pauses.contains(time) else { return }
            state.counts.noteLoss(count, at: state.seconds(time), cause: cause, period: period)
        }
    }

    package func changed(_ format: CaptureFormat) {
        // A size is what the stream's parameter sets say.
        if format.content != content { finish(.changed(format)) }
    }

    package func ended(_ end: CaptureEnd) { finish(.source(end)) }

    package func interrupted(from begin: UInt64, to end: UInt64) {
        state.withLock { state in
            // It counts from its own begin, and what it sends depends on frames that did not come.
            (state.sequence, state.isBroken) = (nil, true)
            state.counts.noteInterruption(at: state.seconds(begin), seconds: Double(end - begin) / 1e9)
        }
    }

    package var isPaused: Bool { state.withLock { $0.pauses.isPaused } }

    package func pause(at time: UInt64) -> UInt64? {
        state.withLock { state in
            guard !state.pauses.isPaused else { return nil }
            return state.pauses.pause(
                at: state.first == nil ? time : max(time, state.last + CaptureQueue.shortestStep))
        }
    }

    package func resume(at time: UInt64) -> UInt64? { state.withLock { $0.pauses.resume(at: time) } }
    package func elapsed(at clock: UInt64) -> UInt64 { state.withLock { $0.elapsed(clock) } }

    package func clock(at time: UInt64) -> UInt64? {
        state.withLock { state in state.origin.map { state.pauses.clock(at: time, from: $0) } }
    }

    package func pauses(now: UInt64) -> [(time: Double, duration: Double)] {
        state.withLock { $0.pauses.list(from: $0.origin ?? now, now: now) }
    }

    private func finish(_ end: CaptureQueue.End) {
        state.withLock { if $0.end == nil { $0.end = end } }
        wake.signal()
    }
}
