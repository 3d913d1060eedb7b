// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDMediaFile
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// One run of `hwctl convert`: file → session → file.
final class ConvertJob {
    /// Frames under way: one is read and one written while another is converted.
    private static let slots = 3

    private let input: String
    private let output: String
    private let parameters: CreateTransferSession.Parameters
    private let source: PixelFormat
    private let target: PixelFormat
    private let json: Bool

    init(
        input: String, output: String, parameters: CreateTransferSession.Parameters, source: PixelFormat,
        target: PixelFormat, json: Bool
    ) {
        self.input = input
        self.output = output
        self.parameters = parameters
        self.source = source
        self.target = target
        self.json = json
    }

    func run(_ interruption: Interruption) throws {
        let (width, height) = (parameters.width, parameters.height)
        let (from, to) = (Self.packed(source, width, height), Self.packed(target, width, height))
        let reader = try RawFrameReader(path: input, frameSize: from.size)
        let writer = try RawFrameWriter(path: output, inputs: [input])
        let session = try TransferSession(try Daemon.findAndReport(), parameters)
        let sources = try FramePool(slotSize: from.size, slotCount: Self.slots)
        let targets = try FramePool(slotSize: to.size, slotCount: Self.slots)
        try session.addPool(sources, id: 1)
        try session.addPool(targets, id: 2)

        var progress = Progress(total: reader.frameCount)
        defer { progress.clear() }
        var slots: [(source: FramePool.Slot, target: FramePool.Slot)] = []
        var isDone = false
        var sent: UInt64 = 0
        while !isDone || !slots.isEmpty {
            if interruption.isSet { throw CommandFailure.interrupted }
            if !isDone, let source = sources.acquire() {
                guard try reader.read(into: sources.bytes(of: source), isInterrupted: { interruption.isSet }) else {
                    sources.release(source)
                    isDone = true
                    continue
                }
                guard let target = targets.acquire() else {
                    throw CommandFailure(.software, "a frame was written, but its place is not free")
                }
                try session.transfer(
                    TransferFrame(
                        frameID: sent,
                        source: TransferFrame.Place(poolID: 1, layout: Self.moved(from.layout, by: source.offset)),
                        target: TransferFrame.Place(poolID: 2, layout: Self.moved(to.layout, by: target.offset))))
                slots.append((source, target))
                sent += 1
                continue
            }
            guard case .frame(let answer)? = try session.nextEvent(timeout: SessionTimeout.limit) else {
                throw SessionTimeout.failure
            }
            guard answer.status == .ok else { throw SessionError(answer.status, answer.reason) }
            // Frames are answered in the order they were sent.
            let slot = slots.removeFirst()
            try writer.write(UnsafeRawBufferPointer(rebasing: targets.bytes(of: slot.target)[..<to.size]))
            sources.release(slot.source)
            targets.release(slot.target)
            progress.update(done: writer.frames)
        }
        session.invalidate()
        try writer.finish()
        let seconds = progress.seconds
        progress.clear()
        try Summary(self, session.created, writer, seconds: seconds).report(json: json)
    }

    /// Planes and rows without gaps: as raw files have them.
    private static func packed(_ format: PixelFormat, _ width: Int, _ height: Int) -> (
        layout: FrameLayout, size: Int
    ) {
        var planes: [FrameLayout.Plane] = []
        var offset = 0
        for plane in 0..<format.planeCount {
            let row = format.rowBytes(plane: plane, width: width)
            planes.append(FrameLayout.Plane(offset: UInt64(offset), stride: UInt32(row)))
            offset += row * format.rows(plane: plane, height: height)
        }
        return (FrameLayout(planes: planes), offset)
    }

    private static func moved(_ layout: FrameLayout, by offset: Int) -> FrameLayout {
        FrameLayout(
            planes: layout.planes.map { FrameLayout.Plane(offset: $0.offset + UInt64(offset), stride: $0.stride) })
    }

    /// What the command reports at its end.
    private struct Summary: CommandSummary {
        private var schema = 1
        private var input: String
        private var output: String
        private var width: Int
        private var height: Int
        private var from: String
        private var to: String
        private var device: String
        private var deviceReason: String?
        private var usingGPU: Bool
        private var fallbackReason: String?
        private var frames: Int
        private var seconds: Double
        private var framesPerSecond: Double
        private var fileBytes: Int

        enum CodingKeys: String, CodingKey {
            case schema, input, output, width, height, from, to, frames, seconds
            case device = "PixelTransferDevice"
            case deviceReason = "PixelTransferDeviceReason"
            case usingGPU = "using_gpu"
            case fallbackReason = "FallbackReason"
            case framesPerSecond = "frames_per_second"
            case fileBytes = "file_bytes"
        }

        init(
            _ job: ConvertJob, _ created: CreateTransferSession.Reply, _ writer: RawFrameWriter, seconds: Double
        ) {
            input = job.input
            output = job.output
            (width, height) = (job.parameters.width, job.parameters.height)
            (from, to) = (job.source.rawValue, job.target.rawValue)
            device = created.device
            deviceReason = created.deviceReason
            usingGPU = created.usingGPU
            fallbackReason = created.fallbackReason
            frames = writer.frames
            self.seconds = seconds
            framesPerSecond = Double(writer.frames) / max(seconds, 1e-6)
            fileBytes = writer.bytes
        }

        var lines: [String] {
            [
                "converter: \(device)" + ((fallbackReason ?? deviceReason).map { " (\($0))" } ?? ""),
                "\(output): \(frames) frames of \(width)x\(height), \(from) to \(to), in "
                    + "\(Progress.decimal(seconds, 2)) s (\(Progress.decimal(framesPerSecond, 1)) fps)",
            ]
        }
    }
}
