// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDLibAV
internal import HWDMediaFile
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Sends frames to a compression session, each from where it lies, and holds them until the session is done with them.
final class FrameSender {
    private static let poolID: UInt32 = 1
    /// Frames on their way to the encoder: enough that it never waits for us, few enough to stay small.
    private static let framesUnderWay = 6
    /// Bytes of frames at most; a larger picture gets fewer slots.
    private static let maxPoolBytes = 1 << 30

    private let session: CompressionSession
    /// What frames are decoded or copied into; nil where a decompression session's memory holds them.
    private let pool: FramePool?
    private var underWay: [UInt64: SourceFrame] = [:]
    private var copied: [UInt64: FramePool.Slot] = [:]
    /// A frame for which no slot was free.
    private var waiting: SourceFrame?
    /// Arenas of the decompression session that the encoder can read.
    private var arenas: Set<UInt32> = []

    /// Makes the pool that a reader decodes into, or none for frames of a decompression session.
    init(_ session: CompressionSession, _ reader: MediaReader, makesPool: Bool) throws {
        self.session = session
        guard makesPool else {
            pool = nil
            return
        }
        let slotSize = max(1, reader.slotByteCount)
        let count = min(reader.slotsHeldByDecoder + Self.framesUnderWay + 1, Self.maxPoolBytes / slotSize)
        let pool = try FramePool(slotSize: slotSize, slotCount: max(2, count))
        self.pool = pool
        reader.use(PoolMemory(pool))
        try session.addPool(pool, id: Self.poolID)
    }

    /// Whether the encoder has as many frames as it gets.
    var isBusy: Bool { session.framesInFlight >= Self.framesUnderWay }
    /// Whether nothing can be sent before something is released.
    var isFull: Bool { waiting != nil || isBusy }

    /// Sends the frame that waits; whether there was one.
    func sendWaiting() throws -> Bool {
        guard let frame = waiting else { return false }
        waiting = nil
        try send(frame)
        return true
    }

    /// Sends a frame from where it was decoded, or from a slot it is copied to; keeps it when no slot is free.
    func send(_ frame: SourceFrame) throws {
        let frameID = UInt64(frame.index)
        let layout: FrameLayout
        var poolID = Self.poolID
        switch frame.place {
        case .session(let memory, let arenaID, let place):
            // The decoder's own memory: the encoder reads the very samples that the decoder wrote.
            poolID = try share(memory, arenaID)
            layout = place
            underWay[frameID] = frame
        case .local(let decoded):
            if let direct = decoded.direct {
                layout = direct.layout
                underWay[frameID] = frame
                break
            }
            guard let pool, let slot = pool.acquire(), let base = pool.bytes(of: slot).baseAddress else {
                waiting = frame
                return
            }
            copied[frameID] = slot
            layout = try decoded.copy(
                to: FrameSlot(
                    id: slot.index, base: base, poolOffset: UInt64(slot.offset), byteCount: pool.slotSize))
            decoded.release()
        }
        try session.encode(
            EncodeFrame(
                frameID: frameID, pts: frame.pts, duration: frame.duration, poolID: poolID, layout: layout))
    }

    /// Takes back a frame that the session has read.
    func release(_ frameID: UInt64) throws {
        try underWay.removeValue(forKey: frameID)?.release()
        if let slot = copied.removeValue(forKey: frameID) { pool?.release(slot) }
    }

    /// Has the encoder read a decoder's arena, once.
    private func share(_ memory: SharedMemory, _ arenaID: UInt32) throws -> UInt32 {
        let poolID = Self.poolID + arenaID
        if arenas.insert(arenaID).inserted { try session.addPool(memory, id: poolID) }
        return poolID
    }
}
