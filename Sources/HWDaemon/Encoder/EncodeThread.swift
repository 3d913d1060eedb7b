// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDCoding
internal import HWDColor
internal import HWDModel
internal import HWDPolicy
internal import HWDConversion
internal import HWDTransport
internal import HWDWire
internal import HWDWorker
internal import HWDX265

/// The I/O thread's tasks for the codec thread, done in order.
enum EncodeTask: SessionTask {
    /// Open the encoder, then reply to the message with this sequence number, if any.
    case open(EncoderConfiguration, sequence: UInt32?)
    /// Code the frames that follow with this configuration.
    case change(EncoderConfiguration)
    /// Code a frame in a pool, which stays mapped as long as the task exists and may be a copy of dma-bufs.
    case encode(EncodeFrame, SharedMemory, PictureUse?)
    /// If a frame up to this pts is still in the encoder, emit the packets of all frames; then reply to these messages.
    case finish(until: Int64, sequences: [UInt32])
    /// Reply to these messages: every earlier task is done.
    case acknowledge(sequences: [UInt32])
    /// Make the converter forget `CompressionWorker.removedPools`.
    case poolsRemoved

    mutating func absorb(_ next: EncodeTask) -> Bool {
        guard let (until, sequences) = replies, let (later, added) = next.replies, sequences.count < Self.maxReplies
        else { return false }
        let all = sequences + added
        switch (until, later) {
        case (nil, nil): self = .acknowledge(sequences: all)
        case (let pts?, nil), (nil, let pts?): self = .finish(until: pts, sequences: all)
        case (let first?, let second?): self = .finish(until: max(first, second), sequences: all)
        }
        return true
    }

    /// What a task that ends with replies finishes, if anything, and the messages that it answers.
    private var replies: (until: Int64?, sequences: [UInt32])? {
        switch self {
        case .finish(let pts, let sequences): (pts, sequences)
        case .acknowledge(let sequences): (nil, sequences)
        default: nil
        }
    }
}

/// The thread that calls the encoder: a call may take seconds, for which the I/O thread must not wait.
struct EncodeThread {
    let worker: CompressionWorker
    let tasks: WorkQueue<EncodeTask>
    let arena: PacketArena

    private var encoder: StreamEncoder?
    /// Converts frames to the encoder's format and size.
    private var conversion: InputConversion?
    /// The format description that the client has.
    private var description: [UInt8] = []
    /// The version of the encoder's description that the client has.
    private var describedVersion: Int?
    /// The deviations from the properties, as published, and the versions of the notes from which they were made.
    private var notes: [String]
    private var published = NotesVersions()
    /// Nil until the encoder is open, and while it writes.
    private var metadata: FrameMetadataWriter?
    /// The metadata's notes, which are needed while it writes.
    private var metadataNotes: (version: Int, notes: [String]) = (0, [])
    /// Measures the frames that RPUs are made for; nil where none are.
    private var meter: LightMeter?
    /// What the meter is made for with the first frame that has metadata; nil afterwards.
    private var measuredConfiguration: EncoderConfiguration?
    /// Why no frame is measured; nil where frames are, or none needs to be.
    private var meterNote: String?
    /// Nil where the output is not checked.
    private var sampler: OutputSampler?
    /// Why no output is checked although the properties ask for it.
    private var samplerNote: String?
    /// When the last task was done.
    private var lastTask = MonotonicTime.now
    /// What the first of two passes collects; nil where frames are coded once.
    private var statistics: X265Statistics?
    private var priority: ThreadPriority
    /// Why the threads do not run before others although the properties set before the encoder opened ask for it.
    private var priorityNote: String?
    /// Durations of the frames inside the encoder, by pts.
    private var durations: [Int64: Int64] = [:]

    /// The versions of the notes of everything that has notes, so that the notes are put together only after a change.
    private struct NotesVersions: Equatable {
        var encoder: Int?
        var metadata = 0
        var sampler: Int?
        var hasMeterNote = false
    }

    init(worker: CompressionWorker, tasks: WorkQueue<EncodeTask>, arena: PacketArena) {
        self.worker = worker
        self.tasks = tasks
        self.arena = arena
        priority = ThreadPriority(worker.port.realTime)
        notes = worker.hardware?.notes ?? []
    }

