// SPDX-License-Identifier: MIT

/// Why there is no frame to show.
public enum NoFrame: Hashable, Sendable {
    /// The frame of this time, or one behind it, was given already, or could not be converted.
    case same
    /// Its picture is not there in time.
    case notDecodedYet
    /// The time is before the first frame.
    case beforeStart
    /// The time is behind the last frame.
    case afterEnd
    /// A seek, or the start, waits for its first frame; time stands meanwhile.
    case seeking
}

/// What happened to an output.
public enum OutputEvent: Hashable, Sendable {
    /// A seek, a change of direction or a loop began another epoch: frames that were given before are out of date.
    case flushed(epoch: Int)
    /// The time is behind the last frame, or before the first one in reverse.
    case ended(epoch: Int)
    /// The source ended early: why. What came before is shown.
    case cutShort(String)
    /// A picture could not be converted: why. The next one is shown.
    case notConverted(String)
    /// The session failed for good: why. No picture follows.
    case failed(String)
}

/// What an output did so far.
public struct OutputCounts: Hashable, Sendable {
    /// Frames given.
    public var shown = 0
    /// Questions that had no answer because a picture was not there in time.
    public var late = 0
    /// Decoded pictures whose time passed before they were given.
    public var dropped = 0
    /// Pictures that were not decoded, because the machine or the display is too slow for them.
    public var skipped = 0
    /// Packets of which no picture came: damaged ones, and those that the decoder refuses.
    ///
    /// The frame before stays.
    public var lost = 0
    /// Pictures that were converted.
    public var converted = 0
    /// How often a session continued in another process.
    public var restarts = 0
    /// The most bytes of decoded pictures that waited at one time.
    public var peakBytes = 0
}

/// Where a seek may land.
public enum SeekMode: Hashable, Sendable {
    /// At the time.
    case exact
    /// At the key frame at or before the time.
    case key
    /// At a key frame that is no farther away than this, before or behind; else at the time.
    case tolerance(Duration)
}

/// Which frame is shown when, and what is decoded for it: everything but the sessions and the source.
///
/// It receives what is known of packets and pictures, and is asked what to do next (`nextWork`). Times of the host and the item are
/// nanoseconds, times of frames are ticks of the stream.
struct Playback<Picture> {
    struct Bounds {
        /// Bytes of decoded pictures that wait.
        var bytes = 256 << 20
        /// The same for play in reverse.
        var reverseBytes = 512 << 20
    }

    enum Answer {
        case frame(id: UInt64, time: Int64, duration: Int64, epoch: Int, picture: Picture)
        case none(NoFrame)
    }

    let scale: TickScale
    let bounds: Bounds
    /// Bytes of one picture, as far as is known.
    var pictureBytes: Int
    var isLooping = false
    var grid: RefreshGrid?

    var map = TimeMap()
    /// 1 or −1.
    var direction: Int64 = 1
    var epoch = 0
    var counts = OutputCounts()
    /// The last ones, for an app that never takes them.
    var events: [OutputEvent] = [] {
        didSet { if events.count > Self.maxEvents { events.removeFirst(events.count - Self.maxEvents) } }
    }
    static var maxEvents: Int { 1000 }

    /// The stretch that is shown, and the one behind the loop's end.
    var current: FrameQueue<Picture>
    var upcoming: FrameQueue<Picture>?
    var run: DecodeRun
    var plan = DecodePlan()
    var durations = DurationTrust()
    var lastNumber = 0
    var nextID: UInt64 = 1
    /// The first and the last time of the stream, once they are known.
    var start: Int64?
    var end: Int64?
    /// When the display asked last, and how far apart its questions are.
    var refresh = (last: Int64?.none, interval: Int64(16_666_667))
    /// When a frame was given last.
    var shownAt: Int64?
    /// The decoder's work since it last had to wait: when that began, and how many pictures came.
    var work: (since: Int64, count: Int)?
    /// Dropped pictures of earlier stretches.
    private var earlierDrops = 0
    private var hasEnded = false

    init(_ scale: TickScale, pictureBytes: Int, bounds: Bounds = Bounds(), refreshInterval: Duration? = nil) {
        (self.scale, self.pictureBytes, self.bounds) = (scale, pictureBytes, bounds)
        grid = refreshInterval.flatMap { RefreshGrid($0) }
        if let grid { refresh.interval = grid.nanoseconds }
        current = FrameQueue(number: 0, direction: 1)
        run = DecodeRun(number: 0, target: 0)
    }

