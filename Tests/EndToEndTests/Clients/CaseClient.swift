// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDModel
import HWDWire
import Testing

/// The sessions of one case of Tests/Clients/cases.json over HWClient, and what they returned.
final class CaseClient {
    /// The session that the next step means.
    enum Session {
        case compression(CompressionSession)
        case decompression(DecompressionSession)
        case transfer(TransferSession)
    }

    /// A decoded picture, measured while its memory was valid.
    struct Picture {
        var description: FrameDecoded
        var lumaError: Double
        var alphaError: Double?
    }

    /// Ticks from a frame to the next.
    static let duration: Int64 = 3000
    /// The most events that a step fetches.
    private static let maxEvents = 1000

    private(set) var session: Session?
    private(set) var format: [UInt8] = []
    private(set) var coded: [Coded] = []
    private(set) var sent: [Int] = []
    private(set) var pictures: [Picture] = []
    private(set) var reports: [PacketReport] = []
    var transferred: [Status] = []
    private(set) var lastPixel: [UInt8] = []

    /// The frames sent, in `pool`, and those that a transfer session writes.
    private var source: (samples: CaseSamples, pool: FramePool)?
    private var target: (samples: CaseSamples, pool: FramePool)?
    private var slots: [UInt64: FramePool.Slot] = [:]
    private var isFinished = false
    private var nextFrameID: UInt64 = 0

    // MARK: - Sessions

