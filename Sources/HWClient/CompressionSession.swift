// SPDX-License-Identifier: MIT
public import HWDModel
public import HWDTransport
public import HWDWire

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

    private let link: SessionLink
    /// Memory that frames under way lie in.
    private var pools: [UInt32: SharedMemory] = [:]
    private var arenas: [UInt32: SharedMemory] = [:]
    private var events: [Event] = []
    private var completion: UInt32?
    private var inFlight = 0

    /// Bytes an arena or a packet of its own may have: more than any picture of level 6.2 takes.
    private static let maxMemory = 1 << 30

    /// Creates a session; returns when its encoder is chosen.
    ///
    /// - Throws: the session's error (`CouldNotFindVideoEncoder`, `VideoEncoderNotAvailableNow`, `Parameter`, …), or why
    ///   the daemon could not be asked.
    public init(
        _ daemon: Daemon, _ parameters: CreateCompressionSession.Parameters, timeout: Duration = .seconds(30)
    ) throws(ClientError) {
        let connection = try daemon.connect()
        created = try Daemon.exchange(
            CreateCompressionSession.self, parameters, upgrade: true, on: connection.rawValue,
            deadline: MonotonicTime.now + timeout)
        link = try SessionLink(
            daemon, connection, session: created.session, malfunction: .videoEncoderMalfunction)
    }

    /// Readable when `nextEvent` has something to do.
    public var fileDescriptor: Int32 { link.fileDescriptor }

    /// Frames sent and not released yet; at `created.maxFramesInFlight` no further one may be sent.
    public var framesInFlight: Int { inFlight }

    /// Registers a pool; frames may then name `poolID`.
    public func addPool(_ pool: FramePool, id poolID: UInt32) throws(ClientError) {
        try addPool(pool.memory, id: poolID)
    }

    /// Registers memory of any owner, such as a decompression session's pictures.
    public func addPool(_ memory: SharedMemory, id poolID: UInt32) throws(ClientError) {
        let message = AddPool(poolID: poolID, size: UInt64(memory.size))
        _ = try reply(to: try send(message, fds: [memory.file.rawValue]))
        pools[poolID] = memory
    }

    /// Forgets a pool in which no frame under way lies.
    public func removePool(id poolID: UInt32) throws(ClientError) {
        _ = try reply(to: try send(RemovePool(poolID: poolID)))
        pools[poolID] = nil
    }

    /// Sets properties, all or none.
    ///
    /// - Throws: `PropertyNotSupported`, `PropertyReadOnly`, `Parameter`; the session goes on.
    public func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        let named = Dictionary(uniqueKeysWithValues: properties.map { ($0.key.rawValue, $0.value) })
        let bytes = try SessionLink.encode(named)
        _ = try reply(to: try send(.setProperties, bytes))
    }

    /// The values of properties; of all that have one when `keys` is empty.
    public func copyProperties(_ keys: [PropertyKey] = []) throws(ClientError) -> [PropertyKey: PropertyValue] {
        let reply = try self.reply(to: try send(.copyProperties, try SessionLink.encode(keys.map(\.rawValue))))
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
        try link.pump(until: MonotonicTime.now + timeout, handle) { !self.events.isEmpty }
        return events.isEmpty ? nil : events.removeFirst()
    }

    /// Ends the session at once; packets not fetched are lost.
    public func invalidate() { link.invalidate() }

    // MARK: - Messages

    @discardableResult
    private func send(_ payload: some SessionPayload, fds: [Int32] = []) throws(ClientError) -> UInt32 {
        try link.send(payload, fds: fds, handle)
    }

    private func send(_ opcode: Opcode, _ bytes: [UInt8]) throws(ClientError) -> UInt32 {
        try link.send(opcode, bytes, handle)
    }

    private func reply(to sequence: UInt32) throws(ClientError) -> Reply {
        try link.reply(to: sequence, handle)
    }

    private func handle(_ opcode: Opcode, _ payload: RawSpan, _ fds: inout FDQueue) throws(SessionError) {
        // What can be outstanding both ways is bounded by the credits; a worker that sends more is not ours.
        guard events.count <= created.maxFramesInFlight + created.maxPacketsInFlight + 8 else {
            throw link.broken("more events than its credits allow")
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
            }  // else: the answer to a question that was given up
        case .formatDescription: events.append(.formatDescription(payload.withUnsafeBytes { Array($0) }))
        case .addArena:
            let arena = try AddArena(decoding: payload)
            guard arenas.isEmpty else { throw link.broken("a second arena") }
            arenas[arena.arenaID] = try map(&fds, size: arena.size)
        case .frameReleased:
            guard inFlight > 0 else { throw link.broken("the release of a frame that is not in flight") }
            inFlight -= 1
            events.append(.frameReleased(try FrameReleased(decoding: payload).frameID))
        case .packet: events.append(.packet(try receive(try Packet(decoding: payload), &fds)))
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
            receiving: file, minSize: Int(size), maxSize: Self.maxMemory, access: .readOnly)
    }
}
