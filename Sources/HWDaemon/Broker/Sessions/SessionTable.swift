// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import Logging

/// All sessions: those of this daemon with their processes, those that the daemon before finishes, and the results of those
/// that ended; answers questions about them, and grants them memory and threads that run before others.
final class SessionTable {
    /// Milliseconds that a caller may wait for a session's end.
    private static let maxWait = 10_000

    private let context: BrokerContext
    private let user = geteuid()
    private(set) var registry: SessionRegistry
    private(set) var workers: [String: SessionWorker] = [:]
    /// Sessions of the daemon before, as last reported.
    private(set) var adopted: [String: HandedSession] = [:]
    private var waiters = ResultWaiters()

    init(_ context: BrokerContext) {
        self.context = context
        registry = SessionRegistry(limits: Self.limits(context))
    }

    private static func limits(_ context: BrokerContext) -> SessionRegistry.Limits {
        SessionRegistry.Limits(context.settings, isPrivate: context.isPrivate)
    }

    /// Applies the settings' limits to new sessions, and no memory limit to those that run.
    func applyLimits() {
        registry.limits = Self.limits(context)
        guard !hasMemoryLimit else { return }
        for worker in workers.values { worker.raiseMemoryBound(to: nil) }
    }

    // MARK: - Sessions of this daemon

    /// Replaces the registry: by the one that `SessionAdmission.check` returned, or, where the session's process did not start, by
    /// the one before.
    func setRegistry(_ registry: SessionRegistry) { self.registry = registry }

    /// Adds a session that has started, or that another process serves from now on.
    func add(_ session: SessionRegistry.Running, servedBy worker: SessionWorker) {
        registry.add(session)
        workers[session.id] = worker
    }

    /// Sends all processes a signal.
    ///
    /// - Parameter reason: returns a warning to log for a process; nil logs none.
    func kill(_ signal: Int32, _ reason: (SessionWorker) -> Logger.Message? = { _ in nil }) {
        for worker in workers.values {
            if let reason = reason(worker) { worker.logger.warning(reason) }
            worker.kill(signal)
        }
    }

    func removeWorker(_ id: String) -> SessionWorker? { workers.removeValue(forKey: id) }

    /// Returns what a session has taken from the one that it continues, because its Create call is not answered.
    func giveBack(by id: String) { registry.giveBack(by: id) }

    /// Stores what serves a session, as its process reports it; returns the session the first time.
    func setCodec(
        _ id: String, codecID: String, usingHardware: Bool, fallbackReason: String?, pixelFormat: String?
    ) -> SessionRegistry.Running? {
        registry.setCodec(
            id, codecID: codecID, usingHardware: usingHardware, fallbackReason: fallbackReason,
            pixelFormat: pixelFormat)
    }

    /// Moves a session to those that ended; returns it.
    func finish(_ id: String, _ end: SessionEnd) -> SessionRegistry.Running? {
        registry.finish(id, end, now: .now)
    }

    // MARK: - Sessions of the daemon before

    /// Stores a session that the daemon before serves; returns whether its encoder, decoder or converter is known for the first
    /// time.
    func adopt(_ session: HandedSession) -> Bool {
        guard workers[session.id] == nil else { return false }
        registry.add(session.running)
        let isNew = adopted[session.id]?.running.codecID == nil && session.running.codecID != nil
        adopted[session.id] = session
        return isNew
    }

    /// Stores how a session of the daemon before has ended; returns whether it was known.
    func finishAdopted(_ result: SessionRegistry.Result) -> Bool {
        registry.add(result)
        return adopted.removeValue(forKey: result.session.id) != nil
    }

    /// A running session for the next daemon, with its counters.
    func handed(_ session: SessionRegistry.Running) -> HandedSession {
        if let known = adopted[session.id] { return known }
        var handed = HandedSession(session)
        guard let worker = workers[session.id] else { return handed }
        (handed.framesIn, handed.framesOut) = (worker[.framesIn], worker[.framesOut])
        (handed.bytesOut, handed.memoryUsed) = (worker[.bytesOut], worker.memoryUsed)
        if !session.kind.declaresSize {
            (handed.running.facts.width, handed.running.facts.height) = (
                Int(clamping: worker[.width]), Int(clamping: worker[.height])
            )
        }
        return handed
    }

