// SPDX-License-Identifier: MIT
public import HWDModel
internal import HWDTransport
public import HWDWire

/// A compression session for tasks: frames in, packets out.
///
/// One task sends frames with `encode`, another iterates over `packets`. The encoder waits while the app keeps its
/// packets, and `encode` then waits for the encoder: neither side can get more than a few frames ahead. No method blocks
/// a thread of Swift's cooperative pool. When the last reference goes, the session ends and its process with it.
///
/// Methods that wait for the encoder or for another task throw an error of code `timedOut` after the session's `timeout`,
/// and `CancellationError` when their task is canceled; the session continues. Requests to the worker have 60 s of their
/// own. Except for `CancellationError`, all errors are `ClientError`s, whose `status` is VideoToolbox's number.
public actor AsyncCompressionSession: AsyncSession {
    /// Options of one frame: VideoToolbox's frame properties.
    public struct FrameOptions: Hashable, Sendable {
        /// `ForceKeyFrame`: whether decoding can start at this frame.
        public var forceKeyFrame = false
        /// `BaseFrameQP`: the quantization parameter, 0…51; nil leaves it to the session.
        public var baseFrameQP: Int32?
        /// `SourceAlphaMode` of this frame; nil leaves it to the session.
        public var sourceAlphaMode: AlphaChannelMode?
        /// Color and HDR metadata of this frame; needs a daemon with the feature `frame-metadata` (GetFeatures).
        public var metadata: FrameMetadata?

        /// No option.
        public init() {}

        /// Refuses what would end the session.
        func check() throws(ClientError) {
            if let qp = baseFrameQP, !(0...51).contains(qp) {
                throw .parameter("the quantization parameter is \(qp), not 0 to 51")
            }
            guard let sideData = metadata?.sideData else { return }
            guard sideData.count <= FrameSideData.maxEntries else {
                throw .parameter(
                    "the frame has \(sideData.count) side data; \(FrameSideData.maxEntries) is the limit")
            }
            guard Set(sideData.map(\.kind)).count == sideData.count else {
                throw .parameter("the frame has several side data of a kind")
            }
            for data in sideData {
                guard !data.bytes.isEmpty, data.kind.size.map({ $0 == data.bytes.count }) ?? true else {
                    throw .parameter("side data of kind \(data.kind.rawValue) have \(data.bytes.count) bytes")
                }
            }
            let size = sideData.reduce(0) { $0 + $1.bytes.count }
            guard size <= FrameSideData.maxBytes else {
                throw .parameter("the frame has \(size) bytes of side data; \(FrameSideData.maxBytes) is the limit")
            }
        }
    }

    nonisolated let thread: SessionThread
    nonisolated let timeout: Duration
    /// The reply to Create: the encoder, whether it is hardware, why not, and the credits.
    public nonisolated let created: CreateCompressionSession.Reply
    /// The record (ISO/IEC 14496-15, 8.3.3.1) of the packets that come next; nil before `prepare` and the first packet.
    public private(set) var formatDescription: [UInt8]?

    let session: CompressionSession
    private var buffers: BufferSource
    private var pools = RegisteredPools()
    private var framesInFlight: [UInt64: PixelBuffer] = [:]
    private var nextFrameID: UInt64 = 0
    /// Packets that `packets` has not returned; their credits bound them.
    private var received: [(packet: CompressionSession.ReceivedPacket, newFormat: [UInt8]?)] = []
    private var newFormat: [UInt8]?
    /// Calls of `complete` and `finish`, those that were answered, and the one that is the last.
    private var completions = (requested: 0, answered: 0, last: Int.max)

    /// Creates a session; returns when the daemon has chosen its encoder.
    ///
    /// - Parameters:
    ///   - daemon: of `Daemon.find()`.
    ///   - parameters: those of the call CreateCompressionSession (docs/protocol.md).
    ///   - timeout: the limit of this call and of each wait for the encoder or for other tasks. A request to the worker
    ///     (properties, `prepare`, new memory) has 60 s of its own, during which the session's other methods wait.
    /// - Throws: the session's error (`CouldNotFindVideoEncoder`, `VideoEncoderNotAvailableNow`, `Parameter`, …), or why
    ///   the daemon cannot be reached.
    public init(
        _ daemon: Daemon, _ parameters: CreateCompressionSession.Parameters, timeout: Duration = .seconds(30)
    ) async throws {
        let size = parameters.frameSize
        buffers = try BufferSource(parameters.pixelFormat, width: size.width, height: size.height)
        let session = try await withoutBlocking { () throws(ClientError) in
            try CompressionSession(daemon, parameters, timeout: timeout)
        }
        (created, self.timeout) = (session.created, timeout)
        buffers.keptCount = max(0, session.created.maxFramesHeld ?? 0)
        thread = try SessionThread.start(socket: session.fileDescriptor)
        self.session = session
    }

    deinit { thread.stop() }

    /// The session's own thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    // MARK: - Properties

    /// Sets properties, all or none; once the encoder is open, those that are `live` from the next frame on.
    ///
    /// - Throws: `PropertyNotSupported`, `PropertyReadOnly`, `Parameter`; the session continues.
    public func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        try request { () throws(ClientError) in try session.setProperties(properties) }
    }

    /// The values of properties; those of all properties that have one when `keys` is empty.
    public func copyProperties(_ keys: [PropertyKey] = []) throws(ClientError) -> [PropertyKey: PropertyValue] {
        try request { () throws(ClientError) in try session.copyProperties(keys) }
    }

    /// Opens the encoder now instead of at the first frame.
    ///
    /// - Returns: the format description of the packets that follow.
    @discardableResult
    public func prepare() async throws -> [UInt8] {
        try request { () throws(ClientError) in try session.prepare() }
        try await wait(elseFail: "the encoder sent no format description") { formatDescription != nil }
        return formatDescription ?? []
    }

    // MARK: - Frames

    /// Memory for a frame that the encoder reads in place; waits until there is some.
    public func makePixelBuffer() async throws -> PixelBuffer {
        var buffer: PixelBuffer?
        let fault = "no frame is released (does a task read `packets`?)"
        try await wait(elseFail: fault) { () throws(ClientError) in
            buffer = try buffers.next(wakes: thread, kept: framesInFlight.count - session.framesInFlight)
            return buffer != nil
        }
        guard let buffer else { throw ClientError(.timedOut, fault) }
        return buffer
    }

    /// Sends a frame whose samples `fill` writes.
    ///
    /// - Parameters:
    ///   - pts: presentation time in units of the session's time base, later than that of the frame before.
    ///   - duration: in the same units; 0 if unknown.
    ///   - options: the frame's properties, color and metadata.
    ///   - fill: called with the planes of the session's pixel format, on the caller's thread.
    /// - Throws: as `encode(_:at:duration:options:)`, and the error of `fill`: then nothing was sent.
    public nonisolated(nonsending) func encode(
        at pts: Int64, duration: Int64 = 0, options: FrameOptions = FrameOptions(),
        fill: ([PixelBuffer.MutablePlane]) throws -> Void
    ) async throws {
        let buffer = try await makePixelBuffer()
        try buffer.withMutablePlanes(fill)
        try await encode(buffer, at: pts, duration: duration, options: options)
    }

    /// Sends a frame, which the encoder reads in place: of `makePixelBuffer`, or another session's of the same format.
    ///
    /// Nothing may write to the buffer from now on. Waits while the session has as many frames as it takes.
    /// - Throws: `Parameter` for another format or size, for a quantization parameter out of range, and for side data that
    ///   are too many, too large or twice of a kind: nothing was sent. `InvalidSession` after `finish`, or why the session
    ///   ended.
    public func encode(
        _ buffer: PixelBuffer, at pts: Int64, duration: Int64 = 0, options: FrameOptions = FrameOptions()
    ) async throws {
        try buffers.check(buffer)
        try options.check()
        try await wait(elseFail: "no frame is released (does a task read `packets`?)") {
            session.framesInFlight < created.maxFramesInFlight
        }
        guard completions.last == Int.max else {
            throw ClientError(SessionError(.invalidSession, "no frame can follow `finish`"))
        }
        var frame = EncodeFrame(
            frameID: nextFrameID, pts: pts, duration: duration, poolID: try poolID(of: buffer),
            flags: options.forceKeyFrame ? .forceKeyFrame : [], baseFrameQP: options.baseFrameQP ?? -1,
            layout: buffer.layout, metadata: options.metadata)
        frame.sourceAlphaMode = options.sourceAlphaMode
        try request { () throws(ClientError) in try session.encode(frame) }
        framesInFlight[nextFrameID] = buffer
        nextFrameID += 1
    }

    private func poolID(of buffer: PixelBuffer) throws(ClientError) -> UInt32 {
        let inFlight = framesInFlight.values.map(\.memory)
        return try request { () throws(ClientError) in
            try pools.id(
                of: buffer.memory, inFlight: inFlight, sparing: buffers.sparedCount(in: buffer.memory), in: session)
        }
    }

    // MARK: - The end

    /// Waits until the encoder has returned the packets of the frames up to `pts`; frames may follow.
    ///
    /// Another task must read `packets` meanwhile. The next frame may be a key frame.
    /// - Parameter pts: in units of the session's time base; by default every frame is meant.
    public func complete(until pts: Int64 = .max) async throws {
        let number = try requestCompletion(until: pts)
        try await wait(elseFail: "the packets did not come (does a task read `packets`?)") {
            completions.answered >= number
        }
    }

    /// Announces that no frame follows, without waiting: `packets` ends after the packet of the last frame.
    public func finish() throws(ClientError) {
        guard completions.last == Int.max else { return }
        completions.last = try requestCompletion(until: .max)
    }

    private func requestCompletion(until pts: Int64) throws(ClientError) -> Int {
        try request { () throws(ClientError) in try session.complete(until: pts) }
        completions.requested += 1
        return completions.requested
    }

    /// Ends the session, after the request that runs, if there is one.
    ///
    /// Packets that have not arrived are lost; `packets` returns those that have, and then throws `InvalidSession`, as every
    /// wait does.
    public func invalidate() {
        session.invalidate()
        thread.resumeWaiters()
    }

    // MARK: - Packets

    func nextEvent() throws(ClientError) -> CompressionSession.Event? {
        // A frame that the session keeps makes room for another without an event, for which a task may wait.
        let before = session.framesInFlight
        defer { if session.framesInFlight < before { thread.resumeWaiters() } }
        return try session.nextEvent(timeout: .zero)
    }

    func handle(_ event: CompressionSession.Event) {
        switch event {
        case .formatDescription(let record): (formatDescription, newFormat) = (record, record)
        case .frameReleased(let frameID): framesInFlight[frameID] = nil
        case .packet(let packet):
            received.append((packet, newFormat))
            newFormat = nil
        case .completed: completions.answered += 1
        }
    }

    func nextPacket() async throws -> Packet? {
        try await wait(elseFail: nil) { !received.isEmpty || completions.answered >= completions.last }
        guard !received.isEmpty else { return nil }
        let (packet, newFormat) = received.removeFirst()
        let copy = Packet(packet, newFormat)
        // If the session ends here, the packet is still good; the next call throws, and so do the tasks that wait.
        if (try? session.release(packet)) == nil { thread.resumeWaiters() }
        return copy
    }
}
