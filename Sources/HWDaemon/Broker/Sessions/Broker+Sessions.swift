// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import Logging

// Starts sessions and handles their reports and ends.
extension Broker {
    /// Starts a session's worker, which replies to the call.
    func create(_ kind: SessionKind, _ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let call = try CreateCall(call, creating: kind)
        let proceed = { [weak self] (snapshot: ProbeSnapshot, restart: Restart?) in
            let request = CreateRequest(call: call, snapshot: snapshot, connection: connection, restart: restart)
            // The worker's reply must not overtake one of the broker's.
            connection.whenFlushed { self?.start(request) }
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

    /// Starts the session of a call, or refuses it.
    ///
    /// - Parameter mayWait: whether it may wait for a place; calls that have waited longer come first.
    func start(_ request: CreateRequest, mayWait: Bool = true) {
        if mayWait { serveQueue() }
        let (call, connection) = (request.call, request.connection)
        let id = Self.newID()
        let log = sessionLogger(id, call.facts, uid: connection.peer.uid)
        do throws(Refusal) {
            let worker = try startAdmitted(request, id, log)
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
            supervise()
            reportStatus()
            // From here on only the worker holds the connection, so its death is the client's end of file.
            connection.close()
        } catch {
            if mayWait, wait(request, because: error, log) { return }
            refuse(error, call.kind, connection, log)
        }
    }

    /// Checks that a session may start; the registry is stored only when it does.
    ///
    /// - Returns: its memory, and the registry without the slots that it takes from sessions that failed.
    /// - Throws: `VideoEncoderNotAvailableNow`, naming the limit that is reached.
    @discardableResult
    func admit(_ request: CreateRequest) throws(Refusal) -> (memory: SessionMemory, registry: SessionRegistry) {
        guard !isStopping else { throw .shuttingDown }
        let (call, uid) = (request.call, request.connection.peer.uid)
        let memory = memory(of: call.kind, picture: call.facts.pictureBytes, converter: call.converter)
        var asked = registry
        if let restart = request.restart {
            try registry.requireNotContinued(restart.session)
            asked.freePlace(of: restart.session)
        }
        asked.makeRoom(uid: uid, memory: memory.initial, now: .now)
        try asked.admit(uid: uid, memory: memory.initial)
        try admitToHardware(call, request.snapshot, beside: asked)
        return (memory, asked)
    }

    private func startAdmitted(
        _ request: CreateRequest, _ id: String, _ log: Logger
    ) throws(Refusal) -> SessionWorker {
        let (call, restart, before) = (request.call, request.restart, registry)
        let memory: SessionMemory
        (memory, registry) = try admit(request)
        var start = workerStart(id, call, request.snapshot, memory)
        if let restart { start.failures += restart.avoiding }
        start.realTime = decideRealTime(call, uid: request.connection.peer.uid)
        start.notices = (restart?.notices(call.kind) ?? []) + [start.realTime?.refusal].compactMap(\.self)
        start.firstCodecID = restart?.past.first?.failure.codecID
        if call.hardwareRequirement != .none { start.loads = loads(on: request.snapshot) }
        let expected = expectedHardware(call, request.snapshot, previous: start.firstCodecID)
        let worker: SessionWorker
        do throws(Refusal) {
            worker = try startWorker(
                SessionWorker.Assignment(start: start, parameters: call.parameters, facts: call.facts),
                connection: request.connection.fileDescriptor, log)
        } catch {
            // Nothing has started, so no slot is returned.
            registry = before
            throw error
        }
        workers[id] = worker
        var session = SessionRegistry.Running(
            id: id, uid: request.connection.peer.uid, pid: worker.pid, facts: call.facts)
        (session.memory, session.expectedCodecID) = (memory.initial, expected)
        (session.past, session.continues) = (restart?.past ?? [], restart?.session)
        session.isRealTime = start.realTime.map { $0.refusal == nil } ?? false
        registry.add(session)
        if restart != nil, expected != nil, call.checksOutput { startOutputCheck(of: id) }
        return worker
    }

    func sessionLogger(_ id: String, _ facts: SessionFacts, uid: UInt32) -> Logger {
        var log = logger
        log[metadataKey: "session"] = "\(id)"
        log[metadataKey: "uid"] = "\(uid)"
        log[metadataKey: "kind"] = "\(facts.kind.rawValue)"
        log[metadataKey: "codec"] = "\(facts.codec)"
        if facts.kind.declaresSize { log[metadataKey: "size"] = "\(facts.width)x\(facts.height)" }
        return log
    }

    private func workerStart(
        _ id: String, _ call: CreateCall, _ snapshot: ProbeSnapshot, _ memory: SessionMemory
    ) -> WorkerStart {
        let kind = call.kind
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
                memoryBytes: hasMemoryLimit ? memory.initial : nil,
                privateBytes: hasMemoryLimit ? memory.bound : nil),
            hardware: mayUseHardware ? kind.hardwareEncoders(among: prober.knowledge.hardwareEncoders) : [],
            vulkan: prober.knowledge.vulkanHints)
        start.failures = failures(of: kind, start.snapshot)
        return start
    }

    /// The failures of hardware that a session of a kind would use.
    func failures(of kind: SessionKind, _ snapshot: ProbeSnapshot) -> [CodecFailure] {
        let hardware = kind.hardware(prober.knowledge.hardwareEncoders, snapshot)
        return prober.knowledge.sessionFailures(now: .now).filter { hardware.contains($0.codecID) }
    }

