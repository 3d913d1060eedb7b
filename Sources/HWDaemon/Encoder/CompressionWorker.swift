// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDColor
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import HWDWorker
internal import Synchronization

/// One compression session: the I/O thread's part, and what it shares with the codec thread.
final class CompressionWorker: SessionHandler, @unchecked Sendable {
    let port: SessionPort
    /// The encoder, where it is hardware; used by the codec thread only, once it runs.
    let hardware: OpenHardware?
    /// The probe's results about Vulkan; the preferred GPU is the one that encodes.
    let vulkan: VulkanHints
    /// How frames of another size become pictures.
    let scaling: ScalingOptions
    /// The number of frames to encode; nil where it is unknown.
    let frames: Int?
    /// Pools that the codec thread's converter must forget.
    let removedPools = RemovedPools()

    /// The session's frames, as the client sends them.
    private let frameSide: TransferSide
    private let arena: PacketArena
    private let tasks = WorkQueue<EncodeTask>(
        capacity: EncodeTask.capacity(frames: CompressionAdmission.maxFramesInFlight))
    private let state: Mutex<CompressionAdmission>
    /// Whether frames are converted or scaled, which a GPU may do.
    private let convertsFrames: Bool
    /// Whether the session continues where another one failed.
    private let isContinuation: Bool

    /// Answers the Create call; a refused call ends the process.
    init(
        _ assigned: AssignedSession, _ parameters: CreateCompressionSession.Parameters,
        _ devices: EncoderWorker.Devices
    ) throws {
        let start = assigned.start
        let setup: SessionSetup
        do throws(SessionError) {
            setup = try SessionSetup(start, parameters, devices, willOpen: assigned.willOpen)
            arena = try PacketArena(
                timeout: .seconds(start.limits.clientStallSeconds), ledger: assigned.memory)
        } catch {
            assigned.refuse(error)
        }
        let request = setup.session.request
        state = Mutex(setup.session)
        frameSide = TransferSide(
            format: request.pixelFormat, width: request.frameSize.width, height: request.frameSize.height)
        hardware = setup.hardware
        isContinuation = start.firstCodecID != nil
        (convertsFrames, scaling, frames) = (request.convertsFrames, setup.scaling, setup.frames)
        vulkan = VulkanHints(
            preferred: setup.choice.encoder.pciAddress ?? start.vulkan.preferred, faults: start.vulkan.faults,
            speeds: start.vulkan.speeds, avoidReason: start.vulkan.avoidReason)
        assigned.stats.set(.width, UInt64(request.width))
        assigned.stats.set(.height, UInt64(request.height))
        port = try assigned.accept(
            setup.reply(to: start), setup.report, runsDriver: hardware != nil || convertsFrames)
    }

    /// Serves the client until the session ends, which ends the process.
    func run() throws {
        _ = try Thread.spawn(name: "codec") { [self] in
            var thread = EncodeThread(worker: self, tasks: tasks, arena: arena)
            thread.run()
        }
        port.run(self)
    }

    // MARK: - Messages

    func sessionBegan() {
        send(AddArena(arenaID: PacketArena.arenaID, size: UInt64(PacketArena.size)), fds: [arena.file])
    }

    func setProperties(_ values: [String: PropertyValue]) throws(SessionError) {
        try state.withLock { session throws(SessionError) in
            var changed = session
            try changed.setProperties(values)
            if let hardware {
                try hardware.check(changed.configuration)
            } else {
                try SessionSetup.tryOptions(of: changed)
            }
            session = changed
        }
    }

    func copyProperties(_ names: [String]) throws(SessionError) -> [String: PropertyValue] {
        let pending = port.stats[.framesIn] &- port.stats[.framesOut]
        return try state.withLock { session throws(SessionError) in
            session.publish(.numberOfPendingFrames, .int(Int64(clamping: pending)))
            return try session.properties.copy(names)
        }
    }

    func access(to pool: borrowing OwnedFD) -> SharedMemory.Access {
        // Most GPUs read a pool in place only where its pages may be written.
        convertsFrames && SharedMemory.allowsWriting(pool) ? .readWrite : .readOnly
    }

    var pictureSides: [(use: AddPicture.Uses, frames: TransferSide)] { [(.source, frameSide)] }

    func isUsing(pool id: UInt32) -> Bool { state.withLock { $0.isUsing(pool: id) } }

