// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSessions
internal import HWDTransport
internal import HWDWire
internal import HWDWorker

/// A frame on its way to the codec thread; keeps the memory it lies in mapped.
struct PendingFrame: Sendable {
    var request: FrameRequest
    var pool: SharedMemory
}

/// What the I/O thread asks of the codec thread, in order.
enum EncodeTask: Sendable {
    /// Open the encoder; answer the message with this sequence number, if there was one.
    case open(EncoderConfiguration, sequence: UInt32?)
    /// Encode a frame.
    case encode(PendingFrame)
    /// Give out every picture and answer the message with this sequence number.
    case finish(sequence: UInt32)
    /// Answer the message with this sequence number: everything before it is done.
    case acknowledge(sequence: UInt32)
    /// Let go of pools (`WorkerSession.removedPools`).
    case poolsRemoved
}

/// The thread that calls the encoder, which may take seconds, so that the I/O thread never does.
struct EncodeThread {
    let worker: WorkerSession
    let jobs: WorkQueue<EncodeTask>
    let arena: PacketArena

    private var encoder: (any Encoder)?
    /// Brings frames in RGB to what the encoder takes.
    private var conversion: InputConversion?
    /// Durations of the frames inside the encoder, by pts.
    private var durations: [Int64: Int64] = [:]

    init(worker: WorkerSession, jobs: WorkQueue<EncodeTask>, arena: PacketArena) {
        self.worker = worker
        self.jobs = jobs
        self.arena = arena
    }

    /// Works until the queue is closed; every error ends the session.
    mutating func run() {
        while case .element(let job) = jobs.pop() {
            worker.stats.set(.busySinceNs, MonotonicTime.now.nanoseconds)
            for pool in worker.removedPools.takeAll() { conversion?.forget(pool) }
            do throws(SessionError) {
                try perform(job)
            } catch {
                failed(error)
            }
            worker.stats.set(.busySinceNs, 0)
        }
    }

    /// What becomes of the session when its encoder fails: its end, with the reason.
    ///
    /// This is the place where a session could go on with another encoder, from the next key frame.
    private func failed(_ error: SessionError) -> Never { worker.end(error.status, error.reason) }

    private mutating func perform(_ job: EncodeTask) throws(SessionError) {
        switch job {
        case .open(let configuration, let sequence):
            if let settings = configuration.conversion {
                let conversion = try InputConversion(settings, configuration, worker.vulkan)
                worker.tell(of: conversion)
                self.conversion = conversion
            }
            let encoder: any Encoder =
                if let hardware = worker.hardware {
                    try hardware.encoder(for: configuration)
                } else {
                    try LayeredEncoder.software(configuration)
                }
            self.encoder = encoder
            worker.send(.formatDescription, encoder.formatDescription)
            if let sequence { worker.send(Reply(sequence: sequence)) }
        case .encode(let frame):
            try encode(frame)
        case .finish(let sequence):
            try encoder?.finish { (picture, bytes) throws(SessionError) in try give(picture, bytes) }
            worker.send(Reply(sequence: sequence))
        case .acknowledge(let sequence):
            worker.send(Reply(sequence: sequence))
        case .poolsRemoved: break
        }
    }

    private mutating func encode(_ frame: PendingFrame) throws(SessionError) {
        guard let encoder, let base = frame.pool.bytes.baseAddress else {
            throw SessionError(.invalidSession, "a frame came before the encoder was open")
        }
        let request = frame.request
        durations[request.pts] = request.duration
        // The layout was checked against the pool's size when the frame was admitted.
        var planes = request.layout.planes(at: base)
        if let conversion { planes = try conversion.convert(planes, in: frame.pool) }
        let input = InputPicture(
            planes: planes, frameID: request.frameID, pts: request.pts, forceKeyFrame: request.forceKeyFrame,
            baseFrameQP: request.baseFrameQP < 0 ? nil : Int(request.baseFrameQP))
        try encoder.encode(input) { (picture, bytes) throws(SessionError) in try give(picture, bytes) }
        worker.releaseFrame(request.frameID)
    }

    /// Sends one coded picture to the client.
    private mutating func give(_ picture: EncodedPicture, _ bytes: RawSpan) throws(SessionError) {
        let place = try arena.store(bytes) { isFull in
            worker.stats.set(.slotsFullSinceNs, isFull ? MonotonicTime.now.nanoseconds : 0)
        }
        var flags: Packet.Flags = []
        if picture.isSync { flags.insert(.sync) }
        if picture.isDisposable { flags.insert(.disposable) }
        let packet = Packet(
            packetID: place.packetID, frameID: picture.frameID, pts: picture.pts, dts: picture.dts,
            duration: durations.removeValue(forKey: picture.pts) ?? 0,
            arenaID: place.ownMemory == nil ? PacketArena.arenaID : Packet.ownMemory, flags: flags,
            offset: UInt64(place.offset), size: UInt32(bytes.byteCount), nalUnitType: picture.nalUnitType,
            temporalLevel: picture.temporalLevel)
        worker.countPacket(bytes: bytes.byteCount)
        // A descriptor's number does not keep the memory alive that owns it.
        withExtendedLifetime(place) {
            worker.send(packet, fds: place.ownMemory.map { [$0.file.rawValue] } ?? [])
        }
    }
}
