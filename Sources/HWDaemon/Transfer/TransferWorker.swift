// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel
internal import HWDPolicy
internal import HWDConversion
internal import HWDTransport
internal import HWDWire
internal import HWDWorker
internal import Synchronization

/// One pixel-transfer session: the I/O thread's part, and what it shares with the converting thread.
final class TransferWorker: SessionHandler, @unchecked Sendable {
    let port: SessionPort
    let setup: SessionSetup
    /// Pools that the converting thread's GPU must forget.
    let removedPools = RemovedPools()

    private let tasks = WorkQueue<TransferTask>(
        capacity: TransferTask.capacity(frames: TransferAdmission.maxFramesInFlight))
    private let state: Mutex<TransferAdmission>
    /// The converter that was opened for Create; the converting thread takes it over.
    private let opened: OpenConverter
    /// The properties, and the scaling that follows from them.
    private let settings: Mutex<(properties: PropertyStore, scaling: ScalingOptions)>
    /// The I/O thread's.
    private var effects: SessionEffects

    /// Answers the Create call; a refused call ends the process.
    init(_ assigned: AssignedSession, _ parameters: CreateTransferSession.Parameters) throws {
        let (start, stats) = (assigned.start, assigned.stats)
        do throws(SessionError) {
            setup = try SessionSetup(start, parameters)
            // Looking for a GPU may already take long, or hang.
            stats.set(.busySinceNs, MonotonicTime.now.nanoseconds)
            opened = try setup.open(setup.conversion, sharing: SharedGPU()) {
                assigned.willOpen(VulkanHints.converterID)
            }
            assigned.willOpen(nil)
        } catch {
            assigned.refuse(error)
        }
        state = Mutex(setup.session)
        effects = SessionEffects(setup.conversion, added: setup.addedTables)
        let scaling = setup.conversion.options.scaling
        settings = Mutex((opened.properties(scaling), scaling))
        stats.set(.width, UInt64(setup.conversion.source.width))
        stats.set(.height, UInt64(setup.conversion.source.height))
        port = try assigned.accept(
            opened.reply(start.session), opened.report, runsDriver: !opened.converter.isCPU)
    }

    /// Serves the client until the session ends, which ends the process.
    func run() throws {
        let first = opened
        _ = try Thread.spawn(name: "convert") { [self] in
            var thread = TransferThread(worker: self, tasks: tasks, opened: first)
            thread.run()
        }
        port.run(self)
    }

    // MARK: - Messages

    func setProperties(_ values: [String: PropertyValue]) throws(SessionError) {
        try settings.withLock { settings throws(SessionError) in
            var changed = settings
            try changed.properties.set(values, isOpen: true)
            changed.scaling.apply(changed.properties)
            _ = try setup.conversion(of: nil, changed.scaling, setup.conversion.options.effects).validate()
            settings = changed
        }
    }

    func copyProperties(_ names: [String]) throws(SessionError) -> [String: PropertyValue] {
        try settings.withLock { settings throws(SessionError) in try settings.properties.copy(names) }
    }

    /// The priority that the properties describe at present.
    var priority: SessionPriority { settings.withLock { SessionPriority($0.properties) } }

    func access(to pool: borrowing OwnedFD) -> SharedMemory.Access {
        // A pool that its owner sealed against writing can still hold sources.
        SharedMemory.isSealedAgainstWriting(pool) ? .readOnly : .readWrite
    }

    var pictureSides: [(use: AddPicture.Uses, frames: TransferSide)] {
        [(.source, setup.sides.source), (.target, setup.sides.target)]
    }

    func isUsing(pool id: UInt32) -> Bool { state.withLock { $0.isUsing(pool: id) } }

    func didRemove(_ pool: SharedMemory) {
        removedPools.add(pool)
        // The thread takes removed pools before each task, so any that waits will do.
        _ = tasks.push(.poolsRemoved, merge: { _ in true })
    }

    func handle(
        _ opcode: Opcode, _ sequence: UInt32, _ payload: RawSpan, _ pools: PoolLedger<SharedMemory>
    ) throws(SessionError) {
        switch opcode {
        case .transferFrame: try admit(try TransferFrame(decoding: payload), pools)
        case .transferTimedFrame: try admit(try TransferTimedFrame(decoding: payload).frame, pools)
        case .changeEffects: try effects.change(try ChangeEffects(decoding: payload))
        case .finishFrames:
            try ByteReader().expectEnd(of: payload)
            try tasks.enqueue(.finish(sequences: [sequence]))
        default: throw SessionError(.parameter, "message \(opcode) is not handled")
        }
    }

    func add(_ message: AddTable, _ memory: SharedMemory) throws(SessionError) { try effects.add(message, memory) }

    private func admit(_ frame: TransferFrame, _ pools: PoolLedger<SharedMemory>) throws(SessionError) {
        var frame = frame
        let sourcePicture = try port.usePicture(.source, pool: frame.source.poolID, &frame.source.layout)
        let targetPicture = try port.usePicture(.target, pool: frame.target.poolID, &frame.target.layout)
        let (source, target) = try state.withLock { session throws(SessionError) in
            try session.admit(frame, in: pools)
        }
        port.stats.add(.framesIn, 1)
        let scaling = settings.withLock { $0.scaling }
        let effects = try effects.effects(of: frame)
        try tasks.enqueue(
            .convert(
                PendingTransfer(
                    frame: frame, source: source, target: target, sourcePicture: sourcePicture,
                    targetPicture: targetPicture, scaling: scaling, effects: effects)))
    }

    // MARK: - For the converting thread

    /// Publishes how the pictures so far were transferred to and from the GPU.
    func publish(_ use: SharedGPU.MemoryUse?) {
        settings.withLock { $0.properties.publish(.pixelTransferMemory, use.map { .string($0.text) }) }
    }

    /// Publishes what differs from the settings.
    func publish(notice: String) {
        settings.withLock { $0.properties.publish(.notices, .string(notice)) }
    }

    /// Answers a frame that was converted, or that could not be.
    func answer(_ frameID: UInt64, _ failure: SessionError?, bytes: Int) {
        state.withLock { $0.release(frameID) }
        port.stats.set(.progressNs, MonotonicTime.now.nanoseconds)
        port.stats.add(.framesOut, 1)
        if failure == nil { port.stats.add(.bytesOut, UInt64(bytes)) }
        send(FrameTransferred(frameID: frameID, status: failure?.status ?? .ok, reason: failure?.reason ?? ""))
    }
}

extension ScalingOptions {
    /// Takes what properties set.
    fileprivate mutating func apply(_ properties: PropertyStore) {
        if case .string(let name)? = properties.value(.scalingMode), let mode = Mode(rawValue: name) {
            self.mode = mode
        }
        cleanAperture = nil
        if case .string(let text)? = properties.value(.cleanAperture) {
            cleanAperture = PropertyText.aperture(text)?.rectangle
        }
    }
}
