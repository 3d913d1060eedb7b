// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDModel
internal import HWDTransport
internal import HWDWorker

/// A packet on its way to the codec thread; keeps its pool mapped.
struct PendingPacket: Sendable {
    var packet: DecodeFrame
    var pool: SharedMemory
    /// `MaxTemporalLevel` when the packet arrived.
    var maxLevel: Int
    /// Whether its picture is mapped by its RPU, as set when the packet arrived.
    var appliesMetadata: Bool
    /// The message to answer once the decoder has taken the packet, unless it is asynchronous.
    var replyTo: UInt32?
}

/// The I/O thread's tasks for the codec thread, done in order.
enum DecodeTask: SessionTask {
    case decode(PendingPacket)
    /// Read later packets in this format.
    case change(StreamFormat)
    /// Output every picture, reply to these messages, then read later packets in another format, if any.
    case finish(sequences: [UInt32], then: StreamFormat?)

    mutating func absorb(_ next: DecodeTask) -> Bool {
        switch (self, next) {
        case (.finish(let sequences, let format), .finish(let added, let last))
        where sequences.count < Self.maxReplies:
            self = .finish(sequences: sequences + added, then: last ?? format)
        case (.finish(let sequences, _), .change(let format)): self = .finish(sequences: sequences, then: format)
        case (.change, .change): self = next
        default: return false
        }
        return true
    }
}
