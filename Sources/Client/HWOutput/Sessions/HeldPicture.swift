// SPDX-License-Identifier: MIT
internal import HWClient
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Synchronization

/// A decoded picture that waits for its time, in the decoder's memory or in this process's own.
///
/// Only the output's lock and its thread guard it.
final class HeldPicture: @unchecked Sendable {
    let description: FrameDecoded
    /// The samples as they were decoded.
    let decoded: PixelBuffer
    /// What the app gets; nil until the picture is converted.
    var shown: PixelBuffer?
    /// Whether a session converts it, or has done so.
    var isConverting = false

    init(_ description: FrameDecoded, _ decoded: PixelBuffer) {
        (self.description, self.decoded) = (description, decoded)
    }

    /// Bytes of its samples.
    var byteCount: Int {
        FrameLayout.packed(description.format, width: decoded.width, height: decoded.height).size
    }
}

/// Pictures of the decoder that nothing refers to any more, until the output's thread returns them.
final class ReturnedPictures: Sendable {
    private let pictures = Mutex<[DecompressionSession.ReceivedFrame]>([])
    private let wakeUp: EventFD

    init(_ wakeUp: EventFD) { self.wakeUp = wakeUp }

    func add(_ picture: DecompressionSession.ReceivedFrame) {
        pictures.withLock { $0.append(picture) }
        wakeUp.signal()
    }

    func take() -> [DecompressionSession.ReceivedFrame] {
        pictures.withLock { pictures in
            defer { pictures = [] }
            return pictures
        }
    }
}

/// Memory for pictures of one size: pools that are added while they are needed, and go when they are not.
struct PicturePools {
    private var pools: [FramePool] = []
    private var slotSize = 0
    /// Bytes of a pool, about.
    private static let poolBytes = 64 << 20

    /// A writable buffer.
    /// - Throws: where there is no memory.
    mutating func next(
        _ format: PixelFormat, width: Int, height: Int, slots: Int? = nil, wakes wakeUp: EventFD
    ) throws(SystemError) -> PixelBuffer {
        let (layout, size) = FrameLayout.packed(format, width: width, height: height)
        if size != slotSize { (pools, slotSize) = ([], size) }
        var found: (pool: FramePool, slot: FramePool.Slot)?
        for pool in pools where found == nil { if let slot = pool.acquire() { found = (pool, slot) } }
        if found == nil {
            let count = slots ?? max(2, min(64, Self.poolBytes / max(1, size)))
            let pool = try FramePool(slotSize: size, slotCount: count)
            pools.append(pool)
            found = pool.acquire().map { (pool, $0) }
        }
        guard let (pool, slot) = found else { throw SystemError(errno: 12, call: "memfd_create") }
        return PixelBuffer(
            format, width: width, height: height, in: pool.memory, layout.moved(by: UInt64(slot.offset))
        ) {
            pool.release(slot)
            wakeUp.signal()
        }
    }

    /// Returns memory that no picture needs, but for one pool, so that pools do not come and go with each picture.
    /// - Returns: what went.
    mutating func shrink() -> [SharedMemory] {
        let free = pools.filter { $0.freeCount == $0.slotCount }.dropFirst()
        pools.removeAll { pool in free.contains { $0 === pool } }
        return free.map(\.memory)
    }

    var poolCount: Int { pools.count }

    /// Whether a buffer can be had without another pool, where there are `limit` already.
    func hasRoom(limit: Int) -> Bool { pools.count < limit || pools.contains { $0.freeCount > 0 } }
}

/// The memory that a transfer session has, each with its number; it may have 16 at a time.
struct SessionPools {
    private var pools: [(memory: SharedMemory, id: UInt32)] = []
    private var lastID: UInt32 = 0

    mutating func id(of memory: SharedMemory, in session: TransferSession) throws(ClientError) -> UInt32 {
        if let index = pools.firstIndex(where: { $0.memory === memory }) {
            pools.append(pools.remove(at: index))
            return pools[pools.count - 1].id
        }
        // Frames in flight are of those that were used last.
        if pools.count >= 14 { try session.removePool(id: pools.removeFirst().id) }
        lastID += 1
        try session.addPool(memory, id: lastID)
        pools.append((memory, lastID))
        return lastID
    }

    /// Forgets memory of which no frame is in flight.
    mutating func remove(_ memory: SharedMemory, from session: TransferSession) throws(ClientError) {
        guard let index = pools.firstIndex(where: { $0.memory === memory }) else { return }
        try session.removePool(id: pools.remove(at: index).id)
    }
}
