// SPDX-License-Identifier: MIT
public import HWDModel
internal import HWDTransport
public import HWDWire

/// A pixel-transfer session for tasks: a frame in, the converted frame out.
///
/// Several tasks may convert at once. No method blocks a thread of Swift's cooperative pool. When the last reference goes,
/// the session ends and its process with it; converted frames stay valid.
///
/// Methods that wait for the worker or for memory throw an error of code `timedOut` after the session's `timeout`, and
/// `CancellationError` when their task is canceled; the session continues. Requests to the worker have 60 s of their own.
/// Except for `CancellationError`, all errors are `ClientError`s, whose `status` is VideoToolbox's number.
public actor AsyncTransferSession: AsyncSession {
    /// A frame that the worker has, and its answer.
    private struct Flight {
        var source: PixelBuffer
        var target: PixelBuffer
        var answer: FrameTransferred?
        /// Whether its task no longer waits.
        var isAbandoned = false
    }

    nonisolated let thread: SessionThread
    nonisolated let timeout: Duration
    /// The reply to Create: the device, why it is no GPU, and the credits.
    public nonisolated let created: CreateTransferSession.Reply

    private let session: TransferSession
    private var sources: BufferSource
    private var targets: BufferSource
    private var pools = RegisteredPools()
    private var flights: [UInt64: Flight] = [:]
    private var nextFrameID: UInt64 = 0

    /// Creates a session; returns when the daemon has chosen its converter.
    ///
    /// - Parameters:
    ///   - daemon: of `Daemon.find()`.
    ///   - parameters: those of the call CreateTransferSession (docs/protocol.md).
    ///   - tables: as in `TransferSession`.
    ///   - timeout: the limit of this call and of each wait for the worker or for other tasks. A request to the worker
    ///     (properties, new memory) has 60 s of its own, during which the session's other methods wait.
    /// - Throws: the session's error (`PixelTransferNotSupported`, `Parameter`, `AllocationFailed`, …), or why the daemon
    ///   cannot be reached.
    public init(
        _ daemon: Daemon, _ parameters: CreateTransferSession.Parameters, tables: [[UInt8]] = [],
        timeout: Duration = .seconds(30)
    ) async throws {
        let (width, height) = (parameters.width, parameters.height)
        sources = try BufferSource(parameters.source.pixelFormat, width: width, height: height)
        targets = try BufferSource(
            parameters.target.pixelFormat, width: parameters.targetWidth ?? width,
            height: parameters.targetHeight ?? height)
        let session = try await withoutBlocking { () throws(ClientError) in
            try TransferSession(daemon, parameters, tables: tables, timeout: timeout)
        }
        (created, self.timeout) = (session.created, timeout)
        thread = try SessionThread.start(socket: session.fileDescriptor)
        self.session = session
    }

    deinit { thread.stop() }

    /// The session's own thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The values of properties; those of all properties that have one when `keys` is empty.
    public func copyProperties(_ keys: [PropertyKey] = []) throws(ClientError) -> [PropertyKey: PropertyValue] {
        try request { () throws(ClientError) in try session.copyProperties(keys) }
    }

    /// Changes the parameters of the session's effects, as `TransferSession.changeEffects`.
    public func changeEffects(
        _ effects: [String], from pts: Int64 = EffectSchedule.always
    ) throws(ClientError) {
        try request { () throws(ClientError) in try session.changeEffects(effects, from: pts) }
    }

    // MARK: - Frames

    /// Memory for a frame to convert; waits until there is some.
    public func makePixelBuffer() async throws -> PixelBuffer {
        try await buffer { () throws(ClientError) in try sources.next(wakes: thread) }
    }

    /// Converts a frame whose samples `fill` writes.
    ///
    /// - Parameters:
    ///   - color: the frame's color, where it differs from the one that Create named.
    ///   - pts: the frame's time, by which changes of effects hold for it.
    ///   - fill: called with the planes of the source's pixel format, on the caller's thread.
    /// - Throws: as `convert(_:color:pts:)`, and the error of `fill`: then nothing was sent.
    public nonisolated(nonsending) func convert(
        color: ColorDescription? = nil, pts: Int64? = nil, fill: ([PixelBuffer.MutablePlane]) throws -> Void
    ) async throws -> PixelBuffer {
        let buffer = try await makePixelBuffer()
        try buffer.withMutablePlanes(fill)
        return try await convert(buffer, color: color, pts: pts)
    }

    /// Converts a frame: of `makePixelBuffer`, or another session's of the same format and size.
    ///
    /// Nothing may write to the source meanwhile. The result is one of a few buffers, which is used again once nothing
    /// refers to it. After cancellation or a timeout, source and target stay in use until a later call of the session.
    /// - Parameters:
    ///   - source: the samples.
    ///   - color: the frame's color, where it differs from the one that Create named.
    ///   - pts: the frame's time, by which changes of effects hold for it.
    /// - Throws: `PixelTransferNotSupported` for a color that cannot be converted, `Parameter` for another format or size:
    ///   the session continues after these. Any other error says why the session ended.
    public func convert(
        _ source: PixelBuffer, color: ColorDescription? = nil, pts: Int64? = nil
    ) async throws -> PixelBuffer {
        try sources.check(source)
        let target = try await buffer { () throws(ClientError) in
            session.framesInFlight < created.maxFramesInFlight ? try targets.next(wakes: thread) : nil
        }
        let number = nextFrameID
        nextFrameID += 1
        let frame = TransferFrame(
            frameID: number, source: .init(poolID: try poolID(of: source), layout: source.layout),
            target: .init(poolID: try poolID(of: target), layout: target.layout), color: color, pts: pts)
        try request { () throws(ClientError) in try session.transfer(frame) }
        flights[number] = Flight(source: source, target: target)
        do {
            try await wait(elseFail: "the frame was not converted") { flights[number]?.answer != nil }
        } catch {
            // The worker may still write to the target: its answer ends the flight.
            flights[number]?.isAbandoned = true
            throw error
        }
        if let answer = flights.removeValue(forKey: number)?.answer, answer.status != .ok {
            throw ClientError(SessionError(answer.status, answer.reason))
        }
        return target
    }

    /// Waits until `make` returns a buffer.
    private func buffer(from make: () throws(ClientError) -> PixelBuffer?) async throws -> PixelBuffer {
        let fault = "no buffer is free (does the app keep converted frames?)"
        var made: PixelBuffer?
        try await wait(elseFail: fault) { () throws(ClientError) in
            made = try make()
            return made != nil
        }
        guard let made else { throw ClientError(.timedOut, fault) }
        return made
    }

    private func poolID(of buffer: PixelBuffer) throws(ClientError) -> UInt32 {
        let inFlight = flights.values.flatMap { [$0.source.memory, $0.target.memory] }
        return try request { () throws(ClientError) in
            try pools.id(of: buffer.memory, inFlight: inFlight, in: session)
        }
    }

    /// Ends the session, after the request that runs, if there is one; every wait ends with `InvalidSession`.
    public func invalidate() {
        session.invalidate()
        thread.resumeWaiters()
    }

    // MARK: - Events

    func nextEvent() throws(ClientError) -> TransferSession.Event? { try session.nextEvent(timeout: .zero) }

    func handle(_ event: TransferSession.Event) {
        guard case .frame(let answer) = event else { return }
        if flights[answer.frameID]?.isAbandoned == true {
            flights[answer.frameID] = nil
        } else {
            flights[answer.frameID]?.answer = answer
        }
    }
}