    /// Works until the queue is closed; every error ends the session.
    mutating func run() {
        while true {
            // Packets that wait for an answer need no task to be sent.
            let popped = tasks.pop(timeout: sampler?.isHolding == true ? Self.answerInterval : nil)
            do throws(SessionError) {
                switch popped {
                case .element(let task):
                    worker.port.stats.set(.busySinceNs, MonotonicTime.now.nanoseconds)
                    for pool in worker.removedPools.takeAll() { conversion?.forget(pool) }
                    try perform(task)
                    if let statistics { worker.port.memory.setOther(statistics.byteCount) }
                    try worker.port.memory.check()
                    lastTask = .now
                case .timedOut:
                    try sendReady()
                    if MonotonicTime.now >= lastTask + OutputSampler.idleTime { sampler?.closeIdle() }
                case .closed: return
                }
            } catch {
                worker.port.fail(error)
            }
            worker.port.stats.set(.busySinceNs, 0)
        }
    }

    /// How often an answer about the output is looked for.
    private static let answerInterval = Duration.milliseconds(2)

    /// Sends the packets that need not be held any longer.
    private mutating func sendReady() throws(SessionError) {
        guard let sampler else { return }
        let packets = try sampler.takeReady()
        // Before packets that were not checked.
        if !packets.isEmpty { publishNotes() }
        for packet in packets { try send(packet.picture, packet.bytes.span.bytes) }
    }

    /// Sends packets that are held, as their answers come, while the condition holds; the sampler bounds the wait.
    private mutating func wait(while condition: (OutputSampler) -> Bool) throws(SessionError) {
        guard let sampler else { return }
        try sendReady()
        guard condition(sampler) else { return }
        worker.port.stats.set(.busySinceNs, 0)
        while condition(sampler) {
            usleep(500)
            try sendReady()
        }
        worker.port.stats.set(.busySinceNs, MonotonicTime.now.nanoseconds)
    }

    /// Sends all packets that are held.
    private mutating func sendHeld() throws(SessionError) {
        try wait { sampler in
            sampler.close(isLast: true)
            return sampler.isHolding
        }
    }

    private mutating func perform(_ task: EncodeTask) throws(SessionError) {
        switch task {
        case .open(let configuration, let sequence):
            try open(configuration)
            if let sequence { worker.send(Reply(sequence: sequence)) }
        case .encode(let frame, let pool, let picture):
            try encode(frame, in: pool, picture)
        case .change(let configuration):
            // Before the frames of the next pass, which have the same times.
            if configuration.pass != nil { try finish() }
            _ = try encoder?.change(to: configuration)
            metadata?.change(to: configuration)
            sampler?.change(to: configuration)
        case .finish(let pts, let sequences):
            // No encoder can be flushed up to a frame in the middle.
            if durations.keys.contains(where: { $0 <= pts }) {
                try finish()
            }
            try sendHeld()
            publishNotes()
            for sequence in sequences { worker.send(Reply(sequence: sequence)) }
        case .acknowledge(let sequences):
            for sequence in sequences { worker.send(Reply(sequence: sequence)) }
        case .poolsRemoved: break
        }
    }

    /// Emits the packets of all frames.
    private mutating func finish() throws(SessionError) {
        try encoder?.finish { (picture, bytes) throws(SessionError) in try output(picture, bytes) }
    }

    private mutating func open(_ configuration: EncoderConfiguration) throws(SessionError) {
        // Before libx265 starts threads, which have this thread's priority.
        priorityNote = priority.lower(to: worker.priority)
        if let settings = configuration.conversion {
            let conversion = try InputConversion(
                settings, worker.scaling, configuration, worker.vulkan, frames: worker.frames)
            worker.publish(conversion)
            self.conversion = conversion
        }
        let hardware = worker.hardware
        let statistics = configuration.pass == nil ? nil : X265Statistics()
        self.statistics = statistics
        let encoder = try StreamEncoder(configuration) { (configuration) throws(SessionError) in
            if let hardware { return try hardware.encoder(for: configuration) }
            return try LayeredEncoder.software(configuration, statistics)
        }
        if let most = configuration.request.maxReorder, encoder.decodeTimes.reorderDepth > most {
            throw SessionError(
                .couldNotFindVideoEncoder,
                "the encoder reorders \(encoder.decodeTimes.reorderDepth) pictures, and the stream that it continues \(most)"
            )
        }
        self.encoder = encoder
        metadata = FrameMetadataWriter(configuration)
        sampler = worker.makeSampler(configuration)
        if sampler == nil { samplerNote = worker.unverifiedReason(configuration) }
        if configuration.generatesRPU { measuredConfiguration = configuration }
        try describe(encoder)
    }

