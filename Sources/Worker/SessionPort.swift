// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import HWDModel
public import HWDTransport
public import HWDWire
internal import Synchronization

/// A worker's end of its session's connection: the I/O thread's loop, sending from any thread, and the session's end.
public final class SessionPort: @unchecked Sendable {
    /// What sentences call the process, and what stops a session when the daemon does.
    public struct ProcessIdentity: Sendable {
        /// `encoder`, `decoder` or `converter`.
        public var noun: String
        /// The status of a session that the daemon's end stops.
        public var stopped: Status

        /// ProcessIdentity for a kind of session.
        public init(noun: String, stopped: Status) {
            self.noun = noun
            self.stopped = stopped
        }
    }

    /// The counters that the broker reads.
    public let stats: StatsPage

    private static let clientIsGone = "the client closed the connection"
    /// Bytes a reply's body may have: a message's payload without its own fields.
    private static let maxBody = MessageHeader.maxLength - 8

    private let identity: ProcessIdentity
    private let channel: SessionChannel
    private let ending = Mutex(())

    /// Answers the Create call and takes the connection over.
    public init(
        stats: StatsPage, reply: [UInt8], connection: consuming OwnedFD, identity: ProcessIdentity
    ) throws {
        self.stats = stats
        self.identity = identity
        try VarlinkConnection.send(reply, to: connection.rawValue, deadline: MonotonicTime.now + .seconds(5))
        channel = SessionChannel(try MessageChannel(connection))
    }

    /// Serves the client until the session ends, which ends the process.
    ///
    /// - Parameter handle: takes one message, with its descriptors.
    public func run(
        _ signals: SignalFD, _ handle: (Opcode, UInt32, RawSpan, inout FDQueue) throws(SessionError) -> Void
    ) -> Never {
        do {
            let epoll = try Epoll()
            try epoll.add(channel.channel.fileDescriptor, token: 0, events: .readable)
            try epoll.add(signals.fileDescriptor, token: 1, events: .readable)
            while true {
                for event in try epoll.wait(until: nil) {
                    if event.token == 1 { end(identity.stopped, "the daemon is shutting down") }
                    try receiveAll(handle)
                }
            }
        } catch let error as SessionError {
            end(error.status, error.reason)
        } catch let error as TransportError where error.code == .closed {
            end(.ok, Self.clientIsGone)
        } catch let error as TransportError {
            end(.parameter, "the session's protocol was broken: \(error.reason)")
        } catch {
            end(.allocationFailed, "the \(identity.noun) process failed: \(error)")
        }
    }

    private func receiveAll(
        _ handle: (Opcode, UInt32, RawSpan, inout FDQueue) throws(SessionError) -> Void
    ) throws {
        while true {
            let received = try channel.next { opcode, sequence, payload, fds in
                try handle(opcode, sequence, payload, &fds)
            }
            switch received {
            case .message: continue
            case .wouldBlock: return
            case .endOfFile: end(.ok, Self.clientIsGone)
            }
        }
    }

    /// Answers a message whose failure is an answer and not the session's end.
    public func answer(_ sequence: UInt32, _ body: () throws(SessionError) -> [UInt8]) {
        var reply = Reply(sequence: sequence)
        do throws(SessionError) {
            reply.body = try body()
            guard reply.body.count <= Self.maxBody else {
                throw SessionError(.parameter, "the values do not fit a message; ask for fewer")
            }
        } catch {
            reply.status = error.status
            // A reason repeats what the client sent, which may be as long as a message.
            reply.body = Array(String(error.reason.prefix(512)).utf8)
        }
        send(reply)
    }

    /// Maps the memory that a client registers.
    ///
    /// - Throws: `Parameter` unless it is sealed and of a possible size.
    public static func map(
        _ pool: AddPool, _ file: consuming OwnedFD, limit: UInt64, access: SharedMemory.Access = .readOnly
    ) throws(SessionError) -> SharedMemory {
        guard let size = Int(exactly: pool.size), size > 0 else {
            throw SessionError(.parameter, "a pool of \(pool.size) bytes is not possible")
        }
        return try SharedMemory(
            receiving: file, minSize: size, maxSize: Int(clamping: limit), access: access)
    }

    /// Sends a message from any thread; a client that is gone or does not read ends the session.
    public func send(_ payload: some SessionPayload, fds: [Int32] = []) {
        do throws(TransportError) { try channel.send(payload, fds: fds) } catch { lost(error) }
    }

    private func lost(_ error: TransportError) {
        if error.code == .closed { end(.ok, Self.clientIsGone) }
        end(.parameter, "the client does not read its messages: \(error.reason)")
    }

    /// Ends the session and the process, from any thread; whoever comes second waits for the exit.
    public func end(_ status: Status, _ reason: String) -> Never {
        ending.withLock { _ in
            stats.set(.endStatus, UInt64(bitPattern: Int64(status.rawValue)))
            WorkerStartup.report(.ended(code: status.rawValue, reason: reason))
            _ = try? channel.send(End(status: status, reason: reason))
            // Not exit(): a codec's threads still run, and its destructors would wait for them.
            _exit(ExitStatus.ok.rawValue)
        }
    }
}
