// SPDX-License-Identifier: GPL-2.0-or-later

/// How long each picture is shown when some of a stream were taken out: until the next one that is left.
///
/// Packets go in in decoding order and come out in the same, as soon as what follows them in presentation order is
/// known: decoding times bound what can still come.
public struct DisplayDurations<Packet> {
    /// A packet that is left, and how long its picture is shown.
    public struct Timed {
        /// What was put in.
        public var packet: Packet
        /// When it is shown.
        public var pts: Int64
        /// Until the next picture is shown.
        public var duration: Int64
    }

    private var queue: [(packet: Packet, pts: Int64, duration: Int64)] = []
    /// Presentation times of packets that are left, rising; those before all in the queue are forgotten.
    private var times: [Int64] = []
    /// When the last picture of all, left or not, ends.
    private var end: Int64 = .min

    /// Packets held at most: more than any stream reorders.
    private static var maximum: Int { 256 }

    /// Nothing put in yet.
    public init() {}

    /// Takes a packet that is left; hands back those whose durations are known now.
    public mutating func add(_ packet: Packet, pts: Int64, dts: Int64, duration: Int64) -> [Timed] {
        pass(pts: pts, duration: duration)
        let place = times.firstIndex { $0 >= pts } ?? times.count
        times.insert(pts, at: place)
        queue.append((packet, pts, duration))
        return take { next in next <= dts }
    }

    /// Takes note of a packet that is not left.
    public mutating func pass(pts: Int64, duration: Int64) {
        guard pts.magnitude < 1 << 60, duration.magnitude < 1 << 60 else { return }
        end = max(end, pts + duration)
    }

    /// The packets that are held when no more come; the last picture lasts until all would have ended.
    public mutating func finish() -> [Timed] { take { _ in true } }

    private mutating func take(_ isCertain: (Int64) -> Bool) -> [Timed] {
        var done: [Timed] = []
        while let first = queue.first {
            let next = times.first { $0 > first.pts }
            if let next {
                guard isCertain(next) || queue.count > Self.maximum else { break }
            } else {
                guard isCertain(.max) || queue.count > Self.maximum else { break }
            }
            let until = next ?? max(end, first.pts)
            done.append(Timed(packet: first.packet, pts: first.pts, duration: max(until - first.pts, 0)))
            queue.removeFirst()
            // What comes before every picture that is held is no picture's end any more.
            let oldest = queue.lazy.map(\.pts).min() ?? first.pts
            times.removeAll { $0 < min(oldest, first.pts) }
        }
        return done
    }
}
