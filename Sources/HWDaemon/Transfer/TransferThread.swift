// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel
internal import HWDPolicy
internal import HWDConversion
internal import HWDTransport
internal import HWDWire
internal import HWDWorker

/// A frame on its way to the converting thread; keeps its pools mapped.
struct PendingTransfer: Sendable {
    var frame: TransferFrame
    var source: SharedMemory
    var target: SharedMemory
    /// Where they are copies of dma-bufs.
    var sourcePicture: PictureUse?
    var targetPicture: PictureUse?
    var scaling: ScalingOptions
    var effects: Effects
}

/// The I/O thread's tasks for the converting thread, done in order.
enum TransferTask: SessionTask {
    case convert(PendingTransfer)
    /// Finish every frame, then reply to these messages.
    case finish(sequences: [UInt32])
    /// Make the GPU forget `TransferWorker.removedPools`.
    case poolsRemoved

    mutating func absorb(_ next: TransferTask) -> Bool {
        guard case .finish(let sequences) = self, case .finish(let added) = next, sequences.count < Self.maxReplies
        else {
            return false
        }
        self = .finish(sequences: sequences + added)
        return true
    }
}

/// The thread that converts: a conversion may take long, for which the I/O thread must not wait.
///
/// It keeps as many frames in flight as the converter allows: while a GPU works on one, the next is uploaded.
struct TransferThread {
    /// A frame that was submitted to a converter.
    private struct Begun {
        var frame: TransferFrame
        /// Keeps the pools mapped.
        var pools: (SharedMemory, SharedMemory)
        /// Where the result goes besides its pool.
        var targetPicture: PictureUse?
        var wait: DeviceWait
        var converter: any PixelConverter
        var ticket: ConversionTicket

        func uses(_ memory: SharedMemory) -> Bool { pools.0 === memory || pools.1 === memory }
    }

    /// Cached converters: a stream may alternate between the colors of its frames.
    private static let maxConverters = 4

    let worker: TransferWorker
    let tasks: WorkQueue<TransferTask>
    private let gpu: SharedGPU
    /// What determines a converter.
    private struct Key: Equatable {
        var color: ColorDescription?
        var scaling: ScalingOptions
        var effects: Effects
    }

    /// The first is the one of the Create call, which is never evicted; the others are ordered by age.
    private var converters: [(key: Key, converter: any PixelConverter)]
    /// Oldest first.
    private var begun: [Begun] = []
    private var priority: ThreadPriority

    init(worker: TransferWorker, tasks: WorkQueue<TransferTask>, opened: OpenConverter) {
        self.worker = worker
        self.tasks = tasks
        gpu = opened.gpu
        priority = ThreadPriority(worker.port.realTime)
        let options = worker.setup.conversion.options
        converters = [(Key(scaling: options.scaling, effects: options.effects), opened.converter)]
    }

    /// Works until the queue is closed.
    mutating func run() {
        while true {
            // With a frame in flight the thread waits for that frame only.
            let popped = tasks.pop(timeout: begun.isEmpty ? nil : .zero)
            worker.port.stats.set(.busySinceNs, MonotonicTime.now.nanoseconds)
            for pool in worker.removedPools.takeAll() { gpu.forget(pool) }
            switch popped {
            case .element(.convert(let frame)):
                // The CPU's threads for a frame have this thread's priority.
                if let notice = priority.lower(to: worker.priority) { worker.publish(notice: notice) }
                begin(frame)
            case .element(.finish(let sequences)):
                finishAll()
                for sequence in sequences { worker.send(Reply(sequence: sequence)) }
            case .element(.poolsRemoved): break
            case .timedOut: finishOldest()
            case .closed: return finishAll()
            }
            do throws(SessionError) { try worker.port.memory.check() } catch {
                worker.end(error.status, error.reason)
            }
            if begun.isEmpty { worker.port.stats.set(.busySinceNs, 0) }
        }
    }

    /// Submits a frame; a frame that cannot be converted is answered in order.
    private mutating func begin(_ pending: PendingTransfer) {
        let frame = pending.frame
        // A frame that reads another's result, or overwrites its source, must wait for it.
        if begun.contains(where: { frame.touches($0.frame, worker.setup.sides) }) { finishAll() }
        // Their copies are written now, and after the conversion; and no frame's answer waits for another's fence.
        for picture in [pending.sourcePicture, pending.targetPicture].compactMap(\.self)
        where !begun.isEmpty && (!picture.isReady || begun.contains { $0.uses(picture.picture.copy) }) {
            finishAll()
        }
        do throws(SessionError) {
            var wait = DeviceWait()
            try pending.sourcePicture?.load(&wait)
            try pending.targetPicture?.prepare(&wait)
            let converter = try converter(
                for: Key(color: frame.color, scaling: pending.scaling, effects: pending.effects))
            while begun.count >= converter.depth { finishOldest() }
            guard let source = pending.source.bytes.baseAddress,
                let target = pending.target.mutableBytes?.baseAddress
            else { throw SessionError(.allocationFailed, "a pool is not mapped") }
            for pool in [pending.source, pending.target] {
                gpu.use(pool.bytes, isWritable: pool.access == .readWrite, of: pool)
            }
            // Admission has checked both layouts against their pools' sizes.
            let ticket = try converter.submit(
                frame.source.layout.planes(at: source), into: frame.target.layout.mutablePlanes(at: target))
            begun.append(
                Begun(
                    frame: frame, pools: (pending.source, pending.target), targetPicture: pending.targetPicture,
                    wait: wait, converter: converter, ticket: ticket))
        } catch {
            // A color that cannot be converted fails only its own frame.
            finishAll()
            worker.answer(frame.frameID, error, bytes: worker.setup.targetBytes)
        }
    }

    private mutating func finishAll() { while !begun.isEmpty { finishOldest() } }

    private mutating func finishOldest() {
        guard !begun.isEmpty else { return }
        var oldest = begun.removeFirst()
        var failure: SessionError?
        do throws(SessionError) {
            try oldest.converter.finish(oldest.ticket)
            try oldest.targetPicture?.store(&oldest.wait)
        } catch { failure = error }
        worker.publish(gpu.memoryUse)
        worker.answer(oldest.frame.frameID, failure, bytes: worker.setup.targetBytes)
    }

    private mutating func converter(for key: Key) throws(SessionError) -> any PixelConverter {
        if let index = converters.firstIndex(where: { $0.key == key }) { return converters[index].converter }
        let conversion = try worker.setup.conversion(of: key.color, key.scaling, key.effects)
        // Effects change with the frames' times: a converter without frames in flight takes their new parameters.
        for index in converters.indices {
            let (own, converter) = converters[index]
            guard own.color == key.color, own.scaling == key.scaling,
                !begun.contains(where: { $0.converter === converter }), try converter.change(to: conversion)
            else { continue }
            converters[index].key = key
            return converter
        }
        let opened = try worker.setup.open(conversion, sharing: gpu)
        if converters.count >= Self.maxConverters { converters.remove(at: 1) }
        converters.append((key, opened.converter))
        return opened.converter
    }
}
