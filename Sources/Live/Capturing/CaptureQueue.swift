// SPDX-License-Identifier: GPL-2.0-or-later
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
    }

    /// What happened so far.
    package struct Counts: Sendable {
        /// Frames that the source sent, and those that it is known to have lost.
        package var captured = 0
        package var log = DropLog()
        /// When frames are left out, in seconds, and one of how many stays.
        package var halvings: [(time: Double, divisor: Int)] = []
        /// The last frame was sent once more, because the source sends only what changes.
        package var repeated = 0
    }

    /// Why no more frames come.
    package enum End: Sendable {
        case source(CaptureEnd)
        /// The asked duration is over.
        case duration
        case changed(CaptureFormat)
    }

    private struct State {
        var counts = Counts()
        var waiting: [Frame] = []
        var end: End?
        /// CLOCK_MONOTONIC of the first frame, and of the last that was taken.
        var origin: UInt64?
        var last: UInt64 = 0
        /// Whether the last that was taken is a repeated frame.
        var isRepeat = false
        var sequence: UInt64?
        /// Of frames since the rate was halved last.
        var arrived: UInt64 = 0
        var divisor = 1
        var recent = RecentDrops()
        /// The slot of the last frame, held once more for `repeatLast`.
        var kept: FramePool.Slot?
        /// Whether that frame was dropped, so that the slot belongs to nothing else and no file has its picture.
        var isKeptDropped = false
    }

    /// What becomes of a frame.
    private enum Admission {
        case sent(FramePool.Slot, time: UInt64)
        /// Dropped, though copied for `repeatLast`.
        case kept(FramePool.Slot)
    }

    /// The most frames that wait.
    package static let depth = 12
    /// Bytes of a pool at most, beside the fewest slots.
    private static let greatestPool = 512 << 20
    /// Nanoseconds between two frames: a tick of the file's clock at least.
    private static let shortestStep: UInt64 = 100_000
    /// Nanoseconds after which the last frame is recorded once more, and one that was dropped.
    private static let (pause, shortPause): (UInt64, UInt64) = (1_000_000_000, 100_000_000)

    /// Slots of a pool: as many as are wanted, or as its memory may have.
    package static func slotCount(_ size: Int, wanted: Int, fewest: Int = 2) -> Int {
        min(wanted, max(fewest, greatestPool / max(1, size)))
    }

    package let pool: FramePool
    package let format: CaptureFormat
    package let copy: FrameCopy
    /// Signaled for each frame, and at the end.
    package let wake: EventFD
    /// Nanoseconds of the recording; nil without an end.
    private let limit: UInt64?
    private let state = Mutex(State())
    private let period: Double
    /// The newest frame that is recorded, where it is held for stills, and its time of CLOCK_MONOTONIC in nanoseconds.
    private let newest = Mutex<(frame: Frame, taken: UInt64)?>(nil)
    private let keepsNewest: Bool

    /// - Parameters:
    ///   - held: slots that the session may keep beside the frames that wait.
    ///   - limit: the duration in nanoseconds.
    ///   - keepsNewest: whether `holdNewest` is called.
    package init(
        _ format: CaptureFormat, _ copy: FrameCopy, held: Int, limit: UInt64?, keepsNewest: Bool = false
    ) throws(SystemError) {
        (self.format, self.copy, self.limit, self.keepsNewest) = (format, copy, limit, keepsNewest)
        // Where frames are repeated, one is kept, and a slot is spare for one that is dropped.
        let kept = (format.rate == nil ? 2 : 0) + (keepsNewest ? 1 : 0)
        pool = try FramePool(
            slotSize: copy.slotSize,
            slotCount: Self.slotCount(copy.slotSize, wanted: Self.depth + held + kept, fewest: 2 + kept))
        wake = try EventFD()
        period = format.rate.map { 1 / $0.perSecond } ?? 0
    }

    package var counts: Counts { state.withLock { $0.counts } }
    package var end: End? { state.withLock { $0.end } }
    /// CLOCK_MONOTONIC of the first frame; nil before it.
    package var origin: UInt64? { state.withLock { $0.origin } }

    /// The next frame to encode, in order.
    package func next() -> Frame? { state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() } }

    /// The newest frame that is recorded, whose slot is held once more, and its time of CLOCK_MONOTONIC in nanoseconds; nil
    /// before the first.
    package func holdNewest() -> (frame: Frame, taken: UInt64)? {
        newest.withLock { newest in
            if let newest { pool.hold(newest.frame.slot) }
            return newest
        }
    }

    private func keepNewest(_ frame: Frame, taken: UInt64) {
        guard keepsNewest else { return }
        newest.withLock { newest in
            pool.hold(frame.slot)
            if let newest { pool.release(newest.frame.slot) }
            newest = (frame, taken)
        }
    }

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
                pool.release(frame.slot)
                state.counts.log.add(1, at: Double(frame.time) / 1e9, .end)
            }
            state.waiting = []
        }
    }

    package func frame(_ planes: [CapturePlane], at time: UInt64, sequence: UInt64?) {
        frame(planes, at: time, sequence: sequence, arrival: MonotonicTime.now.nanoseconds)
    }

    /// A frame that arrives at a time of CLOCK_MONOTONIC, in nanoseconds.
    package func frame(_ planes: [CapturePlane], at time: UInt64, sequence: UInt64?, arrival: UInt64) {
        let taken = Self.plausible(time, arrival)
        switch admit(planes, at: time, arrival, sequence) {
        case nil: break
        case .kept(let slot):
            copy.copy(planes, to: pool.bytes(of: slot))
            state.withLock { keep(&$0, slot, isDropped: true) }
        case .sent(let slot, let time):
            copy.copy(planes, to: pool.bytes(of: slot))
            keepNewest(Frame(slot: slot, time: time), taken: taken)
            state.withLock { state in
                if format.rate == nil {
                    pool.hold(slot)
                    keep(&state, slot, isDropped: false)
                }
                state.waiting.append(Frame(slot: slot, time: time))
            }
            wake.signal()
        }
    }

    private func keep(_ state: inout State, _ slot: FramePool.Slot, isDropped: Bool) {
        if let earlier = state.kept { pool.release(earlier) }
        (state.kept, state.isKeptDropped) = (slot, isDropped)
    }

    /// Where a dropped frame is copied to for `repeatLast`: it may be the last one for long.
    private func keepDropped(_ state: inout State) -> Admission? {
        guard format.rate == nil, state.origin != nil else { return nil }
        if state.isKeptDropped, let slot = state.kept {
            state.kept = nil
            return .kept(slot)
        }
        return pool.acquire().map { .kept($0) }
    }

    /// Counts a frame, and finds what becomes of it; nil for one that is dropped.
    private func admit(
        _ planes: [CapturePlane], at stated: UInt64, _ arrival: UInt64, _ sequence: UInt64?
    ) -> Admission? {
        state.withLock { state in
            guard state.end == nil else { return nil }
            var time = Self.plausible(stated, arrival)
            // A frame has a time before its arrival, and the last one may have been repeated meanwhile.
            if state.isRepeat { time = max(time, state.last + Self.shortestStep) }
            let origin = state.origin ?? time
            let seconds = Double(Int64(bitPattern: time &- origin)) / 1e9
            if let limit, time > origin, time - origin >= limit {
                state.end = .duration
                wake.signal()
                return nil
            }
            noteGap(&state, sequence, at: seconds)
            state.counts.captured += 1
            guard copy.fits(planes) else {
                state.counts.log.add(1, at: max(0, seconds), .damaged, period: period)
                return nil
            }
            guard state.origin == nil || time >= state.last + Self.shortestStep else {
                state.counts.log.add(1, at: max(0, seconds), .clock, period: period)
                return keepDropped(&state)
            }
            state.arrived += 1
            guard (state.arrived - 1) % UInt64(state.divisor) == 0 else {
                state.counts.log.add(1, at: seconds, .rate, period: period * 2 * Double(state.divisor))
                return keepDropped(&state)
            }
            state.recent.note(frame: seconds)
            guard state.waiting.count < Self.depth, let slot = pool.acquire(leaving: format.rate == nil ? 1 : 0)
            else {
                drop(&state, at: seconds)
                return keepDropped(&state)
            }
            (state.origin, state.last, state.isRepeat) = (origin, time, false)
            return .sent(slot, time: time - origin)
        }
    }

    /// The time of a frame, or that of its arrival where it cannot be true: clocks of sources jump.
    private static func plausible(_ time: UInt64, _ arrival: UInt64) -> UInt64 {
        time > arrival + 1_000_000_000 || time + 5_000_000_000 < arrival ? arrival : time
    }

    private func noteGap(_ state: inout State, _ sequence: UInt64?, at seconds: Double) {
        guard let sequence else { return }
        // A number that jumps by more was set anew.
        if let last = state.sequence, sequence > last + 1, sequence - last < 100_000 {
            let lost = Int(sequence - last - 1)
            state.counts.captured += lost
            state.counts.log.add(lost, at: max(0, seconds), .source, period: period)
        }
        state.sequence = sequence
    }

    /// Drops a frame for want of a slot, and halves the rate where that is the rule.
    private func drop(_ state: inout State, at seconds: Double) {
        state.counts.log.add(1, at: seconds, .queue, period: period)
        state.recent.note(drop: seconds)
        guard state.recent.isTooMany(rate: format.rate.map { $0.perSecond / Double(state.divisor) }),
            state.divisor < 16
        else { return }
        state.divisor *= 2
        state.arrived = 1
        state.recent = RecentDrops()
        state.counts.halvings.append((seconds, state.divisor))
    }

    /// Sends the last frame once more where nothing has come for a second: a source that sends only what changes has nothing else.
    ///
    /// Where the last change was dropped, its picture is sent, and sooner. Nothing is sent while frames wait.
    /// - Parameters:
    ///   - time: nanoseconds of CLOCK_MONOTONIC.
    ///   - isEnd: whether the recording ends then, so that the frame is sent whenever the last one came.
    package func repeatLast(at time: UInt64, isEnd: Bool = false) {
        state.withLock { state in
            guard let slot = state.kept, let origin = state.origin, state.waiting.isEmpty else { return }
            let pause = isEnd ? Self.shortestStep : state.isKeptDropped ? Self.shortPause : Self.pause
            // A change that no file has is recorded, even if the recording has already ended.
            let time = isEnd && state.isKeptDropped ? max(time, state.last + pause) : time
            guard time >= state.last + pause else { return }
            pool.hold(slot)
            (state.last, state.isRepeat, state.isKeptDropped) = (time, true, false)
            state.counts.repeated += 1
            state.waiting.append(Frame(slot: slot, time: time - origin))
        }
    }

    package func coded(_ unit: UnsafeRawBufferPointer, isKeyFrame: Bool, at time: UInt64, sequence: UInt64?) {
        ended(.failed("the source sends coded frames, which are not recorded"))
    }

    package func lost(_ count: Int, at time: UInt64, cause: String) {
        guard count > 0 else { return }
        state.withLock { state in
            let seconds = state.origin.map { time > $0 ? Double(time - $0) / 1e9 : 0 } ?? 0
            let isDamage = cause == DropCause.damaged.rawValue
            state.counts.captured += count
            state.counts.log.add(
                count, at: seconds, isDamage ? .damaged : .source, detail: isDamage ? nil : cause, period: period)
        }
    }

    package func changed(_ format: CaptureFormat) {
        guard format != self.format else { return }
        finish(.changed(format))
    }

    package func ended(_ end: CaptureEnd) { finish(.source(end)) }

    private func finish(_ end: End) {
        state.withLock { if $0.end == nil { $0.end = end } }
        wake.signal()
    }
}

/// The frames of the last 5 seconds, and those that were dropped.
package struct RecentDrops: Sendable {
    private var frames: ArraySlice<Double> = []
    private var drops: ArraySlice<Double> = []

    package static let window = 5.0
    /// The share of dropped frames above which the rate is halved.
    package static let share = 0.05

    package init() {}

    package mutating func note(frame time: Double) {
        frames.append(time)
        while let first = frames.first, first <= time - Self.window { frames.removeFirst() }
        while let first = drops.first, first <= time - Self.window { drops.removeFirst() }
    }

    package mutating func note(drop time: Double) { drops.append(time) }

    /// Whether more than 5 % were dropped.
    /// - Parameter rate: of the source; a window that has not lasted 5 seconds counts as a whole one.
    package func isTooMany(rate: Double?) -> Bool {
        Double(drops.count) > Self.share * max(Double(frames.count), (rate ?? 10) * Self.window)
    }
}