    // MARK: - Memory and threads

    /// Whether `MaxMemory` bounds sessions and their processes.
    var hasMemoryLimit: Bool { registry.limits.memory.total != nil }

    /// The memory of a session of a kind with pictures of a size.
    func memory(
        of kind: SessionKind, picture: UInt64, converter: ConverterMemory = ConverterMemory(),
        encodesWithCUDA: Bool = false
    ) -> SessionMemory {
        SessionMemory(
            kind, picture: picture, converter: converter, encodesWithCUDA: encodesWithCUDA,
            processors: BrokerContext.processors, limit: registry.limits.memory.perUser)
    }

    /// Grants a running session more memory if the limits allow it, and bounds its process by the size of its pictures.
    func grantMemory(_ request: SessionWorker.MemoryRequest, to id: String) -> MemoryGrant {
        guard let session = registry.running[id] else { return MemoryGrant(granted: 0, bound: 0) }
        let picture = max(request.picture, session.facts.pictureBytes)
        let worker = workers[id]
        worker?.raiseMemoryBound(to: hasMemoryLimit ? memory(of: session.kind, picture: picture).bound : nil)
        let bound = worker.flatMap { $0.memoryBound == .max ? nil : $0.memoryBound }
        let (decision, reason) = registry.grant(
            id, needed: request.needed, wanted: request.wanted, picture: picture)
        if let reason {
            worker?.logger.notice("memory refused", metadata: ["reason": "\(reason)"])
        }
        return MemoryGrant(granted: decision.granted, bound: bound, refusal: reason)
    }

    /// Decides whether the threads of a session that is about to start may run before others; the caller stores the decision
    /// with it.
    func decideRealTime(_ call: CreateCall, uid: UInt32) -> RealTimeDecision? {
        guard call.priority == .realTime else { return nil }
        guard let refusal = registry.realTimeRefusal(uid: uid, leaving: leaving) else { return RealTimeDecision() }
        context.metrics.lowered(call.kind)
        return RealTimeDecision(refusing: refusal)
    }

    /// The same for a running session whose properties ask for it after Create.
    func decideRealTime(of id: String) -> RealTimeDecision {
        guard let refusal = registry.takeRealTime(id, leaving: leaving) else { return RealTimeDecision() }
        let decision = RealTimeDecision(refusing: refusal)
        if let worker = workers[id] {
            context.metrics.lowered(worker.kind)
            worker.logger.notice("\(decision.refusal ?? "")")
        }
        return decision
    }

    /// Sessions whose client has hung up: their processes are about to end, and the client may have created the next
    /// session already.
    private var leaving: Set<String> { Set(workers.values.filter(\.hasHungUp).map(\.id)) }

    // MARK: - Questions

    /// Replies how a session ended, at once or when it ends (GetSessionResult).
    func result(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let parameters = try call.checkedParameters(GetSessionResult.Parameters.self)
        let wait = parameters.timeoutMs ?? 0
        guard 0...Self.maxWait ~= wait else { throw .invalidParameter("timeout_ms") }
        let id = parameters.session
        let entry: SessionRegistry.Entry
        do throws(SessionError) {
            entry = try registry.entry(id, for: connection.peer.uid, now: .now)
        } catch {
            throw VarlinkError(error)
        }
        switch entry {
        case .ended(let end): connection.reply(with: GetSessionResult.Reply(end))
        case .running where wait == 0: connection.reply(with: stillRunning(id))
        case .running:
            let timer = context.loop.after(.milliseconds(wait)) { [weak self] in
                guard let self else { return }
                _ = waiters.remove(connection)
                connection.reply(with: stillRunning(id))
            }
            waiters.add(id, connection, timer)
        }
    }

    private func stillRunning(_ id: String) -> GetSessionResult.Reply {
        GetSessionResult.Reply(
            finished: false, code: 0, reason: "the session is still running",
            framesIn: counter(.framesIn, id), framesOut: counter(.framesOut, id))
    }

