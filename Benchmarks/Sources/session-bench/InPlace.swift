// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient

/// A session that converts frames with two in flight, which is what a GPU needs to be busy.
private struct PipelinedBench {
    private static let slots = 2
    private static let warmupFrames = 4

    let session: TransferSession
    let pid: Int32
    /// Bytes that a frame is read from, and written to.
    let bytes: (read: Int, written: Int)
    private let from, to: [FrameLayout]
    private let source, target: SharedMemory

    init(_ daemon: Daemon, device: String, _ pair: TransferPair) throws {
        let (whole, size) = (pair.size, pair.targetSize)
        session = try TransferSession(
            daemon,
            CreateTransferSession.Parameters(
                width: whole.width, height: whole.height, targetWidth: size.width, targetHeight: size.height,
                source: pair.image(pair.source), target: pair.image(pair.target), device: device))
        let read = FrameLayout.packed(pair.source, width: whole.width, height: whole.height).size
        let written = FrameLayout.packed(pair.target, width: size.width, height: size.height).size
        bytes = (read, written)
        from = (0..<Self.slots).map {
            FrameLayout.packed(pair.source, width: whole.width, height: whole.height, base: $0 * read).layout
        }
        to = (0..<Self.slots).map {
            FrameLayout.packed(pair.target, width: size.width, height: size.height, base: $0 * written).layout
        }
        source = try SharedMemory(creating: "bench-source", size: Self.slots * read)
        target = try SharedMemory(creating: "bench-target", size: Self.slots * written)
        guard let samples = source.mutableBytes, let result = target.mutableBytes else {
            throw ClientError(.connectionFailed, "the frames' memory is not writable")
        }
        pair.fill(samples.bindMemory(to: UInt16.self))
        _ = result.initializeMemory(as: UInt8.self, repeating: 1)
        try session.addPool(source, id: 1)
        try session.addPool(target, id: 2)
        let id = session.created.session
        guard let pid = try daemon.call(ListSessions.self, Empty()).sessions.first(where: { $0.session == id })?.pid
        else { throw ClientError(.connectionFailed, "the session is not listed") }
        self.pid = pid
    }

    /// Milliseconds from one answer to the next.
    func run(frames: Int) throws -> [Double] {
        var times: [Double] = []
        var last = ContinuousClock.now
        for frame in 0..<frames + Self.warmupFrames + Self.slots {
            if frame >= Self.slots {
                guard case .frame(let answer)? = try session.nextEvent(timeout: .seconds(60)), answer.status == .ok
                else { throw ClientError(.connectionFailed, "no converted frame came within 60 s") }
                if frame >= Self.slots + Self.warmupFrames { times.append(milliseconds(since: last)) }
                last = .now
            }
            guard frame < frames + Self.warmupFrames else { continue }
            let slot = frame % Self.slots
            try session.transfer(
                TransferFrame(
                    frameID: UInt64(frame), source: TransferFrame.Place(poolID: 1, layout: from[slot]),
                    target: TransferFrame.Place(poolID: 2, layout: to[slot])))
        }
        return times
    }
}

/// The formats of a conversion, or of a scaling to half the size.
private struct TransferPair {
    let source, target: PixelFormat
    var isScaled = false
    var size = (width: 3840, height: 2160)

    var targetSize: (width: Int, height: Int) { isScaled ? (size.width / 2, size.height / 2) : size }

    var name: String { "\(source.rawValue)-\(target.rawValue)\(isScaled ? "-scaled" : "")" }

    func image(_ format: PixelFormat) -> CreateTransferSession.Image {
        switch format {
        case .rgba16f: CreateTransferSession.Image(pixelFormat: format.rawValue, primaries: "p3")
        case .p010, .i010:
            CreateTransferSession.Image(
                pixelFormat: format.rawValue, primaries: "2020", transfer: "pq", matrix: "2020", siting: "left")
        default: CreateTransferSession.Image(pixelFormat: format.rawValue)
        }
    }

    /// Half floats of 0 to 1, or codes of the video range.
    func fill(_ words: UnsafeMutableBufferPointer<UInt16>) {
        for index in words.indices {
            let value = index * 7 % 877
            words[index] =
                switch source {
                case .rgba16f: Float16(Float(value) / 877).bitPattern
                case .p010: UInt16(64 + value) << 6
                case .i010: UInt16(64 + value)
                default: UInt16(16 + value % 220) * 257
                }
        }
    }
}

/// Times of conversions and of a scaling on a GPU and on the CPU, with the bytes that they read and write.
///
/// - Parameter size: "3840x2160" where it is nil.
func inPlace(_ daemon: Daemon, frames: Int, size: String?) throws -> [String: PropertyValue] {
    var pairs: [TransferPair] = [
        TransferPair(source: .p010, target: .rgba16f), TransferPair(source: .nv12, target: .rgba16f),
        TransferPair(source: .p010, target: .bgra8), TransferPair(source: .rgba16f, target: .p010),
        TransferPair(source: .rgba16f, target: .nv12), TransferPair(source: .rgba16f, target: .yu12),
        TransferPair(source: .bgra8, target: .nv12), TransferPair(source: .p010, target: .p010, isScaled: true),
    ]
    let numbers = (size ?? "").split(separator: "x").compactMap { Int($0) }
    if numbers.count == 2 { for index in pairs.indices { pairs[index].size = (numbers[0], numbers[1]) } }
    var found: [String: PropertyValue] = [:]
    for pair in pairs {
        for device in ["vulkan", "cpu"] {
            let bench = try PipelinedBench(daemon, device: device, pair)
            defer { bench.session.invalidate() }
            let times = try bench.run(frames: frames)
            found["\(pair.name) \(device) ms"] = .double(percentile(times, 0.5))
            found["\(pair.name) bytes"] = .string("\(bench.bytes.read):\(bench.bytes.written)")
            found["\(device) device"] = .string(bench.session.created.device)
            found["\(pair.name) \(device) memory_kib"] = .int(residentPeak(of: bench.pid))
        }
    }
    return found
}

/// The greatest resident size of a process in KiB (proc(5): VmHWM).
private func residentPeak(of pid: Int32) -> Int64 {
    guard let file = fopen("/proc/\(pid)/status", "r") else { return 0 }
    defer { fclose(file) }
    var text = [CChar](repeating: 0, count: 4096)
    let count = fread(&text, 1, text.count - 1, file)
    let lines = String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let line = lines.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int64($0) } ?? 0
}
