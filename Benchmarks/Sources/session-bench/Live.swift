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

/// A RealTime session of 640x360 whose source gives 30 frames a second and drops those for which two others still wait.
///
/// The result has the 90th percentile of the milliseconds from a frame to its packet, and the packets a second.
func live(_ daemon: Daemon, frames: Int) throws -> [String: PropertyValue] {
    var parameters = parameters(.nv12, 640, 360, preset: "medium")
    parameters.properties?[PropertyKey.realTime.rawValue] = .bool(true)
    parameters.properties?[PropertyKey.expectedFrameRate.rawValue] = .int(30)
    let session = try CompressionSession(daemon, parameters)
    defer { session.invalidate() }
    let (pool, layouts) = try movingFrames(640, 360, count: 8)
    try session.addPool(pool, id: 1)
    try session.prepare()
    let clock = ContinuousClock()
    var sent: [Int64: ContinuousClock.Instant] = [:]
    var latencies: [Double] = []
    func receive(until time: ContinuousClock.Instant) throws {
        repeat {
            let rest = max(.zero, time - clock.now)
            while let event = try session.nextEvent(timeout: rest > .milliseconds(1) ? rest : .zero) {
                guard case .packet(let packet) = event else { continue }
                if let start = sent.removeValue(forKey: packet.description.pts) {
                    latencies.append(milliseconds(since: start))
                }
                try session.release(packet)
                if clock.now >= time { return }
            }
        } while clock.now < time
    }
    let start = clock.now
    for number in 0..<frames {
        try receive(until: start + .nanoseconds(Int64(number) * 1_000_000_000 / 30))
        guard sent.count < 2 else { continue }
        sent[Int64(number)] = clock.now
        try session.encode(
            EncodeFrame(
                frameID: UInt64(number), pts: Int64(number), duration: 1, poolID: 1, layout: layouts[number % 8]))
    }
    try receive(until: start + .nanoseconds(Int64(frames) * 1_000_000_000 / 30))
    let seconds = milliseconds(since: start) / 1000
    guard !latencies.isEmpty else { throw ClientError(.connectionFailed, "no packet came") }
    return [
        "p50_ms": .double(percentile(latencies, 0.5)), "p90_ms": .double(percentile(latencies, 0.9)),
        "fps": .double(Double(latencies.count) / seconds),
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
