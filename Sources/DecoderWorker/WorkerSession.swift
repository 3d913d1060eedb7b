// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAV
internal import HWDModel
internal import HWDSessions
internal import HWDTransport
internal import HWDWire
internal import HWDWorker
internal import Synchronization

/// One decompression session: what the I/O thread does, and what it shares with the codec thread.
final class WorkerSession: @unchecked Sendable {
    let setup: SessionSetup
    let stats: StatsPage
    /// What the decoder writes to; the client's too, unless pictures are converted.
    let store: PictureStore
    /// What the client reads.
    let output: PictureStore

    /// What is known of Vulkan; its GPU to prefer is the one that decodes.
    var vulkan: VulkanHints {
        var hints = start.vulkan
        hints.preferred = setup.choice.decoder.gpu ?? hints.preferred
        return hints
    }

    private let start: WorkerStart
    private let signals: SignalFD
    private let port: SessionPort
    private let jobs = WorkQueue<DecodeTask>(capacity: 2 * DecompressionSession.maxPacketsInFlight)
    private let state: Mutex<DecompressionSession>
    /// Pictures the client has, by number; each keeps its samples where they are.
    private let held = Mutex<[UInt64: any AnyObject & Sendable]>([:])
    /// Packets of which no picture comes.
    private let dropped = Atomic<UInt64>(0)
    /// The decoder that was opened for Create, until the codec thread takes it.
    private let opened: (any PictureDecoder)?
    /// Only the I/O thread touches the pools; packets under way hold their own reference.
    private var pools: [UInt32: SharedMemory] = [:]

    /// Answers the Create call and takes the connection over.
    ///
    /// A refused call is answered with its error and ends the process.
    init(start: WorkerStart, connection: consuming OwnedFD, signals: SignalFD) throws {
        self.start = start
        self.signals = signals
        do throws(SessionError) {
            let stats = try StatsPage(receiving: OwnedFD(WorkerDescriptor.stats))
            self.stats = stats
            func makeStore() -> PictureStore {
                PictureStore(
                    maxBytes: start.limits.maxPoolBytes, timeout: .seconds(start.limits.clientStallSeconds)
                ) { isFull in stats.set(.slotsFullSinceNs, isFull ? MonotonicTime.now.nanoseconds : 0) }
            }
            let store = makeStore()
            self.store = store
            (setup, opened) = try Self.open(start, store, stats)
            output = setup.session.request.isConverted ? makeStore() : store
        } catch {
            WorkerStartup.refuse(error, connection.rawValue)
        }
        state = Mutex(setup.session)
        stats.set(.width, UInt64(setup.session.request.format.width))
        stats.set(.height, UInt64(setup.session.request.format.height))
        WorkerStartup.report(setup.report)
        port = try SessionPort(
            stats: stats, reply: try VarlinkReply.encode(setup.reply(to: start)), connection: connection,
            identity: SessionPort.ProcessIdentity(noun: "decoder", stopped: .videoDecoderNotAvailableNow))
    }

    /// Chooses and, in hardware, opens; what does not open is an argument of the next choice.
    private static func open(
        _ start: WorkerStart, _ store: PictureStore, _ stats: StatsPage
    ) throws(SessionError) -> (SessionSetup, (any PictureDecoder)?) {
        var failures = start.failures.map {
            CodecFailure(codecID: $0.encoderID, reason: $0.reason, isTransient: $0.isTransient)
        }
        while true {
            let setup = try SessionSetup(start, failures: failures)
            let decoder = setup.choice.decoder
            guard decoder.isHardware else { return (setup, nil) }
            // A driver may crash or hang here: the broker then knows which, and answers the call itself.
            WorkerStartup.report(.opening(encoderID: decoder.id))
            stats.set(.busySinceNs, MonotonicTime.now.nanoseconds)
            defer { stats.set(.busySinceNs, 0) }
            do throws(SessionError) {
                return (setup, try setup.openDecoder(decoder, memory: store, session: setup.session))
            } catch {
                failures.append(
                    CodecFailure(
                        codecID: decoder.id, reason: error.reason,
                        isTransient: error.status == .videoDecoderNotAvailableNow))
            }
        }
    }

