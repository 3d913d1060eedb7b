// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import Logging

// What signals ask for: the end in steps, or another configuration.
extension Broker {
    /// How long workers may take to end their sessions when they must.
    private static let endTimeout = Duration.seconds(5)
    /// How long a killed process may take to go.
    private static let killTimeout = Duration.seconds(2)

    /// Does what the signals that wait ask for.
    func handleSignals() {
        while let signal = try? signals.next() {
            if signal == SIGHUP { reload() } else { hurry(SessionEnd.signalName(signal)) }
        }
    }

    /// One step nearer to the end.
    private func hurry(_ signal: String) {
        switch phase {
        case .serving:
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

    /// Starts no more sessions and gives those that run their time.
    private func drain() {
        phase = .draining
        let timeout = settings.drainTimeout + Self.endTimeout + Self.killTimeout + .seconds(1)
        manager.tell("STOPPING=1", "EXTEND_TIMEOUT_USEC=\(timeout.components.seconds * 1_000_000)")
        reportStatus()
        // On a service manager's socket clients wait for the next daemon; on our own they are told.
        if socket == nil { stopListening() }
        prober.stop()
        spare.stop()
        spareDecoder.stop()
        guard !workers.isEmpty, settings.drainTimeout > .zero else { return endSessions() }
        _ = loop.after(settings.drainTimeout) { [weak self] in
            guard let self, phase == .draining else { return }
            logger.notice("sessions have not finished in time", metadata: ["sessions": "\(workers.count)"])
            endSessions()
        }
    }

    /// A session has ended: the last one that was waited for ends the daemon.
    func drainedOne() {
        if phase == .draining, workers.isEmpty { endSessions() }
    }

    private func stopListening() {
        listener?.stop()
        listener = nil
        socket?.remove()
    }

    /// Ends the sessions: workers are asked, then killed.
    private func endSessions() {
        phase = .ending
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
            // A process in an uninterruptible call of a driver cannot even be killed.
            guard let self else { return }
            logger.error("leaving processes behind that could not be killed")
            loop.stop()
        }
        stopWhenIdle()
    }

    /// Ends the loop once no child is left.
    private func stopWhenIdle() {
        guard workers.isEmpty, prober.isIdle else {
            _ = loop.after(.milliseconds(5)) { [weak self] in self?.stopWhenIdle() }
            return
        }
        loop.stop()
    }

    /// Reads the configuration again; one with a wrong line changes nothing.
    private func reload() {
        guard phase == .serving else { return }
        manager.tell("RELOADING=1", "MONOTONIC_USEC=\(MonotonicTime.now.nanoseconds / 1000)")
        do throws(ConfigurationFault) {
            apply(try configuration.files.load())
            metrics.reloaded(true)
            logger.notice("SIGHUP: read the configuration again")
        } catch {
            metrics.reloaded(false)
            for line in error.lines { logger.error("\(line)") }
            logger.error("SIGHUP: the old configuration stays")
        }
        manager.tell("READY=1")
        reportStatus()
        // A look that is under way may be at devices that are none any more.
        let isLooking = !prober.isIdle
        look { [weak self] _ in
            if isLooking { self?.look { _ in } }
            self?.lookAtVulkan()
        }
    }

    /// Lets settings hold for sessions to come.
    private func apply(_ new: Settings) {
        settings = new
        registry.limits = SessionRegistry.Limits(new)
        prober.timeout = new.probeTimeout
        failureBackoff.forget()
        prober.forget()
        spare.want(new.spareWorkers > 0)
        if new.spareWorkers == 0 { spareDecoder.want(false) }
        prober.deviceList = Configuration.deviceList(new)
        StandardErrorLog.setLevel(new.logLevel)
    }
}

extension SessionRegistry.Limits {
    /// The limits that an admin sets.
    init(_ settings: Settings) {
        self.init(sessions: settings.maxSessions, sessionsPerUser: settings.maxSessionsPerUser)
    }
}
