// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

/// Accepts connections within limits, and recovers when file descriptors run out.
final class Listener {
    /// How many connections that were not handed to a worker may be open.
    static let quota = UserQuota(total: 256, perUser: 64)

    private let file: OwnedFD
    private let loop: EventLoop
    private let logger: Logger
    private let quota: UserQuota
    private let onlyUser: UInt32?
    private let accepted: (consuming OwnedFD, PeerCredentials) -> Void
    /// A descriptor that is closed to accept and refuse a connection when the descriptor table is full.
    private var reserve: OwnedFD?
    private var watch: EventLoop.Watch?
    private var pause: EventLoop.Timer?
    private var starved: MonotonicTime?
    private var counts: [UInt32: Int] = [:]
    private var refused = 0
    /// Connections refused so far.
    private(set) var refusedCount: UInt64 = 0
    private var refusalTimer: EventLoop.Timer?

    /// Starts accepting; serves only `onlyUser`, or all users if it is nil.
    init(
        _ file: consuming OwnedFD, loop: EventLoop, logger: Logger, quota: UserQuota = quota, onlyUser: UInt32?,
        accepted: @escaping (consuming OwnedFD, PeerCredentials) -> Void
    ) throws(SystemError) {
        let number = file.rawValue
        self.file = consume file
        self.loop = loop
        self.logger = logger
        self.quota = quota
        self.onlyUser = onlyUser
        self.accepted = accepted
        reserve = Self.makeReserve()
        watch = try loop.watch(number, .readable) { [weak self] _ in self?.acceptSome() }
    }

    /// The listening socket.
    var fileDescriptor: Int32 { file.rawValue }

    /// Counts a connection that another daemon accepted.
    func connectionAdopted(uid: UInt32) { counts[uid, default: 0] += 1 }

    /// Stops counting a connection that was closed or handed to a worker.
    func connectionClosed(uid: UInt32) {
        let left = (counts[uid] ?? 1) - 1
        counts[uid] = left > 0 ? left : nil
    }

    /// Accepts no more connections; pending ones are refused when the listener is closed.
    func stop() {
        loop.cancel(pause)
        loop.cancel(refusalTimer)
        if let watch { loop.remove(watch) }
        watch = nil
    }

    private func acceptSome() {
        // Not all at once, so that open connections have their turn.
        for _ in 0..<16 {
            do throws(SystemError) {
                guard let connection = try UnixSocket.accept(file.rawValue) else { return }
                let peer = try PeerCredentials(of: connection.rawValue)
                if let reason = refusal(of: peer) {
                    // A private daemon sends other users nothing.
                    if onlyUser == nil || onlyUser == peer.uid { Self.sendRefusal(reason, on: connection) }
                    countRefusal(of: peer, reason)
                } else {
                    counts[peer.uid, default: 0] += 1
                    accepted(connection, peer)
                }
            } catch {
                let isFull = error.errno == EMFILE || error.errno == ENFILE
                if isFull, reserve != nil {
                    // accept4 fails for lack of a descriptor even if no connection is pending.
                    guard refusePending() else { return }
                    logShortage(error)
                } else {
                    logShortage(error)
                    return pauseAccepting()
                }
            }
        }
    }

    private func refusal(of peer: PeerCredentials) -> String? {
        if let onlyUser, peer.uid != onlyUser { return "this private daemon serves user \(onlyUser) only" }
        let all = counts.values.reduce(0, +)
        return switch quota.obstacle(uid: peer.uid, own: counts[peer.uid] ?? 0, all: all) {
        case nil: nil
        case .total: "\(all) connections are already open"
        case .perUser: "the user has \(quota.perUser) connections already open"
        case .reserved: "\(all) connections are already open; the rest are kept for root and for users without one"
        }
    }

    /// Logs the first refusal at once and the following ones once a second, so that a flood does not fill the disk.
    private func countRefusal(of peer: PeerCredentials, _ reason: String) {
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

    /// Sends an error as the reply to the first call, whatever that may be.
    private static func sendRefusal(_ reason: String, on connection: borrowing OwnedFD) {
        let error = VarlinkError(SessionError(.videoEncoderNotAvailableNow, reason))
        let reply = VarlinkReply.encode(error) + [0]
        let number = connection.rawValue
        _ = reply.withUnsafeBytes { send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Refuses a pending connection with the descriptor held in reserve; false if no connection is pending.
    private func refusePending() -> Bool {
        reserve = nil
        defer { reserve = Self.makeReserve() }
        guard let connection = try? UnixSocket.accept(file.rawValue) else { return false }
        refusedCount += 1
        Self.sendRefusal(Refusal.openFiles.error.reason, on: connection)
        return true
    }

    private static func makeReserve() -> OwnedFD? {
        let number = open("/dev/null", O_RDONLY | O_CLOEXEC)
        return number < 0 ? nil : OwnedFD(number)
    }

    /// Logs a shortage once, not again while it recurs within 10 s, even if some connections are accepted meanwhile.
    private func logShortage(_ error: SystemError) {
        let isNew = starved.map { $0 + .seconds(10) < .now } ?? true
        if isNew { logger.error("cannot accept connections at the moment: \(error)") }
        starved = .now
    }

    /// Pauses: without descriptors and a reserve the listener stays readable, and the loop would spin.
    private func pauseAccepting() {
        if reserve == nil { reserve = Self.makeReserve() }
        guard let watch else { return }
        loop.change(watch, to: [])
        pause = loop.after(.milliseconds(100)) { [weak self] in self?.loop.change(watch, to: .readable) }
    }
}
