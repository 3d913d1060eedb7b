// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSessions
internal import HWDTransport
internal import HWDWire
internal import HWDWorker
internal import Synchronization

/// One compression session: the I/O thread's loop, and what it shares with the codec thread.
final class WorkerSession: @unchecked Sendable {
    private static let clientIsGone = "the client closed the connection"

    let stats: StatsPage

    private let start: WorkerStart
    private let signals: SignalFD
    private let channel: SessionChannel
    private let arena: PacketArena
    private let jobs = WorkQueue<EncodeTask>(capacity: 2 * CompressionSession.maxFramesInFlight)
    private let state: Mutex<CompressionSession>
    /// Bytes a reply's body may have: a message's payload without its own fields.
    private static let maxBody = MessageHeader.maxLength - 8

    /// The encoder, where it is hardware; the codec thread's from its first job on.
    let hardware: OpenHardware?
    /// What is known of Vulkan; its GPU to prefer is the one that encodes.
    let vulkan: VulkanHints

    private let ending = Mutex(())
    /// Only the I/O thread touches the pools; frames under way hold their own reference.
    private var pools: [UInt32: SharedMemory] = [:]
    /// What the codec thread's converter must let go of.
    let removedPools = RemovedPools()
    /// Whether frames are in RGB: a GPU reads them where they lie, most only in pages that may be written.
    private let convertsFrames: Bool

    /// Answers the Create call and takes the connection over.
    ///
    /// A refused call is answered with its error and ends the process.
    init(start: WorkerStart, connection: consuming OwnedFD, signals: SignalFD) throws {
        self.start = start
        self.signals = signals
        let setup: SessionSetup
        do {
            stats = try StatsPage(receiving: OwnedFD(WorkerDescriptor.stats))
            let stats = stats
            setup = try SessionSetup(start) { encoderID in
                // A driver may crash or hang here: the broker then knows which, and answers the call itself.
                if let encoderID { Self.report(.opening(encoderID: encoderID)) }
                stats.set(.busySinceNs, encoderID == nil ? 0 : MonotonicTime.now.nanoseconds)
            }
            arena = try PacketArena(timeout: .seconds(start.limits.clientStallSeconds))
        } catch let error as SessionError {
            Self.refuse(error, connection.rawValue)
        } catch {
            Self.refuse(
                SessionError(.allocationFailed, "the encoder process lacks memory: \(error)"), connection.rawValue)
        }
        state = Mutex(setup.session)
        hardware = setup.hardware
        convertsFrames = !setup.session.request.pixelFormat.isYCbCr
        vulkan = VulkanHints(
            preferred: setup.choice.encoder.pciAddress ?? start.vulkan.preferred, faults: start.vulkan.faults,
            avoidReason: start.vulkan.avoidReason)
        stats.set(.width, UInt64(setup.session.request.width))
        stats.set(.height, UInt64(setup.session.request.height))

        Self.report(setup.report)
        try VarlinkConnection.send(
            try VarlinkReply.encode(setup.reply(to: start)), to: connection.rawValue,
            deadline: MonotonicTime.now + .seconds(5))
        channel = SessionChannel(try MessageChannel(connection))
    }

    /// Answers the Create call with an error, which ends the process.
    private static func refuse(_ error: SessionError, _ connection: Int32) -> Never {
        report(.ended(code: error.status.rawValue, reason: error.reason))
        try? VarlinkConnection.send(
            VarlinkReply.encode(VarlinkError(error)), to: connection, deadline: MonotonicTime.now + .seconds(5))
        exit(ExitStatus.ok.rawValue)
    }

    /// Serves the client until the session ends, which ends the process.
    func run() {
        do {
            _ = try Thread.spawn(name: "codec") { [self] in
                var codec = EncodeThread(worker: self, jobs: jobs, arena: arena)
                codec.run()
            }
            let epoll = try Epoll()
            try epoll.add(channel.channel.fileDescriptor, token: 0, events: .readable)
            try epoll.add(signals.fileDescriptor, token: 1, events: .readable)
            while true {
                for event in try epoll.wait(until: nil) {
                    if event.token == 1 {
                        end(.videoEncoderNotAvailableNow, "the daemon is shutting down")
                    }
                    try receiveAll()
                }
            }
        } catch let error as SessionError {
            end(error.status, error.reason)
        } catch let error as TransportError where error.code == .closed {
            end(.ok, Self.clientIsGone)
        } catch let error as TransportError {
            end(.parameter, "the session's protocol was broken: \(error.reason)")
        } catch {
            end(.allocationFailed, "the encoder process failed: \(error)")
        }
    }