    /// Serves the client until the session ends, which ends the process.
    func run() throws {
        let first = opened
        _ = try Thread.spawn(name: "codec") { [self] in
            var codec = DecodeThread(worker: self, jobs: jobs, decoder: first)
            codec.run()
        }
        port.run(signals) { (opcode, sequence, payload, fds) throws(SessionError) in
            try handle(opcode, sequence, payload, &fds)
        }
    }

    private func handle(
        _ opcode: Opcode, _ sequence: UInt32, _ payload: RawSpan, _ fds: inout FDQueue
    ) throws(SessionError) {
        guard fds.count == (opcode == .addPool ? 1 : 0) else {
            throw SessionError(.parameter, "message \(opcode) came with \(fds.count) file descriptors")
        }
        switch opcode {
        case .decodeFrame: try admit(try DecodeFrame(decoding: payload), sequence)
        case .releaseFrame: try release(try ReleaseFrame(decoding: payload).pictureID)
        case .setProperties, .copyProperties, .removePool, .canAcceptFormat, .changeFormat:
            port.answer(sequence) { () throws(SessionError) in try answer(opcode, payload) }
        case .addPool:
            if let file = fds.popFirst() { try addPool(try AddPool(decoding: payload), file) }
            send(Reply(sequence: sequence))
        case .finishDelayedFrames:
            try ByteReader().expectEnd(of: payload)
            try push(.finish(sequence: sequence))
        case .invalidate:
            try ByteReader().expectEnd(of: payload)
            end(.ok, "invalidated by the client")
        case .reply, .formatDescription, .addArena, .frameReleased, .packet, .end, .frameDecoded, .packetReport,
            .removeArena, .frameTransferred:
            throw SessionError(.parameter, "message \(opcode) is the worker's to send")
        case .transferFrame, .finishFrames:
            throw SessionError(.parameter, "message \(opcode) is for pixel-transfer sessions")
        case .prepare, .encodeFrame, .completeFrames, .releasePacket:
            throw SessionError(.parameter, "message \(opcode) is for compression sessions")
        }
    }

    /// Messages whose failure is an answer and not the session's end.
    private func answer(_ opcode: Opcode, _ payload: RawSpan) throws(SessionError) -> [UInt8] {
        let bytes = payload.withUnsafeBytes { Array($0) }
        switch opcode {
        case .setProperties:
            let new = try JSON.decode([String: PropertyValue].self, from: bytes)
            try state.withLock { session throws(SessionError) in try session.setProperties(new) }
            return []
        case .copyProperties:
            let keys = try JSON.decode([String].self, from: bytes)
            let gone = stats[.framesOut] &+ dropped.load(ordering: .relaxed)
            let pending = stats[.framesIn] &- min(stats[.framesIn], gone)
            let values = try state.withLock { session throws(SessionError) in
                session.publish(.numberOfFramesBeingDecoded, .int(Int64(clamping: pending)))
                return try session.properties.copy(keys)
            }
            return try JSON.encode(values)
        case .canAcceptFormat, .changeFormat:
            let format = try StreamFormat(description: bytes)
            guard format.framing == setup.session.request.format.framing else {
                throw SessionError(
                    .formatDescriptionChangeNotSupported,
                    "the new format frames NAL units in another way than the session's packets")
            }
            if opcode == .changeFormat { try push(.change(format)) }
            return []
        default:
            let pool = try RemovePool(decoding: payload).poolID
            try state.withLock { session throws(SessionError) in try session.removePool(pool) }
            pools[pool] = nil
            return []
        }
    }

    private func addPool(_ pool: AddPool, _ file: consuming OwnedFD) throws(SessionError) {
        let memory = try SessionPort.map(pool, file, limit: start.limits.maxPoolBytes)
        // The whole file is mapped, whatever the client says it uses.
        let mapped = UInt64(memory.size)
        try state.withLock { session throws(SessionError) in try session.addPool(pool.poolID, size: mapped) }
        pools[pool.poolID] = memory
    }

