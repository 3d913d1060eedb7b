// SPDX-License-Identifier: GPL-2.0-or-later
import Dispatch
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire

/// Milliseconds a 4K frame of P010 PQ takes to become half floats of Display P3 in a session, and memcpy of its bytes.
///
/// memcpy moves the same number of bytes on as many threads; they take turns, so that both see the same machine.
func transfer(_ daemon: Daemon, rounds: Int, device wanted: String = "cpu") throws -> [String: PropertyValue] {
    let (width, height) = (3840, 2160)
    let pq = CreateTransferSession.Image(
        pixelFormat: PixelFormat.p010.rawValue, primaries: "2020", transfer: "pq", matrix: "2020", siting: "topleft"
    )
    let halves = CreateTransferSession.Image(pixelFormat: PixelFormat.rgba16f.rawValue, primaries: "p3")
    let session = try TransferSession(
        daemon,
        CreateTransferSession.Parameters(width: width, height: height, source: pq, target: halves, device: wanted))
    let from = FrameLayout.packed(.p010, width: width, height: height)
    let to = FrameLayout.packed(.rgba16f, width: width, height: height)
    let source = try SharedMemory(creating: "bench-source", size: from.size)
    let target = try SharedMemory(creating: "bench-target", size: to.size)
    guard let samples = source.mutableBytes, let result = target.mutableBytes else { return [:] }
    fill(samples, from.layout, width, height)
    _ = result.initializeMemory(as: UInt8.self, repeating: 1)
    try session.addPool(source, id: 1)
    try session.addPool(target, id: 2)

    // A copy reads as much as it writes.
    let moved = (from.size + to.size) / 2
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: moved, alignment: 64)
    defer { copy.deallocate() }
    _ = copy.initializeMemory(as: UInt8.self, repeating: 1)
    let threads = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    var (converted, copied): ([Double], [Double]) = ([], [])
    for round in 0..<rounds + 3 {
        var start = MonotonicTime.now
        try session.transfer(
            TransferFrame(
                frameID: UInt64(round), source: TransferFrame.Place(poolID: 1, layout: from.layout),
                target: TransferFrame.Place(poolID: 2, layout: to.layout)))
        guard case .frame(let answer)? = try session.nextEvent(timeout: .seconds(30)), answer.status == .ok else {
            throw ClientError(.connectionFailed, "no frame came")
        }
        let conversion = milliseconds(since: start)
        start = .now
        let part = moved / threads
        let (base, other) = (UInt(bitPattern: copy.baseAddress), UInt(bitPattern: result.baseAddress))
        DispatchQueue.concurrentPerform(iterations: threads) { index in
            guard let to = UnsafeMutableRawPointer(bitPattern: base + UInt(index * part)),
                let from = UnsafeRawPointer(bitPattern: other + UInt(index * part))
            else { return }
            memcpy(to, from, part)
        }
        // What the first rounds touch for the first time is no steady cost.
        if round >= 3 {
            converted.append(conversion)
            copied.append(milliseconds(since: start))
        }
    }
    let device = session.created.device
    session.invalidate()
    return [
        "device": .string(device), "threads": .int(Int64(threads)), "bytes_moved": .int(Int64(moved) * 2),
        "convert_ms": .double(percentile(converted, 0.5)), "memcpy_ms": .double(percentile(copied, 0.5)),
        "convert_best_ms": .double(percentile(converted, 0)), "memcpy_best_ms": .double(percentile(copied, 0)),
    ]
}

/// Every code of PQ's video range, and chroma that moves.
private func fill(_ memory: UnsafeMutableRawBufferPointer, _ layout: FrameLayout, _ width: Int, _ height: Int) {
    for (index, plane) in layout.planes.enumerated() {
        for row in 0..<(index == 0 ? height : height / 2) {
            let line = UnsafeMutableRawBufferPointer(
                rebasing: memory[
                    Int(plane.offset) + row * Int(plane.stride)..<Int(plane.offset) + row * Int(plane.stride)
                        + width * 2]
            ).bindMemory(to: UInt16.self)
            for x in 0..<width {
                let code = index == 0 ? 64 + (x * 7 + row * 13) % 877 : 480 + (x + row) % 65
                line[x] = UInt16(code << 6)
            }
        }
    }
}
