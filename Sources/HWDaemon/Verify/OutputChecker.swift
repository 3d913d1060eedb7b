// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDLibAV
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire

/// Decodes samples of a hardware encoder's output and compares the pictures with their frames, as long as their session lasts.
///
/// The samples come from a process that runs a driver, and are not trusted.
struct OutputChecker {
    private let memory: SampleMemory
    private var rule = WrongPictureRule()
    /// The present group's decoder; nil before the first group, and after the decoder was drained.
    private var decoder: ReferenceDecoder?
    private var group: CodedVideoSequence?
    /// Presentation times of the pictures inside the decoder, and the frames' luma.
    private var pending: [Int64] = []
    private var lumas: [Int64: [UInt8]] = [:]

    /// Whether this process was started to check an encoder's output: it has the memory for that.
    static var isRequested: Bool { fcntl(WorkerDescriptor.samples, F_GETFD) >= 0 }

    /// Checks samples until the broker closes the channel.
    static func run() -> Never {
        do {
            try ProcessControl.confine()
            // Sessions with RealTime come before the checks of others.
            try? ProcessControl.lowerPriority(by: SessionPriority.normal.niceness)
            try Sandbox.start(recordingIn: StatsPage(receiving: OwnedFD(WorkerDescriptor.stats)))
            var checker = OutputChecker(memory: try SampleMemory(receiving: OwnedFD(WorkerDescriptor.samples)))
            try Sandbox.apply(try receive(SandboxRequest.self) ?? SandboxRequest(policy: .codec, mode: .enforce))
            while let sample = try receive(OutputSample.self) {
                let finding = checker.check(sample)
                // Before the encoder may give another: the broker expects an answer to each.
                try PacketSocket.send(try JSON.encode(finding), to: WorkerDescriptor.broker)
                checker.memory.confirmedTime = checker.pending.min() ?? .max
                checker.memory.turn = finding.fault == nil || sample.onlyReports ? .encoder : .nobody
            }
        } catch {
            let text = "\(error)\n"
            _ = text.withCString { write(2, $0, strlen($0)) }
        }
        // Skips the libraries' exit handlers, which nothing needs.
        _exit(0)
    }

    private init(memory: SampleMemory) { self.memory = memory }

    private static func receive<Packet: Decodable>(_ type: Packet.Type) throws -> Packet? {
        guard case .bytes(let bytes) = try PacketSocket.receive(from: WorkerDescriptor.broker, deadline: nil) else {
            return nil
        }
        return try JSON.decode(type, from: bytes)
    }

    /// Decodes and compares one sample.
    private mutating func check(_ sample: OutputSample) -> OutputFinding {
        var finding = OutputFinding(compared: 0, worst: nil, fault: nil)
        guard let units = copy(sample) else {
            finding.fault = "it gave no valid sample of its output"
            return finding
        }
        do throws(LibAVError) {
            try reopen(for: sample)
            for (unit, bytes) in zip(sample.units, units) {
                let picture = CodedVideoSequence.Picture(pts: unit.pts, bytes: bytes)
                if decoder == nil, picture.isIDR || group == nil && !sample.continues { try open(sample.record) }
                group?.add(picture)
                guard let decoder else {
                    memory.hasUndecodedPictures = true
                    continue
                }
                pending.append(picture.pts)
                try decoder.decodeLuma(bytes) { compare($0, sample, &finding) }
            }
            // Otherwise the next key frame is waited for.
            guard let decoder else {
                lumas = [:]
                return finding
            }
            guard sample.isLast else { return finding }
            self.decoder = nil
            try decoder.decodeLuma(nil) { compare($0, sample, &finding) }
            // What is missing was in the stream and did not come out.
            if !pending.isEmpty, finding.fault == nil {
                finding.fault = "\(pending.count) of its pictures cannot be decoded"
            }
            (pending, lumas) = ([], [:])
        } catch {
            finding.fault = finding.fault ?? "its output cannot be decoded: \(error.description)"
            (decoder, group) = (nil, nil)
            (pending, lumas) = ([], [:])
        }
        return finding
    }

    private mutating func open(_ record: String) throws(LibAVError) {
        decoder = try ReferenceDecoder(record: Hexadecimal.bytes(record) ?? [])
        group = CodedVideoSequence(record: record)
        pending = []
    }

    /// Closes the decoder where the sample begins another stream, and replaces it where it has returned all its pictures and the
    /// sample continues the group: these are decoded again.
    private mutating func reopen(for sample: OutputSample) throws(LibAVError) {
        if !sample.continues || !sample.record.isEmpty && sample.record != group?.record {
            (decoder, group, pending) = (nil, nil, [])
        } else if decoder == nil, !sample.units.isEmpty, let record = group?.record,
            let pictures = group?.takePictures()
        {
            let next = try ReferenceDecoder(record: Hexadecimal.bytes(record) ?? [])
            for picture in pictures {
                pending.append(picture.pts)
                // They were compared.
                try next.decodeLuma(picture.bytes) { _ in if let least = pending.min() { forget(least) } }
            }
            decoder = next
        }
    }

