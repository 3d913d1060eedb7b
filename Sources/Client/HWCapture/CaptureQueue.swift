// SPDX-License-Identifier: MIT
package import HWClient
package import HWDTransport
internal import Synchronization

/// Frames between a source and the session: each is copied into a slot of a pool, or dropped where none is free.
///
/// A frame is dropped here or never: what leaves the queue is coded.
package final class CaptureQueue: CaptureSink {
    /// A frame in its slot.
    package struct Frame: Sendable {
        package var slot: FramePool.Slot
        /// Nanoseconds from the first frame of the recording.
        package var time: UInt64
        /// What its picture is.
        package var stage: Stage
    }

    /// What happened so far.
    package struct Counts: Sendable {
        /// Frames that the source sent, and those that it is known to have lost.
        package var captured = 0
        package var log = DropLog()
        /// When more or fewer frames are left out, in seconds, and one of how many stays.
        package var halvings: [(time: Double, divisor: Int)] = []
        /// Frames that were sent once more, because the source sends only what changes, or less than a constant rate.
        package var repeated = 0
        /// Times without a source, which came back, in seconds.
        package var interruptions: [(time: Double, duration: Double)] = []
        /// When the last frame came that has a number of the source, in seconds.
        var lastTime = 0.0

        package init() {}
    }

    /// Why no more frames come.
    package enum End: Sendable {
        case source(CaptureEnd)
        /// The asked duration is over.
        case duration
        case changed(CaptureFormat)
    }

    struct State {
        var stage: Stage
        /// The format of the frames that follow, until the first of them.
        var pending: CaptureFormat?
        var counts = Counts()
        var waiting: [Frame] = []
        var end: End?
        /// CLOCK_MONOTONIC of the first frame, and of the last that was taken.
        var origin: UInt64?
        var last: UInt64 = 0
        /// Whether the last that was taken is a repeated frame.
        var isRepeat = false
        var sequence: UInt64?
        /// Of frames since the rate was changed last.
        var arrived: UInt64 = 0
        var reduced = ReducedRate()
        /// The slot of the last frame, held once more for `repeatLast`.
        var kept: (slot: FramePool.Slot, stage: Stage, taken: UInt64)?
        /// Whether that frame was dropped, so that the slot belongs to nothing else and no file has its picture.
        var isKeptDropped = false
        /// Of a constant rate, the number of the first frame that nothing was sent for.
        var tick: UInt64 = 0
        var pauses = CapturePauses()
    }

    /// A frame that has a slot, to which its picture is copied without the queue's lock.
    package struct Admission: Sendable {
        package let slot: FramePool.Slot
        package let stage: Stage
        /// When it was taken, in nanoseconds of CLOCK_MONOTONIC.
        let taken: UInt64
        /// Of CLOCK_MONOTONIC, and nanoseconds of the recording; nil for one that is dropped, though kept for `repeatLast`.
        let time: (clock: UInt64, elapsed: UInt64)?
    }

    /// A step of a source's numbers that is still a loss of frames, and not another numbering: ten seconds at 1000 a second.
    package static let longestGap: UInt64 = 10_000
    /// The most frames that wait.
    package static let depth = 12
    /// Bytes of a pool at most, beside the fewest slots.
    private static let greatestPool = 512 << 20
    /// Nanoseconds between two frames: a tick of the file's clock at least.
    package static let shortestStep: UInt64 = 100_000

    /// Slots of a pool: as many as are wanted, or as its memory may have.
    package static func slotCount(_ size: Int, wanted: Int, fewest: Int = 2) -> Int {
        min(wanted, max(fewest, greatestPool / max(1, size)))
    }

    /// Signaled for each frame, and at the end.
    package let wake: EventFD
    /// Nanoseconds of the recording; nil without an end.
    private let limit: UInt64?
    /// The rate at which frames are sent, whatever the source's is; nil where they are sent as they come.
    let constant: CaptureRate?
    private let held: Int
    /// The newest frame that is recorded, where it is held for stills, and its time of CLOCK_MONOTONIC in nanoseconds.
    let newest = Mutex<(frame: Frame, taken: UInt64)?>(nil)
    let keepsNewest: Bool
    let state: Mutex<State>

    /// - Parameters:
    ///   - held: slots that the session may keep beside the frames that wait.
    ///   - limit: the duration in nanoseconds.
    ///   - constant: the rate at which frames are sent, whatever the source's is; nil for that of the source.
    ///   - keepsNewest: whether `holdNewest` is called.
    package init(
        _ format: CaptureFormat, _ copy: FrameCopy, held: Int, limit: UInt64?, constant: CaptureRate? = nil,
        keepsNewest: Bool = false
    ) throws(SystemError) {
        (self.limit, self.held, self.constant, self.keepsNewest) = (limit, held, constant, keepsNewest)
        state = Mutex(
            State(
                stage: try Stage(
                    format, copy, held: held, depth: Self.depth, isConstant: constant != nil,
                    keepsNewest: keepsNewest)))
        wake = try EventFD()
    }

    /// What frames are now.
    package var stage: Stage { state.withLock { $0.stage } }
    package var pool: FramePool { stage.pool }
    package var format: CaptureFormat { stage.format }

    package var counts: Counts { state.withLock { $0.counts } }
    package var end: End? { state.withLock { $0.end } }
    /// CLOCK_MONOTONIC of the first frame; nil before it.
    package var origin: UInt64? { state.withLock { $0.origin } }

    /// The next frame to encode, in order.
    package func next() -> Frame? { state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() } }

    /// Whether no frame waits.
    package var isEmpty: Bool { state.withLock { $0.waiting.isEmpty } }

    /// Counts frames that were captured and are not in the file.
    package func lose(_ frames: Int, at time: UInt64) {
        state.withLock { $0.counts.log.add(frames, at: Double(time) / 1e9, .end) }
    }

    /// Takes the frames that wait, which are not encoded any more.
    package func abandon() {
        state.withLock { state in
            for frame in state.waiting {
                frame.stage.pool.release(frame.slot)
                state.counts.log.add(1, at: Double(frame.time) / 1e9, .end)
            }
            state.waiting = []
        }
    }

    package func frame(_ planes: [CapturePlane], at time: UInt64, sequence: UInt64?) {
        frame(planes, at: time, sequence: sequence, arrival: MonotonicTime.now.nanoseconds)
    }

    /// A frame that arrives at a time of CLOCK_MONOTONIC, in nanoseconds.
    package func frame(_ planes: [CapturePlane], at stated: UInt64, sequence: UInt64?, arrival: UInt64) {
        guard let admission = admit(planes, at: stated, arrival, sequence) else { return }
        admission.stage.copy.copy(planes, to: admission.stage.pool.bytes(of: admission.slot))
        add(admission)
    }

    /// Sends a frame whose picture has been copied.
    ///
    /// Meanwhile a pause or a late copy may have had the last frame repeated for its time, or a later one.
    package func add(_ admission: Admission) {
        let (slot, stage) = (admission.slot, admission.stage)
        let isSent = state.withLock { state in
            guard var time = admission.time?.elapsed, let clock = admission.time?.clock else {
                keep(&state, admission, isDropped: true)
                return false
            }
            guard clock >= state.last, constant.map({ $0.tick(time) >= state.tick }) ?? true else {
                state.counts.log.add(1, at: Double(time) / 1e9, .rate, period: stage.period * 2)
                keep(&state, admission, isDropped: true)
                return false
            }
            if let constant {
                let tick = constant.tick(time)
                fill(&state, before: tick, constant)
                state.tick = max(state.tick, tick + 1)
                time = constant.time(tick)
            }
            if stage.keepsLast {
                stage.pool.hold(slot)
                keep(&state, admission, isDropped: false)
            }
            let frame = Frame(slot: slot, time: time, stage: stage)
            keepNewest(frame, taken: admission.taken)
            state.waiting.append(frame)
            return true
        }
        if isSent { wake.signal() }
    }

    /// Whether a frame of a constant rate has its picture already, or is behind the end.
    private func isOver(_ tick: UInt64, next: UInt64, _ rate: CaptureRate) -> Bool {
        tick < next || limit.map { rate.time(tick) >= $0 } ?? false
    }

    /// Makes the pool for a format that has changed.
    /// - Returns: false where the frame is dropped.
    private func prepare(_ state: inout State) -> Bool {
        guard let format = state.pending else { return true }
        guard let copy = FrameCopy(format), format.rate.map(\.isValid) ?? true else {
            state.end = .changed(format)
            wake.signal()
            return false
        }
        // Each size that waits has a pool of its own.
        guard state.waiting.allSatisfy({ $0.stage === state.waiting[0].stage }) else { return false }
        do throws(SystemError) {
            // The next frames wait for another session.
            state.stage = try Stage(
                format, copy, held: held, depth: 3 * Self.depth, isConstant: constant != nil,
                keepsNewest: keepsNewest)
        } catch {
            state.end = .source(
                .failed("there is no memory for frames of \(format.width)x\(format.height): \(error)"))
            wake.signal()
            return false
        }
        state.pending = nil
        // A source with a rate sends what follows.
        if !state.stage.keepsLast, let kept = state.kept {
            kept.stage.pool.release(kept.slot)
            (state.kept, state.isKeptDropped) = (nil, false)
        }
        return true
    }

    /// Counts a frame, and finds what becomes of it; nil for one that is dropped.
    package func admit(
        _ planes: [CapturePlane], at stated: UInt64, _ arrival: UInt64, _ sequence: UInt64?
    ) -> Admission? {
        state.withLock { state in
            guard state.end == nil else { return nil }
            let taken = Self.plausible(stated, arrival)
            var time = taken
            // A frame has a time before its arrival, and the last one may have been repeated meanwhile.
            if state.isRepeat { time = max(time, state.last + Self.shortestStep) }
            guard !state.pauses.contains(time) else {
                state.sequence = sequence ?? state.sequence
                guard prepare(&state), state.stage.copy.fits(planes) else { return nil }
                return keepDropped(&state, taken, isInPause: true)
            }
            let origin = state.origin ?? time
            let elapsed = state.pauses.time(at: time, from: origin)
            let seconds = Double(elapsed) / 1e9
            if let limit, elapsed >= limit {
                state.end = .duration
                wake.signal()
                return nil
            }
            let isPrepared = prepare(&state)
            guard state.end == nil else { return nil }
            let stage = state.stage
            state.counts.noteGap(sequence, &state.sequence, at: seconds, period: stage.period)
            state.counts.captured += 1
            guard isPrepared, stage.copy.fits(planes) else {
                state.counts.log.add(
                    1, at: seconds, isPrepared ? .damaged : .queue, period: stage.period)
                return nil
            }
            guard state.origin == nil || time >= state.last + Self.shortestStep else {
                state.counts.log.add(1, at: seconds, .clock, period: stage.period)
                return keepDropped(&state, taken)
            }
            guard !isLeftOut(&state, elapsed) else { return keepDropped(&state, taken) }
            state.reduced.note(frame: seconds)
            guard state.waiting.count < greatestCount(stage),
                let slot = stage.pool.acquire(leaving: stage.keepsLast ? 1 : 0)
            else {
                drop(&state, at: seconds)
                return keepDropped(&state, taken)
            }
            (state.origin, state.last, state.isRepeat) = (origin, time, false)
            return Admission(slot: slot, stage: stage, taken: taken, time: (time, elapsed))
        }
    }

    /// Whether a frame is left out for the constant rate, or for a rate that was halved.
    private func isLeftOut(_ state: inout State, _ elapsed: UInt64) -> Bool {
        let (seconds, period) = (Double(elapsed) / 1e9, state.stage.period)
        if let constant, state.origin != nil, isOver(constant.tick(elapsed), next: state.tick, constant) {
            state.counts.log.add(1, at: seconds, .rate, period: period * 2)
            return true
        }
        if state.reduced.recovers(at: seconds) { noteRate(&state, at: seconds) }
        state.arrived += 1
        guard (state.arrived - 1) % UInt64(state.reduced.divisor) != 0 else { return false }
        state.counts.log.add(1, at: seconds, .rate, period: period * 2 * Double(state.reduced.divisor))
        return true
    }

    /// The time of a frame, or that of its arrival where it cannot be true: clocks of sources jump.
    package static func plausible(_ time: UInt64, _ arrival: UInt64) -> UInt64 {
        time > arrival + 1_000_000_000 || time + 5_000_000_000 < arrival ? arrival : time
    }

    /// Drops a frame for want of a slot, and halves the rate where that is the rule.
    private func drop(_ state: inout State, at seconds: Double) {
        state.counts.log.add(1, at: seconds, .queue, period: state.stage.period)
        guard state.reduced.note(drop: seconds, rate: state.stage.format.rate?.perSecond) else { return }
        state.arrived = 1
        noteRate(&state, at: seconds)
    }

    private func noteRate(_ state: inout State, at seconds: Double) {
        state.counts.halvings.append((seconds, state.reduced.divisor))
    }

    package func coded(_ unit: UnsafeRawBufferPointer, isKeyFrame: Bool, at time: UInt64, sequence: UInt64?) {
        ended(.failed("the source sends coded frames, which are not recorded"))
    }

    package func lost(_ count: Int, at time: UInt64, cause: String) {
        guard count > 0 else { return }
        state.withLock { state in
            guard !state.pauses.contains(time) else { return }
            let seconds = state.origin.map { Double(state.pauses.time(at: time, from: $0)) / 1e9 } ?? 0
            state.counts.noteLoss(count, at: seconds, cause: cause, period: state.stage.period)
        }
    }

    package func changed(_ format: CaptureFormat) {
        state.withLock { $0.pending = format == $0.stage.format ? nil : format }
    }

    package func interrupted(from begin: UInt64, to end: UInt64) {
        state.withLock { state in
            // It counts from its own begin.
            state.sequence = nil
            guard let origin = state.origin else { return }
            state.counts.noteInterruption(
                at: Double(state.pauses.time(at: begin, from: origin)) / 1e9, seconds: Double(end - begin) / 1e9)
        }
    }

    package func ended(_ end: CaptureEnd) { finish(.source(end)) }

    private func finish(_ end: End) {
        state.withLock { if $0.end == nil { $0.end = end } }
        wake.signal()
    }
}
