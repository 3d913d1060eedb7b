// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDModel

/// The times of the packets of one copied stream, in the ticks of the output.
struct CopiedTimes {
    /// Packets that were left out, because the sound before them lasts longer.
    private(set) var overlapping = 0

    /// Whether two packets cannot be heard at the same time.
    private let isSound: Bool
    /// Whether no two packets of the output may have one decoding time.
    private let isStrict: Bool
    /// Ticks of the output that are added to each time.
    private let offset: Int64
    /// The last packet: its decoding time and duration in ticks of the source, and the time in ticks of the output.
    private var last: (source: Int64, duration: Int64, output: Int64)?

    /// What a warning says about sound that overlaps.
    static let overlap = "overlaps itself, as where files were joined: what would be heard twice is left out"
    /// The longest overlap in seconds that is left out; times that jump back further are damaged.
    private static let longestOverlap: Int64 = 10

    init(isSound: Bool, isStrict: Bool, offset: Int64 = 0) {
        (self.isSound, self.isStrict, self.offset) = (isSound, isStrict, offset)
    }

    /// Makes a packet's decoding time ascend, and moves its times to the output's ticks.
    /// - Returns: false where the packet is left out.
    mutating func place(_ packet: inout AVPacket, from: AVRational, to: AVRational) -> Bool {
        guard ascend(&packet, from) else { return false }
        let (source, duration) = (packet.dts, packet.duration)
        av_packet_rescale_ts(&packet, from, to)
        packet.dts = Self.bounded(packet.dts) + offset
        packet.pts = Self.bounded(packet.pts) + offset
        if let last {
            packet.dts = max(packet.dts, isStrict ? last.output + 1 : last.output)
            packet.pts = max(packet.pts, packet.dts)
        }
        last = (source, duration, packet.dts)
        return true
    }

    /// A time in range: finer ticks may have larger numbers.
    private static func bounded(_ time: Int64) -> Int64 { max(-Ticks.bound, min(time, Ticks.bound)) }

    /// The same in ticks of the source.
    private mutating func ascend(_ packet: inout AVPacket, _ base: AVRational) -> Bool {
        let none = clibav_no_pts()
        if !Ticks.isPossible(packet.dts) { packet.dts = none }
        if !Ticks.isPossible(packet.pts) { packet.pts = none }
        if !Ticks.isPossible(packet.duration) { packet.duration = 0 }
        if packet.dts == none { packet.dts = packet.pts }
        let hasTime = packet.dts != none
        if !hasTime {
            // A container that has no times for some packets, as in a lace, has them one behind the other.
            packet.dts = last.map { $0.source + max(1, isSound ? $0.duration : 1) } ?? 0
            // Durations without a time between them have no sum in range.
            if let last, !Ticks.isPossible(packet.dts) { packet.dts = last.source + 1 }
        }
        if let last, packet.dts <= last.source {
            let overlap = last.source - packet.dts
            // Containers round times.
            let rounding = max(1, packet.duration / 2)
            let longest = av_rescale(Self.longestOverlap, Int64(base.den), Int64(base.num))
            if isSound, hasTime, overlap > rounding, overlap <= longest {
                overlapping += 1
                return false
            }
            packet.dts = last.source + 1
        }
        if packet.pts == none || packet.pts < packet.dts { packet.pts = packet.dts }
        return true
    }
}
