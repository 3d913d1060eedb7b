// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport

/// Memory that a client puts packets into for a decompression session: sealed memfds, used from the lowest free place.
struct PacketPool {
    private struct Piece {
        var frameID: UInt64
        var offset: Int
        var size: Int
    }

    /// What a packet lies in.
    struct Place {
        var poolID: UInt32
        var offset: Int
    }

    /// Bytes at first; one that a packet does not fit is replaced by a larger one.
    static let initialSize = 4 << 20

    private(set) var poolID: UInt32 = 0
    private(set) var memory: SharedMemory?
    private var pieces: [Piece] = []

    /// Whether nothing lies in it.
    var isEmpty: Bool { pieces.isEmpty }

    /// Makes it at least so large; it must be empty.
    mutating func grow(toHold size: Int) throws(SystemError) {
        memory = try SharedMemory(creating: "hwdaemon-coded", size: max(Self.initialSize, size * 2))
        poolID += 1
    }

    /// Copies a packet in; nil when there is no room.
    mutating func store(_ bytes: UnsafeRawBufferPointer, frameID: UInt64) -> Place? {
        guard let room = memory?.mutableBytes else { return nil }
        var offset = 0
        var index = 0
        for piece in pieces {
            if piece.offset - offset >= bytes.count { break }
            // 64: packets do not share a cache line.
            offset = (piece.offset + piece.size + 63) & ~63
            index += 1
        }
        guard offset + bytes.count <= room.count else { return nil }
        UnsafeMutableRawBufferPointer(rebasing: room[offset..<offset + bytes.count]).copyMemory(from: bytes)
        pieces.insert(Piece(frameID: frameID, offset: offset, size: bytes.count), at: index)
        return Place(poolID: poolID, offset: offset)
    }

    /// The worker has read a packet; false when it has none of that number.
    mutating func release(_ frameID: UInt64) -> Bool {
        guard let index = pieces.firstIndex(where: { $0.frameID == frameID }) else { return false }
        pieces.remove(at: index)
        return true
    }
}
