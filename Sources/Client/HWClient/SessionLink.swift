// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// A client's end of a session's connection, for every kind of session: requests, replies, the end and its cause.
final class SessionLink {
    /// Handles a message other than `end` and the reply that is waited for.
    typealias Handler = (Opcode, RawSpan, inout FDQueue) throws(SessionError) -> Void

    private let daemon: Daemon
    private let session: String
    /// The status of a worker that died or broke the protocol.
    private let malfunction: Status
    private let channel: SessionChannel
    private var replies: [UInt32: Reply] = [:]
    private var awaited: UInt32?
    /// Why the session ended; every later call throws it again.
    private var end: ClientError?

    init(
        _ daemon: Daemon, _ connection: consuming OwnedFD, session: String, malfunction: Status
    ) throws(ClientError) {
        self.daemon = daemon
        self.session = session
        self.malfunction = malfunction
        do throws(SystemError) {
            channel = SessionChannel(try MessageChannel(connection))
        } catch {
            throw ClientError(error, whileDoing: "the session's connection cannot be used")
        }
    }

    var fileDescriptor: Int32 { channel.channel.fileDescriptor }
    /// Whether a message was read from the socket and not handled.
    var hasMessage: Bool { end == nil && channel.channel.hasMessage }

    @discardableResult
    func send(
        _ payload: some SessionPayload, fds: [Int32] = [], _ handler: Handler
    ) throws(ClientError) -> UInt32 {
        if let end { throw end }
        do throws(TransportError) {
            return try channel.send(payload, fds: fds)
        } catch { throw sendFailed(error, handler) }
    }

    func send(_ opcode: Opcode, _ bytes: [UInt8], _ handler: Handler) throws(ClientError) -> UInt32 {
        if let end { throw end }
        do throws(TransportError) {
            return try channel.send(opcode, bytes: bytes)
        } catch { throw sendFailed(error, handler) }
    }

    /// Waits for the reply to a message; the messages before it go to the handler.
    func reply(
        to sequence: UInt32, timeout: Duration = .seconds(60), _ handler: Handler
    ) throws(ClientError) -> Reply {
        awaited = sequence
        defer { awaited = nil }
        try pump(until: MonotonicTime.now + timeout, handler) { self.replies[sequence] != nil }
        guard let reply = replies.removeValue(forKey: sequence) else {
            throw ClientError(
                .timedOut, "the session did not answer within \(timeout.inSeconds)")
        }
        guard reply.status == .ok else {
            throw ClientError(SessionError(reply.status, String(decoding: reply.body, as: UTF8.self)))
        }
        return reply
    }

    /// Receives until the condition holds or the deadline has passed.
    func pump(
        until deadline: MonotonicTime, _ handler: Handler, _ condition: () -> Bool
    ) throws(ClientError) {
        if let end { throw end }
        do {
            while !condition() {
                let received = try channel.next { opcode, _, payload, fds in
                    try self.handle(opcode, payload, &fds, handler)
                }
                switch received {
                case .message:
                    // The descriptor does not become readable for messages that were read already.
                    if MonotonicTime.now > deadline, !channel.channel.hasMessage { return }
                case .endOfFile: throw workerDied()
                case .wouldBlock:
                    if try !channel.channel.waitReadable(until: deadline) { return }
                }
            }
        } catch {
            throw recordEnd(error)
        }
    }

    private func handle(
        _ opcode: Opcode, _ payload: RawSpan, _ fds: inout FDQueue, _ handler: Handler
    ) throws(SessionError) {
        switch opcode {
        case .reply:
            let reply: Reply
            do throws(SessionError) { reply = try Reply(decoding: payload) } catch { throw broken(error) }
            if reply.sequence == awaited {
                replies[reply.sequence] = reply
            } else {
                // Nobody waits for it, or it becomes an event (`SessionClient.finish`).
                try handler(opcode, payload, &fds)
            }
        case .end:
            let end: End
            do throws(SessionError) { end = try End(decoding: payload) } catch { throw broken(error) }
            throw SessionError(end.status == .ok ? .invalidSession : end.status, end.reason)
        default: try handler(opcode, payload, &fds)
        }
    }

    /// The sentence about a worker that breaks the protocol.
    static func violation(_ reason: String) -> String { "the worker broke the protocol: \(reason)" }

    private func broken(_ error: SessionError) -> SessionError {
        SessionError(malfunction, Self.violation(error.reason))
    }

    /// Ends the session at once.
    func invalidate() {
        _ = try? channel.send(.invalidate)
        channel.channel.shutdown()
        if end == nil { end = ClientError(SessionError(.invalidSession, "the session was invalidated")) }
    }

    private func recordEnd(_ error: any Error) -> ClientError {
        let cause: ClientError =
            switch error {
            case let error as ClientError: error
            case let error as SessionError: ClientError(error)
            case let error as TransportError: ClientError(error, whileDoing: "the session's connection failed")
            default: ClientError(.connectionFailed, "\(error)")
            }
        if end == nil { end = cause }
        return cause
    }

    /// Looks for the reason that the worker may have sent before it closed the connection.
    private func sendFailed(_ error: TransportError, _ handler: Handler) -> ClientError {
        guard error.code == .closed else { return recordEnd(error) }
        do throws(ClientError) {
            try pump(until: MonotonicTime.now + .seconds(1), handler) { false }
            return recordEnd(error)
        } catch { return error }
    }

    /// Asks the daemon how the worker died, because the connection closed without an `end` message.
    private func workerDied() -> ClientError {
        let question = GetSessionResult.Parameters(session: session, timeoutMs: 2000)
        guard let result = try? daemon.call(GetSessionResult.self, question, timeout: .seconds(5)), result.finished
        else {
            return ClientError(
                SessionError(malfunction, "the session's process ended and the daemon does not know why"))
        }
        let status = Status(rawValue: result.code)
        return ClientError(SessionError(status == .ok ? malfunction : status, result.reason))
    }
}
