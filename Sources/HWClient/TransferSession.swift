// SPDX-License-Identifier: MIT
public import HWDModel
public import HWDTransport
public import HWDWire

/// A pixel-transfer session with the daemon: frames in, converted frames out, all in memory of the client's.
///
/// Used from one thread. Sending never waits; what comes back is fetched with `nextEvent`. A program with an event
/// loop of its own waits for `fileDescriptor` to become readable and then calls `nextEvent(timeout: .zero)` until it
/// answers nil.
public final class TransferSession {
    /// What came back.
    public enum Event: Sendable {
        /// A frame is done, or could not be converted; its places are the client's again.
        case frame(FrameTransferred)
        /// Every frame sent before `finishFrames` is answered.
        case finished
    }

    /// What Create answered: the device, why it is no GPU, and the credits.
    public let created: CreateTransferSession.Reply

    private let link: SessionLink
    private var pools: [UInt32: SharedMemory] = [:]
    private var events: [Event] = []
    private var finishing: UInt32?
    private var inFlight: Set<UInt64> = []

    /// Creates a session; returns when its converter is chosen.
    ///
    /// - Throws: the session's error (`PixelTransferNotSupported`, `Parameter`, `AllocationFailed`, …), or why the
    ///   daemon could not be asked.
    public init(
        _ daemon: Daemon, _ parameters: CreateTransferSession.Parameters, timeout: Duration = .seconds(30)
    ) throws(ClientError) {
        let connection = try daemon.connect()
        created = try Daemon.exchange(
            CreateTransferSession.self, parameters, upgrade: true, on: connection.rawValue,
            deadline: MonotonicTime.now + timeout)
        link = try SessionLink(daemon, connection, session: created.session, malfunction: .invalidSession)
    }

    /// Readable when `nextEvent` has something to do.
    public var fileDescriptor: Int32 { link.fileDescriptor }

    /// Frames sent and not answered; at `created.maxFramesInFlight` no further one may be sent.
    public var framesInFlight: Int { inFlight.count }

    /// Registers a pool; frames may then name `poolID`.
    public func addPool(_ pool: FramePool, id poolID: UInt32) throws(ClientError) {
        try addPool(pool.memory, id: poolID)
    }

    /// Registers memory of any owner, such as a decompression session's pictures, which can only be sources.
    public func addPool(_ memory: SharedMemory, id poolID: UInt32) throws(ClientError) {
        let message = AddPool(poolID: poolID, size: UInt64(memory.size))
        _ = try link.reply(to: link.send(message, fds: [memory.file.rawValue], handle), handle)
        pools[poolID] = memory
    }

    /// Forgets a pool in which no frame under way lies.
    public func removePool(id poolID: UInt32) throws(ClientError) {
        _ = try link.reply(to: link.send(RemovePool(poolID: poolID), handle), handle)
        pools[poolID] = nil
    }

    /// The values of properties; of all that have one when `keys` is empty.
    public func copyProperties(_ keys: [PropertyKey] = []) throws(ClientError) -> [PropertyKey: PropertyValue] {
        let question = try SessionLink.encode(keys.map(\.rawValue))
        let reply = try link.reply(to: link.send(.copyProperties, question, handle), handle)
        do throws(SessionError) {
            let named = try JSON.decode([String: PropertyValue].self, from: reply.body)
            return Dictionary(uniqueKeysWithValues: named.map { (PropertyKey(rawValue: $0.key), $0.value) })
        } catch { throw ClientError(error) }
    }

    /// Sends a frame; both its places belong to the session until it is answered.
    ///
    /// - Throws: `Parameter` when no credit is left, or why the session ended.
    public func transfer(_ frame: TransferFrame) throws(ClientError) {
        guard inFlight.count < created.maxFramesInFlight else {
            throw ClientError(
                SessionError(.parameter, "\(inFlight.count) frames are in flight; fetch events first"))
        }
        try link.send(frame, handle)
        inFlight.insert(frame.frameID)
    }

    /// Asks for every answer; `finished` comes after the last one.
    public func finishFrames() throws(ClientError) { finishing = try link.send(.finishFrames, [], handle) }

    /// The next event; nil when none came in time.
    ///
    /// - Throws: what ended the session. When its worker died, the daemon is asked why.
    public func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        if events.isEmpty { try link.pump(until: MonotonicTime.now + timeout, handle) { !self.events.isEmpty } }
        return events.isEmpty ? nil : events.removeFirst()
    }

    /// Ends the session at once.
    public func invalidate() { link.invalidate() }

    private func handle(_ opcode: Opcode, _ payload: RawSpan, _ fds: inout FDQueue) throws(SessionError) {
        switch opcode {
        case .reply:
            let reply = try Reply(decoding: payload)
            guard reply.sequence == finishing else { return }
            finishing = nil
            guard reply.status == .ok else {
                throw SessionError(reply.status, String(decoding: reply.body, as: UTF8.self))
            }
            events.append(.finished)
        case .frameTransferred:
            let answer = try FrameTransferred(decoding: payload)
            guard inFlight.remove(answer.frameID) != nil else {
                throw link.broken("the answer to a frame that is not in flight")
            }
            events.append(.frame(answer))
        default: throw link.broken("it sent \(opcode), which is not one of its messages")
        }
    }
}
