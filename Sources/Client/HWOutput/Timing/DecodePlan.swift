// SPDX-License-Identifier: MIT
internal import HWClient

/// What the choice of pictures to decode needs to know of a packet.
struct PacketFacts: Hashable {
    /// In ticks of the stream, like the other times.
    var time: Int64
    /// Never after `time`.
    var decodeTime: Int64
    /// 0 where it is not known.
    var duration: Int64 = 0
    var isKey = false
    /// Whether it is shown, and not only decoded.
    var isShown = true
    /// The temporal level, from 0.
    var level = 0
    /// Whether pictures of its level refer to it.
    var isReference = true
    /// Bytes of its picture's samples; 0 where that is not known.
    var pictureBytes = 0
}

/// Whether packets' durations are those of their pictures.
///
/// Those of a movie's samples lie between decode times (ISO/IEC 14496-12 8.6.1.2): where they vary and pictures are reordered, a picture
/// may have the duration of another one.
struct DurationTrust {
    private var first: (duration: Int64, delay: Int64)?
    private var varies = false
    private var reorders = false

    var isTrusted: Bool { !(varies && reorders) }

    mutating func read(_ packet: PacketFacts) {
        let delay = packet.time &- packet.decodeTime
        guard let first else {
            first = (packet.duration, delay)
            return
        }
        if packet.duration != first.duration { varies = true }
        if delay != first.delay { reorders = true }
    }
}

/// Which pictures are decoded: first the higher levels are left out, then what no other picture refers to, then all but key frames.
enum Thinning: Hashable {
    case none
    /// Only levels up to this one.
    case levels(Int)
    /// Only what others of level 0 refer to.
    case references
    case keyFrames

    /// All of them for a stream with levels up to `highest`, the mildest first.
    static func steps(highest: Int) -> [Thinning] {
        [.none] + (0..<max(0, highest)).reversed().map { .levels($0) } + [.references, .keyFrames]
    }

    func keeps(_ packet: PacketFacts, highest: Int) -> Bool {
        switch self {
        case .none: true
        case .levels(let level): packet.level <= level
        case .references: packet.isKey || (packet.level == 0 && (packet.isReference || highest > 0))
        case .keyFrames: packet.isKey
        }
    }
}

/// Chooses how many pictures are decoded, from measured speed and from how late they are.
struct DecodePlan {
    /// Shown packets that were read last.
    private var recent: [PacketFacts] = []
    /// Whether a question stayed without an answer: only then is anything left out because of the decoder's speed.
    ///
    /// An app that waits for its frames, on a clock of its own, gets each of them.
    var isStrained = false
    private var measured: Double = 0
    /// Nanoseconds that a picture takes; 0 until one was measured, and where the decoder is fast enough.
    var cost: Double { isStrained ? measured : 0 }
    private(set) var isMeasured = false
    private(set) var thinning = Thinning.none
    private(set) var highestLevel = 0
    /// Pictures a second in all, and those that are decoded; nil until they are known.
    private(set) var pace: (all: Double, decoded: Double)?
    private var readCount = 0
    /// The time between the last two key frames.
    private var lastKey: Int64?
    private(set) var keyInterval: Int64?

    private static let recentCount = 240
    /// The rate below which a slow machine would show nothing: pictures a second.
    static let leastRate = Playability.leastRate

    mutating func measure(_ nanoseconds: Int64) {
        let sample = Double(max(0, nanoseconds))
        measured = isMeasured ? measured * 0.875 + sample * 0.125 : sample
        isMeasured = true
    }

    /// The decoder had to wait: it may be faster than was measured, which is tried after some seconds.
    mutating func keepUp() { measured *= 0.998 }

    mutating func read(_ packet: PacketFacts, _ scale: TickScale) {
        highestLevel = max(highestLevel, packet.level)
        if packet.isKey {
            if let lastKey, packet.time > lastKey { keyInterval = packet.time - lastKey }
            lastKey = packet.time
        }
        guard packet.isShown else { return }
        recent.append(packet)
        if recent.count > Self.recentCount { recent.removeFirst(recent.count - Self.recentCount) }
        readCount += 1
        if readCount % 8 == 0 || recent.count < 8 { measurePace(scale) }
    }

    private mutating func measurePace(_ scale: TickScale) {
        pace = density(.none, scale).map { ($0, density(thinning, scale) ?? $0) }
    }

    /// Another stretch of play begins.
    mutating func restart() { (recent, lastKey, pace) = ([], nil, nil) }

