// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient

/// A session, of 720p by default, its pool of moving pictures, and when it connected.
///
/// - Parameter spared: slots of the pool that the session may keep.
private func open(
    _ daemon: Daemon, _ width: Int = 1280, _ height: Int = 720, inHardware: Bool, keepsFrames: Bool = true,
    spared: Int = 0
) throws -> (session: CompressionSession, pool: FramePool, connected: ContinuousClock.Instant) {
    var parameters = parameters(.nv12, width, height, preset: "ultrafast")
    if inHardware {
        parameters = CreateCompressionSession.Parameters(
            width: width, height: height, pixelFormat: .nv12, timeBase: Rational(1),
            encoderSpecification: [.requireHardware: .bool(true)],
            properties: [.quality: .double(0.5), .verifyOutput: .string("sampled")])
    }
    parameters.properties?[PropertyKey.replaysAfterFailure.rawValue] = .bool(keepsFrames)
    let pool = try movingFrames(width, height, count: 8 + spared).pool
    let connected = ContinuousClock.now
    let session = try CompressionSession(daemon, parameters)
    try session.addPool(pool, id: 1, sparing: spared)
    try session.prepare()
    return (session, pool, connected)
}

/// Memory of this process in bytes, its own and shared (proc(5): RssAnon, RssShmem).
private func memory() -> Int {
    guard let file = fopen("/proc/self/status", "r") else { return 0 }
    defer { fclose(file) }
    var text = [CChar](repeating: 0, count: 256)
    var size = 0
    while fgets(&text, 256, file) != nil {
        let line = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // The number is between a tab, or blanks, and the unit.
        if line.hasPrefix("RssShmem:") || line.hasPrefix("RssAnon:") {
            size += (Int(line.filter(\.isNumber)) ?? 0) << 10
        }
    }
    return size
}

/// CPU time of this process, in milliseconds.
private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
}

/// Time of a session whose frames are kept or not, and the memory that it adds to this process.
///
/// - Parameter spared: slots of the pool in which frames may be kept.
func keptFrames(
    _ daemon: Daemon, _ keepsFrames: Bool, inHardware: Bool, spared: Int = 0, frames: Int
) throws -> [String: PropertyValue] {
    let (session, pool, _) = try open(
        daemon, inHardware: inHardware, keepsFrames: keepsFrames, spared: spared)
    defer { session.invalidate() }
    let (before, cpu) = (memory(), processorTime())
    let start = ContinuousClock.now
    try pump(session, pool, .nv12, (1280, 720), count: frames)
    let size = FrameLayout.packed(.nv12, width: 1280, height: 720).size
    return [
        "ms": .double(milliseconds(since: start)), "cpu_ms": .double(processorTime() - cpu),
        "bytes": .int(Int64(memory() - before)),
        "reported_bytes": .int(Int64((session.created.maxFramesHeld ?? 0) * size)),
    ]
}

/// Time of a software session that decodes 720p and keeps its packets or not.
func keptPackets(_ daemon: Daemon, _ keepsPackets: Bool, count: Int) throws -> [String: PropertyValue] {
    // A group of pictures, again and again.
    let groupSize = 60
    var format: [UInt8] = []
    var group: [(bytes: [UInt8], pts: Int64)] = []
    let (encoder, pool, _) = try open(daemon, inHardware: false)
    try pump(encoder, pool, .nv12, (1280, 720), count: groupSize) { event in
        if case .formatDescription(let record) = event { format = record }
        if case .packet(let packet) = event { group.append((Array(packet.bytes), packet.description.pts)) }
    }
    encoder.invalidate()
    let session = try DecompressionSession(
        daemon,
        CreateDecompressionSession.Parameters(
            formatDescription: format, timeBase: Rational(1),
            decoderSpecification: [.enableHardwareDecoder: .bool(false)],
            properties: [.replaysAfterFailure: .bool(keepsPackets)]))
    defer { session.invalidate() }
    let cpu = processorTime()
    let start = ContinuousClock.now
    var (sent, pictures, isFinished) = (0, 0, false)
    while !isFinished {
        while sent < count, session.hasRoom() {
            let packet = group[sent % groupSize]
            let pts = packet.pts + Int64(sent / groupSize * groupSize)
            try packet.bytes.withUnsafeBytes { _ = try session.decode($0, pts: pts, duration: 1) }
            sent += 1
            if sent == count { try session.finishDelayedFrames() }
        }
        switch try session.nextEvent(timeout: .milliseconds(1)) {
        case .frame(let frame):
            pictures += 1
            try session.release(frame)
        case .finished: isFinished = true
        case .report, nil:
            guard milliseconds(since: start) < 120_000 else {
                throw ClientError(.connectionFailed, "the pictures did not come within 120 s")
            }
        }
    }
    guard pictures == count else { throw ClientError(.connectionFailed, "\(pictures) of \(count) pictures came") }
    return ["ms": .double(milliseconds(since: start)), "cpu_ms": .double(processorTime() - cpu)]
}

