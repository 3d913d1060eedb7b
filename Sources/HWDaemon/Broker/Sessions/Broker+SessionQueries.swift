// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire

// Answers questions about sessions: ListSessions and GetSessionResult.
extension Broker {
    /// Milliseconds that a caller may wait for a session's end.
    private static let maxWait = 10_000

    /// Replies how a session ended, at once or when it ends.
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
            finished: false, code: 0, reason: "the session is still running",
            framesIn: counter(.framesIn, id), framesOut: counter(.framesOut, id))
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

    /// Replies with the sessions that the caller may see.
    func list(_ connection: ClientConnection) {
        let sessions = registry.list(for: connection.peer.uid, daemon: user)
        connection.reply(with: ListSessions.Reply(sessions: sessions.map(describe)))
    }

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
}

extension GetSessionResult.Reply {
    /// The result of a session that has ended.
    init(_ end: SessionEnd) {
        self.init(
            finished: true, code: end.status.rawValue, reason: end.reason, framesIn: end.framesIn,
            framesOut: end.framesOut)
    }
}