    private func receiveAll() throws {
        while true {
            let received = try channel.next { opcode, sequence, payload, fds in
                try self.handle(opcode, sequence, payload, &fds)
            }
            switch received {
            case .message: continue
            case .wouldBlock: return
            case .endOfFile: end(.ok, Self.clientIsGone)
            }
        }
    }

    private func handle(
        _ opcode: Opcode, _ sequence: UInt32, _ payload: RawSpan, _ fds: inout FDQueue
    ) throws(SessionError) {
        // The client speaks first: a worker's message right behind the Varlink reply could be read with it.
        if sequence == 1 {
            send(AddArena(arenaID: PacketArena.arenaID, size: UInt64(PacketArena.size)), fds: [arena.file])
        }
        guard fds.count == (opcode == .addPool ? 1 : 0) else {
            throw SessionError(.parameter, "message \(opcode) came with \(fds.count) file descriptors")
        }
        switch opcode {
        case .encodeFrame: try admit(try EncodeFrame(decoding: payload))
        case .releasePacket: try arena.release(try ReleasePacket(decoding: payload).packetID)
        case .setProperties, .copyProperties, .removePool: answer(opcode, sequence, payload)
        case .addPool:
            if let file = fds.popFirst() { try addPool(try AddPool(decoding: payload), file) }
            send(Reply(sequence: sequence))
        case .prepare:
            try ByteReader().expectEnd(of: payload)
            if try !open(sequence: sequence) { try push(.acknowledge(sequence: sequence)) }
        case .completeFrames:
            // x265 cannot give out a part of what it holds: any bound completes everything.
            _ = try CompleteFrames(decoding: payload)
            state.withLock { $0.complete() }
            try push(.finish(sequence: sequence))
        case .invalidate:
            try ByteReader().expectEnd(of: payload)
            end(.ok, "invalidated by the client")
        case .reply, .formatDescription, .addArena, .frameReleased, .packet, .end, .frameDecoded, .packetReport,
            .removeArena, .frameTransferred:
            throw SessionError(.parameter, "message \(opcode) is the worker's to send")
        case .transferFrame, .finishFrames:
            throw SessionError(.parameter, "message \(opcode) is for pixel-transfer sessions")
        case .decodeFrame, .finishDelayedFrames, .canAcceptFormat, .changeFormat, .releaseFrame:
            throw SessionError(.parameter, "message \(opcode) is for decompression sessions")
        }
    }

    /// Messages whose failure is an answer and not the session's end.
    private func answer(_ opcode: Opcode, _ sequence: UInt32, _ payload: RawSpan) {
        var reply = Reply(sequence: sequence)
        do throws(SessionError) {
            let bytes = payload.withUnsafeBytes { Array($0) }
            switch opcode {
            case .setProperties:
                let new = try JSON.decode([String: PropertyValue].self, from: bytes)
                try state.withLock { session throws(SessionError) in try session.setProperties(new) }
            case .copyProperties:
                reply.body = try JSON.encode(try copyProperties(JSON.decode([String].self, from: bytes)))
            default:
                let pool = try RemovePool(decoding: payload).poolID
                try state.withLock { session throws(SessionError) in try session.removePool(pool) }
                if let memory = pools.removeValue(forKey: pool), convertsFrames {
                    removedPools.add(memory)
                    _ = jobs.push(.poolsRemoved)  // where the queue is full the thread looks soon enough
                }
            }
            guard reply.body.count <= Self.maxBody else {
                throw SessionError(.parameter, "the values do not fit a message; ask for fewer")
            }
        } catch {
            reply.status = error.status
            // A reason repeats what the client sent, which may be as long as a message.
            reply.body = Array(String(error.reason.prefix(512)).utf8)
        }
        send(reply)
    }

    private func copyProperties(_ keys: [String]) throws(SessionError) -> [String: PropertyValue] {
        let pending = stats[.framesIn] &- stats[.framesOut]
        return try state.withLock { session throws(SessionError) in
            session.publish(.numberOfPendingFrames, .int(Int64(clamping: pending)))
            return try session.properties.copy(keys)
        }
    }

