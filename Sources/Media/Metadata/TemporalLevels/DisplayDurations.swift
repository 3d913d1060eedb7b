// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// Recomputes durations and decoding times of a stream from which some pictures were dropped.
///
/// A picture lasts until the next kept one. Packets enter and leave in decoding order; each leaves as soon as its
/// successor in presentation order is known, which follows from the decoding times.
public struct DisplayDurations<Packet> {
    /// A kept packet with its new times.
    public struct Timed {
        /// The packet as it was added.
        public var packet: Packet
        /// Presentation time, unchanged.
        public var pts: Int64
        /// Decoding time, spaced as the kept pictures are.
        public var dts: Int64
        /// Time until the next kept picture is shown.
        public var duration: Int64

        /// A packet with the given times.
        public init(packet: Packet, pts: Int64, dts: Int64, duration: Int64) {
            self.packet = packet
            self.pts = pts
            self.dts = dts
            self.duration = duration
        }
    }

    private var queue: [(packet: Packet, pts: Int64, dts: Int64?)] = []
    /// Ascending presentation times of kept packets, without the `removedTimes` first ones.
    private var times: [Int64] = []
    private var removedTimes = 0
    private var outputCount = 0
    private var lastDTS: Int64?
    /// The end of the last picture, kept or dropped.
    private var end: Int64 = .min
    private let reorderDepth: Int
    /// Ticks between the pictures decoded before the first is shown.
    private var spacing: Int64 = 1

    /// The most packets in the queue: more than any stream reorders.
    private static var maxQueueLength: Int { 256 }

    /// An empty queue.
    ///
    /// - Parameter reorderDepth: the most pictures that precede one in decoding and follow it in output order
    ///   (`sps_max_num_reorder_pics` of the kept sub-layers, H.265 7.4.3.2.1).
    public init(reorderDepth: Int) { self.reorderDepth = max(0, min(reorderDepth, 16)) }

    /// Adds a kept packet; returns the packets whose durations are now known.
    ///
    /// - Parameters:
    ///   - pts: presentation time, within `Ticks.bound`.
    ///   - dts: decoding time, likewise; nil where the file has none.
    public mutating func add(_ packet: Packet, pts: Int64, dts: Int64?, duration: Int64) -> [Timed] {
        pass(pts: pts, duration: duration)
        let index = times.firstIndex { $0 >= pts } ?? times.count
        times.insert(pts, at: index)
        queue.append((packet, pts, dts))
        return take { next in dts.map { next <= $0 } ?? false }
    }

    /// Accounts for a picture that was dropped.
    public mutating func pass(pts: Int64, duration: Int64) {
        guard Ticks.isPossible(pts), Ticks.isPossible(duration) else { return }
        end = max(end, pts + duration)
    }

    /// The packets left in the queue at the end; the last picture lasts until the end of all pictures.
    public mutating func finish() -> [Timed] { take { _ in true } }

    private mutating func take(_ isCertain: (Int64) -> Bool) -> [Timed] {
        var done: [Timed] = []
        while let first = queue.first {
            let next = times.first { $0 > first.pts }
            guard isCertain(next ?? .max) || queue.count > Self.maxQueueLength else { break }
            let until = next ?? max(end, first.pts)
            done.append(
                Timed(
                    packet: first.packet, pts: first.pts, dts: decodeTime(first.pts, first.dts),
                    duration: max(until - first.pts, 0)))
            queue.removeFirst()
            removeOldTimes()
        }
        return done
    }

    /// The decoding time of the i-th picture is the presentation time with the ascending number i - depth.
    ///
    /// A stream that exceeds its declared reorder depth keeps its own times.
    private mutating func decodeTime(_ pts: Int64, _ dts: Int64?) -> Int64 {
        defer { outputCount += 1 }
        let own = dts ?? pts
        var time = own
        if outputCount < reorderDepth {
            if outputCount == 0, times.count > 1 { spacing = times[1] - times[0] }
            time = (times.first ?? own) - Int64(reorderDepth - outputCount) * spacing
        } else if times.indices.contains(outputCount - reorderDepth - removedTimes) {
            time = times[outputCount - reorderDepth - removedTimes]
        }
        if time > pts || lastDTS.map({ time <= $0 }) ?? false { time = own }
        if let lastDTS, time <= lastDTS { time = lastDTS + 1 }
        lastDTS = time
        return time
    }

    /// Removes the times that precede every queued picture and are no decoding time of a later one.
    private mutating func removeOldTimes() {
        guard outputCount > reorderDepth, times.count > 2 * Self.maxQueueLength else { return }
        let oldest = queue.lazy.map(\.pts).min() ?? .max
        let unneeded = times.prefix(max(0, outputCount - reorderDepth - removedTimes)).count { $0 < oldest }
        times.removeFirst(unneeded)
        removedTimes += unneeded
    }
}
