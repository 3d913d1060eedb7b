// SPDX-License-Identifier: GPL-2.0-or-later
import Dispatch
import Glibc
import HWClient

/// A session that converts 4K frames between Y'CbCr (10 bits are PQ, 8 bits BT.709) and half floats of Display P3, and buffers
/// for memcpy of as many bytes.
private struct TransferBench {
    private static let (width, height) = (3840, 2160)
    /// The first rounds also map and fill pages, which is not a steady cost.
    private static let warmupRounds = 3

    let session: TransferSession
    /// Bytes of one copy: it moves as many bytes as a conversion reads and writes.
    let copySize: Int
    /// Threads of the copy: as many as the session's device names ("CPU, AVX2, 4 threads"), else one for each processor.
    let threadCount: Int
    private let from, to: (layout: FrameLayout, size: Int)
    private let source: SharedMemory
    private let target: SharedMemory
    private let copy: UnsafeMutableRawBufferPointer

    init(
        _ daemon: Daemon, device: String, _ formats: (PixelFormat, PixelFormat),
        options: CreateTransferSession.Options? = nil
    ) throws {
        from = FrameLayout.packed(formats.0, width: Self.width, height: Self.height)
        to = FrameLayout.packed(formats.1, width: Self.width, height: Self.height)
        session = try TransferSession(
            daemon,
            CreateTransferSession.Parameters(
                width: Self.width, height: Self.height, source: Self.image(formats.0),
                target: Self.image(formats.1), options: options, device: device))
        let words = session.created.device.split(separator: " ")
        threadCount =
            words.firstIndex(where: { $0.hasPrefix("thread") }).flatMap { $0 > 0 ? Int(words[$0 - 1]) : nil }
            ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        source = try SharedMemory(creating: "bench-source", size: from.size)
        target = try SharedMemory(creating: "bench-target", size: to.size)
        guard let samples = source.mutableBytes, let result = target.mutableBytes else {
            throw ClientError(.connectionFailed, "the frames' memory is not writable")
        }
        fill(samples, from.layout, formats.0, Self.width, Self.height)
        _ = result.initializeMemory(as: UInt8.self, repeating: 1)
        try session.addPool(source, id: 1)
        try session.addPool(target, id: 2)
        copySize = (from.size + to.size) / 2
        copy = UnsafeMutableRawBufferPointer.allocate(byteCount: copySize, alignment: 64)
        _ = copy.initializeMemory(as: UInt8.self, repeating: 1)
    }

