// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSessions
internal import HWDTransport
internal import HWDWire
internal import Logging

// The methods of sessions: create, list, result.
extension Broker {
    /// Milliseconds a caller may wait for a session's end.
    private static let maxWait = 10_000

    /// Starts a session's worker, which answers the call.
    func create(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let parameters = try CreateCall(call)
        let proceed = { [weak self] (snapshot: ProbeSnapshot) in
            // The worker's reply must not overtake one of the broker's.
            connection.whenFlushed { self?.start(call, parameters, snapshot, connection) }
        }
        switch parameters.hardwareRequirement {
        case .none: prober.whenKnown(proceed)
        case .prefersHardware: prober.whenVerified(for: parameters.kind, isRequired: false, proceed)
        case .requiresHardware: prober.whenVerified(for: parameters.kind, isRequired: true, proceed)
        }
    }

    private func start(
        _ call: VarlinkCall, _ parameters: CreateCall, _ snapshot: ProbeSnapshot,
        _ connection: ClientConnection
    ) {
        let uid = connection.peer.uid
        let id = Self.newID()
        var log = logger
        log[metadataKey: "session"] = "\(id)"
        log[metadataKey: "uid"] = "\(uid)"
        log[metadataKey: "kind"] = "\(parameters.kind.rawValue)"
        log[metadataKey: "codec"] = "\(SessionEnd.oneLine(parameters.codec, maximum: 32))"
        log[metadataKey: "size"] = "\(parameters.width)x\(parameters.height)"
        do throws(Refusal) {
            guard !isStopping else { throw .shuttingDown }
            try registry.admit(uid: uid)
            let isEncoder = parameters.kind == .compression
            let isDecoder = parameters.kind == .decompression
            var job = WorkerStart(
                session: id, call: String(decoding: call.bytes, as: UTF8.self),
                snapshot: isEncoder
                    ? snapshot.forChoice
                    : isDecoder ? snapshot.forDecoding : ProbeSnapshot(encoders: [], nodes: []),
                limits: WorkerLimits(
                    maxPoolBytes: settings.maxPoolBytesPerSession,
                    clientStallSeconds: settings.clientStallTimeout / .seconds(1),
                    hardwareStallSeconds: settings.hardwareStallTimeout / .seconds(1)),
                hardware: isEncoder ? prober.hardware : [], vulkan: prober.vulkanHints)
            let mayOpen = parameters.kind.hardware(of: job)
            job.failures = failureBackoff.present(now: .now).filter { mayOpen.contains($0.codecID) }
            let worker = try startWorker(
                job, parameters.kind, connection: connection.fileDescriptor, log)
            workers[id] = worker
            registry.add(
                SessionRegistry.Running(
                    id: id, uid: uid, kind: parameters.kind, pid: worker.pid, codec: parameters.codec,
                    width: parameters.width,
                    height: parameters.height, pixelFormat: parameters.pixelFormat, created: .now))
            worker.logger.info(
                "session started",
                metadata: [
                    "client": "\(connection.peer.pid)",
                    "format": "\(SessionEnd.oneLine(parameters.pixelFormat, maximum: 32))",
                ])
            supervise()
            reportStatus()
            // Only the worker holds the connection now: its death is the client's end of file.
            connection.close()
        } catch {
            refuse(error, parameters.kind, connection, log)
        }
    }

    /// Starts a worker for a call.
    func startWorker(
        _ start: WorkerStart, _ kind: SessionKind, connection: Int32, _ log: Logger
    ) throws(Refusal) -> SessionWorker {
        let id = start.session
        do {
            return try SessionWorker(
                start, kind: kind, process: try takeWorker(kind), connection: connection,
                stallLimits: SessionWorker.StallLimits(
                    software: settings.stallTimeout, hardware: settings.hardwareStallTimeout),
                loop: loop, logger: log,
                onReport: { [weak self] in self?.handleReport($0, of: id) },
                onEnd: { [weak self] in self?.ended(id, $0) })
        } catch {
            throw Refusal(starting: error, kind)
        }
    }

