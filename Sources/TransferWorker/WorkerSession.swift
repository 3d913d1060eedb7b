// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel
internal import HWDSessions
internal import HWDShaders
internal import HWDTransport
internal import HWDWire
internal import HWDWorker
internal import Synchronization

/// One pixel-transfer session: what the I/O thread does, and what it shares with the converting thread.
final class WorkerSession: @unchecked Sendable {
    let setup: SessionSetup
    let stats: StatsPage

    private let start: WorkerStart
    private let signals: SignalFD
    private let port: SessionPort
    private let jobs = WorkQueue<TransferTask>(capacity: 2 * TransferSession.maxFramesInFlight)
    private let state: Mutex<TransferSession>
    /// The converter that Create opened, until the converting thread takes it.
    private let opened: OpenConverter
    /// Only the I/O thread touches the pools; frames under way hold their own reference.
    private var pools: [UInt32: SharedMemory] = [:]
    /// What the converting thread's device must let go of.
    let removedPools = RemovedPools()
    private let memoryUse = Mutex<SharedGPU.MemoryUse?>(nil)

    /// Answers the Create call and takes the connection over.
    ///
    /// A refused call is answered with its error and ends the process.
    init(start: WorkerStart, connection: consuming OwnedFD, signals: SignalFD) throws {
        self.start = start
        self.signals = signals
        do throws(SessionError) {
            stats = try StatsPage(receiving: OwnedFD(WorkerDescriptor.stats))
            setup = try SessionSetup(start)
            // A driver may take its time here, or for ever.
            stats.set(.busySinceNs, MonotonicTime.now.nanoseconds)
            // The broker then knows what this process died of, and has another answer the call.
            opened = try setup.open(setup.conversion, sharing: SharedGPU()) {
                WorkerStartup.report(.opening(encoderID: VulkanHints.converterID))
            }
            stats.set(.busySinceNs, 0)
        } catch {
            WorkerStartup.refuse(error, connection.rawValue)
        }
        state = Mutex(setup.session(maxPoolBytes: start.limits.maxPoolBytes))
        stats.set(.width, UInt64(setup.conversion.source.width))
        stats.set(.height, UInt64(setup.conversion.source.height))
        WorkerStartup.report(opened.report)
        port = try SessionPort(
            stats: stats, reply: try VarlinkReply.encode(opened.reply(start.session)), connection: connection,
            identity: SessionPort.ProcessIdentity(noun: "converter", stopped: .allocationFailed))
    }

    /// Serves the client until the session ends, which ends the process.
    func run() throws {
        let first = opened
        _ = try Thread.spawn(name: "convert") { [self] in
            var thread = TransferThread(worker: self, jobs: jobs, opened: first)
            thread.run()
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
        case .transferFrame: try admit(try TransferFrame(decoding: payload))
        case .removePool:
            port.answer(sequence) { () throws(SessionError) in
                let pool = try RemovePool(decoding: payload).poolID
                try state.withLock { session throws(SessionError) in try session.removePool(pool) }
                if let memory = pools.removeValue(forKey: pool) { removedPools.add(memory) }
                // Where the queue is full the thread looks soon enough.
                _ = jobs.push(.poolsRemoved)
                return []
            }
        case .copyProperties:
            port.answer(sequence) { () throws(SessionError) in
                let keys = try JSON.decode([String].self, from: payload.withUnsafeBytes { Array($0) })
                return try JSON.encode(try opened.properties(keys, memoryUse.withLock { $0 }))
            }
        case .setProperties:
            port.answer(sequence) { () throws(SessionError) in
                throw SessionError(.propertyReadOnly, "what a pixel-transfer session does is fixed by Create")
            }
        case .addPool:
            if let file = fds.popFirst() { try addPool(try AddPool(decoding: payload), file) }
            send(Reply(sequence: sequence))
        case .finishFrames:
            try ByteReader().expectEnd(of: payload)
            try push(.finish(sequence: sequence))
        case .invalidate:
            try ByteReader().expectEnd(of: payload)
            end(.ok, "invalidated by the client")
        case .reply, .formatDescription, .addArena, .frameReleased, .packet, .end, .frameDecoded, .packetReport,
            .removeArena, .frameTransferred:
            throw SessionError(.parameter, "message \(opcode) is the worker's to send")
        case .prepare, .encodeFrame, .completeFrames, .releasePacket:
            throw SessionError(.parameter, "message \(opcode) is for compression sessions")
        case .decodeFrame, .finishDelayedFrames, .canAcceptFormat, .changeFormat, .releaseFrame:
            throw SessionError(.parameter, "message \(opcode) is for decompression sessions")
        }
    }

    /// Maps a pool for writing, unless its owner sealed it against that: such a one can hold sources.
    private func addPool(_ pool: AddPool, _ file: consuming OwnedFD) throws(SessionError) {
        let limit = start.limits.maxPoolBytes
        let memory: SharedMemory
        if SharedMemory.isSealedAgainstWriting(file) {
            memory = try SessionPort.map(pool, file, limit: limit)
        } else {
            memory = try SessionPort.map(pool, file, limit: limit, access: .readWrite)
        }
        // The whole file is mapped, whatever the client says it uses.
        let size = UInt64(memory.size)
        let isWritable = memory.access == .readWrite
        try state.withLock { session throws(SessionError) in
            try session.addPool(pool.poolID, size: size, isWritable: isWritable)
        }
        pools[pool.poolID] = memory
    }

    private func admit(_ frame: TransferFrame) throws(SessionError) {
        let request = TransferFrameRequest(
            frameID: frame.frameID,
            source: TransferFrameRequest.Place(poolID: frame.source.poolID, layout: frame.source.layout),
            target: TransferFrameRequest.Place(poolID: frame.target.poolID, layout: frame.target.layout),
            color: frame.color)
        try state.withLock { session throws(SessionError) in try session.admit(request) }
        guard let source = pools[request.source.poolID], let target = pools[request.target.poolID] else {
            throw SessionError(.parameter, "frame \(frame.frameID) names a pool that does not exist")
        }
        stats.add(.framesIn, 1)
        try push(.convert(PendingTransfer(request: request, source: source, target: target)))
    }

    private func push(_ job: TransferTask) throws(SessionError) {
        guard jobs.push(job) else {
            throw SessionError(.parameter, "more messages than the session allows at once")
        }
    }

    // MARK: - For the converting thread

    /// What became of the pictures so far.
    func tell(_ use: SharedGPU.MemoryUse?) { memoryUse.withLock { $0 = use } }

    /// A frame is done, or could not be.
    func answer(_ frameID: UInt64, _ failure: SessionError?, bytes: Int) {
        state.withLock { $0.release(frameID) }
        stats.set(.progressNs, MonotonicTime.now.nanoseconds)
        stats.add(.framesOut, 1)
        if failure == nil { stats.add(.bytesOut, UInt64(bytes)) }
        send(
            FrameTransferred(frameID: frameID, status: failure?.status ?? .ok, reason: failure?.reason ?? ""))
    }

    /// Sends a message from either thread; a client that is gone or does not read ends the session.
    func send(_ payload: some SessionPayload) { port.send(payload) }

    /// Ends the session and the process, from either thread.
    func end(_ status: Status, _ reason: String) -> Never { port.end(status, reason) }
}