/// Times from the call that meets the death of a hardware session's process until the next packet, in milliseconds; and from connect to
/// the first packet of these sessions.
func recovery(_ daemon: Daemon, rounds: Int) throws -> [String: PropertyValue] {
    var times: [Double] = []
    var firstPackets: [Double] = []
    for round in 0..<rounds {
        let (session, pool, connected) = try open(daemon, inHardware: true)
        defer { session.invalidate() }
        var slots: [UInt64: FramePool.Slot] = [:]
        var sent = 0
        var detected: ContinuousClock.Instant?
        let victim = 10 + round % 20
        while times.count <= round, sent < 200 {
            let start = ContinuousClock.now
            let restarts = session.restartCount
            if slots.count < 6, let slot = pool.acquire() {
                let layout = FrameLayout.packed(.nv12, width: 1280, height: 720, base: slot.offset).layout
                slots[UInt64(sent)] = slot
                try session.encode(
                    EncodeFrame(frameID: UInt64(sent), pts: Int64(sent), duration: 1, poolID: 1, layout: layout))
                sent += 1
                if sent == victim {
                    let pid = try daemon.call(ListSessions.self, Empty()).sessions.first {
                        $0.session == session.created.session
                    }?.pid
                    if let pid { kill(pid, SIGKILL) }
                }
            }
            while let event = try session.nextEvent(timeout: slots.count < 6 ? .zero : .milliseconds(100)) {
                switch event {
                case .frameReleased(let id): if let slot = slots.removeValue(forKey: id) { pool.release(slot) }
                case .packet(let packet):
                    if firstPackets.count == round { firstPackets.append(milliseconds(since: connected)) }
                    if session.restartCount > 0, let begin = detected, times.count == round {
                        times.append(milliseconds(since: begin))
                    }
                    try session.release(packet)
                case .completed, .formatDescription: break
                }
                if session.restartCount > restarts, detected == nil { detected = start }
            }
            if session.restartCount > restarts, detected == nil { detected = start }
        }
        guard times.count > round else { throw ClientError(.connectionFailed, "no packet came after a failure") }
    }
    return [
        "p50_ms": .double(percentile(times, 0.5)), "p95_ms": .double(percentile(times, 0.95)),
        "first_p50_ms": .double(percentile(firstPackets, 0.5)), "rounds": .int(Int64(rounds)),
    ]
}

/// CPU time of the process that checks samples of a 1080p hardware session's output, in milliseconds of a frame of the session.
func verification(_ daemon: Daemon, frames: Int) throws -> [String: PropertyValue] {
    let (session, pool, _) = try open(daemon, 1920, 1080, inHardware: true)
    defer { session.invalidate() }
    try pump(session, pool, .nv12, (1920, 1080), count: frames)
    var total = 0.0
    guard let folder = opendir("/proc") else { throw ClientError(.connectionFailed, "/proc cannot be read") }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        guard let pid = Int32(name), let file = fopen("/proc/\(pid)/comm", "r") else { continue }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 32)
        guard fgets(&text, 32, file) != nil else { continue }
        let command = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if command.hasPrefix("hwdaemon-verify") { total += cpuTime(of: pid) }
    }
    return [
        "cpu_ms": .double(total / 1_000_000 / Double(frames)), "copy_ms": .double(try copyTime(of: pool, slots: 6)),
    ]
}