    /// A spare where there is one of the kind, else a process started now.
    private func takeWorker(_ kind: SessionKind) throws(SystemError) -> WorkerProcess {
        switch kind {
        case .compression: try spare.take()
        case .decompression: try spareDecoder.take()
        // One starts in a few milliseconds, and few machines' daemons transfer pixels.
        case .transfer: try WorkerProcess("\(configuration.libexec)/\(kind.program)")
        }
    }

    private func refuse(
        _ refusal: Refusal, _ kind: SessionKind, _ connection: ClientConnection, _ log: Logger
    ) {
        let error = kind.own(refusal.error)
        metrics.sessionRefused(refusal, kind)
        // The one client of a private daemon says it itself.
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
        guard case .created(let codecID, let usingHardware, let fallbackReason) = report else { return }
        let encoder = SessionEnd.oneLine(codecID, maximum: 256)
        let reason = fallbackReason.map { SessionEnd.oneLine($0) }
        let session = registry.setEncoder(
            id, codecID: encoder, usingHardware: usingHardware, fallbackReason: reason)
        if let session { metrics.sessionCreated(session) }
        workers[id]?.logger.info(
            "session created",
            metadata: ["encoder": "\(encoder)", "hardware": "\(usingHardware)", "fallback": "\(reason ?? "none")"])
    }

    private func ended(_ id: String, _ end: SessionEnd) {
        let worker = workers.removeValue(forKey: id)
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
        reportStatus()
        drainedOne()
        for (connection, timer) in waiters.take(id) {
            loop.cancel(timer)
            connection.reply(with: Self.reply(end))
        }
    }

    /// Answers how a session ended, now or when it does.
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
        case .ended(let end): connection.reply(with: Self.reply(end))
        case .running where wait == 0: connection.reply(with: stillRunning(id))
        case .running:
            let timer = loop.after(.milliseconds(wait)) { [weak self] in
                guard let self else { return }
                _ = waiters.remove(connection)
                connection.reply(with: stillRunning(id))
            }
            waiters.add(id, connection, timer)
        }
    }

    private func stillRunning(_ id: String) -> GetSessionResult.Reply {
        GetSessionResult.Reply(
            finished: false, code: 0, reason: "the session still runs",
            framesIn: workers[id]?[.framesIn] ?? 0, framesOut: workers[id]?[.framesOut] ?? 0)
    }

    private static func reply(_ end: SessionEnd) -> GetSessionResult.Reply {
        GetSessionResult.Reply(
            finished: true, code: end.status.rawValue, reason: end.reason, framesIn: end.framesIn,
            framesOut: end.framesOut)
    }

    /// Answers the sessions the caller may see.
    func list(_ connection: ClientConnection) {
        let now = MonotonicTime.now
        let sessions = registry.list(for: connection.peer.uid, daemon: user).map { session in
            let counters = workers[session.id]
            let (framesIn, framesOut) = (counters?[.framesIn] ?? 0, counters?[.framesOut] ?? 0)
            // A decoder's stream tells its size to the worker alone.
            let isTold = session.kind != .decompression
            let (width, height) = (counters?[.width] ?? 0, counters?[.height] ?? 0)
            return SessionInfo(
                session: session.id, kind: session.kind, pid: session.pid, uid: session.uid,
                codec: session.codec, width: isTold ? session.width : Int(clamping: width),
                height: isTold ? session.height : Int(clamping: height),
                pixelFormat: session.pixelFormat, codecID: session.codecID,
                usingHardware: session.usingHardware, fallbackReason: session.fallbackReason,
                framesIn: framesIn, framesOut: framesOut, bytesOut: counters?[.bytesOut] ?? 0,
                pendingFrames: framesIn > framesOut ? framesIn - framesOut : 0,
                ageMs: now.nanoseconds(since: session.created) / 1_000_000)
        }
        connection.reply(with: ListSessions.Reply(sessions: sessions))
    }

    /// 16 random bytes from the kernel, in hexadecimal.
    private static func newID() -> String {
        var generator = SystemRandomNumberGenerator()
        return Hexadecimal.text((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
}
