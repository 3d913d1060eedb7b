// SPDX-License-Identifier: GPL-2.0-or-later
// Measures sessions from the client's side. Each subcommand prints one JSON object; Benchmarks/bench.py makes tables.
import Glibc
import HWClient

/// Milliseconds from `start` to now.
func milliseconds(since start: ContinuousClock.Instant) -> Double { (.now - start) / .milliseconds(1) }

/// The value that `share` of the values do not exceed.
func percentile(_ values: [Double], _ share: Double) -> Double {
    let sorted = values.sorted()
    return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
}

/// The parameters of a session in software.
func parameters(
    _ format: PixelFormat, _ width: Int, _ height: Int, preset: String
) -> CreateCompressionSession.Parameters {
    CreateCompressionSession.Parameters(
        width: width, height: height, pixelFormat: format, timeBase: Rational(1),
        encoderSpecification: [.enableHardware: .bool(false)], properties: [.x265Preset: .string(preset)])
}

/// Times from connect to the Create reply and to the open encoder, for 1080p, 8 bits, preset medium.
func latency(_ daemon: Daemon, rounds: Int) throws -> [String: PropertyValue] {
    var created: [Double] = []
    var prepared: [Double] = []
    for _ in 0..<rounds {
        let start = ContinuousClock.now
        let session = try CompressionSession(daemon, parameters(.nv12, 1920, 1080, preset: "medium"))
        created.append(milliseconds(since: start))
        try session.prepare()
        prepared.append(milliseconds(since: start))
        session.invalidate()
        // Keeps the last worker's exit out of the next session's start.
        usleep(50_000)
    }
    return [
        "create_p50_ms": .double(percentile(created, 0.5)), "create_p99_ms": .double(percentile(created, 0.99)),
        "prepared_p50_ms": .double(percentile(prepared, 0.5)),
        "prepared_p99_ms": .double(percentile(prepared, 0.99)), "rounds": .int(Int64(rounds)),
    ]
}

/// Sends `count` frames of whatever the pool contains, and passes on every event before its memory is released.
func pump(
    _ session: CompressionSession, _ pool: FramePool, _ format: PixelFormat, _ size: (Int, Int), count: Int,
    _ receive: (CompressionSession.Event) -> Void = { _ in }
) throws {
    var slots: [UInt64: FramePool.Slot] = [:]
    var sent = 0
    var done = false
    while !done {
        while sent < count, session.framesInFlight < 6, let slot = pool.acquire() {
            let layout = FrameLayout.packed(format, width: size.0, height: size.1, base: slot.offset).layout
            slots[UInt64(sent)] = slot
            try session.encode(
                EncodeFrame(frameID: UInt64(sent), pts: Int64(sent), duration: 1, poolID: 1, layout: layout))
            sent += 1
            if sent == count { try session.complete() }
        }
        let start = ContinuousClock.now
        guard let event = try session.nextEvent(timeout: .seconds(60)) else {
            // A session that keeps frames in the pool returns also where another may be sent.
            if milliseconds(since: start) < 60_000 { continue }
            throw ClientError(.connectionFailed, "no event came within 60 s")
        }
        receive(event)
        switch event {
        case .frameReleased(let id): if let slot = slots.removeValue(forKey: id) { pool.release(slot) }
        case .packet(let packet): try session.release(packet)
        case .completed: done = true
        case .formatDescription: break
        }
    }
}

/// Creates a session, encodes two frames and closes it, `rounds` times.
func churn(_ daemon: Daemon, rounds: Int) throws -> [String: PropertyValue] {
    let size = (64, 64)
    let pool = try FramePool(slotSize: FrameLayout.packed(.yu12, width: 64, height: 64).size, slotCount: 6)
    for _ in 0..<rounds {
        let session = try CompressionSession(daemon, parameters(.yu12, size.0, size.1, preset: "ultrafast"))
        try session.addPool(pool, id: 1)
        try pump(session, pool, .yu12, size, count: 2)
        session.invalidate()
    }
    return ["rounds": .int(Int64(rounds))]
}

/// CPU time of a process's threads in nanoseconds.
func cpuTime(of pid: Int32) -> Double {
    guard let folder = opendir("/proc/\(pid)/task") else { return 0 }
    defer { closedir(folder) }
    var total = 0.0
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        guard Int(name) != nil, let file = fopen("/proc/\(pid)/task/\(name)/schedstat", "r") else { continue }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 128)
        guard fgets(&text, 128, file) != nil else { continue }
        total += strtod(text, nil)
    }
    return total
}

