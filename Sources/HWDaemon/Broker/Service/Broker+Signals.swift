// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

// Handles signals: shutdown in steps (SIGTERM, SIGINT), reload (SIGHUP), and upgrade (SIGUSR2).
extension Broker {
    /// How long workers may take to end their sessions after SIGTERM.
    private static let endTimeout = Duration.seconds(5)
    /// How long a killed process may take to disappear.
    private static let killTimeout = Duration.seconds(2)

    /// Handles all pending signals.
    func handleSignals() {
        while let signal = try? signals.next() {
            switch signal {
            case SIGHUP: reload()
            case SIGUSR2: upgrades.start()
            default: advanceShutdown(SessionEnd.signalName(signal))
            }
        }
    }

    /// Ends a private daemon whose owner has ended: nobody is left to wait for its sessions.
    func ownerEnded() {
        guard context.phase != .ending else { return }
        logger.notice("the process that started this daemon has ended: stopping")
        if context.phase == .serving { drain() }
        if context.phase == .draining { endSessions() }
    }

    /// Moves to the next stage of the shutdown.
    private func advanceShutdown(_ signal: String) {
        let count: Logger.Metadata = ["sessions": "\(sessions.workers.count)"]
        switch context.phase {
        case .serving, .relieved:
            logger.notice("\(signal): stopping", metadata: count)
            drain()
        case .draining:
            logger.notice("\(signal) again: ending the sessions", metadata: count)
            endSessions()
        case .ending:
            logger.notice("\(signal) again: killing the workers", metadata: count)
            sessions.kill(SIGKILL)
        }
    }

    /// Refuses new sessions and waits `DrainTimeout` for the running ones.
    func drain() {
        // A new daemon that does not serve yet ends by itself.
        if context.phase == .serving { upgrades.cancel() }
        context.phase = .draining
        let drainTimeout = context.settings.drainTimeout
        let timeout = drainTimeout + Self.endTimeout + Self.killTimeout + .seconds(1)
        manager.notify("STOPPING=1", "EXTEND_TIMEOUT_USEC=\(timeout.components.seconds * 1_000_000)")
        reportStatus()
        if !keepsListening { stopListening() }
        refuseWaiting()
        supervisor.spares.stop()
        guard !sessions.workers.isEmpty || upgrades.hasPredecessor, drainTimeout > .zero else {
            return endSessions()
        }
        upgrades.stopPredecessor(now: false)
        _ = loop.after(drainTimeout) { [weak self] in
            guard let self, context.phase == .draining else { return }
            logger.notice(
                "sessions have not finished in time", metadata: ["sessions": "\(sessions.workers.count)"])
            endSessions()
        }
    }

    /// Ends the daemon if it waits for sessions to finish and none is left.
    func endIfDrained() {
        if context.phase == .draining, sessions.workers.isEmpty, !upgrades.hasPredecessor { endSessions() }
    }

    /// Ends the sessions: workers get SIGTERM, later SIGKILL.
    func endSessions() {
        context.phase = .ending
        probes.stop()
        upgrades.stopPredecessor(now: true)
        reportStatus()
        stopListening()
        sessions.kill(SIGTERM)
        _ = loop.after(Self.endTimeout) { [weak self] in
            self?.sessions.kill(SIGKILL) { "the \($0.kind.noun) process did not end when asked to; killing it" }
        }
        _ = loop.after(Self.endTimeout + Self.killTimeout) { [weak self] in
            // Not even SIGKILL ends a process in an uninterruptible driver call.
            guard let self else { return }
            logger.error("leaving processes behind that could not be killed")
            loop.stop()
        }
        stopWhenIdle()
    }

    /// Stops the loop once no child is left.
    private func stopWhenIdle() {
        guard sessions.workers.isEmpty, probes.prober.isIdle, !upgrades.hasPredecessor else {
            _ = loop.after(.milliseconds(5)) { [weak self] in self?.stopWhenIdle() }
            return
        }
        loop.stop()
    }

    /// Reads the configuration again; if a line is wrong, nothing changes.
    private func reload() {
        guard context.phase == .serving else { return }
        manager.notify("RELOADING=1", "MONOTONIC_USEC=\(MonotonicTime.now.nanoseconds / 1000)")
        do throws(ConfigurationFault) {
            apply(try context.configuration.files.load())
            context.metrics.reloaded(true)
            rejectedConfiguration = nil
            logger.notice("SIGHUP: read the configuration again")
            if let warning = Confinement(context.settings).warning { logger.warning("\(warning)") }
        } catch {
            context.metrics.reloaded(false)
            rejectedConfiguration = error.summary
            for line in error.lines { logger.error("\(line)") }
            logger.error("SIGHUP: the old configuration stays")
        }
        manager.notify("READY=1")
        reportStatus()
        probes.probeAgain()
    }

    /// Applies settings to new sessions.
    private func apply(_ new: Settings) {
        context.settings = new
        sessions.applyLimits()
        probes.reconfigure()
        supervisor.spares.change()
        closeIdleConnections()
        admission.serve()
        StandardErrorLog.setLevel(new.logLevel)
    }
}
