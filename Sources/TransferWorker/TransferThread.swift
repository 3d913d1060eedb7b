// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel
internal import HWDSessions
internal import HWDShaders
internal import HWDTransport
internal import HWDWire
internal import HWDWorker

/// A frame on its way to the converting thread; keeps its pools mapped.
struct PendingTransfer: Sendable {
    var frame: TransferFrame
    var source: SharedMemory
    var target: SharedMemory
}

/// What the I/O thread asks of the converting thread, in order.
enum TransferTask: Sendable {
    /// Convert a frame.
    case convert(PendingTransfer)
    /// Answer the message with this sequence number: everything before it is done.
    case finish(sequence: UInt32)
    /// Let go of pools (`WorkerSession.removedPools`).
    case poolsRemoved
}

/// The thread that converts, which may take long, so that the I/O thread never does.
///
/// As many frames are under way as the converter can have: while a GPU works on one, the next is brought to it.
struct TransferThread {
    /// A frame that a converter has begun.
    private struct Begun {
        var frame: TransferFrame
        /// Keeps the pools mapped.
        var pools: (SharedMemory, SharedMemory)
        var converter: any PixelConverter
        var ticket: ConversionTicket
    }

    /// Converters of colours that frames brought, kept: a stream may go to and fro.
    private static let maxConverters = 4

    let worker: WorkerSession
    let tasks: WorkQueue<TransferTask>
    private let gpu: SharedGPU
    /// The last one used is the last; the first is Create's and stays.
    private var converters: [(color: ColorDescription?, converter: any PixelConverter)]
    /// Oldest first.
    private var begun: [Begun] = []

    init(worker: WorkerSession, tasks: WorkQueue<TransferTask>, opened: OpenConverter) {
        self.worker = worker
        self.tasks = tasks
        gpu = opened.gpu
        converters = [(nil, opened.converter)]
    }

    /// Works until the queue is closed.
    mutating func run() {
        while true {
            // With a frame under way nothing is waited for but that.
            let popped = tasks.pop(timeout: begun.isEmpty ? nil : .zero)
            worker.port.stats.set(.busySinceNs, MonotonicTime.now.nanoseconds)
            for pool in worker.removedPools.takeAll() { gpu.forget(pool) }
            switch popped {
            case .element(.convert(let frame)): begin(frame)
            case .element(.finish(let sequence)):
                finishAll()
                worker.send(Reply(sequence: sequence))
            case .element(.poolsRemoved): break
            case .timedOut: finishOldest()
            case .closed: return finishAll()
            }
            if begun.isEmpty { worker.port.stats.set(.busySinceNs, 0) }
        }
    }

    /// Begins a frame; one that cannot be is answered in its turn.
    private mutating func begin(_ pending: PendingTransfer) {
        let frame = pending.frame
        // What reads another's result, or writes where another still reads, comes after it.
        if begun.contains(where: { frame.touches($0.frame, worker.setup.sides) }) { finishAll() }
        do throws(SessionError) {
            let converter = try converter(for: frame.color)
            while begun.count >= converter.depth { finishOldest() }
            guard let source = pending.source.bytes.baseAddress, let target = pending.target.mutableBytes?.baseAddress
            else { throw SessionError(.allocationFailed, "a pool is not mapped") }
            for pool in [pending.source, pending.target] {
                gpu.use(pool.bytes, isWritable: pool.access == .readWrite, of: pool)
            }
            // Both layouts were checked against their pools' sizes when the frame was admitted.
            let ticket = try converter.submit(
                frame.source.layout.planes.map {
                    PlaneView(base: source + Int($0.offset), stride: Int($0.stride))
                },
                into: frame.target.layout.planes.map {
                    MutablePlaneView(base: target + Int($0.offset), stride: Int($0.stride))
                })
            begun.append(
                Begun(
                    frame: frame, pools: (pending.source, pending.target), converter: converter, ticket: ticket))
        } catch {
            // A colour that is not converted costs its own frame alone.
            finishAll()
            worker.answer(frame.frameID, error, bytes: worker.setup.targetBytes)
        }
    }

    private mutating func finishAll() { while !begun.isEmpty { finishOldest() } }

    private mutating func finishOldest() {
        guard !begun.isEmpty else { return }
        let oldest = begun.removeFirst()
        var failure: SessionError?
        do throws(SessionError) { try oldest.converter.finish(oldest.ticket) } catch { failure = error }
        worker.publish(gpu.memoryUse)
        worker.answer(oldest.frame.frameID, failure, bytes: worker.setup.targetBytes)
    }

    private mutating func converter(for color: ColorDescription?) throws(SessionError) -> any PixelConverter {
        if let index = converters.firstIndex(where: { $0.color == color }) { return converters[index].converter }
        let opened = try worker.setup.open(try worker.setup.conversion(of: color), sharing: gpu)
        if converters.count >= Self.maxConverters { converters.remove(at: 1) }
        converters.append((color, opened.converter))
        return opened.converter
    }
}
