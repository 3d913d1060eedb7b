// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport

/// The sessions that run and, for a minute, those that ended; who may have how many, and who may see which.
struct SessionRegistry {
    /// How many sessions there may be.
    struct Limits: Hashable, Sendable {
        /// Running at once, of all users together.
        var sessions = 64
        /// Running at once, of one user.
        var sessionsPerUser = 16
        /// How long a result is kept.
        var resultLifetime = Duration.seconds(60)
        /// Results kept of one user; the oldest goes first.
        var resultsPerUser = 256
    }

    /// What is known of a running session without asking its worker.
    struct Running: Hashable, Sendable {
        var id: String
        var uid: UInt32
        var kind = SessionKind.compression
        var pid: Int32
        var codec: String
        var width: Int
        var height: Int
        var pixelFormat: String
        var created: MonotonicTime
        var codecID: String?
        var usingHardware: Bool?
        var fallbackReason: String?
    }

    /// What a session's id leads to.
    enum Entry: Hashable, Sendable {
        case running(Running)
        case ended(SessionEnd)
    }

    private struct Ended {
        var id: String
        var uid: UInt32
        var end: SessionEnd
        var at: MonotonicTime
    }

    /// For sessions to come.
    var limits: Limits
    private(set) var running: [String: Running] = [:]
    /// In the order they ended.
    private var ended: [Ended] = []

    init(limits: Limits) { self.limits = limits }

    /// Whether one more session of this user may start.
    ///
    /// - Throws: `VideoEncoderNotAvailableNow`, saying which limit was reached.
    func admit(uid: UInt32) throws(Refusal) {
        guard running.count < limits.sessions else {
            throw Refusal(
                .maxSessions, .videoEncoderNotAvailableNow,
                "the daemon serves \(running.count) sessions; its limit is \(limits.sessions) (MaxSessions)")
        }
        let own = running.values.count(where: { $0.uid == uid })
        guard own < limits.sessionsPerUser else {
            throw Refusal(
                .maxSessionsPerUser, .videoEncoderNotAvailableNow,
                "user \(uid) has \(own) sessions; the limit for one user is \(limits.sessionsPerUser) "
                    + "(MaxSessionsPerUser)")
        }
    }

    /// A session has started.
    mutating func add(_ session: Running) { running[session.id] = session }

    /// The worker has told which encoder serves the session.
    ///
    /// - Returns: the session if this is the first time.
    mutating func setEncoder(
        _ id: String, codecID: String, usingHardware: Bool, fallbackReason: String?
    ) -> Running? {
        let isFirst = running[id]?.codecID == nil
        running[id]?.codecID = codecID
        running[id]?.usingHardware = usingHardware
        running[id]?.fallbackReason = fallbackReason
        return isFirst ? running[id] : nil
    }

    /// A session has ended; its result is kept for a while.
    ///
    /// - Returns: the session as it was.
    @discardableResult
    mutating func finish(_ id: String, _ end: SessionEnd, now: MonotonicTime) -> Running? {
        guard let session = running.removeValue(forKey: id) else { return nil }
        expire(now: now)
        if ended.count(where: { $0.uid == session.uid }) >= limits.resultsPerUser,
            let oldest = ended.firstIndex(where: { $0.uid == session.uid })
        {
            ended.remove(at: oldest)
        }
        ended.append(Ended(id: id, uid: session.uid, end: end, at: now))
        return session
    }

    /// Forgets results that are too old.
    mutating func expire(now: MonotonicTime) {
        ended.removeAll { $0.at + limits.resultLifetime <= now }
    }

    /// What an id leads to, for the user it served and for root.
    ///
    /// - Throws: `InvalidSession`, the same whether there is no such session or it is somebody else's.
    func entry(_ id: String, for viewer: UInt32, now: MonotonicTime) throws(SessionError) -> Entry {
        if let session = running[id], viewer == 0 || viewer == session.uid { return .running(session) }
        let found = ended.last { $0.id == id && (viewer == 0 || viewer == $0.uid) }
        guard let found, now < found.at + limits.resultLifetime else {
            throw SessionError(.invalidSession, "there is no such session, or it ended more than a minute ago")
        }
        return .ended(found.end)
    }

    /// The running sessions a user sees, oldest first: all of them for root and for the daemon's own user.
    func list(for viewer: UInt32, daemon: UInt32) -> [Running] {
        running.values
            .filter { viewer == 0 || viewer == daemon || viewer == $0.uid }
            .sorted { ($0.created, $0.id) < ($1.created, $1.id) }
    }

    /// Results kept at the moment.
    var endedCount: Int { ended.count }
}