/// Milliseconds of this thread's CPU time for one copy of a frame of a pool, the median of 60; the slots are taken in turn, so that no
/// frame is in a cache that is smaller than the pool.
func copyTime(of pool: FramePool, slots count: Int) throws -> Double {
    let slots = (0..<count).compactMap { _ in pool.acquire() }
    defer { for slot in slots { pool.release(slot) } }
    guard let size = slots.first.map({ pool.bytes(of: $0).count }) else {
        throw ClientError(.connectionFailed, "the pool has no free slot")
    }
    let target = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 64)
    defer { target.deallocate() }
    memset(target, 0, size)
    func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
    }
    var times: [Double] = []
    for round in 0..<60 {
        let bytes = pool.bytes(of: slots[round % slots.count])
        guard let base = bytes.baseAddress else { break }
        let start = now()
        memcpy(target, base, size)
        times.append(now() - start)
    }
    return percentile(times, 0.5)
}

/// The worker's CPU time for each 1080p frame; meaningful only with x265-null preloaded into the daemon.
func overhead(_ daemon: Daemon, frames: Int) throws -> [String: PropertyValue] {
    let size = (1920, 1080)
    var result: [String: PropertyValue] = ["frames": .int(Int64(frames))]
    for format in PixelFormat.yCbCr {
        let pool = try FramePool(
            slotSize: FrameLayout.packed(format, width: size.0, height: size.1).size, slotCount: 6)
        let session = try CompressionSession(daemon, parameters(format, size.0, size.1, preset: "ultrafast"))
        try session.addPool(pool, id: 1)
        try session.prepare()
        guard
            let pid = try daemon.call(ListSessions.self, Empty()).sessions.first(where: {
                $0.session == session.created.session
            })?.pid
        else { throw ClientError(.connectionFailed, "the session is not listed") }
        // Excludes opening the encoder and includes the first mapping of the pool's pages.
        let before = cpuTime(of: pid)
        try pump(session, pool, format, size, count: frames)
        result["\(format.rawValue)_us_per_frame"] = .double((cpuTime(of: pid) - before) / 1000 / Double(frames))
        result["\(format.rawValue)_copy_us"] = .double(try copyTime(of: pool, slots: 6) * 1000)
        session.invalidate()
    }
    return result
}

do {
    let daemon = try Daemon.find()
    let arguments = CommandLine.arguments
    let count = arguments.count > 2 ? Int(arguments[2]) ?? 100 : 100
    let result: [String: PropertyValue]
    switch arguments.count > 1 ? arguments[1] : "" {
    case "latency": result = try latency(daemon, rounds: count)
    case "churn": result = try churn(daemon, rounds: count)
    case "overhead": result = try overhead(daemon, frames: count)
    case "transfer": result = try transfer(daemon, rounds: count)
    case "effects", "effects-vulkan":
        let device = arguments[1] == "effects" ? "cpu" : "vulkan"
        result = try effects(daemon, rounds: count, device: device)
    case "transfers": result = try transfers(daemon, rounds: count)
    case "scaling-p010": result = try scaling(daemon, .p010, frames: count)
    case "scaling-i010": result = try scaling(daemon, .i010, frames: count)
    case "kept", "not-kept":
        result = try keptFrames(daemon, arguments[1] == "kept", inHardware: false, frames: count)
    case "kept-spared", "not-kept-spared":
        // As many slots as x265 holds frames, and more.
        result = try keptFrames(
            daemon, arguments[1] == "kept-spared", inHardware: false, spared: 32, frames: count)
    case "kept-hardware", "not-kept-hardware":
        result = try keptFrames(daemon, arguments[1] == "kept-hardware", inHardware: true, frames: count)
    case "kept-packets", "not-kept-packets":
        result = try keptPackets(daemon, arguments[1] == "kept-packets", count: count)
    case "verification": result = try verification(daemon, frames: count)
    case "recovery": result = try recovery(daemon, rounds: count)
    case "live": result = try live(daemon, frames: count)
    case "batch":
        result = try batch(daemon, seconds: count, priority: arguments.count > 3 ? arguments[3] : "normal")
    case "in-place": result = try inPlace(daemon, frames: count, size: arguments.count > 3 ? arguments[3] : nil)
    case "transfer-vulkan": result = try transfer(daemon, rounds: count, device: "vulkan")
    default:
        print(
            "usage: session-bench latency|churn|overhead|transfer|transfers|transfer-vulkan|effects|effects-vulkan|"
                + "scaling-p010|scaling-i010|kept|not-kept|kept-spared|not-kept-spared|kept-hardware|not-kept-hardware|"
                + "kept-packets|not-kept-packets|recovery|verification|"
                + "live COUNT, session-bench batch SECONDS [normal|background], "
                + "session-bench in-place COUNT [WIDTHxHEIGHT]"
        )
        exit(64)
    }
    print(String(decoding: try JSON.encode(result), as: UTF8.self))
} catch {
    print("session-bench: \(error)")
    exit(1)
}
