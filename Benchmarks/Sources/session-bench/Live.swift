// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient

/// A pool of different NV12 frames: a gradient, before which a textured square of a quarter of the picture's height moves.
func movingFrames(_ width: Int, _ height: Int, count: Int) throws -> (
    pool: FramePool, layouts: [FrameLayout]
) {
    let pool = try FramePool(
        slotSize: FrameLayout.packed(.nv12, width: width, height: height).size, slotCount: count)
    var layouts: [FrameLayout] = []
    let slots = (0..<count).compactMap { _ in pool.acquire() }
    for (index, slot) in slots.enumerated() {
        let bytes = pool.bytes(of: slot)
        let (left, top) = (width / 4 + 4 * index, height / 4 + 2 * index)
        for row in 0..<height {
            for column in 0..<width {
                let (x, y) = (column - left, row - top)
                let isInSquare = (0..<height / 4).contains(x) && (0..<height / 4).contains(y)
                let luma =
                    isInSquare
                    ? 60 + ((x >> 2) * 37 + (y >> 2) * 91) & 127 : 40 + (column + row) * 150 / (width + height)
                bytes[row * width + column] = UInt8(truncatingIfNeeded: luma)
            }
        }
        for offset in width * height..<width * height * 3 / 2 { bytes[offset] = 128 }
        layouts.append(FrameLayout.packed(.nv12, width: width, height: height, base: slot.offset).layout)
    }
    for slot in slots { pool.release(slot) }
    return (pool, layouts)
}

/// A RealTime session and the statistics of its frames.
private struct LiveSession {
    private let session: CompressionSession
    private let pool: FramePool
    private let layouts: [FrameLayout]
    private var sent: [Int64: ContinuousClock.Instant] = [:]
    /// Milliseconds from a frame to its packet.
    private(set) var latencies: [Double] = []
    private(set) var dropped = 0
    private var isCompleted = false

    init(_ session: CompressionSession) throws {
        self.session = session
        (pool, layouts) = try movingFrames(640, 360, count: 8)
        try session.addPool(pool, id: 1)
        try session.prepare()
    }

    /// Takes what comes until a moment, or until the end.
    mutating func receive(until time: ContinuousClock.Instant) throws {
        repeat {
            let rest = max(.zero, time - .now)
            while let event = try session.nextEvent(timeout: rest > .milliseconds(1) ? rest : .zero) {
                if case .packet(let packet) = event {
                    if let start = sent.removeValue(forKey: packet.description.pts) {
                        latencies.append(milliseconds(since: start))
                    }
                    try session.release(packet)
                } else if case .completed = event {
                    isCompleted = true
                }
                if isCompleted || .now >= time { return }
            }
        } while .now < time
    }

    /// Sends a frame, or drops it where two others wait.
    mutating func send(_ number: Int) throws {
        guard sent.count < 2 else {
            dropped += 1
            return
        }
        sent[Int64(number)] = .now
        try session.encode(
            EncodeFrame(
                frameID: UInt64(number), pts: Int64(number), duration: 1, poolID: 1, layout: layouts[number % 8]))
    }

    /// Takes the packets of the frames that wait when the source ends.
    mutating func finish() throws {
        let end = ContinuousClock.now + .seconds(60)
        try session.complete()
        while !isCompleted, .now < end { try receive(until: end) }
    }
}

/// A RealTime session of 640x360 whose source gives 30 frames a second and drops those for which two others still wait.
///
/// The result has the 90th percentile of the milliseconds from a frame to its packet, the frames that were sent and dropped, and the
/// packets of all of them over the time for which the source gave frames.
func live(_ daemon: Daemon, frames: Int) throws -> [String: PropertyValue] {
    var parameters = parameters(.nv12, 640, 360, preset: "medium")
    parameters.properties?[PropertyKey.realTime.rawValue] = .bool(true)
    parameters.properties?[PropertyKey.expectedFrameRate.rawValue] = .int(30)
    let compression = try CompressionSession(daemon, parameters)
    defer { compression.invalidate() }
    var session = try LiveSession(compression)
    let start = ContinuousClock.now
    for number in 0..<frames {
        try session.receive(until: start + .nanoseconds(Int64(number) * 1_000_000_000 / 30))
        try session.send(number)
    }
    try session.receive(until: start + .nanoseconds(Int64(frames) * 1_000_000_000 / 30))
    try session.finish()
    let (latencies, sent) = (session.latencies, frames - session.dropped)
    guard latencies.count == sent, sent > 0 else {
        throw ClientError(.connectionFailed, "of \(sent) frames that were sent, \(latencies.count) came back")
    }
    return [
        "p50_ms": .double(percentile(latencies, 0.5)), "p90_ms": .double(percentile(latencies, 0.9)),
        "sent": .int(Int64(sent)), "dropped": .int(Int64(session.dropped)),
        "fps": .double(Double(sent) * 30 / Double(frames)),
    ]
}

/// A session of 1280x720, medium, that gets frames as fast as it takes them, for some seconds.
func batch(_ daemon: Daemon, seconds: Int, priority: String) throws -> [String: PropertyValue] {
    var parameters = parameters(.nv12, 1280, 720, preset: "medium")
    if priority != "normal" { parameters.properties?["Priority"] = .string(priority) }
    let session = try CompressionSession(daemon, parameters)
    defer { session.invalidate() }
    let (pool, layouts) = try movingFrames(1280, 720, count: 8)
    try session.addPool(pool, id: 1)
    try session.prepare()
    let end = ContinuousClock.now + .seconds(seconds)
    var (sent, packets) = (0, 0)
    while ContinuousClock.now < end {
        while session.framesInFlight < 6 {
            try session.encode(
                EncodeFrame(
                    frameID: UInt64(sent), pts: Int64(sent), duration: 1, poolID: 1, layout: layouts[sent % 8]))
            sent += 1
        }
        guard let event = try session.nextEvent(timeout: .milliseconds(100)) else { continue }
        guard case .packet(let packet) = event else { continue }
        packets += 1
        try session.release(packet)
    }
    return ["fps": .double(Double(packets) / Double(seconds))]
}
