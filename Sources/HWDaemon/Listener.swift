// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Logging
internal import Transport

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
    private var watch: EventLoop.Watch?
    private var pause: EventLoop.Timer?
    private var starved: MonotonicTime?
    private var counts: [UInt32: Int] = [:]
    private var refused = 0
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
                    refuse(peer, reason)
                } else {
                    counts[peer.uid, default: 0] += 1
                    accepted(connection, peer)
                }
            } catch {
                return backOff(error)
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

    /// Out of descriptors the listener stays readable: without a pause the loop would spin.
    private func backOff(_ error: SystemError) {
        // Told once for each time it happens, even if a connection gets in now and then meanwhile.
        let isNew = starved.map { $0 + .seconds(10) < .now } ?? true
        if isNew { logger.error("cannot take connections for the moment: \(error)") }
        starved = .now
        guard let watch else { return }
        loop.change(watch, to: [])
        pause = loop.after(.milliseconds(100)) { [weak self] in self?.loop.change(watch, to: .readable) }
    }
}