    func didRemove(_ pool: SharedMemory) {
        guard convertsFrames else { return }
        removedPools.add(pool)
        // The thread takes removed pools before each task, so any that waits will do.
        _ = tasks.push(.poolsRemoved, merge: { _ in true })
    }

    func handle(
        _ opcode: Opcode, _ sequence: UInt32, _ payload: RawSpan, _ pools: PoolLedger<SharedMemory>
    ) throws(SessionError) {
        switch opcode {
        case .encodeFrame: try admit(try EncodeFrame(decoding: payload), pools)
        case .encodeFrameWithMetadata: try admit(try EncodeFrameWithMetadata(decoding: payload).frame, pools)
        case .releasePacket: try arena.release(try ReleasePacket(decoding: payload).packetID)
        case .prepare:
            try ByteReader().expectEnd(of: payload)
            if try !open(sequence: sequence) { try tasks.enqueue(.acknowledge(sequences: [sequence])) }
        case .completeFrames:
            let request = try CompleteFrames(decoding: payload)
            try tasks.enqueue(.finish(until: request.untilPTS, sequences: [sequence]))
        default: throw SessionError(.parameter, "message \(opcode) is not handled")
        }
    }

    /// Opens the encoder; returns false if it is open already.
    private func open(sequence: UInt32?) throws(SessionError) -> Bool {
        guard let configuration = try state.withLock({ session throws(SessionError) in try session.prepare() })
        else { return false }
        try tasks.enqueue(.open(configuration, sequence: sequence))
        return true
    }

    private func admit(_ frame: EncodeFrame, _ pools: PoolLedger<SharedMemory>) throws(SessionError) {
        var frame = frame
        let picture = try port.usePicture(.source, pool: frame.poolID, &frame.layout)
        _ = try open(sequence: nil)
        let (change, admitted, memory) = try state.withLock { session throws(SessionError) in
            let (admitted, memory) = try session.admit(frame, in: pools)
            return (session.takeChange(), admitted, memory)
        }
        port.stats.add(.framesIn, 1)
        if let change { try tasks.enqueue(.change(change)) }
        try tasks.enqueue(.encode(admitted, memory, picture))
    }

    // MARK: - For the codec thread

    /// The priority that the properties describe at present.
    var priority: SessionPriority { state.withLock { SessionPriority($0.properties) } }

    /// Returns a frame that the encoder has read.
    func releaseFrame(_ frameID: UInt64) {
        state.withLock { $0.release(frameID) }
        port.stats.set(.progressNs, MonotonicTime.now.nanoseconds)
        send(FrameReleased(frameID: frameID))
    }

    /// What gives samples of a hardware encoder's output to be checked; nil where none are.
    func makeSampler(_ configuration: EncoderConfiguration) -> OutputSampler? {
        guard hardware != nil,
            let mode = state.withLock({
                OutputSampler.Mode($0, configuration, isContinuation: isContinuation)
            }),
            let memory = try? SampleMemory(receiving: OwnedFD(WorkerDescriptor.samples))
        else { return nil }
        port.memory.add(memory.shared)
        return OutputSampler(memory, configuration, mode)
    }

    /// Why the output is not checked although the properties ask for it; called where there is no sampler.
    func unverifiedReason(_ configuration: EncoderConfiguration) -> String? {
        let mode = state.withLock { $0.properties.string(.verifyOutput) ?? "sampled" }
        guard hardware != nil, mode != "off" else { return nil }
        if configuration.alpha != nil { return mode == "all" ? "streams with alpha are not verified" : nil }
        return "the output is not verified: there is no memory for it"
    }

    /// Publishes the encoder's deviations from the properties.
    func publish(notices: [String]) {
        state.withLock { $0.setEncoderNotices(notices) }
    }

    /// Publishes which device converts frames, and why.
    func publish(_ conversion: InputConversion) {
        let (device, reason, fallback) = (conversion.device, conversion.reason, conversion.fallbackReason)
        state.withLock { session in
            session.publish(.pixelTransferDevice, .string(device))
            session.publish(.pixelTransferDeviceReason, .string(reason))
            session.publish(.pixelTransferFallbackReason, fallback.map(PropertyValue.string))
        }
    }

    /// Counts a packet that is about to be sent.
    func countPacket(bytes: Int) {
        port.stats.add(.framesOut, 1)
        port.stats.add(.bytesOut, UInt64(bytes))
    }
}
