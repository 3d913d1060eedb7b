// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport

/// The running sessions and, for a minute, the results of those that ended; enforces limits and visibility.
struct SessionRegistry {
    /// How many sessions may run and how many results are kept.
    struct Limits: Hashable, Sendable {
        /// Running at once.
        var quota = UserQuota(total: 64, perUser: 16)
        /// The memory of the sessions that run at once.
        var memory = MemoryQuota.unlimited
        /// How long a result is kept.
        var resultLifetime = Duration.seconds(60)
        /// Results kept for one user; the oldest is dropped first.
        var resultsPerUser = 256
    }

    /// What the broker knows about a running session without its worker's counters.
    struct Running: Hashable, Sendable {
        var id: String
        var uid: UInt32
        var kind: SessionKind
        var pid: Int32
        var codec: String
        var width: Int
        var height: Int
        var pixelFormat: String
        var created: MonotonicTime
        /// The encoder, decoder or converter; nil until the worker reports it.
        var codecID: String?
        var usingHardware: Bool?
        var fallbackReason: String?
        /// Bytes of a picture, as `SessionMemory` counts them; 0 until the worker reports them where Create does not.
        var pictureBytes: UInt64 = 0
        /// Bytes of memory that were granted.
        var memory: UInt64 = 0
    }

    /// The state of the session with some id.
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

    /// Apply to new sessions.
    var limits: Limits
    private(set) var running: [String: Running] = [:]
    /// In the order they ended.
    private var ended: [Ended] = []

    init(limits: Limits) { self.limits = limits }

    /// Checks that one more session of this user may start, and take `memory` bytes.
    ///
    /// - Throws: `VideoEncoderNotAvailableNow`, naming the limit that is reached.
    func admit(uid: UInt32, memory: UInt64 = 0) throws(Refusal) {
        try admitOneMore(uid: uid)
        let usage = usage(of: nil, uid: uid)
        let decision = limits.memory.decide(usage, needed: memory, wanted: memory)
        guard let obstacle = decision.obstacle else { return }
        throw Refusal(
            obstacle == .total ? .maxMemory : .maxMemoryPerUser, .videoEncoderNotAvailableNow,
            limits.memory.reason(obstacle, usage, uid: uid, needed: memory))
    }

    private func admitOneMore(uid: UInt32) throws(Refusal) {
        let own = running.values.count(where: { $0.uid == uid })
        let quota = limits.quota
        let usage = "the daemon serves \(running.count) sessions; its limit is \(quota.total) (MaxSessions)"
        switch quota.obstacle(uid: uid, own: own, all: running.count) {
        case nil: return
        case .total: throw Refusal(.maxSessions, .videoEncoderNotAvailableNow, usage)
        case .reserved:
            throw Refusal(
                .maxSessions, .videoEncoderNotAvailableNow,
                "\(usage), and the rest are kept for root and for users without a session")
        case .perUser:
            throw Refusal(
                .maxSessionsPerUser, .videoEncoderNotAvailableNow,
                "user \(uid) has \(own) sessions; the limit for one user is \(quota.perUser) (MaxSessionsPerUser)")
        }
    }

    /// Adds a session that has started.
    mutating func add(_ session: Running) { running[session.id] = session }

    /// Stores which encoder, decoder or converter serves the session.
    ///
    /// - Returns: the session if this is the first time.
    mutating func setCodec(
        _ id: String, codecID: String, usingHardware: Bool, fallbackReason: String?
    ) -> Running? {
        let isFirst = running[id]?.codecID == nil
        running[id]?.codecID = codecID
        running[id]?.usingHardware = usingHardware
        running[id]?.fallbackReason = fallbackReason
        return isFirst ? running[id] : nil
    }

    /// Grants a running session more memory within the limits; memory that it has stays its own.
    ///
    /// - Returns: what it has, and why it does not have what it needs, if so.
    mutating func grant(
        _ id: String, needed: UInt64, wanted: UInt64, picture: UInt64
    ) -> (decision: MemoryQuota.Decision, refusal: String?) {
        guard let session = running[id] else { return (MemoryQuota.Decision(granted: 0, obstacle: .total), nil) }
        let usage = usage(of: session, uid: session.uid)
        let decision = limits.memory.decide(usage, needed: needed, wanted: wanted)
        running[id]?.memory = decision.granted ?? needed
        running[id]?.pictureBytes = picture
        let refusal = decision.obstacle.map {
            limits.memory.reason($0, usage, uid: session.uid, needed: needed)
        }
        return (decision, refusal)
    }

    /// The memory that a session, its user's others and those of other users have.
    private func usage(of session: Running?, uid: UInt32) -> MemoryQuota.Usage {
        var usage = MemoryQuota.Usage(session: session?.memory ?? 0)
        for other in running.values where other.id != session?.id {
            if other.uid == uid { usage.others &+= other.memory } else { usage.otherUsers &+= other.memory }
        }
        return usage
    }

    /// Moves a session to those that ended; its result is kept for a while.
    ///
    /// - Returns: the session; nil if there is none with this id.
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

    /// Drops results past their lifetime.
    mutating func expire(now: MonotonicTime) {
        ended.removeAll { $0.at + limits.resultLifetime <= now }
    }

    /// The session with an id, as its own user or root sees it.
    ///
    /// - Throws: `InvalidSession`, identical for unknown sessions and those of other users.
    func entry(_ id: String, for viewer: UInt32, now: MonotonicTime) throws(SessionError) -> Entry {
        if let session = running[id], viewer == 0 || viewer == session.uid { return .running(session) }
        let found = ended.last { $0.id == id && (viewer == 0 || viewer == $0.uid) }
        guard let found, now < found.at + limits.resultLifetime else {
            throw SessionError(.invalidSession, "there is no such session, or it ended more than a minute ago")
        }
        return .ended(found.end)
    }

    /// The running sessions that a user may see, oldest first; root and the daemon's own user see all.
    func list(for viewer: UInt32, daemon: UInt32) -> [Running] {
        running.values
            .filter { viewer == 0 || viewer == daemon || viewer == $0.uid }
            .sorted { ($0.created, $0.id) < ($1.created, $1.id) }
    }

    /// The number of results kept at present.
    var endedCount: Int { ended.count }
}
