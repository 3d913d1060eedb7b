// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import Logging

/// Starts the sessions' processes, handles their reports and ends, and starts another where one fails before it has answered.
final class SessionSupervisor {
    private let context: BrokerContext
    private let table: SessionTable
    private let admission: SessionAdmission
    private let prober: Prober
    private let outputs: OutputChecks
    /// The processes that wait for sessions.
    let spares: Spares
    private var stallChecks: EventLoop.Timer?
    /// Called when a session has started.
    var hasStarted: () -> Void = {}
    /// Called when a session has ended, before those that wait for its result get it.
    var hasEnded: () -> Void = {}

    init(_ context: BrokerContext, _ table: SessionTable, _ admission: SessionAdmission, _ prober: Prober) {
        (self.context, self.table, self.admission, self.prober) = (context, table, admission, prober)
        outputs = OutputChecks(context, table)
        spares = Spares(context)
        admission.start = { [weak self] in self?.start($0, mayWait: false) }
        admission.refuse = { [weak self] in self?.refuse($0, $1) }
    }

    // MARK: - Create calls

    /// Starts a session's worker, which replies to the call.
    func create(_ kind: SessionKind, _ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let call = try CreateCall(call, creating: kind)
        let proceed = { [weak self] (snapshot: ProbeSnapshot, restart: SessionRestart?) in
            let request = CreateRequest(call: call, snapshot: snapshot, connection: connection, restart: restart)
            // The worker's reply must not overtake one of the broker's.
            connection.whenFlushed { self?.start(request, mayWait: true) }
        }
        if let resumed = call.resumes {
            return resume(resumed, call, connection) { [weak self] restart in
                self?.prober.whenKnown { proceed($0, restart) }
            }
        }
        switch call.hardwareRequirement {
        case .none: prober.whenKnown { proceed($0, nil) }
        case .preferred: prober.whenVerified(for: kind, isRequired: false) { proceed($0, nil) }
        case .required: prober.whenVerified(for: kind, isRequired: true) { proceed($0, nil) }
        }
    }

    /// Calls `body` when a session that continues another may start, which may be delayed; or refuses the call.
    ///
    /// The client sends what was lost with the failed process again.
    private func resume(
        _ session: String, _ call: CreateCall, _ connection: ClientConnection,
        _ body: @escaping (SessionRestart) -> Void
    ) {
        let (uid, registry, knowledge) = (connection.peer.uid, table.registry, prober.knowledge)
        do throws(Refusal) {
            let past = try registry.resume(session, uid: uid, kind: call.kind, now: .now)
            let all = call.kind.hardware(knowledge.hardwareEncoders, knowledge.snapshot)
            let surroundings = RestartPolicy.Surroundings(
                requiresHardware: call.hardwareRequirement == .required || call.namesHardware(among: all),
                hardware: call.hardware(among: all, knowledge.snapshot),
                neighbors: past.last?.failure.codecID.map { registry.neighbors(of: session, on: $0, now: .now) }
                    ?? 0)
            switch RestartPolicy.decide(past.map(\.failure), surroundings) {
            case .giveUp(let reason):
                throw Refusal(.notResumable, call.kind.malfunction, reason)
            case .restart(let avoiding, let maxDelay):
                var restart = SessionRestart(session: session, past: past, avoiding: avoiding)
                guard maxDelay > 0 else { return body(restart) }
                restart.delay = Int.random(in: 0...maxDelay)
                _ = context.loop.after(.milliseconds(restart.delay)) { [restart] in body(restart) }
            }
        } catch {
            refuse(error, call.kind, connection, context.logger(of: session, call.facts, uid: uid))
        }
    }

    /// Starts the session of a call, or refuses it.
    ///
    /// - Parameter mayWait: whether it may wait for a slot; calls that have waited longer come first.
    private func start(_ request: CreateRequest, mayWait: Bool) {
        if mayWait { admission.serve() }
        let (call, connection) = (request.call, request.connection)
        let id = Self.newID()
        let log = context.logger(of: id, call.facts, uid: connection.peer.uid)
        do throws(Refusal) {
            let worker = try startInPlace(request, id, log)
            var details: Logger.Metadata = ["client": "\(connection.peer.pid)"]
            if !call.facts.pixelFormat.isEmpty { details["format"] = "\(call.facts.pixelFormat)" }
            worker.logger.info("session started", metadata: details)
            if let restart = request.restart, let past = restart.past.last {
                worker.logger.notice(
                    "session continues in another process",
                    metadata: [
                        "before": "\(restart.session)", "delay_ms": "\(restart.delay)",
                        "reason": "\(past.failure.reason)",
                    ])
            }
            checkStalls()
            hasStarted()
            // From here on only the worker holds the connection, so its death is the client's end of file.
            connection.close()
        } catch {
            if mayWait, admission.wait(request, because: error, log) { return }
            refuse(error, call.kind, connection, log)
        }
    }

