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
            case SIGUSR2: upgrade()
            default: advanceShutdown(SessionEnd.signalName(signal))
            }
        }
    }

    /// Ends a private daemon whose owner has ended: nobody is left to wait for its sessions.
    func ownerEnded() {
        guard phase != .ending else { return }
        logger.notice("the process that started this daemon has ended: stopping")
        if phase == .serving { drain() }
        if phase == .draining { endSessions() }
    }

    /// Moves to the next stage of the shutdown.
    private func advanceShutdown(_ signal: String) {
        switch phase {
        case .serving, .relieved:
            logger.notice("\(signal): stopping", metadata: ["sessions": "\(workers.count)"])
            drain()
        case .draining:
            logger.notice("\(signal) again: ending the sessions", metadata: ["sessions": "\(workers.count)"])
            endSessions()
        case .ending:
            logger.notice("\(signal) again: killing the workers", metadata: ["sessions": "\(workers.count)"])
            for worker in workers.values { worker.kill(SIGKILL) }
        }
    }

    /// Refuses new sessions and waits `DrainTimeout` for the running ones.
    func drain() {
        // A new daemon that does not serve yet ends by itself.
        if phase == .serving { successor = nil }
        phase = .draining
        let timeout = settings.drainTimeout + Self.endTimeout + Self.killTimeout + .seconds(1)
        manager.notify("STOPPING=1", "EXTEND_TIMEOUT_USEC=\(timeout.components.seconds * 1_000_000)")
        reportStatus()
        // Clients may wait for the next daemon on a service manager's socket; on the daemon's own they are refused.
        if socket == nil || configuration.isPrivate { stopListening() }
        refuseWaitingProbes()
        refuseQueue()
        prober.stop()
        for spare in spares.values { spare.stop() }
        guard !workers.isEmpty || predecessor != nil, settings.drainTimeout > .zero else { return endSessions() }
        predecessor?.send(.stop(now: false))
        _ = loop.after(settings.drainTimeout) { [weak self] in
            guard let self, phase == .draining else { return }
            logger.notice("sessions have not finished in time", metadata: ["sessions": "\(workers.count)"])
            endSessions()
        }
    }

    /// Ends the daemon if it waits for sessions to finish and none is left.
    func endIfDrained() {
        if phase == .draining, workers.isEmpty, predecessor == nil { endSessions() }
    }

    func stopListening() {
        listener?.stop()
        listener = nil
        socket?.remove()
    }

    /// Ends the sessions: workers get SIGTERM, later SIGKILL.
    func endSessions() {
        phase = .ending
        predecessor?.send(.stop(now: true))
        reportStatus()
        stopListening()
        for worker in workers.values { worker.kill(SIGTERM) }
        _ = loop.after(Self.endTimeout) { [weak self] in
            guard let self else { return }
            for worker in workers.values {
                worker.logger.warning("the \(worker.kind.noun) process did not end when asked to; killing it")
                worker.kill(SIGKILL)
            }
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
        guard workers.isEmpty, prober.isIdle, predecessor == nil else {
            _ = loop.after(.milliseconds(5)) { [weak self] in self?.stopWhenIdle() }
            return
        }
        loop.stop()
    }

    /// Reads the configuration again; if a line is wrong, nothing changes.
    private func reload() {
        guard phase == .serving else { return }
        manager.notify("RELOADING=1", "MONOTONIC_USEC=\(MonotonicTime.now.nanoseconds / 1000)")
        do throws(ConfigurationFault) {
            apply(try configuration.files.load())
            metrics.reloaded(true)
            rejectedConfiguration = nil
            logger.notice("SIGHUP: read the configuration again")
            if let warning = Confinement(settings).warning { logger.warning("\(warning)") }
        } catch {
            metrics.reloaded(false)
            rejectedConfiguration = error.summary
            for line in error.lines { logger.error("\(line)") }
            logger.error("SIGHUP: the old configuration stays")
        }
        manager.notify("READY=1")
        reportStatus()
        // A round of probes in progress may still cover devices that the new configuration excludes.
        let wasProbing = !prober.isIdle
        runProbe { [weak self] _ in
            if wasProbing { self?.runProbe { _ in } }
            self?.verifyVulkan()
        }
    }

    /// Applies settings to new sessions.
    private func apply(_ new: Settings) {
        settings = new
        registry.limits = SessionRegistry.Limits(new, isPrivate: configuration.isPrivate)
        if !hasMemoryLimit {
            for worker in workers.values { worker.raiseMemoryBound(to: nil) }
        }
        prober.reconfigure(
            timeout: new.probeTimeout, confinement: Confinement(new, cache: driverCache),
            deviceList: Configuration.deviceList(new))
        nodeWatch?.refresh()
        for spare in spares.values {
            spare.change(isEnabled: new.spareWorkers > 0, sandbox: new.sandbox)
        }
        prepareSpares()
        closeIdleConnections()
        serveQueue()
        StandardErrorLog.setLevel(new.logLevel)
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
                ? nil : settings.maxRealTimeSessionsPerUser.resolved(processors: Broker.processors))
    }
}