    /// Makes the meter once; a color that it cannot measure can still be encoded.
    private mutating func makeMeter() {
        guard let configuration = measuredConfiguration else { return }
        measuredConfiguration = nil
        do throws(SessionError) {
            meter = LightMeter(try ImageDescription(encodedBy: configuration))
        } catch {
            meterNote = "no Dolby Vision RPU is made: \(error.reason)"
        }
    }

    /// Sends the format description, and publishes the notices, where they are new.
    private mutating func describe(_ encoder: StreamEncoder) throws(SessionError) {
        if encoder.descriptionVersion != describedVersion {
            describedVersion = encoder.descriptionVersion
            if encoder.formatDescription != description {
                // Those of the description before.
                try sendHeld()
                description = encoder.formatDescription
                worker.port.send(.formatDescription, encoder.formatDescription)
            }
        }
        publishNotes()
    }

    /// Publishes the notices where they are new.
    private mutating func publishNotes() {
        guard let encoder else { return }
        if let metadata { takeNotes(of: metadata) }
        let versions = NotesVersions(
            encoder: encoder.descriptionVersion, metadata: metadataNotes.version, sampler: sampler?.notesVersion,
            hasMeterNote: meterNote != nil)
        guard versions != published else { return }
        published = versions
        let current =
            encoder.notes + (meterNote.map { [$0] } ?? []) + metadataNotes.notes
            + (sampler?.notes ?? samplerNote.map { [$0] } ?? []) + (priorityNote.map { [$0] } ?? [])
        if current != notes {
            notes = current
            worker.publish(notices: notes)
        }
    }

    private mutating func takeNotes(of writer: FrameMetadataWriter) {
        guard writer.notesVersion != metadataNotes.version else { return }
        metadataNotes = (writer.notesVersion, writer.notes)
    }

    private mutating func encode(
        _ frame: EncodeFrame, in pool: SharedMemory, _ picture: PictureUse?
    ) throws(SessionError) {
        guard let encoder, let base = pool.bytes.baseAddress else {
            throw SessionError(.invalidSession, "a frame came before the encoder was open")
        }
        // The encoder has read the frame before it.
        var wait = DeviceWait()
        try picture?.load(&wait)
        durations[frame.pts] = frame.duration
        // The layout was checked against the pool's size when the frame was admitted.
        var planes = frame.layout.planes(at: base)
        if let conversion {
            let reason = conversion.fallbackReason
            planes = try conversion.convert(planes, of: frame, in: pool)
            if conversion.fallbackReason != reason { worker.publish(conversion) }
        }
        if let extra = frame.metadata {
            makeMeter()
            metadata?.add(extra, pts: frame.pts, light: try meter?.light(of: planes))
        }
        let input = InputPicture(
            planes: planes, frameID: frame.frameID, pts: frame.pts,
            forceKeyFrame: frame.flags.contains(.forceKeyFrame),
            baseFrameQP: frame.baseFrameQP < 0 ? nil : Int(frame.baseFrameQP),
            // A converted frame has the stream's mode.
            alphaMode: conversion == nil ? frame.sourceAlphaMode : nil)
        if let luma = planes.first {
            sampler?.add(luma, pts: frame.pts, isForced: frame.flags.contains(.forceKeyFrame))
        }
        try encoder.encode(input) { (picture, bytes) throws(SessionError) in
            try output(picture, bytes)
        }
        try describe(encoder)
        worker.releaseFrame(frame.frameID)
    }

    /// Sends one coded picture to the client, after its format description where that is new.
    private mutating func output(_ picture: EncodedPicture, _ bytes: RawSpan) throws(SessionError) {
        if let encoder { try describe(encoder) }
        guard var writer = metadata else { return try emit(picture, bytes) }
        // Out of the property while the handler has this value.
        takeNotes(of: writer)
        metadata = nil
        defer { metadata = writer }
        try writer.write(picture, bytes) { (picture, bytes) throws(SessionError) in try emit(picture, bytes) }
    }

    /// Sends one coded picture with its metadata to the client, or holds it until it is found right.
    private mutating func emit(_ picture: EncodedPicture, _ bytes: RawSpan) throws(SessionError) {
        try sendReady()
        guard let sampler, sampler.take(picture, bytes, record: description) else {
            publishNotes()
            return try send(picture, bytes)
        }
        try wait { $0.isFull }
    }

    private mutating func send(_ picture: EncodedPicture, _ bytes: RawSpan) throws(SessionError) {
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
