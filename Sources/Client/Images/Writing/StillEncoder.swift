// SPDX-License-Identifier: MIT
internal import HWClient
internal import HWDHEIF
package import HWDModel
internal import HWDTransport
package import HWDWire

/// Codes pictures as key frames of compression sessions: all tiles of a picture in one session, with one quantizer.
package struct StillEncoder {
    let sessions: PictureSessions
    let specification: [PropertyKey: PropertyValue]
    /// Speed and quantizer, the same for every tile.
    private(set) var properties: [PropertyKey: PropertyValue]

    private static let poolID: UInt32 = 1

    package init(
        _ sessions: PictureSessions, specification: [PropertyKey: PropertyValue],
        properties: [PropertyKey: PropertyValue]
    ) { (self.sessions, self.specification, self.properties) = (sessions, specification, properties) }

    /// The same with another quantizer; nil keeps it.
    package func with(quantizer: Int64?) -> StillEncoder {
        var encoder = self
        if let quantizer { encoder.properties[.qp] = .int(quantizer) }
        return encoder
    }

    /// The quantizer of a quality from 0 to 1, by the scale that videos have.
    package static func quantizer(_ quality: Double) -> Int64 {
        Int64(min(max((40 - 38 * quality).rounded(), 0), 51))
    }

    /// Codes a picture.
    ///
    /// - Parameters:
    ///   - color: what the stream states; nil for auxiliary pictures, which have full range and no colors.
    ///   - tile: as of `StillTiling`.
    /// - Throws: `unsupported`, before any session, for a picture that no file or no session takes; what the session throws.
    package func encode(
        _ canvas: StillCanvas, color: ColorDescription?, tile: Int?
    ) throws -> (still: CodedStill, created: CreateCompressionSession.Reply) {
        let tiling = StillTiling(width: canvas.width, height: canvas.height, tile: tile)
        try tiling.check(width: canvas.width, height: canvas.height)
        let format = Format(width: tiling.width, height: tiling.height, samples: canvas.format, count: tiling.count)
        let (run, created) = try code(format, color) { index, planes in
            guard index < tiling.count else { return false }
            let part = PixelRect(
                x: index % tiling.columns * tiling.width, y: index / tiling.columns * tiling.height,
                width: tiling.width, height: tiling.height)
            canvas.copyTile(part, to: planes)
            return true
        }
        let still = try CodedStill(
            width: canvas.width, height: canvas.height, record: run.record, packets: run.packets)
        return (still, created)
    }

    /// Codes the pictures of a sequence, each in one tile.
    ///
    /// - Parameters:
    ///   - first: the first picture, whose size and format the others have.
    ///   - next: the pictures after it; nil at the end.
    package func encode(
        sequence first: StillCanvas, color: ColorDescription?, next: () throws -> StillCanvas?
    ) throws -> (still: CodedStill, created: CreateCompressionSession.Reply) {
        let tiling = StillTiling(width: first.width, height: first.height, tile: 0)
        try tiling.check(width: first.width, height: first.height)
        let format = Format(width: tiling.width, height: tiling.height, samples: first.format, count: nil)
        let (run, created) = try code(format, color) { index, planes in
            guard let canvas = index == 0 ? first : try next() else { return false }
            canvas.copyTile(PixelRect(width: tiling.width, height: tiling.height), to: planes)
            return true
        }
        let still = try CodedStill(
            width: first.width, height: first.height, record: run.record, packets: run.packets, inSequence: true)
        return (still, created)
    }

    /// What is coded.
    private struct Format {
        var width: Int
        var height: Int
        var samples: PixelFormat
        /// Coded pictures; nil where that is not known before.
        var count: Int?
    }

    /// Writes a coded picture's samples, by its number, to planes; false where there is none.
    private typealias Fill = (_ index: Int, _ planes: [MutablePlaneView]) throws -> Bool

    private func code(
        _ format: Format, _ color: ColorDescription?, _ fill: Fill
    ) throws -> (Run, CreateCompressionSession.Reply) {
        let parameters = CreateCompressionSession.Parameters(
            width: format.width, height: format.height, pixelFormat: format.samples, timeBase: Rational(1),
            encoderSpecification: specification,
            properties: sessions.properties.merging(properties(color)) { _, set in set })
        // Where the picture is of a HEIF file, the session that decodes it has ended.
        let session = try CompressionSession(try sessions.daemon(), parameters)
        defer { session.invalidate() }
        let packed = FrameLayout.packed(format.samples, width: format.width, height: format.height)
        let depth = max(1, min(session.created.maxFramesInFlight, format.count ?? .max))
        let pool = try FramePool(slotSize: packed.size, slotCount: depth)
        try session.addPool(pool, id: Self.poolID, sparing: 0)
        var run = Run(layout: packed.layout, pool: pool, count: format.count)
        try run.code(session, sessions, fill)
        return (run, session.created)
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

    /// Pictures on their way through a session.
    private struct Run {
        let layout: FrameLayout
        let pool: FramePool
        /// Pictures; nil where that is not known before.
        let count: Int?
        var record: [UInt8] = []
        var packets: [[UInt8]] = []
        /// Bytes of the packets.
        private var size = 0
        private var sent = 0
        /// Whether all pictures were sent.
        private var isComplete = false
        private var slots: [UInt64: FramePool.Slot] = [:]

        /// The most bytes of coded pictures, which stay in memory until the file is written.
        private static let maxBytes = 1 << 31

        init(layout: FrameLayout, pool: FramePool, count: Int?) {
            (self.layout, self.pool, self.count) = (layout, pool, count)
        }

        /// Whether a picture can be sent now.
        private func canSend(_ session: CompressionSession) -> Bool {
            !isComplete && session.framesInFlight < session.created.maxFramesInFlight && pool.freeCount > 0
        }

        mutating func code(
            _ session: CompressionSession, _ sessions: PictureSessions, _ fill: Fill
        ) throws {
            var isCompleted = false
            while !isCompleted {
                try sessions.checkCancellation()
                while canSend(session) { try send(session, fill) }
                var event = try wait(session, sessions)
                while let next = event {
                    isCompleted = try take(next, session) || isCompleted
                    event = isCompleted ? nil : try session.nextEvent(timeout: .zero)
                }
            }
            guard packets.count == sent, !packets.contains([]) else {
                throw ImageError(.fault, "the session returned fewer packets than pictures")
            }
        }

        /// The next event, or nil once a picture can be sent.
        private func wait(
            _ session: CompressionSession, _ sessions: PictureSessions
        ) throws -> CompressionSession.Event? {
            let deadline = MonotonicTime.now + sessions.maxSilence
            while MonotonicTime.now < deadline {
                if let event = try session.nextEvent(timeout: PictureSessions.pollInterval) { return event }
                if canSend(session) { return nil }
                try sessions.checkCancellation()
            }
            throw sessions.silence
        }

        /// Fills a slot with the next picture and sends it; completes the session after the last one.
        private mutating func send(_ session: CompressionSession, _ fill: Fill) throws {
            guard let slot = pool.acquire(), let base = pool.bytes(of: slot).baseAddress else { return }
            guard try fill(sent, layout.mutablePlanes(at: base)) else {
                pool.release(slot)
                return try complete(session)
            }
            slots[UInt64(sent)] = slot
            try session.encode(
                EncodeFrame(
                    frameID: UInt64(sent), pts: Int64(sent), duration: 1, poolID: StillEncoder.poolID,
                    flags: .forceKeyFrame, layout: layout.moved(by: UInt64(slot.offset))))
            packets.append([])
            sent += 1
            if sent == count { try complete(session) }
        }

        private mutating func complete(_ session: CompressionSession) throws {
            isComplete = true
            try session.complete()
        }

        /// Takes an event; returns whether it is the last one.
        private mutating func take(_ event: CompressionSession.Event, _ session: CompressionSession) throws -> Bool
        {
            switch event {
            case .formatDescription(let bytes):
                // Coded pictures of a grid or a sequence share one record.
                guard record.isEmpty || record == bytes else {
                    throw ImageError(.noHardware, "the encoder changed its parameter sets between pictures")
                }
                record = bytes
            case .frameReleased(let number):
                if let slot = slots.removeValue(forKey: number) { pool.release(slot) }
            case .packet(let packet):
                guard packet.description.frameID < UInt64(packets.count) else {
                    throw ImageError(.fault, "the session returned a packet of a frame that was never sent")
                }
                size += packet.bytes.count
                guard size <= Self.maxBytes else {
                    throw ImageError(.unsupported, "the coded pictures have more than \(Self.maxBytes >> 30) GiB")
                }
                packets[Int(packet.description.frameID)] = Array(packet.bytes)
                try session.release(packet)
            case .completed: return true
            }
            return false
        }
    }
}
