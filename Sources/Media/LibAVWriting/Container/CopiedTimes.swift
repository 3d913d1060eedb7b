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
    /// Ticks that are added to each time.
    private let offset: Int64
    private var last: Int64?
    private var lastDuration: Int64 = 0

    /// What a warning says about sound that overlaps.
    static let overlap = "overlaps itself, as where files were joined: what would be heard twice is left out"
    /// The longest overlap in seconds that is left out; times that jump back further are damaged.
    private static let longestOverlap: Int64 = 10

    init(isSound: Bool, offset: Int64 = 0) { (self.isSound, self.offset) = (isSound, offset) }

    /// Moves a packet's times to the output's ticks, and makes its decoding time ascend.
    /// - Returns: false where the packet is left out.
    mutating func place(_ packet: inout AVPacket, from: AVRational, to: AVRational) -> Bool {
        let none = clibav_no_pts()
        if !Ticks.isPossible(packet.dts) { packet.dts = none }
        if !Ticks.isPossible(packet.pts) { packet.pts = none }
        av_packet_rescale_ts(&packet, from, to)
        if packet.dts == none { packet.dts = packet.pts }
        let hasTime = packet.dts != none
        if hasTime {
            packet.dts += offset
            if packet.pts != none { packet.pts += offset }
        } else {
            // A container that has no times for some packets, as in a lace, has them one behind the other.
            packet.dts = last.map { $0 + max(1, isSound ? lastDuration : 1) } ?? 0
        }
        if let last, packet.dts <= last {
            let overlap = last - packet.dts
            // Rounding makes equal times of short packets.
            let rounding = max(1, packet.duration / 2)
            let longest = av_rescale(Self.longestOverlap, Int64(to.den), Int64(to.num))
            if isSound, hasTime, overlap > rounding, overlap <= longest {
                overlapping += 1
                return false
            }
            packet.dts = last + 1
        }
        if packet.pts == none || packet.pts < packet.dts { packet.pts = packet.dts }
        (last, lastDuration) = (packet.dts, packet.duration)
        return true
    }
}