    private static func image(_ format: PixelFormat) -> CreateTransferSession.Image {
        switch format {
        case .rgba16f: CreateTransferSession.Image(pixelFormat: format.rawValue, primaries: "p3")
        case .p010, .i010:
            CreateTransferSession.Image(
                pixelFormat: format.rawValue, primaries: "2020", transfer: "pq", matrix: "2020", siting: "topleft")
        default: CreateTransferSession.Image(pixelFormat: format.rawValue)
        }
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

    func convert(_ frameID: UInt64) throws {
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
func transfer(
    _ daemon: Daemon, rounds: Int, device: String = "cpu",
    formats: (PixelFormat, PixelFormat) = (.p010, .rgba16f)
) throws -> [String: PropertyValue] {
    let bench = try TransferBench(daemon, device: device, formats)
    defer { bench.close() }
    let (converted, copied) = try bench.run(rounds: rounds)
    return [
        "device": .string(bench.session.created.device), "threads": .int(Int64(bench.threadCount)),
        "bytes_moved": .int(Int64(bench.copySize) * 2),
        "convert_ms": .double(percentile(converted, 0.5)), "memcpy_ms": .double(percentile(copied, 0.5)),
        "convert_best_ms": .double(percentile(converted, 0)), "memcpy_best_ms": .double(percentile(copied, 0)),
        // The median of each round's ratio: a conversion and a copy ran one after the other, so that a change of the machine's speed
        // affects both.
        "ratio": .double(percentile(zip(converted, copied).map { $0 / $1 }, 0.5)),
    ]
}

/// The same for every pair of a Y'CbCr format and half floats, by names such as "P010-AB4H".
func transfers(_ daemon: Daemon, rounds: Int) throws -> [String: PropertyValue] {
    var found: [String: PropertyValue] = [:]
    for format in PixelFormat.yCbCr + [.yuva] {
        for formats in [(format, PixelFormat.rgba16f), (.rgba16f, format)] {
            let result = try transfer(daemon, rounds: rounds, formats: formats)
            let name = "\(formats.0.rawValue)-\(formats.1.rawValue)"
            for key in ["convert_best_ms", "ratio"] { found["\(name) \(key)"] = result[key] }
        }
    }
    return found
}

/// Writes every code of the video range, and chroma that varies; half floats of 0 to 1.
private func fill(
    _ memory: UnsafeMutableRawBufferPointer, _ layout: FrameLayout, _ format: PixelFormat, _ width: Int,
    _ height: Int
) {
    let shift = format == .p010 ? 6 : 0
    for (index, plane) in layout.planes.enumerated() {
        let row = format.rowBytes(plane: index, width: width)
        for line in 0..<format.rows(plane: index, height: height) {
            let start = Int(plane.offset) + line * Int(plane.stride)
            let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[start..<start + row])
            let words = bytes.bindMemory(to: UInt16.self)
            switch format.bitDepth {
            case 16:
                for x in words.indices { words[x] = Float16(Float((x * 7 + line * 13) % 877) / 877).bitPattern }
            case 10:
                for x in words.indices {
                    let code = index == 0 ? 64 + (x * 7 + line * 13) % 877 : 480 + (x + line) % 65
                    words[x] = UInt16(code << shift)
                }
            default:
                for x in bytes.indices {
                    bytes[x] = UInt8(index == 0 ? 16 + (x * 7 + line * 13) % 219 : 120 + (x + line) % 17)
                }
            }
        }
    }
}

/// Lists of effects by what `bench.py` calls them.
private let effectLists: [(name: String, effects: [String])] = [
    (
        "exposure, saturation, cdl and vignette",
        ["exposure:ev=0.5", "saturation:s=1.2", "cdl:slope=1.1/1/0.9,offset=0.01", "vignette:intensity=0.5"]
    ),
    ("cdl with powers", ["cdl:power=1.25/1.1/0.8"]), ("sepia", ["sepia"]),
    ("curve", ["curve:points=0/0/0.18/0.12/0.5/0.55/1/1/4/3"]),
    ("key, despill and background", ["key:color=1acc33", "despill", "background:color=204060"]),
    ("lut", ["lut:table=0,space=pq"]),
]

/// The text of a cube that changes nothing.
private func cube(size: Int) -> String {
    var text = "LUT_3D_SIZE \(size)\n"
    for index in 0..<size * size * size {
        let entry = [index % size, index / size % size, index / size / size]
        text += entry.map { String(Float($0) / Float(size - 1)) }.joined(separator: " ") + "\n"
    }
    return text
}

/// Milliseconds of a conversion of P010 to half floats with effects, and the median of each round's ratio to one without.
func effects(_ daemon: Daemon, rounds: Int, device: String) throws -> [String: PropertyValue] {
    let plain = try TransferBench(daemon, device: device, (.p010, .rgba16f))
    defer { plain.close() }
    var found: [String: PropertyValue] = ["device": .string(plain.session.created.device)]
    for (name, list) in effectLists {
        var options = CreateTransferSession.Options()
        options.effects = list
        if name == "lut" { options.tables = [cube(size: 9)] }
        let bench = try TransferBench(daemon, device: device, (.p010, .rgba16f), options: options)
        defer { bench.close() }
        var (times, ratios): ([Double], [Double]) = ([], [])
        for round in 0..<rounds {
            var start = ContinuousClock.now
            try bench.convert(UInt64(round))
            let own = milliseconds(since: start)
            start = .now
            try plain.convert(UInt64(round))
            // The first round also maps the pools.
            guard round > 0 else { continue }
            times.append(own)
            ratios.append(own / milliseconds(since: start))
        }
        found["\(name) ms"] = .double(percentile(times, 0.5))
        found["\(name) ratio"] = .double(percentile(ratios, 0.5))
    }
    return found
}
