// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDLibAV
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import HWDWorker
internal import Synchronization

/// One decompression session: the I/O thread's part, and what it shares with the codec thread.
final class DecompressionWorker: SessionHandler, @unchecked Sendable {
    let port: SessionPort
    let setup: SessionSetup
    /// The pictures that the decoder writes; the client reads them too, unless they are converted.
    let store: PictureStore
    /// The pictures that the client reads.
    let output: PictureStore

    /// What is known of Vulkan; its preferred GPU is the one that decodes.
    var vulkan: VulkanHints {
        var hints = start.vulkan
        hints.preferred = setup.choice.decoder.gpu ?? hints.preferred
        return hints
    }

    private let start: WorkerStart
    private let tasks = WorkQueue<DecodeTask>(
        capacity: DecodeTask.capacity(frames: DecompressionAdmission.maxPacketsInFlight))
    private let state: Mutex<DecompressionAdmission>
    /// Pictures that the client holds, by number; each value keeps the picture's samples in place.
    private let held = Mutex<[UInt64: any AnyObject & Sendable]>([:])
    /// Packets that yield no picture.
    private let dropped = Atomic<UInt64>(0)
    /// The decoder that was opened for Create; the codec thread takes it over.
    private let opened: (any PictureDecoder)?

    /// Answers the Create call; a refused call ends the process.
    init(_ assigned: AssignedSession, _ parameters: CreateDecompressionSession.Parameters) throws {
        let (start, stats) = (assigned.start, assigned.stats)
        self.start = start
        func makeStore(_ contents: PictureStore.Contents) -> PictureStore {
            PictureStore(
                contents, maxBytes: start.limits.maxPoolBytes, ledger: assigned.memory,
                timeout: .seconds(start.limits.clientStallSeconds)
            ) { isFull in stats.set(.slotsFullSinceNs, isFull ? MonotonicTime.now.nanoseconds : 0) }
        }
        store = makeStore(.decoded)
        do throws(SessionError) {
            (setup, opened) = try Self.open(assigned, parameters, store)
        } catch {
            assigned.refuse(error)
        }
        let request = setup.session.request
        output = request.isConverted ? makeStore(.converted) : store
        state = Mutex(setup.session)
        stats.set(.width, UInt64(request.format.width))
        stats.set(.height, UInt64(request.format.height))
        port = try assigned.accept(
            setup.reply(to: start), setup.report,
            runsDriver: setup.choice.decoder.hardware || request.isConverted)
    }

    /// Chooses the decoder and, if it is hardware, opens it; a failure becomes an input of another choice.
    private static func open(
        _ assigned: AssignedSession, _ parameters: CreateDecompressionSession.Parameters, _ store: PictureStore
    ) throws(SessionError) -> (SessionSetup, (any PictureDecoder)?) {
        var failures = assigned.start.failures
        while true {
            let setup = try SessionSetup(assigned.start, parameters, failures: failures)
            let format = setup.session.request.format
            try assigned.memory.expect(
                picture: SessionMemory.pictureBytes(width: format.width, height: format.height))
            let decoder = setup.choice.decoder
            guard decoder.hardware else { return (setup, nil) }
            assigned.willOpen(decoder.id)
            defer { assigned.willOpen(nil) }
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
            var thread = DecodeThread(worker: self, tasks: tasks, decoder: first)
            thread.run()
        }
        port.run(self)
    }

    // MARK: - Messages

    func setProperties(_ values: [String: PropertyValue]) throws(SessionError) {
        try state.withLock { session throws(SessionError) in try session.setProperties(values) }
    }

    func copyProperties(_ names: [String]) throws(SessionError) -> [String: PropertyValue] {
        let done = port.stats[.framesOut] &+ dropped.load(ordering: .relaxed)
        let pending = port.stats[.framesIn] &- min(port.stats[.framesIn], done)
        return try state.withLock { session throws(SessionError) in
            session.publish(.numberOfFramesBeingDecoded, .int(Int64(clamping: pending)))
            return try session.properties.copy(names)
        }
    }

    func isUsing(pool id: UInt32) -> Bool { state.withLock { $0.isUsing(pool: id) } }