    /// Replies how a session ended to the clients that wait for it.
    func reply(_ end: SessionEnd, toThoseWaitingFor id: String) {
        for (connection, timer) in waiters.take(id) {
            context.loop.cancel(timer)
            connection.reply(with: GetSessionResult.Reply(end))
        }
    }

    /// Forgets a client that waits for a session's end.
    func stopWaiting(_ connection: ClientConnection) {
        for timer in waiters.remove(connection) { context.loop.cancel(timer) }
    }

    /// A counter of a session's process, or as the daemon before reported it.
    private func counter(_ counter: StatsPage.Counter, _ id: String) -> UInt64 {
        if let worker = workers[id] { return worker[counter] }
        return switch counter {
        case .framesIn: adopted[id]?.framesIn ?? 0
        case .framesOut: adopted[id]?.framesOut ?? 0
        case .bytesOut: adopted[id]?.bytesOut ?? 0
        default: 0
        }
    }

    /// The sessions that a user may see (ListSessions).
    func list(for viewer: UInt32) -> [SessionInfo] { registry.list(for: viewer, daemon: user).map(describe) }

    private func describe(_ session: SessionRegistry.Running) -> SessionInfo {
        let worker = workers[session.id]
        let (framesIn, framesOut) = (counter(.framesIn, session.id), counter(.framesOut, session.id))
        let streamSize = (width: Int(clamping: worker?[.width] ?? 0), height: Int(clamping: worker?[.height] ?? 0))
        // Those of the daemon before come with the stream's size.
        let isKnown = session.kind.declaresSize || worker == nil
        var info = SessionInfo(
            session: session.id, kind: session.kind, pid: session.pid, uid: session.uid, codec: session.facts.codec)
        (info.width, info.height) = isKnown ? (session.facts.width, session.facts.height) : streamSize
        info.pixelFormat = session.facts.pixelFormat
        (info.codecID, info.usingHardware) = (session.codecID, session.usingHardware)
        info.fallbackReason = session.fallbackReason
        (info.framesIn, info.framesOut, info.bytesOut) = (framesIn, framesOut, counter(.bytesOut, session.id))
        info.pendingFrames = framesIn > framesOut ? framesIn - framesOut : 0
        info.ageMs = MonotonicTime.now.nanoseconds(since: session.created) / 1_000_000
        info.memoryBytes = worker?.memoryUsed ?? adopted[session.id]?.memoryUsed ?? 0
        info.grantedBytes = session.memory
        return info
    }

    /// The metrics' values of the sessions at this moment.
    var present: Metrics.Present {
        Metrics.Present(
            now: .now, running: registry.running.count, connections: 0,
            work: workers.values.map { $0.workSoFar() } + adopted.values.map(\.work), limits: registry.limits,
            memory: (
                granted: registry.running.values.reduce(0) { $0 &+ $1.memory },
                used: workers.values.reduce(0) { $0 &+ $1.memoryUsed }
                    &+ adopted.values.reduce(0) { $0 &+ $1.memoryUsed }
            ),
            refusedConnections: 0)
    }
}

extension GetSessionResult.Reply {
    /// The result of a session that has ended.
    init(_ end: SessionEnd) {
        self.init(
            finished: true, code: end.status.rawValue, reason: end.reason, framesIn: end.framesIn,
            framesOut: end.framesOut)
    }
}

extension SessionRegistry.Limits {
    /// The limits that an administrator sets.
    ///
    /// - Parameter isPrivate: whether the daemon serves its own user only; limits between users do not apply.
    init(_ settings: Settings, isPrivate: Bool) {
        let memory = settings.maxMemory.resolved(available: MemoryLimit.available)
        self.init(
            quota: UserQuota(total: settings.maxSessions, perUser: settings.maxSessionsPerUser),
            memory: MemoryQuota(total: memory, isForOneUser: isPrivate),
            realTimePerUser: isPrivate
                ? nil : settings.maxRealTimeSessionsPerUser.resolved(processors: BrokerContext.processors))
    }
}
