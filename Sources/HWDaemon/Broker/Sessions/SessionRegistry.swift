// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport

/// The running sessions and, for a minute, the results of those that ended; enforces limits and visibility.
struct SessionRegistry {
    /// How many sessions may run and how many results are kept.
    struct Limits: Hashable, Sendable {
        /// Running at once.
        var quota = UserQuota(total: 64, perUser: 16)
        /// The memory of the sessions that run at once.
        var memory = MemoryQuota.unlimited
        /// Sessions of one user whose threads may run before others; nil for no limit.
        var realTimePerUser: Int?
        /// How long a result is kept.
        var resultLifetime = Duration.seconds(60)
        /// Results kept for one user; the oldest is dropped first.
        var resultsPerUser = 256
    }

    /// What the broker knows about a running session without its worker's counters.
    struct Running: Hashable, Sendable {
        let id: String
        let uid: UInt32
        var pid: Int32
        var facts: SessionFacts
        var kind: SessionKind { facts.kind }
        let created: MonotonicTime
        /// The encoder, decoder or converter; nil until the worker reports it.
        var codecID: String?
        var usingHardware: Bool?
        var fallbackReason: String?
        /// Bytes of memory that were granted.
        var memory: UInt64 = 0
        /// The hardware that the worker is expected to choose.
        var expectedCodecID: String?
        /// How processes ended that served the same client session before, oldest first.
        var past: [Past] = []
        /// The session that it continues.
        var continues: String?
        /// Whether its threads may run before others.
        var isRealTime = false

        init(id: String, uid: UInt32, pid: Int32, facts: SessionFacts, created: MonotonicTime = .now) {
            (self.id, self.uid, self.pid, self.facts, self.created) = (id, uid, pid, facts, created)
        }
    }

    /// A process whose session another one continues.
    struct Past: Hashable, Sendable {
        var failure: RestartPolicy.Failure
        var cause: SessionEnd.Cause
    }

    /// The state of the session with some id.
    enum Entry: Hashable, Sendable {
        case running(Running)
        case ended(SessionEnd)
    }

    /// How a session ended, and when.
    struct Result: Hashable, Sendable {
        var session: Running
        var end: SessionEnd
        var at: MonotonicTime
        /// Whether another session continues it.
        var isContinued: Bool
    }

    /// The number of each user's sessions, with the reservations.
    func counts(now: MonotonicTime) -> [UInt32: Int] {
        var counts: [UInt32: Int] = [:]
        for session in present(now) { counts[session.uid, default: 0] += 1 }
        return counts
    }

    /// What sessions do on hardware, and what those did that have a reservation.
    func hardwareUses(now: MonotonicTime) -> [GPULoad.Use] {
        present(now).compactMap { session in
            guard session.kind != .transfer, let codecID = session.codecID ?? session.expectedCodecID else {
                return nil
            }
            return GPULoad.Use(codecID: codecID, pixelRate: session.facts.samples * session.facts.frameRate)
        }
    }

    /// The running sessions, and those that have a reservation.
    private func present(_ now: MonotonicTime) -> [Running] {
        Array(running.values) + ended.filter { isReserved($0, now) }.map(\.session)
    }

    private struct Ended {
        var session: Running
        var end: SessionEnd
        var at: MonotonicTime
        /// Whether its slot is reserved for the session that continues it.
        var isReserved: Bool
        var isContinued = false
        var id: String { session.id }
        var uid: UInt32 { session.uid }
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
    func admit(uid: UInt32, memory: UInt64 = 0, now: MonotonicTime = .now) throws(Refusal) {
        try admitOneMore(uid: uid, now: now)
        let usage = usage(of: nil, uid: uid, now: now)
        let decision = limits.memory.decide(usage, needed: memory, wanted: memory)
        guard let obstacle = decision.obstacle else { return }
        throw Refusal(
            obstacle == .total ? .maxMemory : .maxMemoryPerUser, .videoEncoderNotAvailableNow,
            limits.memory.reason(obstacle, usage, uid: uid, needed: memory))
    }