    /// Starts a worker for a call.
    ///
    /// - Parameter mayTakeSpare: whether its process may be one that was started ahead.
    func startWorker(
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
        let sandbox = Confinement(settings, cache: driverCache).session(
            runsDriver: !assignment.hardware.isEmpty || assignment.facts.converts,
            user: try? PeerCredentials(of: connection).uid, quirk: quirk)
        do {
            return try SessionWorker(
                assignment, sandbox,
                process: try takeProcess(kind, sandbox.mode, mayBeSpare: mayTakeSpare), connection: connection,
                loop: loop, logger: log,
                handlers: SessionWorker.Handlers(
                    report: { [weak self] in self?.handleReport($0, of: id) },
                    memory: { [weak self] in self?.grantMemory($0, to: id) },
                    realTime: { [weak self] in self?.decideRealTime(of: id) ?? RealTimeDecision() },
                    sample: { [weak self] in self?.check($0, of: id) ?? false },
                    unanswered: { [weak self] in self?.registry.giveBack(by: id) },
                    end: { [weak self] in self?.ended(id, $0) }))
        } catch {
            throw Refusal(starting: error, kind)
        }
    }

    /// A spare of the kind if there is one with this sandbox, else a process started now.
    private func takeProcess(
        _ kind: SessionKind, _ sandbox: SandboxRequest.Mode, mayBeSpare: Bool
    ) throws(SystemError) -> WorkerProcess {
        guard mayBeSpare, let spare = spares[kind], sandbox == settings.sandbox else {
            return try WorkerProcess(
                configuration.executable(kind.program), sandbox: sandbox, givesSamples: kind == .compression)
        }
        return try spare.take()
    }

    func refuse(
        _ refusal: Refusal, _ kind: SessionKind, _ connection: ClientConnection, _ log: Logger
    ) {
        let error = kind.adapted(refusal.error)
        metrics.sessionRefused(refusal, kind)
        // The only client of a private daemon reports the error itself.
        let isFault = refusal.cause == .spawnFailed && !configuration.isPrivate
        log.log(
            level: isFault ? .error : .notice, "session refused",
            metadata: [
                "client": "\(connection.peer.pid)", "code": "\(error.status.rawValue)",
                "reason": "\(error.reason)",
            ])
        connection.reply(VarlinkError(error))
    }

    private func handleReport(_ report: WorkerReport, of id: String) {
        guard case .created(let reportedID, let usingHardware, let fallbackReason, let format) = report else {
            return
        }
        let codecID = reportedID.printable(maxBytes: 256)
        let reason = fallbackReason.map { $0.printable() }
        let pixelFormat = format.map { $0.printable(maxBytes: 32) }
        let session = registry.setCodec(
            id, codecID: codecID, usingHardware: usingHardware, fallbackReason: reason,
            pixelFormat: workers[id]?.kind.declaresSize == false ? pixelFormat : nil)
        if let session { metrics.sessionCreated(session) }
        if !usingHardware { outputChecks.removeValue(forKey: id)?.end() }
        guard let worker = workers[id] else { return }
        var details: Logger.Metadata = [
            "encoder": "\(codecID)", "hardware": "\(usingHardware)", "fallback": "\(reason ?? "none")",
        ]
        // Create does not state a decoder's pixel format and size.
        if !worker.kind.declaresSize, let pixelFormat {
            details["format"] = "\(pixelFormat)"
            details["size"] = "\(worker[.width])x\(worker[.height])"
        }
        worker.logger.info("session created", metadata: details)
    }

    private func ended(_ id: String, _ end: SessionEnd) {
        let worker = workers.removeValue(forKey: id)
        var end = end
        // This process's notices end with it; the session that continues it quotes this reason.
        if end.isMalfunction, worker?.samples?.hasUnverifiedPackets == true {
            end.reason += "; some packets that the process had sent were not verified"
        }
        outputChecks.removeValue(forKey: id)?.end()
        uncheckedOutputs.remove(id)
        if let calls = end.forbiddenCalls, let worker {
            worker.logger.logForbidden(calls)
            metrics.forbade(calls, worker.kind.rawValue)
        }
        if let worker, let connection = worker.takeUnanswered(),
            recover(worker, end, connection: connection)
        {
            return
        }
        worker?.logger.log(
            level: end.isMalfunction ? .warning : .info, "session ended",
            metadata: [
                "code": "\(end.status.rawValue)", "reason": "\(end.reason)", "frames_in": "\(end.framesIn)",
                "frames_out": "\(end.framesOut)",
            ])
        let session = registry.finish(id, end, now: .now)
        if let session, let worker { metrics.sessionEnded(session, end, worker.workSoFar()) }
        reportResult()
        reportStatus()
        serveQueue()
        endIfDrained()
        reply(end, toThoseWaitingFor: id)
    }

    /// Replies how a session ended to the clients that wait for it.
    func reply(_ end: SessionEnd, toThoseWaitingFor id: String) {
        for (connection, timer) in waiters.take(id) {
            loop.cancel(timer)
            connection.reply(with: GetSessionResult.Reply(end))
        }
    }

    /// 16 random bytes from the kernel, in hexadecimal.
    static func newID() -> String {
        var generator = SystemRandomNumberGenerator()
        return Hexadecimal.text((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
}
