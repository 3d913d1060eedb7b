// SPDX-License-Identifier: MIT

/// What is known of a decoded picture.
struct DecodedFacts {
    /// The number of its packet.
    var id: UInt64
    /// The stretch of play that it belongs to.
    var number: Int
    /// In ticks of the stream.
    var time: Int64
    /// 0 where it is not known.
    var duration: Int64
    /// Bytes of its samples.
    var byteCount: Int
}

/// Decoded pictures of one stretch of play, in the order of their times; a seek, a change of direction and a loop begin another.
///
/// Times are in ticks of the stream.
struct FrameQueue<Picture> {
    struct Frame {
        let id: UInt64
        let time: Int64
        let duration: Int64
        /// The time of the picture behind it among those that are decoded; nil while that is not known.
        var next: Int64?
        /// Nil once it is given.
        var picture: Picture?
        let byteCount: Int
    }

    /// Which stretch it is.
    let number: Int
    /// 1 or −1.
    let direction: Int64
    private(set) var frames: [Frame] = []
    /// Pictures that the decoder has not returned, by the numbers of their packets.
    private(set) var pending: [UInt64: Int64] = [:]
    /// Times of pictures that were not decoded, ascending.
    private var skipped: [Int64] = []
    /// Every packet of an earlier time has been read.
    var horizon = Int64.min
    /// Whether a picture lasts until the next one, so that nothing else is to be waited for meanwhile.
    var trustsDurations = true
    /// Whether no picture is to come.
    var isComplete = false
    /// The time behind the last picture of the stream, once that is known.
    private(set) var end: Int64?
    /// The time of the frame that was given last.
    var given: Int64?
    /// The time that was asked for last.
    var asked: Int64?
    /// Pictures whose time passed before they were given.
    private(set) var droppedCount = 0
    /// Earlier pictures only lead to the one at which play begins, and later ones in reverse.
    var begin: Int64?

    init(number: Int, direction: Int64) { (self.number, self.direction) = (number, direction) }

    /// Pictures that wait for their time, and their bytes.
    var waitingCount: Int { frames.count { $0.picture != nil } }
    var byteCount: Int { frames.reduce(0) { $0 + ($1.picture == nil ? 0 : $1.byteCount) } }

    // MARK: - Filling

    mutating func expect(_ id: UInt64, at time: Int64) { pending[id] = time }

    mutating func skip(_ time: Int64) {
        // Most come in the order of their times.
        skipped.insert(time, at: (skipped.lastIndex { $0 <= time } ?? -1) + 1)
    }

    /// No picture comes of a packet.
    mutating func lose(_ id: UInt64) { pending[id] = nil }

    /// Adds a picture; false if its time has passed.
    mutating func add(_ facts: DecodedFacts, _ picture: Picture) -> Bool {
        let (id, time) = (facts.id, facts.time)
        pending[id] = nil
        // Decoders return pictures in the order of their times.
        for (other, expected) in pending where expected <= time && other < id { pending[other] = nil }
        if let given, direction > 0 ? time <= given : time >= given {
            droppedCount += 1
            return false
        }
        let index = frames.firstIndex { $0.time > time } ?? frames.endIndex
        var frame = Frame(
            id: id, time: time, duration: max(0, facts.duration), next: nil, picture: picture,
            byteCount: facts.byteCount)
        // In reverse the pictures behind belong to a part that was decoded earlier, until `close`.
        if index < frames.endIndex, direction > 0 { frame.next = frames[index].time }
        if index > 0, direction > 0 || pendingPart.contains(frames[index - 1].time) {
            frames[index - 1].next = time
        }
        frames.insert(frame, at: index)
        if let asked { discard(asked) }
        return frames.contains { $0.id == id }
    }

    /// The times that are being decoded in reverse.
    var pendingPart = Int64.max..<Int64.max

    /// In reverse: every picture of a part is there.
    mutating func closePart() {
        if let last = frames.lastIndex(where: { pendingPart.contains($0.time) }) {
            frames[last].next = last + 1 < frames.endIndex ? frames[last + 1].time : .max
        }
        pending = [:]
    }

    /// No packet follows, and every picture is there.
    mutating func complete() {
        (isComplete, pending) = (true, [:])
        guard direction > 0 else { return }
        end = lastEnd
    }

    /// The time behind the last picture; where its duration is not known, it lasts as long as the one before, or a tick.
    private var lastEnd: Int64? {
        guard let last = frames.last else { return given.map { $0 &+ 1 } }
        var duration = last.duration
        if duration == 0, frames.count > 1 { duration = last.time - frames[frames.count - 2].time }
        return last.time &+ max(1, duration)
    }

    // MARK: - Choice

    /// The index of the last frame at or before a time.
    func index(at time: Int64) -> Int? {
        let index = frames.firstIndex { $0.time > time } ?? frames.endIndex
        return index == 0 ? nil : index - 1
    }

    /// Whether no other picture can be that of a time at or behind a frame's.
    func isSettled(_ index: Int, at time: Int64) -> Bool {
        let frame = frames[index]
        if let next = frame.next { return time < next }
        if isComplete || trustsDurations && time < frame.time &+ frame.duration { return true }
        // Of pictures with equal times the last is shown.
        return time < horizon && !pending.values.contains { $0 >= frame.time && $0 <= time }
    }

    /// Whether a picture that was left out belongs to the time, and an earlier question could have had this one.
    func isLate(_ index: Int, at time: Int64) -> Bool {
        let frame = frames[index]
        guard direction > 0, let asked, asked >= frame.time else { return false }
        return skipped.contains { $0 > frame.time && $0 <= time }
    }

    /// Whether a frame lies behind the one that was given last.
    func isNew(_ index: Int) -> Bool {
        guard let given else { return true }
        return direction > 0 ? frames[index].time > given : frames[index].time < given
    }

    /// Gives a frame away.
    mutating func take(_ index: Int) -> Picture? {
        defer { frames[index].picture = nil }
        given = frames[index].time
        return frames[index].picture
    }

    /// Gives up a picture that comes too late.
    mutating func drop(_ index: Int) {
        guard frames[index].picture != nil else { return }
        frames[index].picture = nil
        droppedCount += 1
    }

    /// Gives up a picture that cannot be shown.
    mutating func dropPicture(of id: UInt64) {
        if let index = frames.firstIndex(where: { $0.id == id }) { drop(index) }
    }

    /// Forgets what lies before the frame of a time, in the direction of play.
    mutating func discard(_ time: Int64) {
        let current = index(at: time)
        // In reverse every frame has passed where all are later.
        let passed = direction > 0 ? 0..<(current ?? 0) : (current.map { $0 + 1 } ?? 0)..<frames.endIndex
        for frame in frames[passed] where frame.picture != nil {
            // Pictures on the way to the first one were never to be shown.
            if let begin, direction > 0 ? frame.time < begin : frame.time > begin { continue }
            droppedCount += 1
        }
        frames.removeSubrange(passed)
        if direction > 0, let first = frames.first { skipped.removeAll { $0 < first.time } }
    }
}