    private mutating func forget(_ pts: Int64) {
        if let index = pending.firstIndex(of: pts) { pending.remove(at: index) }
    }

    /// Copies a sample out of the memory; nil where it is not valid.
    private mutating func copy(_ sample: OutputSample) -> [[UInt8]]? {
        let dimensions = 1...CompressionRequest.maxDimension
        guard dimensions.contains(sample.width), dimensions.contains(sample.height),
            dimensions.contains(sample.rowStep)
        else { return nil }
        let rows = (sample.height + sample.rowStep - 1) / sample.rowStep
        guard sample.width * rows <= SampleMemory.slotSize, sample.units.count <= OutputSample.maxCount,
            sample.lumas.count <= SampleMemory.slotCount
        else { return nil }
        let packets = UnsafeRawBufferPointer(memory.packets(sample.half))
        var units: [[UInt8]] = []
        for unit in sample.units {
            guard unit.offset >= 0, unit.size > 0, unit.offset <= packets.count,
                unit.size <= packets.count - unit.offset
            else { return nil }
            units.append(Array(packets[unit.offset..<unit.offset + unit.size]))
        }
        if !sample.continues { lumas = [:] }
        for luma in sample.lumas {
            let slot = UnsafeRawBufferPointer(memory.slot(luma.slot))
            guard slot.count >= sample.width * rows else { return nil }
            lumas[luma.pts] = Array(slot[..<(sample.width * rows)])
        }
        // A decoder delays fewer pictures than a sample has; more times than slots are made up.
        let isPlausible = lumas.count <= SampleMemory.slotCount && pending.count <= OutputSample.maxCount
        return isPlausible ? units : nil
    }

    /// Compares the next picture, in presentation order.
    private mutating func compare(_ picture: DecodedLuma, _ sample: OutputSample, _ finding: inout OutputFinding) {
        guard let pts = pending.min(), let index = pending.firstIndex(of: pts) else {
            finding.fault = finding.fault ?? "it has more pictures than frames"
            return
        }
        pending.remove(at: index)
        guard let luma = lumas.removeValue(forKey: pts) else { return }
        // It may have come with an earlier sample, which had other rows.
        guard luma.count == sample.width * ((sample.height + sample.rowStep - 1) / sample.rowStep) else {
            finding.fault = finding.fault ?? "it gave no valid sample of its output"
            return
        }
        // Hardware codes odd frames with their last column and row repeated, and the stream shows the next even size.
        guard (sample.width...(sample.width + 1) / 2 * 2).contains(picture.width),
            (sample.height...(sample.height + 1) / 2 * 2).contains(picture.height)
        else {
            finding.fault =
                finding.fault
                ?? "a picture has \(picture.width)x\(picture.height) samples, its frame \(sample.width)x\(sample.height)"
            return
        }
        let psnr = WrongPictureRule.psnr(
            squaredError: Self.squaredError(picture, luma, sample), count: luma.count)
        finding.compared += 1
        finding.worst = min(finding.worst ?? psnr, psnr)
        if let fault = rule.check(psnr) { finding.fault = finding.fault ?? fault }
    }

    /// The sum over the rows that the sample has, of the eight high bits.
    private static func squaredError(_ picture: DecodedLuma, _ luma: [UInt8], _ sample: OutputSample) -> UInt64 {
        let width = sample.width
        var sum: UInt64 = 0
        luma.withUnsafeBufferPointer { luma in
            for (index, row) in stride(from: 0, to: sample.height, by: sample.rowStep).enumerated() {
                let line = picture.base + row * picture.stride
                let expected = UnsafeBufferPointer(rebasing: luma[index * width..<(index + 1) * width])
                sum &+=
                    picture.bitDepth == 8
                    ? squaredError(line.assumingMemoryBound(to: UInt8.self), expected, shift: 0)
                    : squaredError(
                        line.assumingMemoryBound(to: UInt16.self), expected, shift: picture.bitDepth - 8)
            }
        }
        return sum
    }

    private static func squaredError<Sample: FixedWidthInteger>(
        _ line: UnsafePointer<Sample>, _ expected: UnsafeBufferPointer<UInt8>, shift: Int
    ) -> UInt64 {
        var sum: UInt32 = 0
        for column in expected.indices {
            let difference = Int32(truncatingIfNeeded: line[column] >> shift) - Int32(expected[column])
            sum &+= UInt32(bitPattern: difference &* difference)
        }
        return UInt64(sum)
    }
}
