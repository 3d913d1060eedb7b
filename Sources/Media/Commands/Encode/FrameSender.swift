// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Sends frames to a compression session, copying only where it must, and keeps each until the session has read it.
final class FrameSender {
    private static let firstPoolID: UInt32 = 1
    /// The number of the first pool for the first of two passes: above those of decoders' arenas, below that of converted
    /// frames.
    static let poolsOfFirstPass: UInt32 = 1 << 29
    /// Enough that the encoder never waits for this process, few enough to keep the pool small.
    private static let maxFramesInFlight = 6
    /// The most bytes of converted frames; a session's pools may have 2 GiB together.
    private static let maxConvertedBytes = 1 << 29
    /// The most bytes of the pool; larger pictures get fewer slots.
    private static let maxPoolBytes = 1 << 30

    private let session: CompressionSession
    private let poolID: UInt32
    /// The memory that frames are decoded, copied or fitted into; nil while a decompression session's arena holds all.
    private(set) var pool: FramePool?
    /// Frames that this encoder may hold.
    private let framesInFlight: Int
    private let fitter: FrameFitter
    private let hdr: EncodeHDR
    private var inFlight: [UInt64: SourceFrame] = [:]
    private var copied: [UInt64: FramePool.Slot] = [:]
    /// A frame for which no slot was free.
    private var waiting: SourceFrame?
    /// Arenas of the decompression session that are registered with the encoder.
    private var arenas: Set<UInt32> = []

    /// - Parameters:
    ///   - makesPool: whether the reader decodes into a pool; false for frames of a decompression session.
    ///   - poolID: the number of the first pool.
    init(
        _ session: CompressionSession, _ reader: MediaReader, _ fitter: FrameFitter, _ hdr: EncodeHDR,
        makesPool: Bool, poolID: UInt32 = firstPoolID
    ) throws {
        self.session = session
        self.poolID = poolID
        self.hdr = hdr
        self.fitter = fitter
        framesInFlight = Self.framesInFlight(slotSize: fitter.slotByteCount)
        guard makesPool else {
            pool = nil
            return
        }
        let slotSize = max(1, reader.slotByteCount)
        let used = min(reader.slotsHeldByDecoder + Self.maxFramesInFlight + 1, Self.maxPoolBytes / slotSize)
        // The frames that the session keeps until their packets come stay where they are.
        let spared = min(session.created.maxFramesHeld ?? 0, Self.maxPoolBytes / slotSize - used)
        let pool = try FramePool(slotSize: slotSize, slotCount: max(2, used + max(0, spared)))
        self.pool = pool
        reader.use(PoolMemory(pool))
        try session.addPool(pool, id: poolID, sparing: max(0, spared))
    }

    /// Frames of a size that an encoder may hold: fewer of the largest, so that a pool of converted ones has room for all.
    static func framesInFlight(slotSize: Int) -> Int {
        let room = maxConvertedBytes / max(1, slotSize) - FrameTransfer.depth - 1
        return max(2, min(maxFramesInFlight, room))
    }

    /// Whether as many frames are in flight as allowed.
    var isBusy: Bool { session.framesInFlight >= framesInFlight }
    /// Whether nothing can be sent before a frame is released.
    var isFull: Bool { waiting != nil || isBusy }

    /// Sends the frame that waited for a slot; false if there is none.
    func sendWaiting() throws -> Bool {
        guard let frame = waiting else { return false }
        waiting = nil
        try send(frame)
        return true
    }

    /// Sends a frame from where it was decoded, or copies it into a slot; keeps it when no slot is free.
    func send(_ frame: SourceFrame) throws {
        let frameID = UInt64(frame.index)
        let layout: FrameLayout
        var poolID = poolID
        var scale = frame.scale
        switch frame.place {
        case .shared(let memory, let arenaID, let place):
            guard fitter.fits(width: frame.width, height: frame.height, format: frame.format) else {
                guard let fitted = try fit(frame, memory, place) else {
                    waiting = frame
                    return
                }
                layout = fitted
                scale = fitter.scale(fromWidth: frame.width, height: frame.height)
                try frame.release()
                break
            }
            // The encoder reads the decoder's memory.
            poolID = try share(memory, arenaID)
            layout = place
            inFlight[frameID] = frame
        case .local:
            if let direct = frame.direct {
                layout = direct.layout
                inFlight[frameID] = frame
                break
            }
            guard let pool, let slot = pool.acquire(), let base = pool.bytes(of: slot).baseAddress else {
                waiting = frame
                return
            }
            copied[frameID] = slot
            layout = try frame.copy(
                to: FrameSlot(
                    id: slot.index, base: base, poolOffset: UInt64(slot.offset), byteCount: pool.slotSize))
            try frame.release()
        }
        try session.encode(
            EncodeFrame(
                frameID: frameID, pts: frame.pts, duration: frame.duration, poolID: poolID, layout: layout,
                metadata: hdr.metadata(of: frame, scale: scale)))
    }

    /// Scales and converts a decompression session's frame into a slot; nil when no slot is free.
    private func fit(_ frame: SourceFrame, _ memory: SharedMemory, _ layout: FrameLayout) throws -> FrameLayout? {
        let pool = try fittingPool()
        guard let slot = pool.acquire(), let base = pool.bytes(of: slot).baseAddress else { return nil }
        copied[UInt64(frame.index)] = slot
        let all = PictureRectangle(x: 0, y: 0, width: UInt32(frame.width), height: UInt32(frame.height))
        let picture = try PictureView(
            memory: memory.bytes, layout: layout, format: frame.format, width: frame.width, height: frame.height,
            part: all)
        return try fitter.fit(
            picture, index: frame.index, color: frame.color,
            into: FrameSlot(id: slot.index, base: base, poolOffset: UInt64(slot.offset), byteCount: pool.slotSize))
    }

    private func fittingPool() throws -> FramePool {
        if let pool { return pool }
        let slotSize = max(1, fitter.slotByteCount)
        let count = min(Self.maxFramesInFlight + 1, Self.maxPoolBytes / slotSize)
        let made = try FramePool(slotSize: slotSize, slotCount: max(2, count))
        try session.addPool(made, id: poolID)
        pool = made
        return made
    }

    /// Releases a frame that the session has read.
    func release(_ frameID: UInt64) throws {
        try inFlight.removeValue(forKey: frameID)?.release()
        if let slot = copied.removeValue(forKey: frameID) { pool?.release(slot) }
    }

    /// Removes the pools from the session, which has read every frame.
    func close() throws {
        if pool != nil { try session.removePool(id: poolID) }
        for arenaID in arenas { try session.removePool(id: poolID + arenaID) }
    }

    /// Registers a decoder's arena with the encoder, once; returns its pool identifier.
    private func share(_ memory: SharedMemory, _ arenaID: UInt32) throws -> UInt32 {
        if arenas.count > 1 { try removeArenas(before: DecompressionSession.process(ofArena: arenaID)) }
        let poolID = poolID + arenaID
        if arenas.insert(arenaID).inserted { try session.addPool(memory, id: poolID) }
        return poolID
    }

    /// Removes arenas of a decompression session's earlier processes, once the encoder has read their last frames.
    private func removeArenas(before process: Int) throws {
        let earlier = arenas.filter { DecompressionSession.process(ofArena: $0) < process }
        guard !earlier.isEmpty else { return }
        let used = inFlight.values.compactMap { frame in
            if case .shared(_, let arenaID, _) = frame.place { arenaID } else { nil }
        }
        for arenaID in earlier.subtracting(used) {
            try session.removePool(id: poolID + arenaID)
            arenas.remove(arenaID)
        }
    }
}
