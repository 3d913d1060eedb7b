// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import Logging

// An upgrade without a pause (SIGUSR2), as the daemon before does it: it starts its program again, hands the listening
// socket over, and ends with its last session.
extension Broker {
    /// How often connections that became idle are handed over.
    private static let connectionInterval = Duration.milliseconds(100)
    /// How often the new daemon gets the counters of the sessions.
    private static let sessionInterval = Duration.seconds(1)
    /// How soon a packet for which there was no room is sent again.
    private static let retryInterval = Duration.milliseconds(10)

    /// Starts the daemon's program anew; this process serves until the new one can.
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
        case .ready(let pid): handOver(to: pid)
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
    private func handOver(to pid: Int32) {
        guard phase == .serving, let successor, !successor.isServing else { return }
        sendSessions()
        // The service manager takes messages of its main process alone, so this comes before the new daemon's own.
        manager.notify("MAINPID=\(pid)")
        guard successor.send(.serve(socket: socket?.path)) else {
            manager.notify("MAINPID=\(getpid())")
            guard successor.isConnected else { return }
            _ = loop.after(Self.retryInterval) { [weak self] in self?.handOver(to: pid) }
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
        handConnectionsOver()
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

    /// Hands connections over as soon as no call is open on them.
    private func handConnectionsOver() {
        guard phase == .relieved else { return }
        for connection in openConnections where connection.isIdle {
            guard successor?.send(.connection, file: connection.fileDescriptor) == true else { break }
            connection.close()
        }
        if hasUnreportedResults { sendSessions() }
        endIfRelieved()
        _ = loop.after(Self.connectionInterval) { [weak self] in self?.handConnectionsOver() }
    }

    /// Reports the counters of the sessions at intervals.
    private func reportSessions() {
        guard phase != .serving, successor?.isConnected == true else { return }
        sendSessions()
        _ = loop.after(Self.sessionInterval) { [weak self] in self?.reportSessions() }
    }

    /// Sends the new daemon the sessions that run, and the results that it does not have yet.
    private func sendSessions() {
        let results = registry.results(now: .now).filter { !reportedResults.contains($0.session.id) }
        send(results.map { HandedSession($0) }) { $0.end != nil }
        send(registry.running.values.map(handed)) { _ in false }
    }

    private func send(_ sessions: [HandedSession], isFinal: (HandedSession) -> Bool) {
        var rest = sessions[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(HandoverPacket.maxSessions))
            guard successor?.send(.sessions(some)) == true else { return }
            reportedResults.formUnion(some.filter(isFinal).map(\.id))
            rest = rest.dropFirst(some.count)
        }
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
            (handed.width, handed.height) = (Int(clamping: worker[.width]), Int(clamping: worker[.height]))
        }
        return handed
    }

    /// Whether a session has ended whose result did not fit the socket yet.
    private var hasUnreportedResults: Bool {
        registry.results(now: .now).contains { !reportedResults.contains($0.session.id) }
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
