// SPDX-License-Identifier: MIT
public import HWDModel
internal import HWDTransport
public import HWDWire

/// A decompression session for tasks: packets in, pictures out.
///
/// One task sends packets with `decode`, another iterates over `frames`. The decoder waits while the app keeps its
/// pictures, and `decode` then waits for the decoder. No method blocks a thread of Swift's cooperative pool. When the last
/// reference goes, the session ends and its process with it; pictures stay valid.
///
/// Methods that wait for the decoder or for another task throw an error of code `timedOut` after the session's `timeout`,
/// and `CancellationError` when their task is canceled; the session continues. Requests to the worker have 60 s of their
/// own. Except for `CancellationError`, all errors are `ClientError`s, whose `status` is VideoToolbox's number.
public actor AsyncDecompressionSession: AsyncSession {
    nonisolated let thread: SessionThread
    nonisolated let timeout: Duration
    /// The reply to Create: the decoder, whether it is hardware, why not, and the credits.
    public nonisolated let created: CreateDecompressionSession.Reply

    private let session: DecompressionSession
    private let released: ReleasedFrames
    /// Pictures that `frames` has not returned; their credits bound them.
    private var received: [DecompressionSession.ReceivedFrame] = []
    private var reports: [PacketReport] = []
    /// Calls of `finishDelayedFrames` and `finish`, those that were answered, and the one that is the last.
    private var completions = (requested: 0, answered: 0, last: Int.max)

    /// Reports that are kept for `takeReports`.
    private static let maxReports = 1024

    /// Creates a session; returns when the daemon has chosen its decoder.
    ///
    /// - Parameters:
    ///   - daemon: of `Daemon.find()`.
    ///   - parameters: those of the call CreateDecompressionSession (docs/protocol.md).
    ///   - timeout: the limit of this call and of each wait for the decoder or for other tasks. A request to the worker
    ///     (properties, new memory) has 60 s of its own, during which the session's other methods wait.
    /// - Throws: the session's error (`CouldNotFindVideoDecoder`, `VideoDecoderNotAvailableNow`, `VideoDecoderBadData`,
    ///   `VideoDecoderUnsupportedDataFormat`, `Parameter`, …), or why the daemon cannot be reached.
    public init(
        _ daemon: Daemon, _ parameters: CreateDecompressionSession.Parameters, timeout: Duration = .seconds(30)
    ) async throws {
        let session = try await withoutBlocking { () throws(ClientError) in
            try DecompressionSession(daemon, parameters, timeout: timeout)
        }
        (created, self.timeout) = (session.created, timeout)
        thread = try SessionThread.start(socket: session.fileDescriptor)
        released = ReleasedFrames(thread)
        self.session = session
    }

    deinit { thread.stop() }

    /// The session's own thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    // MARK: - Properties and formats

    /// Sets properties, all or none.
    ///
    /// - Throws: `PropertyNotSupported`, `PropertyReadOnly`, `Parameter`; the session continues.
    public func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        try request { () throws(ClientError) in try session.setProperties(properties) }
    }

    /// The values of properties; those of all properties that have one when `keys` is empty.
    public func copyProperties(_ keys: [PropertyKey] = []) throws(ClientError) -> [PropertyKey: PropertyValue] {
        try request { () throws(ClientError) in try session.copyProperties(keys) }
    }

    /// Whether packets of another format can follow in this session.
    public func canAcceptFormatDescription(_ description: [UInt8]) throws(ClientError) -> Bool {
        try request { () throws(ClientError) in try session.canAcceptFormatDescription(description) }
    }

    /// Announces that the packets that follow are of another format.
    ///
    /// - Throws: `FormatDescriptionChangeNotSupported`, `VideoDecoderUnsupportedDataFormat` or `VideoDecoderBadData`; the
    ///   session continues.
    public func changeFormat(_ description: [UInt8]) throws(ClientError) {
        try request { () throws(ClientError) in try session.changeFormat(description) }
    }

    // MARK: - Packets

    /// Sends a packet: one access unit, in decoding order, framed as the format description says.
    ///
    /// - Parameters:
    ///   - packet: its bytes.
    ///   - pts: the presentation time, in units of the session's time base; nil when it is not known.
    ///   - duration: in the same units; 0 if unknown.
    ///   - isOutput: whether the picture is returned, or decoded only as a reference of others.
    /// - Returns: the number that its picture and its reports carry.
    /// - Throws: `Parameter` for a packet that is empty or larger than 64 MiB, `InvalidSession` after `finish`, or why the
    ///   session ended.
    @discardableResult
    public func decode(
        _ packet: [UInt8], pts: Int64?, duration: Int64 = 0, isOutput: Bool = true
    ) async throws -> UInt64 {
        try await wait(elseFail: "the decoder takes no packet (does a task read `frames`?)") {
            session.hasRoom(for: packet.count)
        }
        guard completions.last == Int.max else {
            throw ClientError(SessionError(.invalidSession, "no packet can follow `finish`"))
        }
        // A packet that needs more memory is a request, with which events may come.
        defer { thread.resumeWaiters() }
        return try packet.withUnsafeBytes { bytes in
            try session.decode(bytes, pts: pts, duration: duration, isOutput: isOutput)
        }
    }

    /// Waits until the decoder has returned every picture; the packet that follows must be a key frame.
    ///
    /// Another task must read `frames` meanwhile.
    public func finishDelayedFrames() async throws {
        let number = try requestCompletion()
        try await wait(elseFail: "the pictures did not come (does a task read `frames`?)") {
            completions.answered >= number
        }
    }

    /// Announces that no packet follows, without waiting: `frames` ends after the last picture.
    public func finish() throws(ClientError) {
        guard completions.last == Int.max else { return }
        completions.last = try requestCompletion()
    }

    private func requestCompletion() throws(ClientError) -> Int {
        try request { () throws(ClientError) in try session.finishDelayedFrames() }
        completions.requested += 1
        return completions.requested
    }

    /// Ends the session, after the request that runs, if there is one.
    ///
    /// Pictures that have not arrived are lost; `frames` returns those that have, and then throws `InvalidSession`, as every
    /// wait does.
    public func invalidate() {
        session.invalidate()
        thread.resumeWaiters()
    }

    /// The reports on damaged and dropped packets since the last call; only the newest 1024 are kept.
    public func takeReports() -> [PacketReport] {
        defer { reports = [] }
        return reports
    }

    // MARK: - Pictures

    func nextEvent() throws(ClientError) -> DecompressionSession.Event? {
        for frame in released.take() { try session.release(frame) }
        return try session.nextEvent(timeout: .zero)
    }

    func handle(_ event: DecompressionSession.Event) {
        switch event {
        case .frame(let frame): received.append(frame)
        case .report(let report):
            if reports.count == Self.maxReports { reports.removeFirst() }
            reports.append(report)
        case .finished: completions.answered += 1
        }
    }

    func nextFrame() async throws -> Frame? {
        try await wait(elseFail: nil) { !received.isEmpty || completions.answered >= completions.last }
        guard !received.isEmpty else { return nil }
        return Frame(received.removeFirst(), released)
    }
}