    /// Frames are shown this much before their time, in nanoseconds: what jitter and rounded times need.
    private var tolerance: Int64 { grid == nil ? 100_000 : 500_000 }

    /// The last tick whose frame belongs to an item time.
    func tick(of item: Int64) -> Int64 {
        scale.ticks(Int64(clamping: Int128(item) + Int128(tolerance * direction)))
    }

    /// The counts so far.
    var allCounts: OutputCounts {
        var counts = counts
        counts.dropped = earlierDrops + current.droppedCount + (upcoming?.droppedCount ?? 0)
        return counts
    }

    // MARK: - Commands

    /// Sets the rate, in millionths; another direction begins another epoch.
    mutating func setRate(_ rate: Int64, at host: Int64) {
        map.setRate(rate, at: host)
        guard rate != 0, rate.signum() != direction else { return }
        direction = rate.signum()
        flush(to: map.isHeld ? map.anchor.item : map.item(at: host), .exact)
    }

    /// Goes to an item time.
    mutating func seek(to item: Int64, _ mode: SeekMode) { flush(to: max(0, item), mode) }

    private mutating func flush(to item: Int64, _ mode: SeekMode) {
        var item = item
        if let end { item = min(item, scale.nanoseconds(end)) }
        map.hold(at: item)
        var next = stretch()
        // What lies before the frame of the time does not wait.
        next.asked = tick(of: item)
        replace(by: next)
        upcoming = nil
        run = DecodeRun(number: next.number, target: scale.ticks(item), mode: mode)
        plan.restart()
    }

    /// Another stretch of play.
    mutating func stretch() -> FrameQueue<Picture> {
        lastNumber += 1
        var next = FrameQueue<Picture>(number: lastNumber, direction: direction)
        next.trustsDurations = durations.isTrusted
        return next
    }

    /// The stretch with which a loop begins again.
    mutating func restarted() -> FrameQueue<Picture> {
        var next = stretch()
        if let start, let end { next.asked = direction > 0 ? start : end - 1 }
        return next
    }

    private mutating func replace(by next: FrameQueue<Picture>) {
        earlierDrops += current.droppedCount
        current = next
        epoch += 1
        hasEnded = false
        shownAt = nil
        events.append(.flushed(epoch: epoch))
    }

    // MARK: - Frames

    /// The item time of a host time; it stands during a seek.
    func itemTime(at host: Int64) -> Int64 {
        let item = map.item(at: host)
        guard isLooping, let start, let end, !map.isHeld else { return item }
        let (first, last) = (Int128(scale.nanoseconds(start)), Int128(scale.nanoseconds(end)))
        let length = last - first
        guard length > 0, direction > 0 ? item >= last : item < first else { return item }
        let whole = floorDivide(Int128(item) - first, length) * length
        return Int64(clamping: Int128(item) - whole)
    }

    /// Whether a question at this time would have a frame as its answer.
    func hasNewFrame(at host: Int64) -> Bool {
        var copy = self
        if case .frame = copy.frame(at: host, isReady: { _ in true }) { return true }
        return false
    }

    /// The frame of a display time.
    /// - Parameter isReady: whether a picture can be shown, or waits for its conversion.
    mutating func frame(at host: Int64, isReady: (Picture) -> Bool) -> Answer {
        let host = grid?.snap(host) ?? host
        if let last = refresh.last, grid == nil, host > last, isShort(host, after: last, 200_000_000) {
            refresh.interval = host - last
        }
        refresh.last = host
        if !map.isHeld { wrap(at: host) }
        skipWhatIsLost()
        let time = tick(of: map.item(at: host))
        defer { current.asked = time }
        let isEmpty = current.isComplete && current.frames.isEmpty
        if let outside = outside(time, isEmpty: isEmpty) {
            // Where nothing can be shown, nothing is waited for.
            if !current.frames.isEmpty || current.isComplete { map.start(at: host) }
            return .none(outside)
        }
        guard let index = current.index(at: time), current.isSettled(index, at: time) else {
            // A clock that jumped back.
            if let given = current.given, direction > 0 ? time < given : time > given { return .none(.same) }
            current.discard(time)
            return missing()
        }
        guard current.isNew(index) else { return .none(.same) }
        guard let picture = current.frames[index].picture else {
            // It could not be converted: what follows is shown at its time.
            map.start(at: host)
            return .none(.same)
        }
        guard isReady(picture) else { return missing() }
        if current.isLate(index, at: time), let shownAt, isShort(host, after: shownAt, 100_000_000) {
            current.drop(index)
            return missing()
        }
        let frame = current.frames[index]
        _ = current.take(index)
        current.discard(time)
        map.start(at: host)
        counts.shown += 1
        shownAt = host
        return .frame(id: frame.id, time: frame.time, duration: frame.duration, epoch: epoch, picture: picture)
    }