    func create(_ daemon: Daemon, _ values: CreateCompressionSession.Parameters) throws {
        (session, coded, sent, format) = (nil, [], [], [])
        let new = try CompressionSession(daemon, values)
        source = try frames(of: values.pixelFormat, width: values.width, height: values.height)
        slots = [:]
        try new.addPool(try #require(source).pool, id: 1)
        session = .compression(new)
    }

    func create(_ daemon: Daemon, _ values: CreateDecompressionSession.Parameters) throws {
        (session, pictures, reports) = (nil, [], [])
        session = .decompression(try DecompressionSession(daemon, values))
    }

    func create(_ daemon: Daemon, _ values: CreateTransferSession.Parameters, tables: [[UInt8]]) throws {
        (session, transferred) = (nil, [])
        let new = try TransferSession(daemon, values, tables: tables)
        source = try frames(of: values.source.pixelFormat, width: values.width, height: values.height)
        target = try frames(of: values.target.pixelFormat, width: values.width, height: values.height)
        slots = [:]
        try new.addPool(try #require(source).pool, id: 1)
        try new.addPool(try #require(target).pool, id: 2)
        session = .transfer(new)
    }

    /// Ends the session.
    func close() { session = nil }

    private func frames(
        of pixelFormat: String, width: Int, height: Int
    ) throws -> (samples: CaseSamples, pool: FramePool) {
        let format = try #require(PixelFormat(rawValue: pixelFormat))
        let samples = CaseSamples(format: format, width: width, height: height)
        return (samples, try FramePool(slotSize: samples.packed.size, slotCount: 8))
    }

    var compression: CompressionSession {
        get throws {
            guard case .compression(let session) = session else { throw CaseError("the session does not encode") }
            return session
        }
    }

    var decompression: DecompressionSession {
        get throws {
            guard case .decompression(let session) = session else { throw CaseError("the session does not decode") }
            return session
        }
    }

    var transferSession: TransferSession {
        get throws {
            guard case .transfer(let session) = session else { throw CaseError("the session does not convert") }
            return session
        }
    }

    var id: String {
        switch session {
        case .compression(let session): session.created.session
        case .decompression(let session): session.created.session
        case .transfer(let session): session.created.session
        case nil: ""
        }
    }

    // MARK: - Frames and packets

    func encode(_ number: Int, isKeyFrame: Bool, _ metadata: FrameMetadata?) throws {
        let (samples, pool) = try #require(source)
        let slot = try freeSlot(of: pool)
        samples.write(frame: number, to: pool.bytes(of: slot))
        try compression.encode(
            EncodeFrame(
                frameID: nextFrameID, pts: Int64(number) * Self.duration, duration: Self.duration, poolID: 1,
                flags: isKeyFrame ? .forceKeyFrame : [],
                layout: samples.packed.layout.moved(by: UInt64(slot.offset)), metadata: metadata))
        slots[nextFrameID] = slot
        nextFrameID += 1
        sent.append(number)
    }

    func decode(_ packet: Coded, isAsynchronous: Bool) throws {
        _ = try packet.bytes.withUnsafeBytes { bytes in
            try decompression.decode(
                bytes, pts: packet.description.pts, duration: packet.description.duration,
                isAsynchronous: isAsynchronous)
        }
        try fetchAll(within: .zero)
    }

    /// Converts a frame whose planes are filled with these bytes.
    func transfer(fill: [Int], _ color: ColorDescription?, _ pts: Int64?) throws {
        let session = try transferSession
        let (source, target) = (try #require(source), try #require(target))
        let slot = try freeSlot(of: source.pool)
        let bytes = source.pool.bytes(of: slot)
        let layout = source.samples.packed.layout
        try #require(fill.count == layout.planes.count)
        for (index, plane) in layout.planes.enumerated() {
            let size = Int(plane.stride) * source.samples.format.rows(plane: index, height: source.samples.height)
            for offset in Int(plane.offset)..<Int(plane.offset) + size { bytes[offset] = UInt8(fill[index]) }
        }
        // A target has its source's number.
        let place = UInt64(slot.index * target.pool.slotSize)
        try session.transfer(
            TransferFrame(
                frameID: nextFrameID, source: .init(poolID: 1, layout: layout.moved(by: UInt64(slot.offset))),
                target: .init(poolID: 2, layout: target.samples.packed.layout.moved(by: place)), color: color,
                pts: pts))
        slots[nextFrameID] = slot
        nextFrameID += 1
    }

    private func freeSlot(of pool: FramePool) throws -> FramePool.Slot {
        for _ in 0..<Self.maxEvents {
            if let slot = pool.acquire() { return slot }
            try #require(try fetch(within: hangLimit), "no frame is released")
        }
        throw CaseError("no frame is released")
    }

    func complete() throws {
        isFinished = false
        switch session {
        case .compression(let session): try session.complete()
        case .decompression(let session): try session.finishDelayedFrames()
        case .transfer(let session): try session.finishFrames()
        case nil: break
        }
        for _ in 0..<Self.maxEvents where !isFinished {
            try #require(try fetch(within: hangLimit), "the session does not complete")
        }
        try #require(isFinished)
    }

    // MARK: - Events

    /// Handles events until none comes in time.
    func fetchAll(within timeout: Duration = hangLimit) throws {
        var count = 0
        while count < Self.maxEvents, try fetch(within: timeout) { count += 1 }
    }

    /// Handles an event; false if none came in time.
    private func fetch(within timeout: Duration) throws -> Bool {
        switch session {
        case .compression(let session): try session.nextEvent(timeout: timeout).map(handle) != nil
        case .decompression(let session): try session.nextEvent(timeout: timeout).map(handle) != nil
        case .transfer(let session): try session.nextEvent(timeout: timeout).map(handle) != nil
        case nil: false
        }
    }

    private func handle(_ event: CompressionSession.Event) throws {
        switch event {
        case .formatDescription(let record): format = record
        case .frameReleased(let frameID):
            let slot = slots.removeValue(forKey: frameID)
            source?.pool.release(try #require(slot))
        case .packet(let packet):
            coded.append(
                Coded(
                    description: packet.description, bytes: Array(packet.bytes),
                    meanSquaredError: packet.meanSquaredError))
            try compression.release(packet)
        case .completed: isFinished = true
        }
    }

    private func handle(_ event: DecompressionSession.Event) throws {
        switch event {
        case .frame(let picture):
            let samples = try #require(source).samples
            let frame = Int(picture.description.pts / Self.duration)
            pictures.append(
                Picture(
                    description: picture.description,
                    lumaError: samples.meanError(of: picture, plane: 0, frame: frame),
                    alphaError: picture.description.format == .yuva
                        ? samples.meanError(of: picture, plane: 3, frame: frame) : nil))
            try decompression.release(picture)
        case .report(let report): reports.append(report)
        case .finished: isFinished = true
        }
    }

    private func handle(_ event: TransferSession.Event) throws {
        switch event {
        case .frame(let answer):
            let found = slots.removeValue(forKey: answer.frameID)
            let slot = try #require(found)
            let pool = try #require(target).pool
            let place = slot.index * pool.slotSize
            lastPixel = Array(pool.memory.bytes[place..<place + 4])
            transferred.append(answer.status)
            source?.pool.release(slot)
        case .finished: isFinished = true
        }
    }
}
