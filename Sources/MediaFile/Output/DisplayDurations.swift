// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// How long each picture is shown, and when it is decoded, when some of a stream were taken out.
///
/// A picture lasts until the next one that is left. Packets go in in decoding order and come out in the same, as soon as
/// what follows them in presentation order is known: decoding times bound what can still come.
public struct DisplayDurations<Packet> {
    /// A packet that is left, with its times.
    public struct Timed {
        /// What was put in.
        public var packet: Packet
        /// When it is shown, as before.
        public var pts: Int64
        /// When it is decoded: spaced as the pictures that are left are, no longer as those of all were.
        public var dts: Int64
        /// Until the next picture is shown.
        public var duration: Int64

        /// A packet with the times it came with.
        public init(packet: Packet, pts: Int64, dts: Int64, duration: Int64) {
            self.packet = packet
            self.pts = pts
            self.dts = dts
            self.duration = duration
        }
    }

    private var queue: [(packet: Packet, pts: Int64, dts: Int64?)] = []
    /// Presentation times of packets that are left, rising; those nobody needs any more are forgotten.
    private var times: [Int64] = []
    private var forgotten = 0
    private var given = 0
    private var lastDTS: Int64?
    /// When the last picture of all, left or not, ends.
    private var end: Int64 = .min
    private let reorderDepth: Int
    /// Ticks between the pictures decoded before the first is shown.
    private var spacing: Int64 = 1

    /// Packets held at most: more than any stream reorders.
    private static var maximum: Int { 256 }

    /// Nothing put in yet.
    ///
    /// - Parameter reorderDepth: pictures that precede one in decoding and follow it in output order, at most
    ///   (sps_max_num_reorder_pics of what is left, H.265 7.4.3.2.1).
    public init(reorderDepth: Int) { self.reorderDepth = max(0, min(reorderDepth, 16)) }

    /// Takes a packet that is left; hands back those whose durations are known now.
    ///
    /// - Parameters:
    ///   - pts: a possible one (`Ticks`).
    ///   - dts: when it was decoded, likewise; nil where the file does not say.
    public mutating func add(_ packet: Packet, pts: Int64, dts: Int64?, duration: Int64) -> [Timed] {
        pass(pts: pts, duration: duration)
        let place = times.firstIndex { $0 >= pts } ?? times.count
        times.insert(pts, at: place)
        queue.append((packet, pts, dts))
        return take { next in dts.map { next <= $0 } ?? false }
    }

    /// Takes note of a picture that is not left.
    public mutating func pass(pts: Int64, duration: Int64) {
        guard Ticks.isPossible(pts), Ticks.isPossible(duration) else { return }
        end = max(end, pts + duration)
    }

    /// The packets that are held when no more come; the last picture lasts until all would have ended.
    public mutating func finish() -> [Timed] { take { _ in true } }

    private mutating func take(_ isCertain: (Int64) -> Bool) -> [Timed] {
        var done: [Timed] = []
        while let first = queue.first {
            let next = times.first { $0 > first.pts }
            guard isCertain(next ?? .max) || queue.count > Self.maximum else { break }
            let until = next ?? max(end, first.pts)
            done.append(
                Timed(
                    packet: first.packet, pts: first.pts, dts: decodeTime(first.pts, first.dts),
                    duration: max(until - first.pts, 0)))
            queue.removeFirst()
            forget()
        }
        return done
    }

    /// When the next picture is decoded: the i-th is never shown before the presentation time i - depth.
    ///
    /// A stream that reorders more than it says keeps its own times.
    private mutating func decodeTime(_ pts: Int64, _ told: Int64?) -> Int64 {
        defer { given += 1 }
        let own = told ?? pts
        var time = own
        if given < reorderDepth {
            if given == 0, times.count > 1 { spacing = times[1] - times[0] }
            time = (times.first ?? own) - Int64(reorderDepth - given) * spacing
        } else if times.indices.contains(given - reorderDepth - forgotten) {
            time = times[given - reorderDepth - forgotten]
        }
        if time > pts || lastDTS.map({ time <= $0 }) ?? false { time = own }
        if let lastDTS, time <= lastDTS { time = lastDTS + 1 }
        lastDTS = time
        return time
    }

    /// Lets go of the times before every picture that is held and those that are still to be decoded at them.
    private mutating func forget() {
        guard given > reorderDepth, times.count > 2 * Self.maximum else { return }
        let oldest = queue.lazy.map(\.pts).min() ?? .max
        let unneeded = times.prefix(max(0, given - reorderDepth - forgotten)).count { $0 < oldest }
        times.removeFirst(unneeded)
        forgotten += unneeded
    }
}