    private func admitOneMore(uid: UInt32, now: MonotonicTime) throws(Refusal) {
        let present = present(now)
        let (own, all) = (present.count(where: { $0.uid == uid }), present.count)
        let quota = limits.quota
        let usage =
            "the daemon serves \(all == 1 ? "1 session" : "\(all) sessions"); its limit is \(quota.total) (MaxSessions)"
        switch quota.obstacle(uid: uid, own: own, all: all) {
        case nil: return
        case .total: throw Refusal(.maxSessions, .videoEncoderNotAvailableNow, usage)
        case .reserved:
            throw Refusal(
                .maxSessions, .videoEncoderNotAvailableNow,
                "\(usage), and the rest are kept for root and for users without a session")
        case .perUser:
            throw Refusal(
                .maxSessionsPerUser, .videoEncoderNotAvailableNow,
                "user \(uid) has \(own == 1 ? "1 session" : "\(own) sessions"); the limit for one user is "
                    + "\(quota.perUser) (MaxSessionsPerUser)"
                    + (quota.perUser == 1 ? ", and a transcode of HEVC needs two" : ""))
        }
    }

    /// Why the threads of one more session of a user may not run before others; nil where they may.
    ///
    /// Such threads get most of a processor, so that without a limit one user leaves little to the others.
    /// - Parameter leaving: sessions that do not count, because they are about to end.
    func realTimeRefusal(uid: UInt32, leaving: Set<String>) -> String? {
        guard let limit = limits.realTimePerUser else { return nil }
        let own = running.values.count { $0.uid == uid && $0.isRealTime && !leaving.contains($0.id) }
        guard own >= limit else { return nil }
        let sessions = own == 1 ? "1 such session" : "\(own) such sessions"
        return "user \(uid) has \(sessions), and the limit for one user is \(limit) (MaxRealTimeSessionsPerUser)"
    }

    /// Lets the threads of a running session run before others, or returns why they may not.
    mutating func takeRealTime(_ id: String, leaving: Set<String>) -> String? {
        guard let session = running[id], !session.isRealTime else { return nil }
        if let refusal = realTimeRefusal(uid: session.uid, leaving: leaving) { return refusal }
        running[id]?.isRealTime = true
        return nil
    }

    /// Whether a session that failed still counts, so that one that continues it finds a slot.
    private func isReserved(_ ended: Ended, _ now: MonotonicTime) -> Bool {
        ended.isReserved && now < ended.at + .seconds(RestartPolicy.reservationSeconds)
    }

    /// Gives up the user's reservations, the oldest first, as long as another session, of `memory` bytes, is not admitted: the
    /// user decides what the slots are used for.
    mutating func makeRoom(uid: UInt32, memory: UInt64 = 0, now: MonotonicTime) {
        while let oldest = ended.firstIndex(where: { $0.uid == uid && isReserved($0, now) }) {
            do throws(Refusal) { return try admit(uid: uid, memory: memory, now: now) } catch {
                ended[oldest].isReserved = false
            }
        }
    }

    /// Releases the slot of a session that failed, for the one that continues it.
    mutating func releaseReservation(of id: String) {
        guard let index = ended.lastIndex(where: { $0.id == id }) else { return }
        ended[index].isReserved = false
    }

    /// The processes that failed under a session, for one that continues it.
    ///
    /// A session is continued once: by one whose Create call was answered, or may still be. A call that is refused, or
    /// whose process ends before it has answered, takes nothing away.
    ///
    /// - Throws: `InvalidSession` for a session that is unknown, another user's, of another kind, still running, continued
    ///   already, or that did not fail.
    func resume(_ id: String, uid: UInt32, kind: SessionKind, now: MonotonicTime) throws(Refusal) -> [Past] {
        guard let found = ended.last(where: { $0.id == id && $0.uid == uid && $0.session.kind == kind }),
            found.end.isResumable, found.session.codecID != nil, now < found.at + limits.resultLifetime
        else { throw .notResumable }
        try requireNotContinued(id)
        let (session, end) = (found.session, found.end)
        let failure = RestartPolicy.Failure(
            codecID: session.codecID, isHardware: session.usingHardware ?? false, reason: end.reason)
        return session.past + [Past(failure: failure, cause: end.cause)]
    }

    /// Checks that no other session has continued one since a call to continue it came.
    ///
    /// - Throws: as `resume`.
    func requireNotContinued(_ id: String) throws(Refusal) {
        guard !running.values.contains(where: { $0.continues == id }),
            !ended.contains(where: { $0.id == id && $0.isContinued })
        else { throw .notResumable }
    }