    func handle(
        _ opcode: Opcode, _ sequence: UInt32, _ payload: RawSpan, _ pools: PoolLedger<SharedMemory>
    ) throws(SessionError) {
        switch opcode {
        case .decodeFrame: try admit(try DecodeFrame(decoding: payload), sequence, pools)
        case .releaseFrame: try release(try ReleaseFrame(decoding: payload).pictureID)
        case .finishDelayedFrames:
            try ByteReader().expectEnd(of: payload)
            try tasks.enqueue(.finish(sequences: [sequence], then: nil))
        case .canAcceptFormat: _ = try format(payload)
        case .changeFormat: try tasks.enqueue(.change(try format(payload)))
        default: throw SessionError(.parameter, "message \(opcode) is not handled")
        }
    }

    /// Reads a format that could follow the session's present one.
    private func format(_ payload: RawSpan) throws(SessionError) -> StreamFormat {
        let format = try StreamFormat(description: payload.withUnsafeBytes { Array($0) })
        guard format.framing == setup.session.request.format.framing else {
            throw SessionError(
                .formatDescriptionChangeNotSupported,
                "the new format frames NAL units differently from the session's packets")
        }
        return format
    }

    private func admit(
        _ frame: DecodeFrame, _ sequence: UInt32, _ pools: PoolLedger<SharedMemory>
    ) throws(SessionError) {
        // Properties as they are now: a later change applies to later packets, however many are queued.
        let (memory, maxLevel, appliesMetadata) = try state.withLock { session throws(SessionError) in
            (try session.admit(frame, in: pools), session.maxTemporalLevel, session.appliesHDRMetadata)
        }
        port.stats.add(.framesIn, 1)
        let reply = frame.flags.contains(.asynchronous) ? nil : sequence
        try tasks.enqueue(
            .decode(
                PendingPacket(
                    packet: frame, pool: memory, maxLevel: maxLevel, appliesMetadata: appliesMetadata,
                    replyTo: reply)))
    }

    /// Handles the release of a picture that the client has read.
    private func release(_ pictureID: UInt64) throws(SessionError) {
        let owner = held.withLock { $0.removeValue(forKey: pictureID) }
        guard owner != nil else {
            throw SessionError(.parameter, "picture \(pictureID) is not the client's to release")
        }
        output.wake()
    }

    // MARK: - For the codec thread

    /// Reads or changes the session's state under its lock.
    func withSession<Value>(_ body: (inout DecompressionAdmission) -> Value) -> Value {
        state.withLock { body(&$0) }
    }

    /// Returns the memory of a packet that was read.
    func releasePacket(_ frameID: UInt64) {
        state.withLock { $0.release(frameID) }
        send(FrameReleased(frameID: frameID))
    }

    /// Counts a packet that yields no picture, which is progress too.
    func countDropped() {
        dropped.add(1, ordering: .relaxed)
        port.stats.set(.progressNs, MonotonicTime.now.nanoseconds)
    }

    /// Waits until the client may have one more picture.
    func waitForCredit() throws(SessionError) {
        let limit = DecompressionAdmission.maxFramesInFlight
        _ = try output.wait(for: { held.withLock { $0.count } < limit ? true : nil }) {
            SessionError(
                .parameter,
                "the client released no picture for \(Int(start.limits.clientStallSeconds)) s and holds them all")
        }
    }

    /// Sends a picture; `owner` keeps its samples in place until the client releases it.
    func send(_ picture: FrameDecoded, slot: Int, _ owner: any AnyObject & Sendable) {
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
        port.stats.add(.framesOut, 1)
        port.stats.add(.bytesOut, UInt64(bytes))
        port.stats.set(.progressNs, MonotonicTime.now.nanoseconds)
        port.stats.set(.width, UInt64(picture.width))
        port.stats.set(.height, UInt64(picture.height))
        send(picture)
    }

    /// Reports to the broker that decoding switched between hardware and software.
    func report(isHardware: Bool, _ reason: String?) {
        WorkerStartup.report(
            .created(codecID: setup.choice.decoder.id, usingHardware: isHardware, fallbackReason: reason))
    }
}
