// SPDX-License-Identifier: MIT
public import Model
internal import Transport
public import Wire

/// A compression session with the daemon: frames in, packets out.
///
/// Used from one thread. Sending never waits; what comes back is fetched with `nextEvent`. A program with an event
/// loop of its own waits for `fileDescriptor` to become readable and then calls `nextEvent(timeout: .zero)` until it
/// answers nil.
public final class CompressionSession {
    /// What came back.
    public enum Event {
        /// The hvcC record (ISO/IEC 14496-15, 8.3.3.1) of the packets to come.
        case formatDescription([UInt8])
        /// The worker reads a frame no more: its slot is free.
        case frameReleased(UInt64)
        /// A coded picture; its bytes are there until `release`.
        case packet(ReceivedPacket)
        /// Everything sent before `complete` has come out.
        case completed
    }

    /// A coded picture: its description, and where its bytes lie.
    public struct ReceivedPacket {
        /// Times, flags, types.
        public let description: Packet
        let memory: SharedMemory

        /// Length-prefixed NAL units (4-byte lengths), without parameter sets; valid until the packet is released.
        public var bytes: UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(
                rebasing: memory.bytes[Int(description.offset)..<Int(description.offset) + Int(description.size)])
        }
    }

    /// What Create answered: the encoder, whether it is hardware, why not, and the credits.
    public let created: CreateCompressionSession.Reply

    private let daemon: Daemon
    private let channel: SessionChannel
    private var pools: [UInt32: FramePool] = [:]
    private var arenas: [UInt32: SharedMemory] = [:]
    private var events: [Event] = []
    private var replies: [UInt32: Reply] = [:]
    private var completion: UInt32?
    private var awaited: UInt32?
    private var inFlight = 0
    private var ended: ClientError?

    /// Bytes an arena or a packet of its own may have: more than any picture of level 6.2 takes.
    private static let maxMemory = 1 << 30

    /// Creates a session; returns when its encoder is chosen.
    ///
    /// - Throws: the session's error (`CouldNotFindVideoEncoder`, `VideoEncoderNotAvailableNow`, `Parameter`, …), or why
    ///   the daemon could not be asked.
    public init(
        _ daemon: Daemon, _ parameters: CreateCompressionSession.Parameters, timeout: Duration = .seconds(30)
    ) throws(ClientError) {
        self.daemon = daemon
        let connection = try daemon.connect()
        created = try Daemon.exchange(
            CreateCompressionSession.self, parameters, upgrade: true, on: connection.rawValue,
            deadline: MonotonicTime.now + timeout)
        do throws(SystemError) {
            channel = SessionChannel(try MessageChannel(connection))
        } catch {
            throw ClientError(error, whileDoing: "cannot use the session's connection")
        }
    }

    /// Readable when `nextEvent` has something to do.
    public var fileDescriptor: Int32 { channel.channel.fileDescriptor }

    /// Frames sent and not released yet; at `created.maxFramesInFlight` no further one may be sent.
    public var framesInFlight: Int { inFlight }

    /// Registers a pool; frames may then name `poolID`.
    public func addPool(_ pool: FramePool, id poolID: UInt32) throws(ClientError) {
        let message = AddPool(poolID: poolID, size: UInt64(pool.memory.size))
        _ = try reply(to: try send(message, fds: [pool.memory.file.rawValue]))
        pools[poolID] = pool
    }

    /// Sets properties, all or none.
    ///
    /// - Throws: `PropertyNotSupported`, `PropertyReadOnly`, `Parameter`; the session goes on.
    public func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        let named = Dictionary(uniqueKeysWithValues: properties.map { ($0.key.rawValue, $0.value) })
        let bytes = try encode(named)
        _ = try reply(to: try send(.setProperties, bytes))
    }

    /// The values of properties; of all that have one when `keys` is empty.
    public func copyProperties(_ keys: [PropertyKey] = []) throws(ClientError) -> [PropertyKey: PropertyValue] {
        let reply = try self.reply(to: try send(.copyProperties, try encode(keys.map(\.rawValue))))
        do throws(SessionError) {
            let named = try JSON.decode([String: PropertyValue].self, from: reply.body)
            return Dictionary(uniqueKeysWithValues: named.map { (PropertyKey(rawValue: $0.key), $0.value) })
        } catch { throw ClientError(error) }
    }

    /// Opens the encoder now instead of at the first frame; the format description is an event before this returns.
    public func prepare() throws(ClientError) { _ = try reply(to: try send(.prepare, [])) }

    /// Sends a frame; its slot belongs to the worker until `frameReleased`.
    ///
    /// - Throws: `Parameter` when no credit is left, or why the session ended.
    public func encode(_ frame: EncodeFrame) throws(ClientError) {
        guard inFlight < created.maxFramesInFlight else {
            throw ClientError(SessionError(.parameter, "\(inFlight) frames are in flight; fetch events first"))
        }
        try send(frame)
        inFlight += 1
    }

    /// Asks for every packet; `completed` comes after the last one.
    ///
    /// No frame can be sent afterwards.
    public func complete() throws(ClientError) { completion = try send(CompleteFrames()) }

    /// Gives a packet's memory back.
    public func release(_ packet: ReceivedPacket) throws(ClientError) {
        try send(ReleasePacket(packetID: packet.description.packetID))
    }

    /// The next event; nil when none came in time.
    ///
    /// - Throws: what ended the session. When its worker died, the daemon is asked why.
    public func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        if !events.isEmpty { return events.removeFirst() }
        try pump(until: MonotonicTime.now + timeout) { !self.events.isEmpty }
        return events.isEmpty ? nil : events.removeFirst()
    }

    /// Ends the session at once; packets not fetched are lost.
    public func invalidate() {
        _ = try? channel.send(.invalidate)
        channel.channel.shutdown()
        if ended == nil { ended = ClientError(SessionError(.invalidSession, "the session was invalidated")) }
    }

    // MARK: - Messages

    private func encode(_ value: some Encodable) throws(ClientError) -> [UInt8] {
        do throws(SessionError) { return try JSON.encode(value) } catch { throw ClientError(error) }
    }

    @discardableResult
    private func send(_ payload: some SessionPayload, fds: [Int32] = []) throws(ClientError) -> UInt32 {
        if let ended { throw ended }
        do throws(TransportError) { return try channel.send(payload, fds: fds) } catch { throw lost(error) }
    }

    private func send(_ opcode: Opcode, _ bytes: [UInt8]) throws(ClientError) -> UInt32 {
        if let ended { throw ended }
        do throws(TransportError) { return try channel.send(opcode, bytes: bytes) } catch { throw lost(error) }
    }

    /// The reply to a message; events that come before it are kept.
    private func reply(
        to sequence: UInt32, timeout: Duration = .seconds(60)
    ) throws(ClientError) -> Reply {
        awaited = sequence
        defer { awaited = nil }
        try pump(until: MonotonicTime.now + timeout) { self.replies[sequence] != nil }
        guard let reply = replies.removeValue(forKey: sequence) else {
            throw ClientError(
                .connectionFailed, "the session did not answer within \(timeout.components.seconds) s")
        }
        guard reply.status == .ok else {
            throw ClientError(SessionError(reply.status, String(decoding: reply.body, as: UTF8.self)))
        }
        return reply
    }

    /// Receives until the condition holds or the deadline has passed.
    private func pump(until deadline: MonotonicTime, _ done: () -> Bool) throws(ClientError) {
        if let ended { throw ended }
        do {
            while !done() {
                let received = try channel.next { opcode, _, payload, fds in
                    try self.handle(opcode, payload, &fds)
                }
                switch received {
                case .message: if MonotonicTime.now > deadline { return }
                case .endOfFile: throw died()
                case .wouldBlock:
                    if try !channel.channel.waitReadable(until: deadline) { return }
                }
            }
        } catch {
            throw settle(error)
        }
    }

    private static func broken(_ what: String) -> SessionError {
        SessionError(.videoEncoderMalfunction, "the worker broke the protocol: \(what)")
    }

    private func handle(_ opcode: Opcode, _ payload: RawSpan, _ fds: inout FDQueue) throws(SessionError) {
        // What can be outstanding both ways is bounded by the credits; a worker that sends more is not ours.
        guard events.count <= created.maxFramesInFlight + created.maxPacketsInFlight + 8 else {
            throw Self.broken("more events than its credits allow")
        }
        switch opcode {
        case .reply:
            let reply = try Reply(decoding: payload)
            if reply.sequence == completion {
                guard reply.status == .ok else {
                    throw SessionError(reply.status, String(decoding: reply.body, as: UTF8.self))
                }
                completion = nil
                events.append(.completed)
            } else if reply.sequence == awaited {
                replies[reply.sequence] = reply
            }  // else: the answer to a question that was given up
        case .formatDescription: events.append(.formatDescription(payload.withUnsafeBytes { Array($0) }))
        case .addArena:
            let arena = try AddArena(decoding: payload)
            guard arenas.isEmpty else { throw Self.broken("a second arena") }
            arenas[arena.arenaID] = try map(&fds, size: arena.size)
        case .frameReleased:
            guard inFlight > 0 else { throw Self.broken("the release of a frame that is not in flight") }
            inFlight -= 1
            events.append(.frameReleased(try FrameReleased(decoding: payload).frameID))
        case .packet: events.append(.packet(try receive(try Packet(decoding: payload), &fds)))
        case .end:
            let end = try End(decoding: payload)
            throw SessionError(end.status == .ok ? .invalidSession : end.status, end.reason)
        default:
            throw SessionError(.videoEncoderMalfunction, "the worker sent \(opcode), which is the client's to send")
        }
    }

    private func receive(_ packet: Packet, _ fds: inout FDQueue) throws(SessionError) -> ReceivedPacket {
        let found =
            packet.arenaID == Packet.ownMemory
            ? try map(&fds, size: UInt64(packet.size)) : arenas[packet.arenaID]
        guard let memory = found, packet.offset <= UInt64(memory.size),
            UInt64(packet.size) <= UInt64(memory.size) - packet.offset
        else { throw SessionError(.videoEncoderMalfunction, "a packet lies outside the memory it names") }
        return ReceivedPacket(description: packet, memory: memory)
    }

    private func map(_ fds: inout FDQueue, size: UInt64) throws(SessionError) -> SharedMemory {
        guard let file = fds.popFirst(), size <= UInt64(Self.maxMemory) else {
            throw SessionError(.videoEncoderMalfunction, "packet memory came without its file, or is too large")
        }
        return try SharedMemory(
            receiving: file, minimumSize: Int(size), maximumSize: Self.maxMemory, access: .readOnly)
    }

    // MARK: - The end

    /// Remembers what ended the session, so that every later call says the same.
    private func settle(_ error: any Error) -> ClientError {
        let known: ClientError =
            switch error {
            case let error as ClientError: error
            case let error as SessionError: ClientError(error)
            case let error as TransportError: ClientError(error, whileDoing: "the session's connection failed")
            default: ClientError(.connectionFailed, "\(error)")
            }
        if ended == nil { ended = known }
        return known
    }

    /// A send failed: the worker may have said why before it went.
    private func lost(_ error: TransportError) -> ClientError {
        guard error.code == .closed else { return settle(error) }
        do throws(ClientError) {
            try pump(until: MonotonicTime.now + .seconds(1)) { false }
            return settle(error)
        } catch { return error }
    }

    /// The connection ended without an `end` message: the daemon knows how the worker died.
    private func died() -> ClientError {
        let question = GetSessionResult.Parameters(session: created.session, timeoutMs: 2000)
        guard let result = try? daemon.call(GetSessionResult.self, question, timeout: .seconds(5)), result.finished
        else {
            return ClientError(
                SessionError(.videoEncoderMalfunction, "the encoder process ended and the daemon cannot say why"))
        }
        let status = Status(rawValue: result.code)
        return ClientError(SessionError(status == .ok ? .videoEncoderMalfunction : status, result.reason))
    }
}
