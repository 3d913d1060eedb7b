// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

/// Takes connections, keeps their number within bounds, and lets a full descriptor table pass.
final class Listener {
    /// How many connections without a session there may be.
    struct Limits: Hashable, Sendable {
        /// Of all users together.
        var connections = 256
        /// Of one user.
        var connectionsPerUser = 64
    }

    private let file: OwnedFD
    private let loop: EventLoop
    private let logger: Logger
    private let limits: Limits
    private let onlyUser: UInt32?
    private let accepted: (consuming OwnedFD, PeerCredentials) -> Void
    /// A descriptor given up to take a connection when the table is full, so that it can be told.
    private var reserve: OwnedFD?
    private var watch: EventLoop.Watch?
    private var pause: EventLoop.Timer?
    private var starved: MonotonicTime?
    private var counts: [UInt32: Int] = [:]
    private var refused = 0
    /// Connections refused so far.
    private(set) var refusedCount: UInt64 = 0
    private var refusalTimer: EventLoop.Timer?

    /// Listens; `onlyUser` is the one user that is served, nil for all.
    init(
        _ file: consuming OwnedFD, loop: EventLoop, logger: Logger, limits: Limits, onlyUser: UInt32?,
        accepted: @escaping (consuming OwnedFD, PeerCredentials) -> Void
    ) throws(SystemError) {
        let number = file.rawValue
        self.file = consume file
        self.loop = loop
        self.logger = logger
        self.limits = limits
        self.onlyUser = onlyUser
        self.accepted = accepted
        reserve = Self.makeReserve()
        watch = try loop.watch(number, .readable) { [weak self] _ in self?.acceptSome() }
    }

    /// A connection that was accepted is closed, or became a session's.
    func connectionClosed(uid: UInt32) {
        let left = (counts[uid] ?? 1) - 1
        counts[uid] = left > 0 ? left : nil
    }

    /// Takes no more connections; those that wait are refused when the listener goes.
    func stop() {
        loop.cancel(pause)
        loop.cancel(refusalTimer)
        if let watch { loop.remove(watch) }
        watch = nil
    }

    private func acceptSome() {
        // Not all at once: the connections that are there want their turn.
        for _ in 0..<16 {
            do throws(SystemError) {
                guard let connection = try UnixSocket.accept(file.rawValue) else { return }
                let peer = try PeerCredentials(of: connection.rawValue)
                if let reason = refusal(of: peer) {
                    // A private daemon tells strangers nothing.
                    if onlyUser == nil || onlyUser == peer.uid { Self.answer(connection, reason) }
                    refuse(peer, reason)
                } else {
                    counts[peer.uid, default: 0] += 1
                    accepted(connection, peer)
                }
            } catch {
                let isFull = error.errno == EMFILE || error.errno == ENFILE
                if isFull, reserve != nil {
                    // accept4 wants a descriptor before it looks whether anybody waits.
                    guard turnAway() else { return }
                    logShortage(error)
                } else {
                    logShortage(error)
                    return backOff()
                }
            }
        }
    }

    private func refusal(of peer: PeerCredentials) -> String? {
        if let onlyUser, peer.uid != onlyUser { return "this private daemon serves user \(onlyUser) only" }
        if counts.values.reduce(0, +) >= limits.connections {
            return "\(limits.connections) connections are open already"
        }
        if counts[peer.uid] ?? 0 >= limits.connectionsPerUser {
            return "the user has \(limits.connectionsPerUser) connections open already"
        }
        return nil
    }

    /// Tells of the first refusal at once and of those that follow once a second, so that a flood fills no disk.
    private func refuse(_ peer: PeerCredentials, _ reason: String) {
        refused += 1
        refusedCount += 1
        guard refusalTimer == nil else { return }
        logger.warning(
            "refused a connection: \(reason)", metadata: ["uid": "\(peer.uid)", "pid": "\(peer.pid)"])
        refused = 0
        refusalTimer = loop.after(.seconds(1)) { [weak self] in
            guard let self else { return }
            refusalTimer = nil
            if refused > 0 { logger.warning("refused \(refused) more connections") }
            refused = 0
        }
    }

    /// Tells a client why it is not served; it asked, or will ask, for one thing or another.
    private static func answer(_ connection: borrowing OwnedFD, _ reason: String) {
        let error = VarlinkError(SessionError(.videoEncoderNotAvailableNow, reason))
        let reply = VarlinkReply.encode(error) + [0]
        let number = connection.rawValue
        _ = reply.withUnsafeBytes { send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Refuses a connection that waits, by means of the reserve; false if none does.
    private func turnAway() -> Bool {
        reserve = nil
        defer { reserve = Self.makeReserve() }
        guard let connection = try? UnixSocket.accept(file.rawValue) else { return false }
        refusedCount += 1
        Self.answer(connection, Refusal.openFiles.error.reason)
        return true
    }

    private static func makeReserve() -> OwnedFD? {
        let number = open("/dev/null", O_RDONLY | O_CLOEXEC)
        return number < 0 ? nil : OwnedFD(number)
    }

    /// Told once for each time it happens, even if a connection gets in now and then meanwhile.
    private func logShortage(_ error: SystemError) {
        let isNew = starved.map { $0 + .seconds(10) < .now } ?? true
        if isNew { logger.error("cannot take connections for the moment: \(error)") }
        starved = .now
    }

    /// Out of descriptors and without a reserve the listener stays readable: without a pause the loop would spin.
    private func backOff() {
        if reserve == nil { reserve = Self.makeReserve() }
        guard let watch else { return }
        loop.change(watch, to: [])
        pause = loop.after(.milliseconds(100)) { [weak self] in self?.loop.change(watch, to: .readable) }
    }
}
