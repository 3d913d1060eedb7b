// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// One run of `hwctl convert`: file → session → file.
final class ConvertJob {
    /// Frames in flight: one is read and one written while a third is converted.
    private static let slotCount = 3

    /// The pools of this connection, by the identifiers the session knows them by.
    private enum PoolID {
        static let source: UInt32 = 1
        static let target: UInt32 = 2
    }

    /// What to convert.
    struct Request {
        var input: String
        var output: String
        /// Whether a file that has the output's name is replaced.
        var replaces = true
        var parameters: CreateTransferSession.Parameters
        /// Tables of effects that `parameters` do not have.
        var tables: [[UInt8]] = []
        var source: PixelFormat
        var target: PixelFormat
        var json = false
    }

    /// A format's layout in raw files, and bytes per frame.
    private typealias RawLayout = (layout: FrameLayout, size: Int)

    private let request: Request
    private let source: RawLayout
    private let target: RawLayout
    private var slots: [(source: FramePool.Slot, target: FramePool.Slot)] = []
    private var sent: UInt64 = 0

    init(_ request: Request) {
        self.request = request
        source = Self.packed(request.source, request.parameters.width, request.parameters.height)
        let size = request.parameters.targetSize
        target = Self.packed(request.target, size.width, size.height)
    }

    func run(_ interruption: Interruption) throws {
        let reader = try RawFrameReader(path: request.input, frameSize: source.size)
        let writer = try RawFrameWriter(
            path: request.output, inputs: [request.input], replaces: request.replaces)
        let daemon = try SessionRequest.findDaemon()
        var parameters = request.parameters
        parameters.frames = reader.frameCount
        let session = try TransferSession(daemon, parameters, tables: request.tables)
        if SessionRequest.isBackground { try session.setProperties(SessionRequest.properties) }
        let sources = try FramePool(slotSize: source.size, slotCount: Self.slotCount)
        let targets = try FramePool(slotSize: target.size, slotCount: Self.slotCount)
        try session.addPool(sources, id: PoolID.source)
        try session.addPool(targets, id: PoolID.target)

        var progress = Progress(total: reader.frameCount)
        defer { progress.clear() }
        var isInputDone = false
        while !isInputDone || !slots.isEmpty {
            if interruption.isSet { throw CommandFailure.interrupted }
            if !isInputDone, let slot = sources.acquire() {
                let bytes = sources.bytes(of: slot)
                if try reader.read(into: bytes, isInterrupted: { interruption.isSet }) {
                    try send(slot, targets, session)
                } else {
                    sources.release(slot)
                    isInputDone = true
                }
            } else {
                try receive(session, sources, targets, writer)
                progress.update(done: writer.frames)
            }
        }
        session.invalidate()
        try writer.finish()
        let seconds = progress.seconds
        progress.clear()
        try Summary(request, session.created, writer, seconds: seconds).report(json: request.json)
    }

    private func send(_ slot: FramePool.Slot, _ targets: FramePool, _ session: TransferSession) throws {
        guard let target = targets.acquire() else {
            throw CommandFailure(.software, "a source slot is free, but no target slot is")
        }
        try session.transfer(
            TransferFrame(
                frameID: sent,
                source: TransferFrame.Place(
                    poolID: PoolID.source, layout: Self.moved(source.layout, by: slot.offset)),
                target: TransferFrame.Place(
                    poolID: PoolID.target, layout: Self.moved(self.target.layout, by: target.offset))))
        slots.append((slot, target))
        sent += 1
    }

    /// Waits for the oldest frame and writes it: frames are answered in the order they were sent.
    private func receive(
        _ session: TransferSession, _ sources: FramePool, _ targets: FramePool, _ writer: RawFrameWriter
    ) throws {
        guard case .frame(let answer)? = try session.nextEvent(timeout: SessionTimeout.limit) else {
            throw SessionTimeout.failure
        }
        guard answer.status == .ok else { throw SessionError(answer.status, answer.reason) }
        let slot = slots.removeFirst()
        try writer.write(UnsafeRawBufferPointer(rebasing: targets.bytes(of: slot.target)[..<target.size]))
        sources.release(slot.source)
        targets.release(slot.target)
    }

    /// Planes and rows without gaps, as in raw files.
    private static func packed(_ format: PixelFormat, _ width: Int, _ height: Int) -> RawLayout {
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
            _ request: Request, _ created: CreateTransferSession.Reply, _ writer: RawFrameWriter,
            seconds: Double
        ) {
            input = request.input
            output = request.output
            (width, height) = request.parameters.targetSize
            (from, to) = (request.source.rawValue, request.target.rawValue)
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

extension CreateTransferSession.Parameters {
    /// The size of the converted frames.
    fileprivate var targetSize: (width: Int, height: Int) { (targetWidth ?? width, targetHeight ?? height) }
}