    private func addPool(_ pool: AddPool, _ file: consuming OwnedFD) throws(SessionError) {
        let limit = start.limits.maxPoolBytes
        guard let size = Int(exactly: pool.size), size > 0 else {
            throw SessionError(.parameter, "a pool of \(pool.size) bytes is not possible")
        }
        let isWritable = convertsFrames && SharedMemory.allowsWriting(file)
        let memory = try SharedMemory(
            receiving: file, minSize: size, maxSize: Int(clamping: limit),
            access: isWritable ? .readWrite : .readOnly)
        // The whole file is mapped, whatever the client says it uses.
        let mapped = UInt64(memory.size)
        try state.withLock { session throws(SessionError) in try session.addPool(pool.poolID, size: mapped) }
        pools[pool.poolID] = memory
    }

    /// Opens the encoder if that has not happened; false when it has.
    private func open(sequence: UInt32?) throws(SessionError) -> Bool {
        guard let configuration = try state.withLock({ session throws(SessionError) in try session.prepare() })
        else { return false }
        try push(.open(configuration, sequence: sequence))
        return true
    }

    private func admit(_ frame: EncodeFrame) throws(SessionError) {
        _ = try open(sequence: nil)
        let request = FrameRequest(
            frameID: frame.frameID, pts: frame.pts, duration: frame.duration, poolID: frame.poolID,
            forceKeyFrame: frame.flags.contains(.forceKeyFrame), baseFrameQP: frame.baseFrameQP,
            layout: frame.layout)
        let admitted = try state.withLock { session throws(SessionError) in try session.admit(request) }
        guard let pool = pools[frame.poolID] else {
            throw SessionError(.parameter, "there is no pool \(frame.poolID)")
        }
        stats.add(.framesIn, 1)
        try push(.encode(PendingFrame(request: admitted, pool: pool)))
    }

    private func push(_ job: EncodeTask) throws(SessionError) {
        guard jobs.push(job) else {
            throw SessionError(.parameter, "more messages than the session allows at once")
        }
    }

    /// The encoder has read a frame; called on the codec thread.
    func releaseFrame(_ frameID: UInt64) {
        state.withLock { $0.release(frameID) }
        stats.set(.progressNs, MonotonicTime.now.nanoseconds)
        send(FrameReleased(frameID: frameID))
    }

    /// What converts frames in RGB, and why; called on the codec thread.
    func tell(of conversion: InputConversion) {
        let (device, reason, fallback) = (conversion.device, conversion.reason, conversion.fallbackReason)
        state.withLock { session in
            session.publish(.pixelTransferDevice, .string(device))
            session.publish(.pixelTransferDeviceReason, .string(reason))
            session.publish(.pixelTransferFallbackReason, fallback.map(PropertyValue.string))
        }
    }

    /// A packet is about to go out; called on the codec thread.
    func countPacket(bytes: Int) {
        stats.add(.framesOut, 1)
        stats.add(.bytesOut, UInt64(bytes))
    }

    /// Sends a message from either thread; a client that is gone or does not read ends the session.
    func send(_ payload: some SessionPayload, fds: [Int32] = []) {
        do throws(TransportError) { try channel.send(payload, fds: fds) } catch { lost(error) }
    }

    /// As above, for bytes of no fixed form.
    func send(_ opcode: Opcode, _ bytes: [UInt8]) {
        do throws(TransportError) { try channel.send(opcode, bytes: bytes) } catch { lost(error) }
    }

    private func lost(_ error: TransportError) {
        if error.code == .closed { end(.ok, Self.clientIsGone) }
        end(.parameter, "the client does not read its messages: \(error.reason)")
    }

    /// Ends the session and the process, from either thread; whoever comes second waits for the exit.
    func end(_ status: Status, _ reason: String) -> Never {
        ending.withLock { _ in
            stats.set(.endStatus, UInt64(bitPattern: Int64(status.rawValue)))
            Self.report(.ended(code: status.rawValue, reason: reason))
            _ = try? channel.send(End(status: status, reason: reason))
            // Not exit(): x265's threads still run, and its destructors would wait for them.
            _exit(ExitStatus.ok.rawValue)
        }
    }

    private static func report(_ report: WorkerReport) {
        guard let bytes = try? JSON.encode(report) else { return }
        try? PacketSocket.send(bytes, to: WorkerDescriptor.broker)
    }
}