    private func startInPlace(
        _ request: CreateRequest, _ id: String, _ log: Logger
    ) throws(Refusal) -> SessionWorker {
        let (call, restart, before) = (request.call, request.restart, table.registry)
        let (memory, registry) = try admission.check(request)
        table.setRegistry(registry)
        var start = workerStart(id, call, request.snapshot, memory)
        if let restart { start.failures += restart.avoiding }
        start.realTime = table.decideRealTime(call, uid: request.connection.peer.uid)
        start.notices = (restart?.notices(call.kind) ?? []) + [start.realTime?.refusal].compactMap(\.self)
        start.firstCodecID = restart?.past.first?.failure.codecID
        if call.hardwareRequirement != .none { start.loads = admission.loads(on: request.snapshot) }
        let expected = admission.expectedHardware(call, request.snapshot, previous: start.firstCodecID)
        let worker: SessionWorker
        do throws(Refusal) {
            worker = try startWorker(
                SessionWorker.Assignment(start: start, parameters: call.parameters, facts: call.facts),
                connection: request.connection.fileDescriptor, log)
        } catch {
            // Nothing has started, so no slot is returned.
            table.setRegistry(before)
            throw error
        }
        var session = SessionRegistry.Running(
            id: id, uid: request.connection.peer.uid, pid: worker.pid, facts: call.facts)
        (session.memory, session.expectedCodecID) = (memory.initial, expected)
        (session.past, session.continues) = (restart?.past ?? [], restart?.session)
        session.isRealTime = start.realTime.map { $0.refusal == nil } ?? false
        table.add(session, servedBy: worker)
        if restart != nil, expected != nil, call.checksOutput { outputs.start(for: id) }
        return worker
    }

    /// Refuses a call that has waited.
    private func refuse(_ request: CreateRequest, _ refusal: Refusal) {
        let log = context.logger(of: Self.newID(), request.call.facts, uid: request.connection.peer.uid)
        refuse(refusal, request.call.kind, request.connection, log)
    }

    private func refuse(_ refusal: Refusal, _ kind: SessionKind, _ connection: ClientConnection, _ log: Logger) {
        let error = kind.adapted(refusal.error)
        context.metrics.sessionRefused(refusal, kind)
        // The only client of a private daemon reports the error itself.
        let isFault = refusal.cause == .spawnFailed && !context.isPrivate
        log.log(
            level: isFault ? .error : .notice, "session refused",
            metadata: [
                "client": "\(connection.peer.pid)", "code": "\(error.status.rawValue)",
                "reason": "\(error.reason)",
            ])
        connection.reply(VarlinkError(error))
    }