    /// Returns the right to continue a session, and its slot, from one whose Create call will not be answered.
    mutating func giveBack(by id: String) {
        guard let continued = running[id]?.continues else { return }
        running[id]?.continues = nil
        guard let index = ended.lastIndex(where: { $0.id == continued }) else { return }
        ended[index].isReserved = ended[index].end.isResumable
    }

    /// Sessions other than one that failed which use an encoder, decoder or converter, or failed with it within the last
    /// second.
    func neighbors(of id: String, on codecID: String, now: MonotonicTime) -> Int {
        running.values.count(where: { $0.codecID == codecID })
            + ended.count(where: {
                $0.isReserved && $0.id != id && $0.session.codecID == codecID && now < $0.at + .seconds(1)
            })
    }

    /// Adds a session that has started.
    mutating func add(_ session: Running) { running[session.id] = session }

    /// Stores which encoder, decoder or converter serves the session.
    ///
    /// - Parameter pixelFormat: the format of the pictures, where Create does not name it.
    /// - Returns: the session if this is the first time.
    mutating func setCodec(
        _ id: String, codecID: String, usingHardware: Bool, fallbackReason: String?, pixelFormat: String? = nil
    ) -> Running? {
        let isFirst = running[id]?.codecID == nil
        running[id]?.codecID = codecID
        if let pixelFormat { running[id]?.facts.pixelFormat = pixelFormat }
        running[id]?.usingHardware = usingHardware
        running[id]?.fallbackReason = fallbackReason
        return isFirst ? running[id] : nil
    }

    /// Grants a running session more memory within the limits; memory that it has stays its own.
    ///
    /// - Returns: what it has, and why it does not have what it needs, if so.
    mutating func grant(
        _ id: String, needed: UInt64, wanted: UInt64, picture: UInt64, now: MonotonicTime = .now
    ) -> (decision: MemoryQuota.Decision, refusal: String?) {
        guard let session = running[id] else { return (MemoryQuota.Decision(granted: 0, obstacle: .total), nil) }
        let usage = usage(of: session, uid: session.uid, now: now)
        let decision = limits.memory.decide(usage, needed: needed, wanted: wanted)
        running[id]?.memory = min(decision.granted ?? needed, MemoryQuota.maxSession)
        running[id]?.facts.pictureBytes = picture
        let refusal = decision.obstacle.map {
            limits.memory.reason($0, usage, uid: session.uid, needed: needed)
        }
        return (decision, refusal)
    }

    /// The memory that a session, its user's others and those of other users have; a reservation includes its memory.
    private func usage(of session: Running?, uid: UInt32, now: MonotonicTime) -> MemoryQuota.Usage {
        var usage = MemoryQuota.Usage(session: session?.memory ?? 0)
        for other in present(now) where other.id != session?.id {
            if other.uid == uid {
                usage.others = usage.others.saturatingSum(other.memory)
            } else {
                usage.otherUsers = usage.otherUsers.saturatingSum(other.memory)
            }
        }
        return usage
    }

    /// Moves a session to those that ended; its result is kept for a while.
    ///
    /// - Returns: the session; nil if there is none with this id.
    @discardableResult
    mutating func finish(_ id: String, _ end: SessionEnd, now: MonotonicTime) -> Running? {
        if !end.isAnswered { giveBack(by: id) }
        guard let session = running.removeValue(forKey: id) else { return nil }
        if let index = ended.lastIndex(where: { $0.id == session.continues }) { ended[index].isContinued = true }
        expire(now: now)
        if ended.count(where: { $0.uid == session.uid }) >= limits.resultsPerUser,
            let oldest = ended.firstIndex(where: { $0.uid == session.uid })
        {
            ended.remove(at: oldest)
        }
        let isReserved = end.isResumable && session.codecID != nil
        ended.append(Ended(session: session, end: end, at: now, isReserved: isReserved))
        return session
    }

    /// The results that are kept.
    func results(now: MonotonicTime) -> [Result] {
        ended.filter { now < $0.at + limits.resultLifetime }.map {
            Result(session: $0.session, end: $0.end, at: $0.at, isContinued: $0.isContinued)
        }
    }

    /// Adds a session that has ended in another daemon.
    mutating func add(_ result: Result) {
        running[result.session.id] = result.session
        finish(result.session.id, result.end, now: result.at)
        if result.isContinued, let last = ended.indices.last {
            (ended[last].isContinued, ended[last].isReserved) = (true, false)
        }
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
