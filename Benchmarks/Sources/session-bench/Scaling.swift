// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient

/// CPU and wall time of a session that scales frames of 10 bits from 4K to 1080p.
func scaling(_ daemon: Daemon, _ format: PixelFormat, frames: Int) throws -> [String: PropertyValue] {
    let image = CreateTransferSession.Image(pixelFormat: format.rawValue)
    let session = try TransferSession(
        daemon,
        CreateTransferSession.Parameters(
            width: 3840, height: 2160, targetWidth: 1920, targetHeight: 1080, source: image, target: image,
            device: "cpu"))
    defer { session.invalidate() }
    let from = FrameLayout.packed(format, width: 3840, height: 2160)
    let to = FrameLayout.packed(format, width: 1920, height: 1080)
    let source = try SharedMemory(creating: "bench-source", size: from.size)
    let target = try SharedMemory(creating: "bench-target", size: to.size)
    guard let samples = source.mutableBytes?.bindMemory(to: UInt16.self) else {
        throw ClientError(.connectionFailed, "the frames' memory is not writable")
    }
    for index in samples.indices { samples[index] = UInt16(64 + index * 7 % 877) << (format == .p010 ? 6 : 0) }
    try session.addPool(source, id: 1)
    try session.addPool(target, id: 2)
    guard
        let pid = try daemon.call(ListSessions.self, Empty()).sessions.first(where: {
            $0.session == session.created.session
        })?.pid
    else { throw ClientError(.connectionFailed, "the session is not listed") }
    func scale(_ count: Int, from first: Int) throws {
        for index in first..<first + count {
            try session.transfer(
                TransferFrame(
                    frameID: UInt64(index), source: TransferFrame.Place(poolID: 1, layout: from.layout),
                    target: TransferFrame.Place(poolID: 2, layout: to.layout)))
            guard case .frame(let answer)? = try session.nextEvent(timeout: .seconds(30)), answer.status == .ok
            else { throw ClientError(.connectionFailed, "no scaled frame came within 30 s") }
        }
    }
    // The first frames also map pages.
    try scale(3, from: 0)
    let (before, start) = (processTime(of: pid), ContinuousClock.now)
    try scale(frames, from: 3)
    let wall = milliseconds(since: start)
    return [
        "device": .string(session.created.device),
        "threads": .int(Int64(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))),
        "cpu_ms": .double((processTime(of: pid) - before) / Double(frames)),
        "wall_ms": .double(wall / Double(frames)),
    ]
}

/// CPU milliseconds of a process, those of threads that have ended included (proc(5): utime and stime).
private func processTime(of pid: Int32) -> Double {
    guard let file = fopen("/proc/\(pid)/stat", "r") else { return 0 }
    defer { fclose(file) }
    var text = [CChar](repeating: 0, count: 1024)
    guard fgets(&text, 1024, file) != nil else { return 0 }
    let line = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let fields = line.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
    return (user + system) * 1000 / Double(sysconf(Int32(_SC_CLK_TCK)))
}
