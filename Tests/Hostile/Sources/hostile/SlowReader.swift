// SPDX-License-Identifier: GPL-2.0-or-later
import CHostile
import Glibc
import HWClient
import HWDSystem
import HWDTransport
import HWDWire

/// A session that sends 30 frames a second and measures the time from each frame to its packet.
///
/// The frames are 360p, which a slow machine encodes in time too.
private final class PacedSession {
    private let session: CompressionSession
    private let pool: FramePool
    private var slots: [UInt64: FramePool.Slot] = [:]
    private var sent: [UInt64: MonotonicTime] = [:]
    private var number: UInt64 = 0

    init(_ daemon: Daemon) throws {
        guard let timeBase = Rational(1, 30) else { throw Finding("1/30 is a ratio") }
        session = try CompressionSession(
            daemon,
            CreateCompressionSession.Parameters(
                width: 640, height: 360, pixelFormat: .yu12, timeBase: timeBase,
                properties: [
                    .x265Preset: .string("ultrafast"), .realTime: .bool(true),
                    .x265Params: .string("pools=1:frame-threads=1"),
                ]))
        pool = try FramePool(slotSize: FrameLayout.packed(.yu12, width: 640, height: 360).size, slotCount: 24)
        // A ramp that shifts a little from slot to slot.
        for (index, byte) in (pool.memory.mutableBytes ?? .init(start: nil, count: 0)).indices.enumerated() {
            pool.memory.mutableBytes?[byte] = UInt8(truncatingIfNeeded: index >> 3 &+ (index / pool.slotSize) &* 7)
        }
        try session.addPool(pool, id: 1)
        try session.prepare()
    }

    /// The latencies of `count` frames, in milliseconds.
    func run(count: Int) throws -> [Double] {
        var latencies: [Double] = []
        let start = MonotonicTime.now
        let last = number + UInt64(count)
        var due = start
        while number < last || !sent.isEmpty {
            // On a busy machine all slots may be in use.
            if number < last, MonotonicTime.now >= due, let slot = pool.acquire() {
                slots[number] = slot
                sent[number] = .now
                try session.encode(
                    EncodeFrame(
                        frameID: number, pts: Int64(number), duration: 1, poolID: 1,
                        layout: FrameLayout.packed(.yu12, width: 640, height: 360, base: slot.offset).layout))
                number += 1
                due = due + .nanoseconds(33_333_333)
            }
            let isPaced = number < last && pool.freeCount > 0
            let wait: Duration =
                isPaced ? .nanoseconds(Int64(clamping: due.nanoseconds(since: .now))) : .seconds(hang)
            guard let event = try session.nextEvent(timeout: wait) else {
                guard isPaced else { throw Finding("nothing came within \(hang) s") }
                continue
            }
            switch event {
            case .packet(let packet):
                if let time = sent.removeValue(forKey: packet.description.frameID) {
                    latencies.append(milliseconds(since: time))
                }
                try session.release(packet)
            case .frameReleased(let frame): if let slot = slots.removeValue(forKey: frame) { pool.release(slot) }
            default: break
            }
        }
        return latencies
    }

    func close() { session.invalidate() }
}

/// Clients that do not read: a session without a reader, one that keeps its packets, and unread replies to calls.
private final class SlowReaders {
    private let unread: Session
    private let keeping: Session
    private var calls: [OwnedDescriptor] = []
    private let memory: SharedMemory

    init(_ broker: Broker) throws {
        memory = try SharedMemory(
            creating: "hostile-pool", size: FrameLayout.packed(.yu12, width: 640, height: 360).size)
        unread = try Session(broker.address, width: 640, height: 360)
        _ = unread.addPool(memory)
        for number in 0..<32 { unread.send(unread.frame(number)) }

        keeping = try Session(broker.address, width: 640, height: 360)
        _ = keeping.addPool(memory)
        // Keeps all packets while more frames wait.
        for number in 0..<24 { keeping.send(keeping.frame(number)) }
        var packets = 0
        var number = 24
        while packets < 64, let message = try keeping.next() {
            if message.opcode == Opcode.packet.rawValue { packets += 1 }
            if message.opcode == Opcode.frameReleased.rawValue, number < 90 {
                keeping.send(keeping.frame(number))
                number += 1
            }
        }
        for _ in 0..<8 {
            let socket = OwnedDescriptor(try UnixSocket.connect(to: broker.address).take())
            let call = Array(
                #"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"org.hwdaemon"}}"#
                    .utf8)
            let many = Array(repeatElement(call + [0], count: 200).joined())
            _ = many.withUnsafeBytes { hostile_send(socket.number, $0.baseAddress, $0.count, nil, 0) }
            calls.append(socket)
        }
        // Waits until these sessions have encoded their frames, which would take CPU time from the measured session.
        usleep(500_000)
    }
}

/// `slow-reader N`: compares the latencies of N frames of a session with and without slow readers beside it.
func slowReader(count: Int, seed: UInt64) throws {
    let broker = try Broker()
    let neighbour = try PacedSession(broker.daemon)
    _ = try neighbour.run(count: 30)
    var alone: [Double] = []
    var beside: [Double] = []
    let turn = 60
    for round in 0..<max(1, count / turn) {
        // The order alternates, so that other load on the machine affects both measurements.
        for isBeside in round % 2 == 0 ? [false, true] : [true, false] {
            if isBeside {
                let readers = try SlowReaders(broker)
                beside += try withExtendedLifetime(readers) { try neighbour.run(count: turn) }
            } else {
                alone += try neighbour.run(count: turn)
            }
            guard isBeside else { continue }
            usleep(300_000)
        }
    }
    neighbour.close()
    func line(_ values: [Double]) -> String {
        "p50 \(rounded(percentile(values, 0.5))) ms, p99 \(rounded(percentile(values, 0.99))) ms (\(values.count) frames)"
    }
    print("  alone:  \(line(alone))")
    print("  beside: \(line(beside))")
    let ratio = percentile(beside, 0.99) / percentile(alone, 0.99)
    print(
        "  ratio:  p50 \(rounded(percentile(beside, 0.5) / percentile(alone, 0.5))), p99 \(rounded(ratio))",
        "(goal: 1.1 at most, on a machine that does nothing else)")
    if let limit = Environment.value("HOSTILE_P99_RATIO").flatMap(Double.init), ratio > limit {
        throw Finding("a slow reader delays its neighbours")
    }
    try broker.stop()
}
