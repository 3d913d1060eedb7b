// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// A client's end of a session's connection, whatever the session is for: replies, the end, and why it came.
final class SessionLink {
    /// Takes one message that is no reply and no end.
    typealias Handler = (Opcode, RawSpan, inout FDQueue) throws(SessionError) -> Void

    private let daemon: Daemon
    private let session: String
    /// The status of a worker that died or broke the protocol.
    private let malfunction: Status
    private let channel: SessionChannel
    private var replies: [UInt32: Reply] = [:]
    private var awaited: UInt32?
    private var ended: ClientError?

    init(
        _ daemon: Daemon, _ connection: consuming OwnedFD, session: String, malfunction: Status
    ) throws(ClientError) {
        self.daemon = daemon
        self.session = session
        self.malfunction = malfunction
        do throws(SystemError) {
            channel = SessionChannel(try MessageChannel(connection))
        } catch {
            throw ClientError(error, whileDoing: "cannot use the session's connection")
        }
    }

    var fileDescriptor: Int32 { channel.channel.fileDescriptor }

    /// A worker that does not keep to the protocol.
    func broken(_ what: String) -> SessionError {
        SessionError(malfunction, "the worker broke the protocol: \(what)")
    }

    static func encode(_ value: some Encodable) throws(ClientError) -> [UInt8] {
        do throws(SessionError) { return try JSON.encode(value) } catch { throw ClientError(error) }
    }

    @discardableResult
    func send(
        _ payload: some SessionPayload, fds: [Int32] = [], _ handler: Handler
    ) throws(ClientError) -> UInt32 {
        if let ended { throw ended }
        do throws(TransportError) {
            return try channel.send(payload, fds: fds)
        } catch { throw lost(error, handler) }
    }

    func send(_ opcode: Opcode, _ bytes: [UInt8], _ handler: Handler) throws(ClientError) -> UInt32 {
        if let ended { throw ended }
        do throws(TransportError) {
            return try channel.send(opcode, bytes: bytes)
        } catch { throw lost(error, handler) }
    }

    /// The reply to a message; what comes before it goes to the handler.
    func reply(
        to sequence: UInt32, timeout: Duration = .seconds(60), _ handler: Handler
    ) throws(ClientError) -> Reply {
        awaited = sequence
        defer { awaited = nil }
        try pump(until: MonotonicTime.now + timeout, handler) { self.replies[sequence] != nil }
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
    func pump(until deadline: MonotonicTime, _ handler: Handler, _ done: () -> Bool) throws(ClientError) {
        if let ended { throw ended }
        do {
            while !done() {
                let received = try channel.next { opcode, _, payload, fds in
                    try self.handle(opcode, payload, &fds, handler)
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

    private func handle(
        _ opcode: Opcode, _ payload: RawSpan, _ fds: inout FDQueue, _ handler: Handler
    ) throws(SessionError) {
        switch opcode {
        case .reply:
            let reply = try Reply(decoding: payload)
            if reply.sequence == awaited {
                replies[reply.sequence] = reply
            } else {
                // The answer to a question that was given up, or one that the session itself waits for.
                try handler(opcode, payload, &fds)
            }
        case .end:
            let end = try End(decoding: payload)
            throw SessionError(end.status == .ok ? .invalidSession : end.status, end.reason)
        default: try handler(opcode, payload, &fds)
        }
    }

    /// Ends the session at once.
    func invalidate() {
        _ = try? channel.send(.invalidate)
        channel.channel.shutdown()
        if ended == nil { ended = ClientError(SessionError(.invalidSession, "the session was invalidated")) }
    }

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
    private func lost(_ error: TransportError, _ handler: Handler) -> ClientError {
        guard error.code == .closed else { return settle(error) }
        do throws(ClientError) {
            try pump(until: MonotonicTime.now + .seconds(1), handler) { false }
            return settle(error)
        } catch { return error }
    }

    /// The connection ended without an `end` message: the daemon knows how the worker died.
    private func died() -> ClientError {
        let question = GetSessionResult.Parameters(session: session, timeoutMs: 2000)
        guard let result = try? daemon.call(GetSessionResult.self, question, timeout: .seconds(5)), result.finished
        else {
            return ClientError(
                SessionError(malfunction, "the session's process ended and the daemon cannot say why"))
        }
        let status = Status(rawValue: result.code)
        return ClientError(SessionError(status == .ok ? malfunction : status, result.reason))
    }
}
