// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSessions
internal import HWDTransport
internal import HWDWire

/// A packet on its way to the codec thread; keeps the memory it lies in mapped.
struct PendingPacket: Sendable {
    var request: PacketRequest
    var pool: SharedMemory
    /// The highest temporal level that was wanted when it came.
    var maxLevel: Int
    /// The message to answer once the decoder has taken it, if the client wants that.
    var replyTo: UInt32?
}

/// What the I/O thread asks of the codec thread, in order.
enum DecodeTask: Sendable {
    /// Decode a packet.
    case decode(PendingPacket)
    /// The packets that follow are of this format.
    case change(StreamFormat)
    /// Give out every picture and answer the message with this sequence number.
    case finish(sequence: UInt32)
}