    /// Whether less than some nanoseconds lie between two host times, which may be any.
    private func isShort(_ host: Int64, after earlier: Int64, _ limit: Int128) -> Bool {
        Int128(host) - Int128(earlier) < limit
    }

    private func missing() -> Answer { .none(map.isHeld ? .seeking : .notDecodedYet) }

    /// Moves the time that is held to the first picture, where none comes for the time itself.
    private mutating func skipWhatIsLost() {
        guard map.isHeld, direction > 0, let first = current.frames.first?.time, first > tick(of: map.anchor.item),
            start.map({ tick(of: map.anchor.item) >= $0 }) ?? true,
            !current.pending.values.contains(where: { $0 < first }),
            current.isComplete || current.horizon >= first || !readsAhead
        else { return }
        map.hold(at: scale.nanoseconds(first))
    }

    /// Counts a question that stays without an answer.
    mutating func countLate() {
        counts.late += 1
        plan.isStrained = true
    }

    /// The reason if a time is outside of the stream.
    /// - Parameter isEmpty: whether there is no picture, and none is to come.
    private mutating func outside(_ time: Int64, isEmpty: Bool) -> NoFrame? {
        var reason: NoFrame? = isEmpty ? (direction > 0 ? .afterEnd : .beforeStart) : nil
        if let end, time >= end, direction > 0 || !map.isHeld { reason = .afterEnd }
        if let start, time < start { reason = .beforeStart }
        guard let reason, !isLooping || map.isHeld || isEmpty else { return nil }
        if !hasEnded, reason == (direction > 0 ? .afterEnd : .beforeStart) {
            hasEnded = true
            events.append(.ended(epoch: epoch))
        }
        return reason
    }

    /// Begins again behind the end of a loop.
    private mutating func wrap(at host: Int64) {
        let time = tick(of: map.item(at: host))
        guard isLooping, current.isComplete, let start, let end, end > start,
            direction > 0 ? time >= end : time < start
        else { return }
        let (first, last) = (Int128(scale.nanoseconds(start)), Int128(scale.nanoseconds(end)))
        guard last > first else { return }
        let item = Int128(scale.nanoseconds(time))
        let passed = direction > 0 ? item - first : last - 1 - item
        let shift = Int64(clamping: floorDivide(passed, last - first) * (last - first))
        map.shift(by: direction > 0 ? -shift : shift)
        let next: FrameQueue<Picture>
        if let upcoming {
            next = upcoming
            self.upcoming = nil
        } else {
            next = restarted()
            run = DecodeRun(number: next.number, target: direction > 0 ? start : end - 1)
        }
        replace(by: next)
    }

    // MARK: - Conversion

    /// The frames that will be shown next, two at most: the next one and one ahead.
    func expected(at host: Int64) -> [UInt64] {
        var found: [UInt64] = []
        let begin = max(refresh.last ?? host, map.isHeld ? host : map.anchor.host)
        for step in 0..<4 where found.count < 2 {
            let item = map.item(at: begin &+ refresh.interval * Int64(step))
            var (queue, time) = (current, tick(of: item))
            if isLooping, let start, let end, current.isComplete, let upcoming,
                direction > 0 ? time >= end : time < start
            {
                queue = upcoming
                time = direction > 0 ? time &- end &+ start : time &- start &+ end
            }
            guard let index = queue.index(at: time), queue.isSettled(index, at: time), queue.isNew(index),
                queue.frames[index].picture != nil
            else { continue }
            if !found.contains(queue.frames[index].id) { found.append(queue.frames[index].id) }
        }
        return found
    }

    /// The picture of a frame, wherever it waits.
    func picture(_ id: UInt64) -> Picture? {
        (current.frames.first { $0.id == id } ?? upcoming?.frames.first { $0.id == id })?.picture
    }

    /// A picture cannot be converted: nothing is shown for it.
    mutating func didNotConvert(_ id: UInt64) {
        current.dropPicture(of: id)
        upcoming?.dropPicture(of: id)
    }
}
