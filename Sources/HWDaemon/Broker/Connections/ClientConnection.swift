// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

/// A client's Varlink connection: serves its calls in order, one in each turn of its user.
///
/// It reads nothing while a call awaits its reply, so what follows a Create call stays in the socket for the worker.
final class ClientConnection {
    /// Time for a call to arrive completely after its first byte.
    static let callTimeout = Duration.seconds(5)
    /// Time that a client may leave replies unread.
    static let replyTimeout = Duration.seconds(30)
    /// Bytes of unread replies from which on no further call is read.
    static let maxUnread = 65536

    let peer: PeerCredentials
    private(set) var isClosed = false
    /// How much longer its call may wait for a slot, if it waited in the daemon before.
    private(set) var remainingWait: Duration?

    private let loop: EventLoop
    private let logger: Logger
    private var file: OwnedFD?
    private let number: Int32
    private var watch: EventLoop.Watch?
    private var interest: Epoll.Events = .readable
    /// Whether a turn is scheduled.
    private var isWaiting = false
    /// When it was accepted, or the last call was answered.
    private var lastUse = MonotonicTime.now
    private var receiver = CallReceiver()
    private var output = SendQueue()
    private var isAnswering = false
    private var isOneway = false
    private var hasEnded = false
    private var callTimer: EventLoop.Timer?
    private var replyTimer: EventLoop.Timer?
    private var afterFlush: (() -> Void)?
    private let onCall: (VarlinkCall, ClientConnection) -> Void
    private let onClose: (ClientConnection) -> Void

    /// Serves a connection; `onCall` gets each call and must cause exactly one `reply`.
    init(
        _ file: consuming OwnedFD, peer: PeerCredentials, loop: EventLoop, logger: Logger,
        onCall: @escaping (VarlinkCall, ClientConnection) -> Void,
        onClose: @escaping (ClientConnection) -> Void
    ) throws(SystemError) {
        number = file.rawValue
        self.file = consume file
        self.peer = peer
        self.loop = loop
        self.logger = logger
        self.onCall = onCall
        self.onClose = onClose
        watch = try loop.watch(number, .readable) { [weak self] in self?.isReady($0) }
    }

    /// The descriptor, to pass to a worker; valid until `close`.
    var fileDescriptor: Int32 { number }

    /// Replies to the current call; sends nothing if it is one-way or the client is gone.
    func reply(_ message: [UInt8]) {
        guard !isClosed else { return }
        isAnswering = false
        remainingWait = nil
        lastUse = .now
        if !isOneway { output.append(message) }
        flush()
        updateInterest()
    }

    /// Replies to the current call with an error, which may quote the call.
    func reply(_ error: VarlinkError) { reply(VarlinkReply.encode(error.printable)) }

    /// Replies to the current call with its result.
    func reply(with parameters: some Encodable) {
        do throws(SessionError) {
            reply(try VarlinkReply.encode(parameters))
        } catch {
            reply(VarlinkError(error))
        }
    }

    /// Calls `body` once every earlier reply is sent; not at all if the connection closes first.
    func whenFlushed(_ body: @escaping () -> Void) {
        guard !isClosed else { return }
        if output.pendingCount == 0 { return body() }
        afterFlush = body
    }

    /// Closes this process's descriptor; a worker's copy stays open.
    func close(_ reason: Logger.Message? = nil, level: Logger.Level = .warning) {
        guard !isClosed else { return }
        isClosed = true
        if let reason { logger.log(level: level, reason) }
        loop.cancel(callTimer)
        loop.cancel(replyTimer)
        if let watch { loop.remove(watch) }
        watch = nil
        afterFlush = nil
        file = nil
        onClose(self)
    }

    /// Whether no part of a call has been read, and every call is answered.
    var isIdle: Bool {
        !isClosed && !isAnswering && !hasEnded && receiver.pendingCount == 0 && output.pendingCount == 0
    }

