// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDLibAVWriting
import HWDMetadata
import HWDModel
import HWDTransport
import HWDWire
import Synchronization
import Testing

/// A coded picture, its bytes copied.
struct Coded: Sendable, Equatable {
    var description: Packet
    var bytes: [UInt8]
    var meanSquaredError: MeanSquaredError?

    /// Compares pictures and times, not places in the arena.
    static func == (a: Coded, b: Coded) -> Bool {
        a.bytes == b.bytes && a.description.pts == b.description.pts && a.description.dts == b.description.dts
            && a.description.flags == b.description.flags && a.description.frameID == b.description.frameID
    }
}

/// A client of one compression session: a pool, frames in, packets out.
final class Encoder {
    let session: CompressionSession
    let format: PixelFormat
    /// Of the coded pictures.
    let width: Int
    let height: Int
    /// Of the frames.
    private let frameSize: (width: Int, height: Int)
    /// Off: packets are held until `releaseAll`.
    var releasesPackets = true

    /// The last format description.
    private(set) var record: [UInt8] = []
    /// The format descriptions, by the index of the first packet after each.
    private(set) var records: [Int: [UInt8]] = [:]
    private(set) var coded: [Coded] = []
    private(set) var isCompleted = false
    private(set) var released: [UInt64] = []

    private let pool: FramePool
    private let spared: Int
    private var slots: [UInt64: FramePool.Slot] = [:]
    private var held: [CompressionSession.ReceivedPacket] = []
    private var sent: Int64 = 0

    /// Time base 1/30 s: the n-th frame has pts n.
    init(
        _ daemon: Daemon, _ format: PixelFormat, width: Int, height: Int, slots: Int = 8, codec: String = "hevc",
        specification: [PropertyKey: PropertyValue] = [:], spared: Int = 0,
        source: CreateCompressionSession.Source? = nil, frames: Int? = nil,
        properties: [PropertyKey: PropertyValue] = [.x265Preset: .string("ultrafast")]
    ) throws {
        var parameters = CreateCompressionSession.Parameters(
            codec: codec, width: width, height: height, pixelFormat: format,
            timeBase: try #require(Rational(1, 30)), encoderSpecification: specification, properties: properties)
        (parameters.source, parameters.frames) = (source, frames)
        frameSize = parameters.frameSize
        session = try CompressionSession(daemon, parameters)
        (self.format, self.width, self.height, self.spared) = (format, width, height, spared)
        pool = try FramePool(
            slotSize: FrameLayout.packed(format, width: frameSize.width, height: frameSize.height).size,
            slotCount: slots)
        try session.addPool(pool, id: 1, sparing: spared)
    }

    var id: String { session.created.session }

    /// Sends a frame once a slot is free.
    func encode(
        _ frame: [UInt8], flags: EncodeFrame.Flags = [], qp: Int32 = -1, metadata: FrameMetadata? = nil
    ) throws {
        var slot = pool.acquire()
        while slot == nil {
            try #require(try pump(), "no frame is released")
            slot = pool.acquire()
        }
        try send(frame, in: try #require(slot), flags: flags, qp: qp, metadata)
    }

    private func send(
        _ frame: [UInt8], in slot: FramePool.Slot, flags: EncodeFrame.Flags, qp: Int32, _ metadata: FrameMetadata?
    ) throws {
        let (width, height) = frameSize
        let layout = FrameLayout.packed(format, width: width, height: height, base: slot.offset).layout
        let target = pool.bytes(of: slot)
        var position = 0
        for (index, plane) in layout.planes.enumerated() {
            let row = format.rowBytes(plane: index, width: width)
            for line in 0..<format.rows(plane: index, height: height) {
                let start = Int(plane.offset) - slot.offset + line * Int(plane.stride)
                target[start..<start + row].copyBytes(from: frame[position..<position + row])
                position += row
            }
        }
        let frameID = UInt64(sent)
        slots[frameID] = slot
        try session.encode(
            EncodeFrame(
                frameID: frameID, pts: sent, duration: 1, poolID: 1, flags: flags, baseFrameQP: qp, layout: layout,
                metadata: metadata))
        sent += 1
    }

    /// The next event; a session that keeps frames in the pool, or continues in another process, may return without one.
    private func nextEvent(within limit: Duration) throws -> CompressionSession.Event? {
        let deadline = MonotonicTime.now + limit
        repeat {
            let event = try session.nextEvent(timeout: limit)
            if event != nil || spared == 0 && session.restartCount == 0 { return event }
        } while MonotonicTime.now < deadline
        return nil
    }

    /// Handles one event; false when none came in time.
    @discardableResult
    func pump(within limit: Duration = hangLimit) throws -> Bool {
        guard let event = try nextEvent(within: limit) else { return false }
        switch event {
        case .formatDescription(let record):
            self.record = record
            records[coded.count] = record
        case .frameReleased(let frameID):
            released.append(frameID)
            let slot = slots.removeValue(forKey: frameID)
            pool.release(try #require(slot))
        case .packet(let packet):
            coded.append(
                Coded(
                    description: packet.description, bytes: Array(packet.bytes),
                    meanSquaredError: packet.meanSquaredError))
            if releasesPackets { try session.release(packet) } else { held.append(packet) }
        case .completed: isCompleted = true
        }
        return true
    }

    /// Releases every packet held.
    func releaseAll() throws {
        for packet in held { try session.release(packet) }
        held = []
        releasesPackets = true
    }

    /// Asks for every packet and takes them.
    func finish() throws {
        isCompleted = false
        try session.complete()
        while !isCompleted { try #require(try pump(), "the session does not complete") }
    }

    /// Writes the packets to a file in the format of its ending.
    func write(to path: String) throws {
        let writer = try MediaWriter(path: path)
        try writer.start(
            VideoTrack(
                width: width, height: height, hvcC: records[0] ?? record, timeBase: try #require(Rational(1, 30))))
        for (index, packet) in coded.enumerated() {
            if index > 0, let record = records[index] { try writer.change(to: TrackConfiguration(hvcC: record)) }
            let description = packet.description
            try packet.bytes.withUnsafeBytes { (bytes) throws -> Void in
                try writer.write(
                    bytes, pts: description.pts, dts: description.dts, duration: description.duration,
                    isSync: description.flags.contains(.sync))
            }
        }
        try writer.finish()
    }
}

/// The error a session ends with.
func sessionError(_ body: () throws -> Void) -> SessionError? {
    do {
        try body()
    } catch let error as ClientError {
        if case .session(let status) = error.code { return SessionError(status, error.reason) }
        return SessionError(.invalidSession, "not the session's error: \(error.reason)")
    } catch {
        return SessionError(.invalidSession, "not the session's error: \(error)")
    }
    return nil
}

/// Runs `body` on `count` threads at once and returns each result.
func concurrently<Value: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) throws -> Value
) throws -> [Result<Value, any Error>] {
    let results = Guarded<[Int: Result<Value, any Error>]>([:])
    let threads = try (0..<count).map { index in
        try Thread.spawn(name: "client-\(index)") {
            let result = Result { try body(index) }
            results.change { $0[index] = result }
        }
    }
    for thread in threads { thread.join() }
    return try (0..<count).map { try #require(results.value[$0]) }
}

/// A value that several threads share.
final class Guarded<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>
    init(_ value: Value) { mutex = Mutex(value) }
    var value: Value { mutex.withLock { $0 } }
    func change(_ body: (inout Value) -> Void) { mutex.withLock { body(&$0) } }
}
