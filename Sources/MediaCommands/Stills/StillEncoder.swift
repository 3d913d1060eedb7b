// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDHEIF
internal import HWDMediaFile
internal import HWDModel
internal import HWDWire

/// Codes pictures as key frames of compression sessions: all tiles of a picture in one session, with one quantizer.
struct StillEncoder {
    let daemon: Daemon
    let specification: [PropertyKey: PropertyValue]
    /// Speed and quantizer, the same for every tile.
    let properties: [PropertyKey: PropertyValue]
    let interruption: Interruption

    private static let poolID: UInt32 = 1
    /// The size of tiles by default; a picture that is not larger has one.
    static let usualTile = 512
    /// HEVC decoders in hardware refuse smaller pictures.
    private static let smallestSide = 64

    /// How a picture is divided.
    struct Tiling {
        let width: Int
        let height: Int
        let columns: Int
        let rows: Int

        /// - Parameter tile: the tiles' size; nil for the usual one, 0 for one tile.
        init(width: Int, height: Int, tile: Int?) {
            let side = tile ?? StillEncoder.usualTile
            if side == 0 || max(width, height) <= side {
                (self.width, self.height) = (Self.even(width), Self.even(height))
            } else {
                (self.width, self.height) = (side, side)
            }
            columns = (width + self.width - 1) / self.width
            rows = (height + self.height - 1) / self.height
        }

        private static func even(_ side: Int) -> Int { max(StillEncoder.smallestSide, (side + 1) / 2 * 2) }
    }

    /// Codes a picture.
    ///
    /// - Parameters:
    ///   - color: what the stream states; nil for auxiliary pictures, which have full range and no colors.
    ///   - tile: as of `Tiling`.
    func encode(
        _ canvas: StillCanvas, color: ColorDescription?, tile: Int?
    ) throws -> (still: CodedStill, created: CreateCompressionSession.Reply) {
        let tiling = Tiling(width: canvas.width, height: canvas.height, tile: tile)
        let parameters = CreateCompressionSession.Parameters(
            width: tiling.width, height: tiling.height, pixelFormat: canvas.format, timeBase: Rational(1),
            encoderSpecification: specification,
            properties: SessionRequest.properties.merging(properties(color)) { _, set in set })
        // Where the picture is of a HEIF file, the session that decodes it has ended.
        let session = try SessionRequest.create(daemon, parameters) { (parameters) throws(ClientError) in
            try CompressionSession(daemon, parameters)
        }
        defer { session.invalidate() }
        let packed = FrameLayout.packed(canvas.format, width: tiling.width, height: tiling.height)
        let count = tiling.columns * tiling.rows
        let depth = max(1, min(session.created.maxFramesInFlight, count))
        let pool = try FramePool(slotSize: packed.size, slotCount: depth)
        try session.addPool(pool, id: Self.poolID, sparing: 0)
        var run = Run(canvas: canvas, tiling: tiling, layout: packed.layout, pool: pool)
        try run.code(session, interruption)
        let still = try CodedStill(
            width: canvas.width, height: canvas.height, record: run.record, packets: run.packets)
        return (still, session.created)
    }

    private func properties(_ color: ColorDescription?) -> [PropertyKey: PropertyValue] {
        var properties = properties
        properties[.allowTemporalCompression] = .bool(false)
        if let color {
            properties[.colorPrimaries] = .int(Int64(color.primaries))
            properties[.transferFunction] = .int(Int64(color.transfer))
            properties[.yCbCrMatrix] = .int(Int64(color.matrix))
            if color.isFullRange { properties[.fullRangeVideo] = .bool(true) }
        } else {
            properties[.fullRangeVideo] = .bool(true)
        }
        return properties
    }

    /// The tiles of one picture on their way through a session.
    private struct Run {
        let canvas: StillCanvas
        let tiling: Tiling
        let layout: FrameLayout
        let pool: FramePool
        var record: [UInt8] = []
        var packets: [[UInt8]]
        private var sent = 0
        private var slots: [UInt64: FramePool.Slot] = [:]

        init(canvas: StillCanvas, tiling: Tiling, layout: FrameLayout, pool: FramePool) {
            (self.canvas, self.tiling, self.layout, self.pool) = (canvas, tiling, layout, pool)
            packets = Array(repeating: [], count: tiling.columns * tiling.rows)
        }

        /// Whether a tile can be sent now.
        private func canSend(_ session: CompressionSession) -> Bool {
            sent < packets.count && session.framesInFlight < session.created.maxFramesInFlight && pool.freeCount > 0
        }

        mutating func code(_ session: CompressionSession, _ interruption: Interruption) throws {
            var isCompleted = false
            while !isCompleted {
                if interruption.isSet { throw CommandFailure.interrupted }
                while canSend(session) { try send(session) }
                var event = try session.waitForEvent(unless: interruption) { canSend(session) }
                while let next = event {
                    isCompleted = try take(next, session) || isCompleted
                    event = isCompleted ? nil : try session.nextEvent(timeout: .zero)
                }
            }
            guard !packets.contains([]) else {
                throw CommandFailure(.software, "the session returned fewer packets than tiles")
            }
        }

        /// Copies the next tile to a slot and sends it; completes the session after the last one.
        private mutating func send(_ session: CompressionSession) throws {
            guard let slot = pool.acquire(), let base = pool.bytes(of: slot).baseAddress else { return }
            let part = PixelRect(
                x: sent % tiling.columns * tiling.width, y: sent / tiling.columns * tiling.height,
                width: tiling.width, height: tiling.height)
            canvas.copyTile(part, to: layout.mutablePlanes(at: base))
            slots[UInt64(sent)] = slot
            try session.encode(
                EncodeFrame(
                    frameID: UInt64(sent), pts: Int64(sent), duration: 1, poolID: StillEncoder.poolID,
                    flags: .forceKeyFrame, layout: layout.moved(by: UInt64(slot.offset))))
            sent += 1
            if sent == packets.count { try session.complete() }
        }

        /// Takes an event; returns whether it is the last one.
        private mutating func take(_ event: CompressionSession.Event, _ session: CompressionSession) throws -> Bool
        {
            switch event {
            case .formatDescription(let bytes):
                // Tiles of a grid share one record.
                guard record.isEmpty || record == bytes else {
                    throw CommandFailure(.unavailable, "the encoder changed its parameter sets between tiles")
                }
                record = bytes
            case .frameReleased(let number):
                if let slot = slots.removeValue(forKey: number) { pool.release(slot) }
            case .packet(let packet):
                guard packet.description.frameID < UInt64(packets.count) else {
                    throw CommandFailure(.software, "the session returned a packet of a frame that was never sent")
                }
                packets[Int(packet.description.frameID)] = Array(packet.bytes)
                try session.release(packet)
            case .completed: return true
            }
            return false
        }
    }
}