    /// Whether one call has been read, which awaits its reply, and nothing else.
    var awaitsReply: Bool {
        !isClosed && isAnswering && !hasEnded && receiver.pendingCount == 0 && output.pendingCount == 0
    }

    /// Serves a call that the daemon before has read.
    ///
    /// - Parameter rest: how much longer it may wait for a slot.
    func resume(_ call: String, waiting rest: Duration) {
        remainingWait = rest
        serve(Array(call.utf8))
        updateInterest()
    }

    /// Closes a connection that has had no call for `limit`.
    func closeIfIdle(for limit: Duration) {
        guard isIdle, !isWaiting, lastUse + limit <= .now else { return }
        close("closing: the client made no call for \(SessionEnd.seconds(limit)) s", level: .debug)
    }

    private var isReading: Bool {
        !isClosed && !isAnswering && !hasEnded && output.pendingCount < Self.maxUnread
    }

    private func isReady(_ events: Epoll.Events) {
        if output.pendingCount > 0 { flush() }
        let isGone = !isClosed && !events.isDisjoint(with: [.hangUp, .error])
        if isReading, !(isGone && isWaiting) {
            waitForTurn()
        } else if isGone {
            // Nobody is left to read the reply, and a hang-up is reported until the descriptor is closed.
            close("the client closed the connection before its reply", level: .debug)
        }
        updateInterest()
    }

    private func waitForTurn() {
        guard !isWaiting else { return }
        isWaiting = true
        loop.schedule(user: peer.uid) { [weak self] in self?.takeTurn() }
    }

    private func takeTurn() {
        isWaiting = false
        if isReading { readCall() }
        updateInterest()
    }

    private func readCall() {
        do throws(TransportError) {
            switch try receiver.receive(from: number) {
            case .call(let bytes):
                serve(bytes)
                // More calls may have arrived.
                if isReading { waitForTurn() }
            case .wouldBlock: expectRest()
            case .endOfFile:
                if receiver.pendingCount > 0 { return close("the client closed in the middle of a call") }
                hasEnded = true
                if output.pendingCount == 0 { close() }
            }
        } catch {
            close("closing: \(error.reason)")
        }
    }

    private func serve(_ bytes: [UInt8]) {
        loop.cancel(callTimer)
        callTimer = nil
        let call: VarlinkCall
        do throws(SessionError) { call = try VarlinkCall(decoding: bytes) } catch {
            return close("closing: a message is not a Varlink call: \(error.reason)")
        }
        isAnswering = true
        isOneway = call.oneway
        onCall(call, self)
    }

    /// Starts the timeout of a call that has arrived in part.
    private func expectRest() {
        guard receiver.pendingCount > 0, callTimer == nil else { return }
        callTimer = loop.after(Self.callTimeout) { [weak self] in
            self?.close("closing: a call was not complete within \(Self.callTimeout.components.seconds) s")
        }
    }

    private func flush() {
        do throws(SystemError) {
            guard try output.flush(to: number) else {
                if replyTimer == nil {
                    replyTimer = loop.after(Self.replyTimeout) { [weak self] in
                        self?.close("closing: the client does not read its replies")
                    }
                }
                return
            }
        } catch {
            return close("the client closed the connection before its reply", level: .debug)
        }
        loop.cancel(replyTimer)
        replyTimer = nil
        if hasEnded { return close() }
        if let body = afterFlush {
            afterFlush = nil
            body()
        }
    }

    private func updateInterest() {
        guard let watch else { return }
        // While it waits for its turn, further bytes are no news.
        var events: Epoll.Events = isReading && !isWaiting ? .readable : []
        if output.pendingCount > 0 { events.insert(.writable) }
        guard events != interest else { return }
        interest = events
        loop.change(watch, to: events)
    }
}

extension VarlinkError {
    /// The same error with printable texts.
    fileprivate var printable: VarlinkError {
        VarlinkError(
            name,
            parameters.mapValues { value in
                if case .string(let text) = value { .string(text.printable()) } else { value }
            })
    }
}
