// SPDX-License-Identifier: GPL-2.0-or-later
import Dispatch
import Glibc
import HWClient

/// A session that converts 4K frames of P010 PQ to half floats of Display P3, and buffers for memcpy of as many bytes.
private struct TransferBench {
    private static let (width, height) = (3840, 2160)
    /// The first rounds also map and fill pages, which is not a steady cost.
    private static let warmupRounds = 3

    let session: TransferSession
    /// Bytes of one copy: it moves as many bytes as a conversion reads and writes.
    let copySize: Int
    let threadCount = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    private let from = FrameLayout.packed(.p010, width: width, height: height)
    private let to = FrameLayout.packed(.rgba16f, width: width, height: height)
    private let source: SharedMemory
    private let target: SharedMemory
    private let copy: UnsafeMutableRawBufferPointer

    init(_ daemon: Daemon, device: String) throws {
        let pq = CreateTransferSession.Image(
            pixelFormat: PixelFormat.p010.rawValue, primaries: "2020", transfer: "pq", matrix: "2020",
            siting: "topleft")
        let halves = CreateTransferSession.Image(pixelFormat: PixelFormat.rgba16f.rawValue, primaries: "p3")
        session = try TransferSession(
            daemon,
            CreateTransferSession.Parameters(
                width: Self.width, height: Self.height, source: pq, target: halves, device: device))
        source = try SharedMemory(creating: "bench-source", size: from.size)
        target = try SharedMemory(creating: "bench-target", size: to.size)
        guard let samples = source.mutableBytes, let result = target.mutableBytes else {
            throw ClientError(.connectionFailed, "the frames' memory is not writable")
        }
        fill(samples, from.layout, Self.width, Self.height)
        _ = result.initializeMemory(as: UInt8.self, repeating: 1)
        try session.addPool(source, id: 1)
        try session.addPool(target, id: 2)
        copySize = (from.size + to.size) / 2
        copy = UnsafeMutableRawBufferPointer.allocate(byteCount: copySize, alignment: 64)
        _ = copy.initializeMemory(as: UInt8.self, repeating: 1)
    }

    func close() {
        session.invalidate()
        copy.deallocate()
    }

    /// Milliseconds of each conversion and each copy; they alternate, so that both see the same machine.
    func run(rounds: Int) throws -> (converted: [Double], copied: [Double]) {
        var (converted, copied): ([Double], [Double]) = ([], [])
        for round in 0..<rounds + Self.warmupRounds {
            var start = ContinuousClock.now
            try convert(UInt64(round))
            let conversion = milliseconds(since: start)
            start = .now
            copyBytes()
            guard round >= Self.warmupRounds else { continue }
            converted.append(conversion)
            copied.append(milliseconds(since: start))
        }
        return (converted, copied)
    }

    private func convert(_ frameID: UInt64) throws {
        try session.transfer(
            TransferFrame(
                frameID: frameID, source: TransferFrame.Place(poolID: 1, layout: from.layout),
                target: TransferFrame.Place(poolID: 2, layout: to.layout)))
        guard case .frame(let answer)? = try session.nextEvent(timeout: .seconds(30)), answer.status == .ok else {
            throw ClientError(.connectionFailed, "no converted frame came within 30 s")
        }
    }

    private func copyBytes() {
        let part = copySize / threadCount
        let (base, other) = (UInt(bitPattern: copy.baseAddress), UInt(bitPattern: target.bytes.baseAddress))
        DispatchQueue.concurrentPerform(iterations: threadCount) { index in
            guard let to = UnsafeMutableRawPointer(bitPattern: base + UInt(index * part)),
                let from = UnsafeRawPointer(bitPattern: other + UInt(index * part))
            else { return }
            memcpy(to, from, part)
        }
    }
}

/// Times of a conversion in a session, and of memcpy of as many bytes on as many threads.
func transfer(_ daemon: Daemon, rounds: Int, device: String = "cpu") throws -> [String: PropertyValue] {
    let bench = try TransferBench(daemon, device: device)
    defer { bench.close() }
    let (converted, copied) = try bench.run(rounds: rounds)
    return [
        "device": .string(bench.session.created.device), "threads": .int(Int64(bench.threadCount)),
        "bytes_moved": .int(Int64(bench.copySize) * 2),
        "convert_ms": .double(percentile(converted, 0.5)), "memcpy_ms": .double(percentile(copied, 0.5)),
        "convert_best_ms": .double(percentile(converted, 0)), "memcpy_best_ms": .double(percentile(copied, 0)),
    ]
}

/// Writes every code of PQ's video range, and chroma that varies.
private func fill(_ memory: UnsafeMutableRawBufferPointer, _ layout: FrameLayout, _ width: Int, _ height: Int) {
    for (index, plane) in layout.planes.enumerated() {
        for row in 0..<(index == 0 ? height : height / 2) {
            let start = Int(plane.offset) + row * Int(plane.stride)
            let line = UnsafeMutableRawBufferPointer(rebasing: memory[start..<start + width * 2])
                .bindMemory(to: UInt16.self)
            for x in 0..<width {
                let code = index == 0 ? 64 + (x * 7 + row * 13) % 877 : 480 + (x + row) % 65
                line[x] = UInt16(code << 6)
            }
        }
    }
}
