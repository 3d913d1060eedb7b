// SPDX-License-Identifier: MIT

/// The decoding times of packets across processes: they continue where those of the process that failed ended.
///
/// A worker's decoding times are its frames' presentation times, delayed by the number of pictures D that it reorders: the
/// i-th packet has the (i-D)-th presentation time. D stays that of the first process, which no later one exceeds.
struct DecodeTimeline {
    /// Presentation times of frames that may still be needed, and the number of the first of them.
    private var times: [Int64] = []
    private var firstTime = 0
    /// The first presentation time of the stream.
    private var start: Int64?
    /// The first two decoding times, and the last one.
    private var early: [Int64] = []
    private var last: Int64 = 0
    private var packetCount = 0
    /// D, once another process has taken over; nil while decoding times are passed on.
    private(set) var depth: Int?
    /// The first packet after that, and the decoding time before it.
    private var joint = (packet: 0, time: Int64(0))

    /// More than a stream can reorder (H.265 A.4: sps_max_dec_pic_buffering is at most 16).
    private static let maxDepth = 16

    /// Records a frame that is sent for the first time.
    mutating func frameSent(pts: Int64) {
        start = start ?? pts
        times.append(pts)
        let unneeded = packetCount - Self.maxDepth - 1 - firstTime
        guard unneeded >= 64 else { return }
        times.removeFirst(min(unneeded, times.count))
        firstTime += unneeded
    }

    /// Prepares for the packets of another process.
    ///
    /// - Parameter reported: D as the first process reported it, for a stream whose first packets do not show it.
    mutating func continueElsewhere(reported: Int?) {
        guard packetCount > 0, depth == nil, let start else { return }
        joint = (packetCount, last)
        if let index = times.firstIndex(of: last) {
            depth = packetCount - 1 - (firstTime + index)
        } else if early.count > 1, early[1] > early[0], start >= early[0] {
            depth = Int(clamping: (start - early[0]) / (early[1] &- early[0]))
        } else {
            depth = reported ?? 2
        }
        // Each packet before the first presentation time needs a decoding time of its own.
        let room = start > last ? packetCount - 1 + Int(clamping: start - last) : .max
        depth = min(max(depth ?? 0, 0), Self.maxDepth, room)
    }

    /// The decoding time of the next packet that is delivered, whose worker computed `own`.
    mutating func next(own: Int64) -> Int64 {
        defer { packetCount += 1 }
        guard let depth, let start else {
            if early.count < 2 { early.append(own) }
            last = own
            return own
        }
        let frame = packetCount - depth
        guard frame < 0 else { return times.indices.contains(frame - firstTime) ? times[frame - firstTime] : own }
        // Packets before the first presentation time share the time that is left before it.
        let steps = Int64(depth - joint.packet + 1)
        return joint.time + (start - joint.time) * Int64(packetCount - joint.packet + 1) / steps
    }
}
