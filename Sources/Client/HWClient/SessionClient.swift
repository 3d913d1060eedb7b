// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Handles the messages of a worker, for one kind of session.
protocol SessionReceiver {
    /// The call that creates the session.
    associatedtype Create: ControlMethod where Create.Reply: CreatedSession
    /// The type of the events that the app fetches.
    associatedtype Event

    static var kind: SessionKind { get }
    /// The event that answers `SessionClient.finish`.
    static var finished: Event { get }
    /// The most events, without `finished`, that a worker within its credits can leave unfetched.
    var maxEventCount: Int { get }

    /// Called when the app fetches an event: only then does a frame's credit return.
    mutating func didFetch(_ event: Event)

    /// Takes the credits from the reply to Create.
    init(_ created: Create.Reply)

    /// Decodes a message other than `reply` and `end`; nil when it is no event for the app.
    mutating func receive(
        _ opcode: Opcode, _ payload: RawSpan, _ fds: inout FDQueue
    ) throws(SessionError) -> Event?
}

extension SessionReceiver {
    /// The status of a worker that died or broke the protocol.
    static var malfunction: Status { kind.malfunction }

    mutating func didFetch(_ event: Event) {}

    /// The error for a violation of the protocol.
    static func broken(_ reason: String) -> SessionError {
        SessionError(malfunction, SessionLink.violation(reason))
    }

    /// The error for a message that a worker must not send in this kind of session.
    static func unexpected(_ opcode: Opcode) -> SessionError { broken("it sent \(opcode) to a client") }
}

/// The reply to a call that creates a session.
protocol CreatedSession {
    /// The session's identifier.
    var session: String { get }
    /// Whether a GPU or another device serves it.
    var usingHardware: Bool { get }
}

extension CreateCompressionSession.Reply: CreatedSession {}
extension CreateDecompressionSession.Reply: CreatedSession {}
extension CreateTransferSession.Reply: CreatedSession {
    var usingHardware: Bool { usingGPU }
}

/// The part of a session that all three kinds share: pools, properties, events and the end.
final class SessionClient<Receiver: SessionReceiver> {
    typealias Event = Receiver.Event

    let created: Receiver.Create.Reply
    var receiver: Receiver
    private let link: SessionLink
    /// Registered memory, mapped for as long as frames in flight may use it.
    private var pools: [UInt32: SharedMemory] = [:]
    private var events: [(event: Event, isFinished: Bool)] = []
    /// How many of `events` are limited by credits.
    ///
    /// Those that `finish` caused are not: the app limits them itself.
    private var creditedEventCount = 0
    /// Sequence numbers of the messages whose answers are events.
    private var finishing: Set<UInt32> = []

    /// - Parameters:
    ///   - connection: that of the Create call.
    ///   - created: the daemon's reply to it.
    init(
        _ daemon: Daemon, _ connection: consuming OwnedFD, _ created: Receiver.Create.Reply
    ) throws(ClientError) {
        self.created = created
        link = try SessionLink(daemon, connection, session: created.session, malfunction: Receiver.malfunction)
        receiver = Receiver(created)
    }

    var fileDescriptor: Int32 { link.fileDescriptor }

    // MARK: - Requests

    func addPool(_ memory: SharedMemory, id poolID: UInt32) throws(ClientError) {
        let message = AddPool(poolID: poolID, size: UInt64(memory.size))
        _ = try reply(to: try send(message, fds: [memory.file.rawValue]))
        pools[poolID] = memory
    }

    func removePool(id poolID: UInt32) throws(ClientError) {
        _ = try reply(to: try send(RemovePool(poolID: poolID)))
        pools[poolID] = nil
    }

    func addPicture(_ picture: DMABufPicture, id poolID: UInt32) throws(ClientError) {
        try picture.register(poolID) { (message, files) throws(ClientError) in
            _ = try reply(to: try send(message, fds: files))
        }
    }

    func addFence(_ fence: KeptFence, to poolID: UInt32) throws(ClientError) {
        _ = try reply(to: try send(AddFence(poolID: poolID), fds: [fence.file]))
    }

    func addTable(_ memory: SharedMemory, number: UInt32) throws(ClientError) {
        let message = AddTable(table: number, size: UInt64(memory.size))
        _ = try reply(to: try send(message, fds: [memory.file.rawValue]))
    }

