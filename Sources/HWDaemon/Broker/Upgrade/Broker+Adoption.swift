// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

// An upgrade as the new daemon sees it: sessions of the daemon before count within its limits, are listed, and may be
// continued here once their process has failed.
extension Broker {
    /// Takes the place of the daemon before, which finishes its sessions.
    ///
    /// - Throws: `ETIMEDOUT`, `ECONNRESET` where that daemon continues without this one.
    func replace(_ predecessor: Predecessor) throws(SystemError) {
        let inheritance = try predecessor.takeOver()
        self.predecessor = predecessor
        socket = inheritance.socket.flatMap { SocketFile($0) }
        try predecessor.watch(on: loop) { [weak self] packet, file in
            self?.handle(packet, file)
        } onEnd: { [weak self] in
            self?.predecessorEnded()
        }
        adopt(inheritance.sessions)
        logger.notice("took over from the daemon before", metadata: ["sessions": "\(adopted.count)"])
    }

    private func handle(_ packet: HandoverPacket, _ file: consuming OwnedFD?) {
        switch packet {
        case .sessions(let sessions): adopt(sessions)
        case .connection: adopt(file)
        case .call(let call, let milliseconds):
            adopt(file)?.resume(call, waiting: .milliseconds(milliseconds))
        case .ready, .serve, .stop: break
        }
    }

    @discardableResult
    private func adopt(_ file: consuming OwnedFD?) -> ClientConnection? {
        guard let file = file.take(), let peer = try? PeerCredentials(of: file.rawValue) else { return nil }
        listener?.connectionAdopted(uid: peer.uid)
        return serve(file, peer)
    }

    private func adopt(_ sessions: [HandedSession]) {
        for session in sessions {
            if let result = session.result {
                finishAdopted(result, session.work)
            } else if workers[session.id] == nil {
                registry.add(session.running)
                let isFirst = adopted[session.id]?.running.codecID == nil
                adopted[session.id] = session
                if isFirst, session.running.codecID != nil { metrics.sessionAdopted(session.running) }
            }
        }
    }

    private func finishAdopted(_ result: SessionRegistry.Result, _ work: SessionWork) {
        let id = result.session.id
        registry.add(result)
        guard adopted.removeValue(forKey: id) != nil else { return }
        metrics.sessionEnded(result.session, result.end, work)
        reply(result.end, toThoseWaitingFor: id)
        reportResult()
        reportStatus()
        serveQueue()
    }

    /// Handles the end of the daemon before; sessions that it has not reported as ended may continue without it.
    private func predecessorEnded() {
        predecessor = nil
        logger.notice("the daemon before has ended", metadata: ["sessions": "\(adopted.count)"])
        for session in Array(adopted.values) {
            let end = SessionEnd(
                status: session.running.kind.malfunction, reason: "the daemon that served the session has ended",
                framesIn: session.framesIn, framesOut: session.framesOut, cause: .vanished)
            finishAdopted(
                SessionRegistry.Result(session: session.running, end: end, at: .now, isContinued: false),
                session.work)
        }
        reportStatus()
        endIfDrained()
        endIfRelieved()
    }
}
