// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport

/// The memory that a decompression session's client copies packets into: one sealed memfd, filled first fit.
struct PacketPool {
    private struct Piece {
        var frameID: UInt64
        var offset: Int
        var size: Int
    }

    /// Where a packet was stored.
    struct Location {
        var poolID: UInt32
        var offset: Int
    }

    /// Bytes at first; a pool that is too small for a packet is replaced by a larger one.
    static let initialSize = 4 << 20
    /// Packets do not share a cache line.
    private static let alignment = 64

    private(set) var poolID: UInt32 = 0
    private(set) var memory: SharedMemory?
    /// Ordered by offset.
    private var pieces: [Piece] = []

    /// Packets that were stored in all.
    private(set) var storedCount = 0
    /// Packets that the worker has not read yet.
    var count: Int { pieces.count }
    /// Bytes; 0 before the first `grow`.
    var size: Int { memory?.size ?? 0 }

    /// Replaces the memory by one of at least `size` bytes; the pool must be empty.
    mutating func grow(toHold size: Int) throws(SystemError) {
        memory = try SharedMemory(creating: "hwdaemon-coded", size: max(Self.initialSize, size * 2))
        poolID += 1
    }

    /// Copies a packet in; nil when there is no room.
    mutating func store(_ bytes: UnsafeRawBufferPointer, frameID: UInt64) -> Location? {
        guard let room = memory?.mutableBytes, let (index, offset) = place(for: bytes.count) else { return nil }
        UnsafeMutableRawBufferPointer(rebasing: room[offset..<offset + bytes.count]).copyMemory(from: bytes)
        storedCount += 1
        pieces.insert(Piece(frameID: frameID, offset: offset, size: bytes.count), at: index)
        return Location(poolID: poolID, offset: offset)
    }

    /// Whether `store` would find room for a packet of this size.
    func hasRoom(for size: Int) -> Bool { place(for: size) != nil }

    /// The first gap that is large enough, and its index among the pieces.
    private func place(for size: Int) -> (index: Int, offset: Int)? {
        var offset = 0
        var index = 0
        for piece in pieces {
            if piece.offset - offset >= size { break }
            offset = (piece.offset + piece.size + Self.alignment - 1) & ~(Self.alignment - 1)
            index += 1
        }
        return offset + size <= self.size ? (index, offset) : nil
    }

    /// Frees the place of a packet that the worker has read; false when there is none with this number.
    mutating func release(_ frameID: UInt64) -> Bool {
        guard let index = pieces.firstIndex(where: { $0.frameID == frameID }) else { return false }
        pieces.remove(at: index)
        return true
    }
}