    func changeEffects(_ change: EffectSchedule.Change) throws(ClientError) {
        let message: ChangeEffects
        do throws(SessionError) {
            message = try ChangeEffects(pts: change.pts, effects: change.list.effects.map { $0.text(table: nil) })
        } catch { throw ClientError(error) }
        _ = try reply(to: try send(message))
    }

    func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        let named = Dictionary(uniqueKeysWithValues: properties.map { ($0.key.rawValue, $0.value) })
        try request(.setProperties, try Self.encode(named))
    }

    func copyProperties(_ keys: [PropertyKey]) throws(ClientError) -> [PropertyKey: PropertyValue] {
        let reply = try request(.copyProperties, try Self.encode(keys.map(\.rawValue)))
        do throws(SessionError) {
            let named = try JSON.decode([String: PropertyValue].self, from: reply.body)
            return Dictionary(uniqueKeysWithValues: named.map { (PropertyKey(rawValue: $0.key), $0.value) })
        } catch { throw ClientError(Receiver.broken(error.reason)) }
    }

    /// Sends a message with an unstructured payload, which may be empty, and waits for its reply.
    @discardableResult
    func request(_ opcode: Opcode, _ bytes: [UInt8] = []) throws(ClientError) -> Reply {
        try reply(to: try send(opcode, bytes))
    }

    /// Emits `Receiver.finished` when the message with this sequence number is answered.
    func finish(by sequence: UInt32) { finishing.insert(sequence) }

    // MARK: - Messages

    @discardableResult
    func send(_ message: some SessionPayload, fds: [Int32] = []) throws(ClientError) -> UInt32 {
        try link.send(message, fds: fds, handle)
    }

    func send(_ opcode: Opcode, _ bytes: [UInt8] = []) throws(ClientError) -> UInt32 {
        try link.send(opcode, bytes, handle)
    }

    func reply(to sequence: UInt32, timeout: Duration = .seconds(60)) throws(ClientError) -> Reply {
        try link.reply(to: sequence, timeout: timeout, handle)
    }

    /// Receives until the condition holds or the deadline has passed; events are kept for `nextEvent`.
    func pump(until deadline: MonotonicTime, _ condition: (Receiver) -> Bool) throws(ClientError) {
        try link.pump(until: deadline, handle) { condition(self.receiver) }
    }

    /// The next event; nil when none came within `timeout`, or before the condition held.
    func nextEvent(
        timeout: Duration, orWhen condition: (Receiver) -> Bool = { _ in false }
    ) throws(ClientError) -> Event? {
        if events.isEmpty {
            try link.pump(until: MonotonicTime.now + timeout, handle) {
                !self.events.isEmpty || condition(self.receiver)
            }
        }
        guard !events.isEmpty else { return nil }
        let (event, isFinished) = events.removeFirst()
        if !isFinished { creditedEventCount -= 1 }
        receiver.didFetch(event)
        return event
    }

    /// Events that the app has not fetched.
    var waitingEventCount: Int { events.count }

    /// Whether `nextEvent` has something to do without reading the socket.
    var hasReceived: Bool { !events.isEmpty || link.hasMessage }

    func invalidate() { link.invalidate() }

    private func handle(_ opcode: Opcode, _ payload: RawSpan, _ fds: inout FDQueue) throws(SessionError) {
        guard creditedEventCount <= receiver.maxEventCount else {
            throw Receiver.broken("it sent more events than its credits allow")
        }
        guard opcode == .reply else {
            let event: Event?
            do throws(SessionError) {
                event = try receiver.receive(opcode, payload, &fds)
            } catch {
                // A message or its memory is malformed.
                throw error.status == .parameter ? Receiver.broken(error.reason) : error
            }
            if let event {
                events.append((event, isFinished: false))
                creditedEventCount += 1
            }
            return
        }
        let reply = try Reply(decoding: payload)
        // Any other reply answers a request whose caller no longer waits.
        guard finishing.remove(reply.sequence) != nil else { return }
        guard reply.status == .ok else {
            throw SessionError(reply.status, String(decoding: reply.body, as: UTF8.self))
        }
        events.append((Receiver.finished, isFinished: true))
    }

    private static func encode(_ value: some Encodable) throws(ClientError) -> [UInt8] {
        do throws(SessionError) { return try JSON.encode(value) } catch { throw ClientError(error) }
    }
}