    /// Pictures a second of the item's time that a thinning leaves; nil where too few were read.
    func density(_ thinning: Thinning, _ scale: TickScale) -> Double? {
        guard recent.count >= 3 else { return nil }
        var (first, last) = (Int64.max, Int64.min)
        for packet in recent { (first, last) = (min(first, packet.time), max(last, packet.time)) }
        let seconds = Double(scale.nanoseconds(last) - scale.nanoseconds(first)) / 1e9
        guard seconds > 0 else { return nil }
        let kept = recent.count { thinning.keeps($0, highest: highestLevel) }
        return Double(kept) * Double(recent.count - 1) / Double(recent.count) / seconds
    }

    /// Chooses again.
    /// - Parameters:
    ///   - speed: times real time.
    ///   - isLate: whether pictures come after their time: then more is left out at once.
    ///   - refreshes: how often the display asks in a second, where that is known.
    mutating func choose(speed: Double, isLate: Bool, atKey: Bool, refreshes: Double?, _ scale: TickScale) {
        guard isLate || atKey else { return }
        var chosen = Thinning.none
        for step in Thinning.steps(highest: highestLevel) {
            guard let kept = density(step, scale), kept * speed >= Self.leastRate || step == .none else { break }
            // A display that cannot show every picture at this speed needs no more than it can show.
            if case .levels = step, speed > 1, let refreshes, kept * speed >= refreshes * 0.999 {
                chosen = step
                continue
            }
            let speedNeeded = kept * speed * cost / 1e9
            if isFast(chosen, speed, scale) { break }
            chosen = step
            if speedNeeded <= 0.95 { break }
        }
        guard atKey || Self.isMilder(thinning, than: chosen) else { return }
        thinning = chosen
        measurePace(scale)
    }

    /// Whether the decoder keeps up; for less thinning than now with room to spare, so that it does not go to and fro.
    private func isFast(_ step: Thinning, _ speed: Double, _ scale: TickScale) -> Bool {
        guard let kept = density(step, scale) else { return true }
        let margin = Self.isMilder(step, than: thinning) ? 0.8 : 0.95
        return kept * speed * cost / 1e9 <= margin
    }

    /// Whether `first` leaves out less than `second`.
    static func isMilder(_ first: Thinning, than second: Thinning) -> Bool {
        func order(_ step: Thinning) -> Int {
            switch step {
            case .none: 0
            case .levels(let level): 100 - level
            case .references: 200
            case .keyFrames: 300
            }
        }
        return order(first) < order(second)
    }
}

/// A group of pictures that is decoded in parts for play in reverse, the last part first.
struct ReversePlan {
    /// One run of the decoder: from the key frame to the last packet that a picture of the part needs.
    struct Part: Hashable {
        /// The times of its pictures.
        var times: Range<Int64>
        /// The number of packets from the key frame on.
        var packetCount: Int
        var pictureCount: Int
    }

    var thinning = Thinning.none
    var parts: [Part] = []
    /// Shown pictures that are left out.
    var skipped = 0

    /// - Parameters:
    ///   - packets: in decoding order, from the key frame to the last that a picture before `end` needs.
    ///   - end: the time of the picture behind.
    ///   - capacity: pictures that a part may have.
    ///   - cost: nanoseconds that a picture takes to decode.
    ///   - available: nanoseconds until the group has been shown.
    init(
        _ packets: [PacketFacts], before end: Int64, capacity: Int, cost: Double, available: Double, highest: Int
    ) {
        let key = packets.first?.time ?? 0
        // The pictures by their times, each with its packet.
        let shown = packets.indices.filter {
            packets[$0].isShown && packets[$0].time < end && packets[$0].time >= key
        }
        .sorted { (packets[$0].time, $0) < (packets[$1].time, $1) }
        for step in Thinning.steps(highest: highest) {
            let kept = shown.filter { step.keeps(packets[$0], highest: highest) }
            (thinning, skipped, parts) = (step, shown.count - kept.count, [])
            // How many packets are decoded of the first ones.
            var counts = [0]
            counts.reserveCapacity(packets.count + 1)
            for packet in packets {
                counts.append(counts[counts.count - 1] + (step.keeps(packet, highest: highest) ? 1 : 0))
            }
            var (upper, limit, decoded) = (kept.count, end, 0)
            while upper > 0 {
                let lower = max(0, upper - max(1, capacity))
                let first = packets[kept[lower]].time
                let packetCount = (kept[lower..<upper].max() ?? 0) + 1
                parts.append(
                    Part(
                        times: first..<max(limit, first &+ 1), packetCount: packetCount,
                        pictureCount: upper - lower))
                decoded += counts[packetCount]
                (upper, limit) = (lower, first)
            }
            if Double(decoded) * cost <= available * 0.95 { break }
        }
    }
}
