// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import HWDWire
internal import Logging

// An upgrade without a pause (SIGUSR2), as the daemon before does it: it starts its program again, hands the listening
// socket over, and ends with its last session.
extension Broker {
    /// How often connections that became idle are handed over.
    private static let connectionInterval = Duration.milliseconds(100)
    /// How often the new daemon gets the counters of the sessions.
    private static let sessionInterval = Duration.seconds(1)
    /// How soon the hand-over is tried again for which there was no room.
    private static let retryInterval = Duration.milliseconds(10)

    /// Starts the program of the daemon again; this process serves until the new one can.
    func upgrade() {
        guard phase == .serving, successor == nil, !configuration.isPrivate, let listener else {
            let reason =
                configuration.isPrivate
                ? "a private daemon ends with its owner"
                : phase == .draining || phase == .ending || successor == nil
                    ? "stopping" : "an upgrade is under way"
            return logger.notice("SIGUSR2: ignored: \(reason)")
        }
        logger.notice("SIGUSR2: starting the new daemon", metadata: ["program": "\(Program.path)"])
        failedUpgrade = nil
        do throws(SystemError) {
            successor = try Successor(
                listener: listener.fileDescriptor, environment: manager.environment, loop: loop
            ) { [weak self] in self?.handle($0) }
        } catch { upgradeFailed("it cannot be started: \(error)") }
    }

    private func handle(_ event: Successor.Event) {
        switch event {
        case .ready(let pid, let takesCalls):
            sendSessions()
            handOver(to: pid, withCalls: takesCalls)
        case .failed(let reason): upgradeFailed(reason)
        case .stop(let now):
            if phase == .relieved {
                logger.notice("the new daemon stops", metadata: ["sessions": "\(workers.count)"])
                drain()
            }
            if now, phase == .draining { endSessions() }
        }
    }

    private func upgradeFailed(_ reason: String) {
        logger.error("the upgrade failed, this daemon goes on: the new one did not start: \(reason)")
        failedUpgrade = reason
        reportedResults = []
        // Kept for a moment: it reaps the process, which may just have been killed.
        let failed = successor
        successor = nil
        _ = loop.after(.seconds(1)) { failed?.close() }
        reportStatus()
    }

    /// Lets the new daemon serve: from here on this one finishes its sessions and the calls that it has received.
    private func handOver(to pid: Int32, withCalls takesCalls: Bool) {
        guard phase == .serving, let successor, successor.isConnected, !successor.isServing else { return }
        var serves = false
        // It knows all sessions before it serves.
        if successor.hasSentAll {
            // The service manager takes messages of its main process alone, so this comes before the new daemon's own.
            manager.notify("MAINPID=\(pid)")
            serves = successor.send(.serve(socket: socket?.path)) == .sent
            if !serves { manager.notify("MAINPID=\(getpid())") }
        }
        guard serves else {
            _ = loop.after(Self.retryInterval) { [weak self, weak successor] in
                guard let self, self.successor === successor else { return }
                handOver(to: pid, withCalls: takesCalls)
            }
            return
        }
        successor.serves()
        manager.release()
        phase = .relieved
        // The file is the new daemon's now.
        socket = nil
        stopListening()
        for spare in spares.values { spare.stop() }
        nodeWatch = nil
        logger.notice(
            "the new daemon serves; this one ends with its sessions",
            metadata: ["successor": "\(pid)", "sessions": "\(workers.count)"])
        handConnectionsOver(withCalls: takesCalls)
        reportSessions()
        guard settings.upgradeTimeout > .zero else { return }
        _ = loop.after(settings.upgradeTimeout) { [weak self] in
            guard let self, phase == .relieved else { return }
            logger.notice(
                "sessions have not finished within UpgradeTimeout", metadata: ["sessions": "\(workers.count)"])
            refuseWaitingProbes()
            refuseQueue()
            prober.stop()
            endSessions()
        }
    }

    /// Hands connections over as soon as no call is open on them, or one that waits for a place.
    private func handConnectionsOver(withCalls takesCalls: Bool) {
        guard phase == .relieved else { return }
        for connection in openConnections where connection.isIdle {
            guard successor?.send(.connection, file: connection.fileDescriptor) == .sent else { break }
            connection.close()
        }
        if takesCalls { handCallsOver() }
        if hasUnreportedResults { sendSessions() }
        endIfRelieved()
        _ = loop.after(Self.connectionInterval) { [weak self] in self?.handConnectionsOver(withCalls: takesCalls) }
    }

    private func handCallsOver() {
        moveQueue { request, rest in
            let packet = HandoverPacket.call(
                String(decoding: request.call.text, as: UTF8.self),
                milliseconds: Int(max(rest, .zero) / .milliseconds(1)))
            return successor?.send(packet, file: request.connection.fileDescriptor) ?? .failed
        }
    }

    /// Reports the counters of the sessions at intervals.
    private func reportSessions() {
        guard phase != .serving, successor?.isConnected == true else { return }
        sendSessions()
        _ = loop.after(Self.sessionInterval) { [weak self] in self?.reportSessions() }
    }

    /// Sends the new daemon the results that it does not have yet, and the sessions that run.
    private func sendSessions() {
        guard let successor else { return }
        let results = registry.results(now: .now).filter { !reportedResults.contains($0.session.id) }
        reportedResults.formUnion(results.map(\.session.id))
        var sessions = results.map { HandedSession($0) }
        // Counters of running sessions are out of date soon: a full socket gets no more of them.
        if successor.hasSentAll { sessions += registry.running.values.map(handed) }
        successor.post(
            stride(from: 0, to: sessions.count, by: HandoverPacket.maxSessions).map {
                .sessions(Array(sessions[$0..<min($0 + HandoverPacket.maxSessions, sessions.count)]))
            })
    }

    /// Sends the new daemon the result of a session that has just ended.
    func reportResult() {
        if successor?.isServing == true { sendSessions() }
    }

    private func handed(_ session: SessionRegistry.Running) -> HandedSession {
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

    /// Whether a session has ended whose result was not sent yet.
    private var hasUnreportedResults: Bool {
        registry.results(now: .now).contains { !reportedResults.contains($0.session.id) }
            || successor?.hasSentAll == false
    }

    /// Ends the daemon if another serves in its place and nothing is left to finish.
    func endIfRelieved() {
        // Nothing can be handed to a daemon that has ended.
        let isWaiting = (!openConnections.isEmpty || hasUnreportedResults) && successor?.isConnected == true
        guard phase == .relieved, workers.isEmpty, !isWaiting, predecessor == nil else { return }
        prober.stop()
        endSessions()
    }
}
