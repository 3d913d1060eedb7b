// SPDX-License-Identifier: GPL-2.0-or-later
internal import Color
internal import Model
internal import Sessions
internal import Shaders
internal import Transport
internal import Wire

/// A frame on its way to the converting thread; keeps the memory it lies in mapped.
struct PendingTransfer: Sendable {
    var request: TransferFrameRequest
    var source: SharedMemory
    var target: SharedMemory
}

/// What the I/O thread asks of the converting thread, in order.
enum TransferJob: Sendable {
    /// Convert a frame.
    case convert(PendingTransfer)
    /// Answer the message with this sequence number: everything before it is done.
    case finish(sequence: UInt32)
}

/// The thread that converts, which may take long, so that the I/O thread never does.
struct TransferThread {
    /// Converters of colours that frames brought, kept: a stream may go to and fro.
    private static let maxConverters = 4

    let worker: WorkerSession
    let jobs: WorkQueue<TransferJob>
    /// The last one used is the last; the first is Create's and stays.
    private var converters: [(color: ColorDescription?, converter: any PixelConverter)]

    init(worker: WorkerSession, jobs: WorkQueue<TransferJob>, opened: OpenConverter) {
        self.worker = worker
        self.jobs = jobs
        converters = [(nil, opened.converter)]
    }

    /// Works until the queue is closed.
    mutating func run() {
        while case .element(let job) = jobs.pop() {
            worker.stats.set(.busySinceNs, MonotonicTime.now.nanoseconds)
            switch job {
            case .convert(let frame): convert(frame)
            case .finish(let sequence): worker.send(Reply(sequence: sequence))
            }
            worker.stats.set(.busySinceNs, 0)
        }
    }

    /// Converts and answers; a colour that is not converted costs its own frame alone.
    private mutating func convert(_ frame: PendingTransfer) {
        let request = frame.request
        var failure: SessionError?
        do throws(SessionError) {
            let converter = try converter(for: request.color)
            guard let source = frame.source.bytes.baseAddress, let target = frame.target.mutableBytes?.baseAddress
            else { throw SessionError(.allocationFailed, "a pool is not mapped") }
            // Both layouts were checked against their pools' sizes when the frame was admitted.
            try converter.convert(
                request.source.layout.planes.map {
                    PlaneView(base: source + Int($0.offset), stride: Int($0.stride))
                },
                into: request.target.layout.planes.map {
                    MutablePlaneView(base: target + Int($0.offset), stride: Int($0.stride))
                })
        } catch {
            failure = error
        }
        worker.answer(request.frameID, failure, bytes: worker.setup.targetBytes)
    }

    private mutating func converter(for color: ColorDescription?) throws(SessionError) -> any PixelConverter {
        if let index = converters.firstIndex(where: { $0.color == color }) { return converters[index].converter }
        let opened = try worker.setup.open(try worker.setup.conversion(of: color))
        if converters.count >= Self.maxConverters { converters.remove(at: 1) }
        converters.append((color, opened.converter))
        return opened.converter
    }
}
