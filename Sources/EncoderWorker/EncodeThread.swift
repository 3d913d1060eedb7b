// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSessions
internal import HWDTransport
internal import HWDWire
internal import HWDWorker

/// A frame on its way to the codec thread; keeps its pool mapped.
struct PendingFrame: Sendable {
    var frame: EncodeFrame
    var pool: SharedMemory
}

/// The I/O thread's tasks for the codec thread, done in order.
enum EncodeTask: Sendable {
    /// Open the encoder, then reply to the message with this sequence number, if any.
    case open(EncoderConfiguration, sequence: UInt32?)
    case encode(PendingFrame)
    /// Flush the encoder, then reply.
    case finish(sequence: UInt32)
    /// Reply: every earlier task is done.
    case acknowledge(sequence: UInt32)
    /// Make the converter forget `WorkerSession.removedPools`.
    case poolsRemoved
}

/// The thread that calls the encoder: a call may take seconds, for which the I/O thread must not wait.
struct EncodeThread {
    let worker: WorkerSession
    let tasks: WorkQueue<EncodeTask>
    let arena: PacketArena

    private var encoder: (any Encoder)?
    /// Converts RGB frames to the encoder's format.
    private var conversion: InputConversion?
    /// The encoder's notices that were published.
    private var notices: [String] = []
    /// Durations of the frames inside the encoder, by pts.
    private var durations: [Int64: Int64] = [:]

    init(worker: WorkerSession, tasks: WorkQueue<EncodeTask>, arena: PacketArena) {
        self.worker = worker
        self.tasks = tasks
        self.arena = arena
    }

    /// Works until the queue is closed; every error ends the session.
    mutating func run() {
        while case .element(let task) = tasks.pop() {
            worker.port.stats.set(.busySinceNs, MonotonicTime.now.nanoseconds)
            for pool in worker.removedPools.takeAll() { conversion?.forget(pool) }
            do throws(SessionError) {
                try perform(task)
            } catch {
                failed(error)
            }
            worker.port.stats.set(.busySinceNs, 0)
        }
    }

    /// Ends the session when its encoder fails.
    ///
    /// A later version could continue here with another encoder, from the next key frame.
    private func failed(_ error: SessionError) -> Never { worker.end(error.status, error.reason) }

    private mutating func perform(_ task: EncodeTask) throws(SessionError) {
        switch task {
        case .open(let configuration, let sequence):
            try open(configuration)
            if let sequence { worker.send(Reply(sequence: sequence)) }
        case .encode(let frame):
            try encode(frame)
        case .finish(let sequence):
            try encoder?.finish { (picture, bytes) throws(SessionError) in try emit(picture, bytes) }
            worker.send(Reply(sequence: sequence))
        case .acknowledge(let sequence):
            worker.send(Reply(sequence: sequence))
        case .poolsRemoved: break
        }
    }

    private mutating func open(_ configuration: EncoderConfiguration) throws(SessionError) {
        if let settings = configuration.conversion {
            let conversion = try InputConversion(settings, configuration, worker.vulkan)
            worker.publish(conversion)
            self.conversion = conversion
        }
        let encoder: any Encoder =
            if let hardware = worker.hardware {
                try hardware.encoder(for: configuration)
            } else {
                try LayeredEncoder.software(configuration)
            }
        self.encoder = encoder
        try publishNotices()
        worker.port.send(.formatDescription, encoder.formatDescription)
    }

    private mutating func encode(_ pending: PendingFrame) throws(SessionError) {
        guard let encoder, let base = pending.pool.bytes.baseAddress else {
            throw SessionError(.invalidSession, "a frame came before the encoder was open")
        }
        let frame = pending.frame
        durations[frame.pts] = frame.duration
        // The layout was checked against the pool's size when the frame was admitted.
        var planes = frame.layout.planes(at: base)
        if let conversion { planes = try conversion.convert(planes, in: pending.pool, frame.sourceAlphaMode) }
        let input = InputPicture(
            planes: planes, frameID: frame.frameID, pts: frame.pts,
            forceKeyFrame: frame.flags.contains(.forceKeyFrame),
            baseFrameQP: frame.baseFrameQP < 0 ? nil : Int(frame.baseFrameQP),
            // A converted frame has the stream's mode.
            alphaMode: conversion == nil ? frame.sourceAlphaMode : nil)
        try encoder.encode(input) { (picture, bytes) throws(SessionError) in try emit(picture, bytes) }
        try publishNotices()
        worker.releaseFrame(frame.frameID)
    }

    /// Publishes the encoder's notices where they changed.
    private mutating func publishNotices() throws(SessionError) {
        guard let current = encoder?.notices, current != notices else { return }
        notices = current
        try worker.publish(notices: current)
    }

    /// Sends one coded picture to the client.
    private mutating func emit(_ picture: EncodedPicture, _ bytes: RawSpan) throws(SessionError) {
        let place = try arena.store(bytes) { isFull in
            worker.port.stats.set(.slotsFullSinceNs, isFull ? MonotonicTime.now.nanoseconds : 0)
        }
        var flags: Packet.Flags = []
        if picture.isSync { flags.insert(.sync) }
        if picture.isDisposable { flags.insert(.disposable) }
        let packet = Packet(
            packetID: place.packetID, frameID: picture.frameID, pts: picture.pts, dts: picture.dts,
            duration: durations.removeValue(forKey: picture.pts) ?? 0,
            arenaID: place.ownMemory == nil ? PacketArena.arenaID : Packet.ownMemory, flags: flags,
            offset: UInt64(place.offset), size: UInt32(bytes.byteCount), nalUnitType: picture.nalUnitType,
            temporalID: picture.temporalLevel)
        worker.countPacket(bytes: bytes.byteCount)
        if let error = picture.meanSquaredError {
            worker.send(
                QualityMetrics(packetID: place.packetID, frameID: picture.frameID, meanSquaredError: error))
        }
        // A descriptor's number does not keep its owner alive.
        withExtendedLifetime(place) {
            worker.send(packet, fds: place.ownMemory.map { [$0.file.rawValue] } ?? [])
        }
    }
}
