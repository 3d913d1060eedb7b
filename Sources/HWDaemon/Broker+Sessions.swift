// SPDX-License-Identifier: GPL-2.0-or-later
internal import Logging
internal import Model
internal import Transport
internal import Wire

// The methods of sessions: create, list, result.
extension Broker {
    /// Milliseconds a caller may wait for a session's end.
    private static let maximumWait = 10_000

    /// Starts a session's worker, which answers the call.
    func create(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        guard call.upgrade else { throw .invalidParameter("upgrade") }
        guard !call.oneway else { throw .invalidParameter("oneway") }
        let parameters = try call.checkedParameters(CreateCompressionSession.Parameters.self)
        prober.whenKnown { [weak self] snapshot in
            // The worker's reply must not overtake one of the broker's.
            connection.whenFlushed { self?.start(call, parameters, snapshot, connection) }
        }
    }

    private func start(
        _ call: VarlinkCall, _ parameters: CreateCompressionSession.Parameters, _ snapshot: ProbeSnapshot,
        _ connection: ClientConnection
    ) {
        let uid = connection.peer.uid
        do throws(SessionError) {
            guard !isStopping else { throw Self.stopping }
            try registry.admit(uid: uid)
        } catch {
            logger.notice("refused a session: \(error.reason)", metadata: ["uid": "\(uid)"])
            return connection.reply(VarlinkError(error))
        }
        let id = Self.newID()
        var log = logger
        log[metadataKey: "session"] = "\(id)"
        do {
            let worker = try SessionWorker(
                WorkerStart(
                    session: id, call: String(decoding: call.bytes, as: UTF8.self), snapshot: snapshot.forChoice,
                    limits: WorkerLimits()),
                executable: "\(configuration.libexec)/hwdaemon-encoder", connection: connection.fileDescriptor,
                stallLimit: configuration.stallLimit, loop: loop, logger: log,
                onReport: { [weak self] in self?.heard($0, of: id) },
                onEnd: { [weak self] in self?.ended(id, $0) })
            workers[id] = worker
            registry.add(
                SessionRegistry.Running(
                    id: id, uid: uid, pid: worker.pid, codec: parameters.codec, width: parameters.width,
                    height: parameters.height, pixelFormat: parameters.pixelFormat, created: .now))
            log.info(
                "session started",
                metadata: [
                    "uid": "\(uid)", "pid": "\(worker.pid)",
                    "size": "\(parameters.width)x\(parameters.height)",
                ])
            supervise()
            // Only the worker holds the connection now: its death is the client's end of file.
            connection.close()
        } catch {
            log.error("the encoder process could not be started: \(error)")
            connection.reply(
                VarlinkError(
                    SessionError(
                        .couldNotCreateInstance, "the encoder process could not be started: \(error)")))
        }
    }

    private func heard(_ report: WorkerReport, of id: String) {
        guard case .created(let encoderID, let usingHardware, let fallbackReason) = report else { return }
        let encoder = SessionEnd.oneLine(encoderID, maximum: 256)
        let reason = fallbackReason.map { SessionEnd.oneLine($0) }
        registry.setEncoder(id, encoderID: encoder, usingHardware: usingHardware, fallbackReason: reason)
        workers[id]?.logger.info(
            "session created",
            metadata: ["encoder": "\(encoder)", "fallback": "\(reason ?? "none")"])
    }

    private func ended(_ id: String, _ end: SessionEnd) {
        workers.removeValue(forKey: id)?.logger.log(
            level: end.status == .videoEncoderMalfunction ? .warning : .info, "session ended: \(end.reason)",
            metadata: [
                "code": "\(end.status.rawValue)", "frames_in": "\(end.framesIn)",
                "frames_out": "\(end.framesOut)",
            ])
        registry.finish(id, end, now: .now)
        for (connection, timer) in waiters.take(id) {
            loop.cancel(timer)
            connection.reply(with: Self.reply(end))
        }
    }

    /// Answers how a session ended, now or when it does.
    func result(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let parameters = try call.checkedParameters(GetSessionResult.Parameters.self)
        let wait = parameters.timeoutMs ?? 0
        guard 0...Self.maximumWait ~= wait else { throw .invalidParameter("timeout_ms") }
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
            return SessionInfo(
                session: session.id, kind: "compression", pid: session.pid, uid: session.uid,
                codec: session.codec, width: session.width, height: session.height,
                pixelFormat: session.pixelFormat, encoderID: session.encoderID,
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
        return (0..<16).map { _ in
            let byte = UInt8.random(in: 0...255, using: &generator)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
