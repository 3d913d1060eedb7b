// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDColor
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// The frames per second of decoding and of converting, through sessions of the daemon.
struct BenchSpeeds {
    let daemon: Daemon
    let interruption: Interruption

    /// Decodes the first frames of a file in hardware and in software; what is not possible is a row with the reason.
    func decoding(_ input: String, frames: Int, hardware: Bool, software: Bool) -> [BenchReport.Speed] {
        let ways: [(isHardware: Bool, specification: [PropertyKey: PropertyValue])] = [
            (true, [.requireHardwareDecoder: .bool(true)]), (false, [.enableHardwareDecoder: .bool(false)]),
        ]
        return ways.filter { $0.isHardware ? hardware : software }.map { way in
            let word = way.isHardware ? "hardware" : "software"
            do {
                return try decode(input, frames: frames, way.specification)
            } catch {
                return BenchReport.Speed(
                    name: word, usingHardware: way.isHardware, error: CommandFailure(error).reason)
            }
        }
    }

    private func decode(
        _ input: String, frames: Int, _ specification: [PropertyKey: PropertyValue]
    ) throws -> BenchReport.Speed {
        var options = MediaReader.Options()
        (options.decoding, options.requiresFile) = (.daemonIfPossible, true)
        let reader = try MediaReader(path: input, options: options)
        interruption.onSignal { reader.cancel() }
        guard !reader.decodesInProcess else {
            throw MediaError(.unsupported, "\(reader.video.codec) is decoded by the program that reads the file")
        }
        let source = try SessionSource(
            reader, daemon, SessionSource.Request(specification: specification),
            isInterrupted: { interruption.isSet })
        let start = MonotonicTime.now
        var count = 0
        while count < frames, let item = try source.next() {
            guard case .frame(let frame) = item else { continue }
            try frame.release()
            count += 1
        }
        if interruption.isSet { throw CommandFailure.interrupted }
        let seconds = Double(MonotonicTime.now.nanoseconds(since: start)) / 1e9
        let created = source.session.created
        return BenchReport.Speed(
            name: "\(created.usingHardware ? "hardware" : "software") \(created.decoderID)",
            usingHardware: created.usingHardware, framesPerSecond: Double(count) / max(seconds, 1e-9), frames: count
        )
    }

    /// Converts the clip to RGB of half floats on the CPU and on a Vulkan device.
    func converting(_ clip: BenchClip) -> [BenchReport.Speed] {
        ["cpu", "vulkan"].map { device in
            do {
                return try convert(clip, device)
            } catch {
                return BenchReport.Speed(name: device, error: CommandFailure(error).reason)
            }
        }
    }

    private func convert(_ clip: BenchClip, _ device: String) throws -> BenchReport.Speed {
        let video = clip.video
        let signal = try SignalDescription(video.color, width: video.width, height: video.height)
        let session = try TransferSession(
            daemon,
            CreateTransferSession.Parameters(
                width: video.width, height: video.height,
                source: CreateTransferSession.Image(video.format, signal),
                target: CreateTransferSession.Image(pixelFormat: PixelFormat.rgba16f.rawValue),
                device: device))
        defer { session.invalidate() }
        let packed = FrameLayout.packed(.rgba16f, width: video.width, height: video.height)
        let depth = min(FrameTransfer.depth, clip.frames.count)
        let targets = try FramePool(slotSize: packed.size, slotCount: depth)
        try session.addPool(clip.pool.memory, id: 0)
        try session.addPool(targets.memory, id: 1)
        let start = MonotonicTime.now
        for number in 0..<clip.frames.count + depth {
            if interruption.isSet { throw CommandFailure.interrupted }
            if number >= depth { try receive(session) }
            guard number < clip.frames.count else { continue }
            let slot = number % depth
            try session.transfer(
                TransferFrame(
                    frameID: UInt64(number),
                    source: TransferFrame.Place(poolID: 0, layout: clip.frames[number].layout),
                    target: TransferFrame.Place(
                        poolID: 1, layout: packed.layout.moved(by: UInt64(slot * targets.slotSize)))))
        }
        let seconds = Double(MonotonicTime.now.nanoseconds(since: start)) / 1e9
        return BenchReport.Speed(
            name: "\(device): \(session.created.device)",
            framesPerSecond: Double(clip.frames.count) / max(seconds, 1e-9), frames: clip.frames.count)
    }

    private func receive(_ session: TransferSession) throws {
        guard case .frame(let answer)? = try session.nextEvent(timeout: SessionTimeout.limit) else {
            throw SessionTimeout.failure
        }
        guard answer.status == .ok else { throw SessionError(answer.status, answer.reason) }
    }
}