    /// 16 random bytes from the kernel, in hexadecimal.
    private static func newID() -> String {
        var generator = SystemRandomNumberGenerator()
        return Hexadecimal.text((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    // MARK: - Processes

    private func workerStart(
        _ id: String, _ call: CreateCall, _ snapshot: ProbeSnapshot, _ memory: SessionMemory
    ) -> WorkerStart {
        let (kind, knowledge, settings) = (call.kind, prober.knowledge, context.settings)
        // A session that excludes hardware learns of none, so that no driver's needs or quirks loosen its sandbox.
        let mayUseHardware = call.hardwareRequirement != .none
        let stallFactor = Double(call.priority.stallFactor)
        var start = WorkerStart(
            session: id, snapshot: kind.relevantPart(of: snapshot, mayUseHardware: mayUseHardware),
            limits: WorkerLimits(
                maxPoolBytes: settings.maxPoolBytesPerSession,
                clientStallSeconds: settings.clientStallTimeout / .seconds(1),
                hardwareStallSeconds: settings.hardwareStallTimeout / .seconds(1) * stallFactor,
                softwareStallSeconds: settings.stallTimeout / .seconds(1) * stallFactor,
                prepareSeconds: settings.prepareTimeout / .seconds(1),
                orphanSeconds: settings.orphanTimeout / .seconds(1),
                memoryBytes: table.hasMemoryLimit ? memory.initial : nil,
                privateBytes: table.hasMemoryLimit ? memory.bound : nil),
            hardware: mayUseHardware ? kind.hardwareEncoders(among: knowledge.hardwareEncoders) : [],
            vulkan: knowledge.vulkanHints)
        start.failures = knowledge.failures(of: kind, start.snapshot)
        if kind.program(start.hardware, start.failures) != kind.program {
            let bound = table.memory(
                of: kind, picture: call.facts.pictureBytes, converter: call.converter, encodesWithCUDA: true
            ).bound
            start.limits.privateBytes = start.limits.privateBytes.map { max($0, bound) }
        }
        return start
    }

    /// Starts a worker for a call.
    ///
    /// - Parameter mayTakeSpare: whether its process may be one that was started ahead.
    private func startWorker(
        _ assignment: SessionWorker.Assignment, mayTakeSpare: Bool = true, connection: Int32, _ log: Logger
    ) throws(Refusal) -> SessionWorker {
        var assignment = assignment
        let (kind, id) = (assignment.facts.kind, assignment.start.session)
        let quirk = prober.knowledge.sandboxQuirk(
            kind.nodes(assignment.start.hardware, assignment.start.snapshot))
        if let notice = quirk?.sandboxNotice, !assignment.start.notices.contains(notice) {
            assignment.start.notices.insert(notice, at: 0)
        }
        for notice in assignment.start.notices { log.notice("\(notice)") }
        // It runs no driver if the session has no hardware to choose and converts nothing.
        let sandbox = context.confinement.session(
            runsDriver: !assignment.hardware.isEmpty || assignment.facts.converts,
            user: try? PeerCredentials(of: connection).uid, quirk: quirk)
        do {
            return try SessionWorker(
                assignment, sandbox,
                process: try spares.process(
                    kind, kind.program(assignment.start.hardware, assignment.start.failures), sandbox.mode,
                    mayBeSpare: mayTakeSpare), connection: connection, loop: context.loop, logger: log,
                handlers: SessionWorker.Handlers(
                    report: { [weak self] in self?.handleReport($0, of: id) },
                    memory: { [weak table] in table?.grantMemory($0, to: id) },
                    realTime: { [weak table] in table?.decideRealTime(of: id) ?? RealTimeDecision() },
                    sample: { [weak outputs] in outputs?.check($0, of: id) ?? false },
                    unanswered: { [weak table] in table?.giveBack(by: id) },
                    end: { [weak self] in self?.ended(id, $0) }))
        } catch {
            throw Refusal(starting: error, kind)
        }
    }

    private func handleReport(_ report: WorkerReport, of id: String) {
        guard case .created(let reportedID, let usingHardware, let fallbackReason, let format) = report else {
            return
        }
        let worker = table.workers[id]
        let codecID = reportedID.printable(maxBytes: 256)
        let reason = fallbackReason.map { $0.printable() }
        let pixelFormat = format.map { $0.printable(maxBytes: 32) }
        let session = table.setCodec(
            id, codecID: codecID, usingHardware: usingHardware, fallbackReason: reason,
            pixelFormat: worker?.kind.declaresSize == false ? pixelFormat : nil)
        if let session { context.metrics.sessionCreated(session) }
        if !usingHardware { outputs.stop(for: id) }
        guard let worker else { return }
        var details: Logger.Metadata = [
            "\(worker.kind.noun)": "\(codecID)", "hardware": "\(usingHardware)",
        ]
        if let reason { details["fallback"] = "\(reason)" }
        // Create does not state a decoder's pixel format and size.
        if !worker.kind.declaresSize, let pixelFormat {
            details["format"] = "\(pixelFormat)"
            details["size"] = "\(worker[.width])x\(worker[.height])"
        }
        worker.logger.info("session created", metadata: details)
    }

    /// Checks the workers for stalls at intervals while there are any.
    private func checkStalls() {
        guard stallChecks == nil, !table.workers.isEmpty else { return }
        let settings = context.settings
        let interval = min(Duration.seconds(1), settings.stallTimeout / 4, settings.hardwareStallTimeout / 4)
        stallChecks = context.loop.after(interval) { [weak self] in
            guard let self else { return }
            stallChecks = nil
            for worker in table.workers.values { worker.checkStall() }
            checkStalls()
        }
    }

    private func ended(_ id: String, _ end: SessionEnd) {
        let worker = table.removeWorker(id)
        var end = end
        // This process's notices end with it; the session that continues it quotes this reason.
        if end.isMalfunction, worker?.samples?.hasUnverifiedPackets == true {
            end.reason += "; some packets that the process had sent were not verified"
        }
        outputs.forget(id)
        if let calls = end.forbiddenCalls, let worker {
            worker.logger.logForbidden(calls)
            context.metrics.forbade(calls, worker.kind.rawValue)
        }
        if let worker, let connection = worker.takeUnanswered(),
            recover(worker, end, connection: connection)
        {
            return
        }
        var details: Logger.Metadata = [
            "code": "\(end.status.rawValue)", "frames_in": "\(end.framesIn)", "frames_out": "\(end.framesOut)",
        ]
        // Every session that its client ends has the same reason.
        if end.status != .ok { details["reason"] = "\(end.reason)" }
        worker?.logger.log(level: end.isMalfunction ? .warning : .info, "session ended", metadata: details)
        let session = table.finish(id, end)
        if let session, let worker { context.metrics.sessionEnded(session, end, worker.workSoFar()) }
        hasEnded()
        table.reply(end, toThoseWaitingFor: id)
    }

    // MARK: - Processes that fail before they have answered

    /// Starts another worker, which avoids the hardware that ended the first one, or replies with the reason: the client has
    /// not noticed anything yet.
    ///
    /// A worker that opened no hardware, and that a signal ended or that was silent, is replaced once, by a process that is
    /// started now: what hung one spare may hang the next.
    ///
    /// - Parameters:
    ///   - worker: the worker that died.
    ///   - connection: the client's, on which nothing was replied yet.
    /// - Returns: whether another worker serves the session now.
    private func recover(
        _ worker: SessionWorker, _ end: SessionEnd, connection: consuming OwnedFD
    ) -> Bool {
        do throws(SessionError) {
            guard !context.isStopping else { throw Refusal.shuttingDown.error }
            var assignment = worker.assignment
            let failure = worker.openingFailure(end)
            guard var session = table.registry.running[worker.id], failure != nil || worker.mayRepeat(after: end)
            else {
                throw SessionError(end.status, end.reason)
            }
            if let failure {
                prober.sessionFailed(failure)
                worker.logger.warning(
                    "the session restarts without its hardware",
                    metadata: ["\(worker.kind.noun)": "\(failure.codecID)", "reason": "\(failure.reason)"])
                assignment.start.failures.append(failure)
            } else {
                worker.logger.warning("the session restarts", metadata: ["reason": "\(end.reason)"])
                assignment.isRepetition = true
            }
            let next: SessionWorker
            do throws(Refusal) {
                next = try startWorker(
                    assignment, mayTakeSpare: failure != nil, connection: connection.rawValue, worker.logger)
            } catch { throw error.error }
            session.pid = next.pid
            table.add(session, servedBy: next)
            if let signal = end.signal { context.metrics.workerDied(signal) }
            checkStalls()
            return true
        } catch {
            Self.reply(error, on: connection)
            return false
        }
    }

    /// Sends an error as the call's reply; a client that cannot take it at once is gone.
    private static func reply(_ error: SessionError, on connection: borrowing OwnedFD) {
        var queue = SendQueue()
        queue.append(VarlinkReply.encode(VarlinkError(error)))
        _ = try? queue.flush(to: connection.rawValue)
    }
}

extension SessionWorker {
    /// Whether another process may try what this one did not answer.
    fileprivate func mayRepeat(after end: SessionEnd) -> Bool {
        (end.cause == .killed || neverAnswered) && opening == nil && !assignment.isRepetition
    }

    /// The failure of the hardware whose opening ended the process; nil if it was opening none, or had to avoid it already.
    fileprivate func openingFailure(_ end: SessionEnd) -> CodecFailure? {
        guard let codecID = opening, assignment.hardware.contains(codecID),
            !assignment.start.failures.contains(where: { $0.codecID == codecID })
        else { return nil }
        let reason =
            switch end.cause {
            case .stalled:
                "its driver did not return from opening it within \(SessionEnd.seconds(stallLimit)) s"
            default:
                if end.signal != nil, let forbidden = end.forbiddenCalls {
                    "its driver \(forbidden.sentence), and opening it ended the process"
                } else if let signal = end.signal {
                    "its driver crashed while opening it (signal \(signal), \(SessionEnd.signalName(signal)))"
                } else {
                    "its driver ended the process while opening it"
                }
            }
        return CodecFailure(codecID: codecID, reason: reason, isTransient: false)
    }
}
