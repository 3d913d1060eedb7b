// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata

/// Converts one track to another codec: packets in, packets out, at the same times.
protocol PacketConverter: AnyObject {
    /// What is converted, in one line.
    var note: String { get }
    /// A warning about damage; nil without any.
    var warning: String? { get }

    /// Describes the packets that are made in an output's stream; false when memory runs out.
    func describe(_ stream: UnsafeMutablePointer<AVStream>) -> Bool

    /// The packets that the next packet of the track completes.
    func convert(_ source: MediaPacket) throws(MediaError) -> [MediaPacket]

    /// The last packets.
    func finish() throws(MediaError) -> [MediaPacket]
}