    private func admit(_ frame: DecodeFrame, _ sequence: UInt32) throws(SessionError) {
        let request = PacketRequest(
            frameID: frame.frameID, pts: frame.pts, duration: frame.duration, poolID: frame.poolID,
            offset: frame.offset, size: frame.size, isOutput: !frame.flags.contains(.doNotOutput))
        // The level that is wanted now: a later change is for later packets, however many wait.
        let maxLevel = try state.withLock { session throws(SessionError) in
            try session.admit(request)
            return session.maxTemporalLevel
        }
        guard let pool = pools[frame.poolID] else {
            throw SessionError(.parameter, "there is no pool \(frame.poolID)")
        }
        stats.add(.framesIn, 1)
        let reply = frame.flags.contains(.asynchronous) ? nil : sequence
        try push(.decode(PendingPacket(request: request, pool: pool, maxLevel: maxLevel, replyTo: reply)))
    }

    private func push(_ job: DecodeTask) throws(SessionError) {
        guard jobs.push(job) else {
            throw SessionError(.parameter, "more messages than the session allows at once")
        }
    }

    /// The client has read a picture.
    private func release(_ pictureID: UInt64) throws(SessionError) {
        let owner = held.withLock { $0.removeValue(forKey: pictureID) }
        guard owner != nil else {
            throw SessionError(.parameter, "picture \(pictureID) is not the client's to release")
        }
        output.wake()
    }

    // MARK: - For the codec thread

    /// The session as it stands.
    func withSession<Value>(_ body: (inout DecompressionSession) -> Value) -> Value {
        state.withLock { body(&$0) }
    }

    /// A packet was read: its memory is the client's again.
    func releasePacket(_ frameID: UInt64) {
        state.withLock { $0.release(frameID) }
        send(FrameReleased(frameID: frameID))
    }

    /// No picture comes of a packet, which is progress all the same.
    func countDropped() {
        dropped.add(1, ordering: .relaxed)
        stats.set(.progressNs, MonotonicTime.now.nanoseconds)
    }

    /// Waits until the client may have one more picture.
    func waitForCredit() throws(SessionError) {
        let limit = DecompressionSession.maxFramesInFlight
        _ = try output.wait(for: { held.withLock { $0.count } < limit ? true : nil }) {
            SessionError(
                .parameter,
                "the client released no picture for \(Int(start.limits.clientStallSeconds)) s and holds them all")
        }
    }

    /// Sends a picture, whose samples stay until it is released.
    func give(_ picture: FrameDecoded, slot: Int, _ owner: any AnyObject & Sendable) {
        for change in output.changes(before: slot) {
            switch change {
            case .added(let id, let memory):
                withExtendedLifetime(memory) {
                    send(AddArena(arenaID: id, size: UInt64(memory.size)), fds: [memory.file.rawValue])
                }
            case .removed(let id): send(RemoveArena(arenaID: id))
            }
        }
        held.withLock { $0[picture.pictureID] = owner }
        let bytes = (0..<picture.format.planeCount).reduce(0) { sum, plane in
            sum + picture.format.rowBytes(plane: plane, width: Int(picture.width))
                * picture.format.rows(plane: plane, height: Int(picture.height))
        }
        stats.add(.framesOut, 1)
        stats.add(.bytesOut, UInt64(bytes))
        stats.set(.progressNs, MonotonicTime.now.nanoseconds)
        stats.set(.width, UInt64(picture.width))
        stats.set(.height, UInt64(picture.height))
        send(picture)
    }

    /// Tells the broker that the hardware stopped, or began again, to do the work.
    func tell(isHardware: Bool, _ reason: String?) {
        WorkerStartup.report(
            .created(
                encoderID: setup.choice.decoder.id, usingHardware: isHardware, fallbackReason: reason))
    }

    /// Sends a message from either thread; a client that is gone or does not read ends the session.
    func send(_ payload: some SessionPayload, fds: [Int32] = []) { port.send(payload, fds: fds) }

    /// Ends the session and the process, from either thread.
    func end(_ status: Status, _ reason: String) -> Never { port.end(status, reason) }
}
