// SPDX-License-Identifier: MIT
internal import HWClient
internal import Synchronization

/// The last frame, which is recorded again where a source sends only what changes, or less than a constant rate.
extension CaptureQueue {
    /// Nanoseconds in which a frame of a constant rate may still come.
    private static let latest: UInt64 = 200_000_000
    /// Nanoseconds after which the last frame is recorded once more, and one that was dropped: with the quarter of a second
    /// after which a recording looks again, two frames are less than a second apart.
    private static let (repeatDelay, shortRepeatDelay): (UInt64, UInt64) = (700_000_000, 100_000_000)

    /// Sends the last frame once more where nothing has come for most of a second: a source that sends only what changes has nothing else.
    ///
    /// Where the last change was dropped, its picture is sent, and sooner. Nothing is sent while frames wait. At a constant rate
    /// it is sent for all frames that are due.
    /// - Parameters:
    ///   - time: nanoseconds of CLOCK_MONOTONIC.
    ///   - isEnd: whether the recording ends then, so that the frame is sent whenever the last one came.
    package func repeatLast(at time: UInt64, isEnd: Bool = false) {
        state.withLock { repeatLast(&$0, at: time, isEnd: isEnd) }
    }

    func repeatLast(_ state: inout State, at time: UInt64, isEnd: Bool) {
        // It may have come while the pause ended, or after that.
        if state.origin == nil, let end = state.pauses.end { begin(&state, at: end) }
        guard state.kept != nil, let origin = state.origin else { return }
        if let constant {
            let due = isEnd ? time : time - min(time, Self.latest)
            guard due > origin else { return }
            return fill(&state, before: constant.tick(state.pauses.time(at: due, from: origin)) + 1, constant)
        }
        guard state.waiting.isEmpty else { return }
        let delay = isEnd ? Self.shortestStep : state.isKeptDropped ? Self.shortRepeatDelay : Self.repeatDelay
        // A change that no file has is recorded, even if the recording has already ended.
        let time = isEnd && state.isKeptDropped ? max(time, state.last + delay) : time
        guard time >= state.last + delay, !state.pauses.contains(time) else { return }
        (state.last, state.isRepeat) = (time, true)
        sendKept(&state, at: state.pauses.time(at: time, from: origin))
    }

    /// Begins the recording with the last frame, which was dropped in a pause.
    func begin(_ state: inout State, at time: UInt64) {
        guard state.kept != nil else { return }
        (state.origin, state.last, state.isRepeat, state.tick) = (time, time, true, 1)
        sendKept(&state, at: 0)
    }

    /// Sends the last frame for those of a constant rate that nothing was sent for.
    ///
    /// What has no room is left out there, too.
    func fill(_ state: inout State, before end: UInt64, _ rate: CaptureRate) {
        guard let stage = state.kept?.stage, end > state.tick else { return }
        let room = greatestCount(stage) - state.waiting.count
        state.tick = max(state.tick, end - min(end, UInt64(max(0, room))))
        while state.tick < end {
            sendKept(&state, at: rate.time(state.tick))
            state.tick += 1
        }
    }

    /// The most frames that wait: those that are repeated for a constant rate have no slots of their own.
    func greatestCount(_ stage: Stage) -> Int {
        constant.map { max(2 * stage.depth, Int($0.perSecond)) } ?? stage.depth
    }

    func keep(_ state: inout State, _ frame: Admission, isDropped: Bool) {
        if let kept = state.kept { kept.stage.pool.release(kept.slot) }
        state.kept = (frame.slot, frame.stage, frame.taken)
        state.isKeptDropped = isDropped
    }

    /// Sends the last frame once more, or one that was dropped, which is then the newest.
    func sendKept(_ state: inout State, at time: UInt64) {
        guard let (slot, stage, taken) = state.kept else { return }
        stage.pool.hold(slot)
        let frame = Frame(slot: slot, time: time, stage: stage)
        if state.isKeptDropped { keepNewest(frame, taken: taken) }
        state.isKeptDropped = false
        state.counts.repeated += 1
        state.waiting.append(frame)
    }

    /// Where a dropped frame is copied to for `repeatLast`: it may be the last one for long.
    ///
    /// One of a pause is what is shown after it only where the source has no rate; a recording may begin with any.
    func keepDropped(_ state: inout State, _ taken: UInt64, isInPause: Bool = false) -> Admission? {
        let stage = state.stage
        let isWanted = isInPause ? state.origin == nil || stage.format.rate == nil : state.origin != nil
        guard stage.keepsLast, isWanted else { return nil }
        if state.isKeptDropped, let kept = state.kept, kept.stage === stage {
            state.kept = nil
            return Admission(slot: kept.slot, stage: stage, taken: taken, time: nil)
        }
        return stage.pool.acquire().map { Admission(slot: $0, stage: stage, taken: taken, time: nil) }
    }
}
