// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport

/// Makes the pixel buffers of one side of a session, in a pool that it allocates for the first of them.
struct BufferSource {
    let format: PixelFormat
    let width: Int
    let height: Int
    /// Buffers that the session may keep until their packets come, beyond those of the app.
    var keptCount = 0
    private var pool: FramePool?

    /// The app has at most `maxCount` buffers; a pool has fewer if they would exceed `maxBytes` together, but at least one.
    ///
    /// The daemon's limit for all pools of a session, `MaxPoolBytesPerSession`, is 2 GiB by default.
    private static let maxCount = 8
    private static let maxBytes = 1 << 30

    /// - Throws: `Parameter` for an unknown pixel format.
    init(_ pixelFormat: String, width: Int, height: Int) throws(ClientError) {
        guard let format = PixelFormat(rawValue: pixelFormat) else {
            throw .parameter("the pixel format \(pixelFormat) is unknown")
        }
        (self.format, self.width, self.height) = (format, width, height)
    }

    /// A free buffer; nil if the app or the worker has as many as they may.
    ///
    /// - Parameter kept: buffers that the session keeps, and neither of them has.
    mutating func next(wakes thread: SessionThread, kept: Int = 0) throws(ClientError) -> PixelBuffer? {
        let (layout, size) = FrameLayout.packed(format, width: width, height: height)
        let pool: FramePool
        if let existing = self.pool {
            pool = existing
        } else {
            do throws(SystemError) {
                // A daemon may claim any number of frames that the session keeps.
                let wanted = Self.maxCount + min(keptCount, Self.maxBytes)
                let count = max(1, min(wanted, Self.maxBytes / max(1, size)))
                pool = try FramePool(slotSize: size, slotCount: count)
            } catch { throw ClientError(error, whileDoing: "no memory for frames") }
            self.pool = pool
        }
        // The others are for the session to keep.
        let others = max(0, pool.slotCount - Self.maxCount - kept)
        guard let slot = pool.acquire(leaving: others) else { return nil }
        return PixelBuffer(
            format, width: width, height: height, in: pool.memory, layout.moved(by: UInt64(slot.offset))
        ) {
            pool.release(slot)
            thread.resumeWaiters()
        }
    }

    /// How many buffers in a memory the session may keep: nothing writes to a buffer that was sent, and the app has enough others.
    func sparedCount(in memory: SharedMemory) -> Int {
        guard let pool, pool.memory === memory else { return 0 }
        return max(0, pool.slotCount - Self.maxCount)
    }

    /// Checks that a buffer has this side's format and size.
    func check(_ buffer: PixelBuffer) throws(ClientError) {
        guard buffer.format == format, buffer.width == width, buffer.height == height else {
            throw .parameter(
                "a buffer of \(buffer.format.rawValue) \(buffer.width)x\(buffer.height) is not the session's "
                    + "\(format.rawValue) \(width)x\(height)")
        }
    }
}

/// A session whose worker reads the app's memory.
protocol PoolRegistering {
    /// - Parameter spared: the slots that the session may keep.
    func addPool(_ memory: SharedMemory, id poolID: UInt32, sparing spared: Int) throws(ClientError)
    func removePool(id poolID: UInt32) throws(ClientError)
}

extension CompressionSession: PoolRegistering {}
extension TransferSession: PoolRegistering {
    /// Frames are answered one by one, and nothing is kept.
    func addPool(_ memory: SharedMemory, id poolID: UInt32, sparing spared: Int) throws(ClientError) {
        try addPool(memory, id: poolID)
    }
}

/// The memory that a session's worker has, each with its number.
struct RegisteredPools {
    /// In the order of use.
    private var pools: [(memory: SharedMemory, id: UInt32)] = []
    private var lastID: UInt32 = 0

    /// Fewer than the 16 pools that a session may have (docs/protocol.md), because pools with frames in flight cannot be
    /// removed.
    private static let maxCount = 12

    /// The number of a memory, which is registered if it is new.
    ///
    /// - Parameters:
    ///   - inFlight: memory of frames that the worker has, which stays registered.
    ///   - spared: the slots of the memory that the session may keep.
    mutating func id(
        of memory: SharedMemory, inFlight: [SharedMemory], sparing spared: Int = 0, in session: some PoolRegistering
    ) throws(ClientError) -> UInt32 {
        if let index = pools.firstIndex(where: { $0.memory === memory }) {
            pools.append(pools.remove(at: index))
            return pools[pools.count - 1].id
        }
        if pools.count >= Self.maxCount,
            let unused = pools.firstIndex(where: { pool in !inFlight.contains { $0 === pool.memory } })
        {
            try session.removePool(id: pools[unused].id)
            pools.remove(at: unused)
        }
        lastID += 1
        try session.addPool(memory, id: lastID, sparing: spared)
        pools.append((memory, lastID))
        return lastID
    }
}
