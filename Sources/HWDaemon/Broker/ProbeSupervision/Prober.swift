// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

/// Runs probe processes and keeps their results; nothing else changes the daemon's `ProbeKnowledge`.
final class Prober {
    /// The pause after a round that failed for lack of memory or descriptors, before a session starts another.
    private static let pauseAfterFailure = Duration.seconds(10)
    /// Paths of one node that may crash or hang a probe before the node is given up: more than the catalogue has.
    private static let maxCrashes = 12

    /// What is known so far.
    private(set) var knowledge: ProbeKnowledge
    let loop: EventLoop
    private let logger: Logger
    private let cache: ProbeCache
    private let queue: ProbeQueue
    /// Nodes to probe, separated by colons; nil for every render node.
    private var deviceList: String?
    private var rounds: [ProbeRound] = []
    /// Called when a probe's process has ended to which its sandbox forbade system calls.
    var forbade: (ForbiddenCalls) -> Void = { _ in }
    /// Called for each driver that a probe's sandbox blocked.
    var refused: (RefusedDriver) -> Void = { _ in }
    /// Sessions that wait for hardware to be verified.
    var waiters: [HardwareWaiter] = []

    /// Starts with the results that earlier daemons stored.
    init(_ queue: ProbeQueue, cache: ProbeCache, deviceList: String?, loop: EventLoop, logger: Logger) {
        self.queue = queue
        self.cache = cache
        self.deviceList = deviceList
        self.loop = loop
        self.logger = logger
        knowledge = ProbeKnowledge(records: cache.load())
        queue.sandboxQuirk = { [weak self] subject in
            guard case .node(let name) = subject else { return nil }
            return self?.knowledge.sandboxQuirk([name])
        }
        queue.willStart = { [weak self] in self?.currentRequest($0) ?? $0.request }
        queue.ended = { [weak self] in self?.ended($0, $1) }
    }

    /// The nodes that exist now, or that the device list names.
    var nodes: [String] { Devices.nodes(deviceList: deviceList) }

    /// Whether no probe process is left.
    var isIdle: Bool { queue.isIdle }

    /// Calls `body` with the present results, after the first round of probes if that has not ended.
    ///
    /// The first round verifies nothing, so that no session waits for a verification.
    func whenKnown(_ body: @escaping (ProbeSnapshot) -> Void) {
        let isPauseOver = knowledge.lastCompleteRound.map { $0 + Self.pauseAfterFailure < .now } ?? true
        if let snapshot = knowledge.published, knowledge.knowsSoftware || !isPauseOver { return body(snapshot) }
        probe(device: nil, .startup, body)
    }

    /// Probes the machine, or one node; a call during an equal round shares its result.
    func probe(
        device: String?, _ verification: ProbeRequest.Verification, _ body: @escaping (ProbeSnapshot) -> Void
    ) {
        let same = rounds.first {
            $0.device == device && $0.verification == verification && !$0.isInBackground
        }
        if let same { return same.completions.append(body) }
        // Vulkan's drivers take long to load: they are probed first, in parallel with the nodes, and not at all if
        // a session waits for the round or if it is about a single node.
        let others: [ProbeRequest.Subject] =
            device == nil && verification != .startup ? [.software, .vulkan] : [.software]
        let subjects = (others + (device.map { [$0] } ?? nodes).map { .node($0) }).filter {
            !knowledge.answers($0, verification)
        }
        let round = ProbeRound(device: device, verification, probeCount: subjects.count)
        round.completions = [body]
        rounds.append(round)
        queue.append(
            subjects.map { subject in
                // Failures are retried on request: firmware installed since then changes no file that is checked.
                // Drivers that crashed or hung a moment ago are not tried again yet, unless everything is to be tried.
                let known =
                    verification == .unlessKnown
                    ? knowledge.knownOnRequest(subject, now: .now) : knowledge.records[subject]
                return ProbeJob(
                    request: ProbeRequest(subject, verification: verification, known: known), round: round)
            })
        if round.pendingCount == 0 { return complete(round) }
        queue.start()
    }

    /// Verifies a subject in the background; only sessions wait for that, and for a limited time.
    func verifyInBackground(_ subject: ProbeRequest.Subject) {
        let node: String? = if case .node(let name) = subject { name } else { nil }
        let isUnderWay = rounds.contains { $0.device == node && $0.isInBackground }
        guard !isUnderWay, !queue.isStopped else { return }
        let round = ProbeRound(device: node, .unlessKnown, probeCount: 1, isInBackground: true)
        rounds.append(round)
        let request = ProbeRequest(
            subject, verification: .unlessKnown, known: knowledge.records[subject]?.lasting)
        queue.append([ProbeJob(request: request, round: round)])
        queue.start()
    }

    /// Applies new settings; everything is probed again from now on.
    func reconfigure(timeout: Duration, confinement: Confinement, deviceList: String?) {
        queue.timeout = timeout
        queue.confinement = confinement
        self.deviceList = deviceList
        knowledge.invalidate()
    }

    /// Forgets everything about nodes that came, went or are another device now; sessions use them no more until they have
    /// been probed.
    func forget(nodes names: [String]) {
        for name in names { knowledge.forget(node: name) }
        knowledge.publish(isCompleteRound: false, now: .now)
        if !cache.save(knowledge.lastingRecords) { logger.debug("cannot write the probe's cache") }
    }

    /// Records that a driver crashed or hung while a session opened it.
    func sessionFailed(_ failure: CodecFailure) { knowledge.add(failure, now: .now) }

    /// Verifies nodes again whose encoders were busy or crashed a while ago; no session waits for that.
    func retryTemporaryFailures() {
        for node in knowledge.takeNodesToRetry(among: nodes, now: .now) { verifyInBackground(.node(node)) }
    }

    /// Kills the running probes and starts no more; waiting callers get the present results.
    func stop() {
        for job in queue.stop() { finish(job, .failure(.failed, "the daemon is shutting down")) }
    }

    /// The request of a job that is about to start: another round may have verified its subject meanwhile.
    private func currentRequest(_ job: ProbeJob) -> ProbeRequest {
        var request = job.request
        if case .firstAttempt = job.repetition, job.round.isInBackground, job.round.crashCount == 0 {
            request.known = knowledge.records[request.subject]?.lasting
        }
        return request
    }

    private func ended(_ job: ProbeJob, _ end: ProbeChild.End) {
        if let printed = end.printed {
            logger.debug("a probe printed: \(printed)", metadata: ["node": "\(job.subjectName)"])
        }
        if let calls = end.forbidden {
            logger.logForbidden(calls, node: job.subjectName)
            forbade(calls)
        }
        knowledge.sandbox.note(end.forbidden, by: job.request)
        if case .answer(let answer) = end.outcome { note(answer.refused, by: job) }
        var next = job
        next.needsReference = true
        switch end.outcome {
        case .answer(let answer) where job.mustRepeatWithReference(after: answer) && !queue.isStopped:
            queue.insertFirst(next)
        case .answer(let answer):
            guard !queue.isStopped, let again = job.repetition.next(after: answer, to: job.request) else {
                return finish(job, end.outcome)
            }
            (next.request, next.repetition) = again
            queue.insertFirst(next)
        case .failure(let state, let reason):
            guard let progress = end.progress else { return finish(job, end.outcome) }
            let result = ProbeRecord.Result(
                id: progress.path, verified: false, reason: reason, passing: .fatal, cause: state.cause)
            guard let record = record(after: progress, result, job) else { return finish(job, end.outcome) }
            // What was found before the crash counts, even if everything was to be tried again.
            next.request = ProbeRequest(job.request.subject, verification: .unlessKnown, known: record)
            queue.insertFirst(next)
        }
    }

    /// Logs, counts and notes the drivers that a probe's sandbox blocked.
    private func note(_ drivers: [RefusedDriver], by job: ProbeJob) {
        for driver in drivers.prefix(ProbeBounds.maxList).map(\.bounded) {
            logger.warning(
                "\(driver.sentence)", metadata: ["node": "\(job.subjectName)", "path": "\(driver.path)"])
            refused(driver)
        }
        knowledge.sandbox.note(drivers, by: job.request)
    }

    /// The record for another probe, which skips the path that crashed or hung its driver; nil to give up.
    private func record(
        after progress: ProbeChild.Progress, _ result: ProbeRecord.Result, _ job: ProbeJob
    ) -> ProbeRecord? {
        guard job.request.subject != .software, job.round.crashCount < Self.maxCrashes, !queue.isStopped else {
            return nil
        }
        job.round.crashCount += 1
        if job.round.crashCount == 1 { knowledge.addFatalFailure(of: job.request.subject, now: .now) }
        logger.warning(
            "\(result.reason ?? "")", metadata: ["node": "\(job.subjectName)", "path": "\(progress.path)"])
        var record = progress.record.bounded
        record.results.removeAll { $0.id == progress.path }
        record.results.append(result)
        return record
    }

    private func finish(_ job: ProbeJob, _ outcome: ProbeChild.Outcome) {
        if knowledge.add(outcome, to: job.request), !cache.save(knowledge.lastingRecords) {
            logger.debug("cannot write the probe's cache")
        }
        if case .failure(_, let reason) = outcome, !queue.isStopped {
            logger.warning("\(reason)", metadata: ["node": "\(job.subjectName)"])
        }
        job.round.pendingCount -= 1
        if job.round.pendingCount == 0 { complete(job.round) }
    }

    /// Passes a round's result to all its callers.
    private func complete(_ round: ProbeRound) {
        rounds.removeAll { $0 === round }
        // A node that is not in the daemon's list is reported once and forgotten.
        let single = round.device.map { knowledge.snapshot(of: $0) }
        knowledge.retain(nodes: nodes, now: .now)
        if round.isInBackground {
            if let node = round.device { knowledge.endVerification(of: node) }
        } else {
            verifyUntriedNodes()
        }
        let snapshot = knowledge.snapshot
        // A background round without a device probes Vulkan only.
        let isCompleteRound = round.device == nil && !round.isInBackground
        if isCompleteRound || round.isInBackground { logger.logNews(in: snapshot, since: knowledge.published) }
        knowledge.publish(isCompleteRound: isCompleteRound, now: .now)
        for body in round.completions { body(single ?? snapshot) }
        resumeWaiters()
    }

    /// Verifies the paths of the daemon's own nodes that were only claimed so far.
    private func verifyUntriedNodes() {
        let own = nodes
        for node in knowledge.untriedNodes where own.contains(node) && !queue.isStopped {
            knowledge.beginVerification(of: node)
            verifyInBackground(.node(node))
        }
    }
}

extension Logger {
    /// Logs that the sandbox of a process forbade system calls.
    ///
    /// - Parameter node: what a probe examined; nil for a session, whose log names it.
    func logForbidden(_ calls: ForbiddenCalls, node: String? = nil) {
        var metadata: Metadata = ["call": "\(calls.name ?? "other")", "count": "\(calls.count)"]
        if let node { metadata["node"] = "\(node)" }
        warning("the sandbox forbade system calls", metadata: metadata)
    }

    /// Logs what a snapshot contains that the previous one did not.
    fileprivate func logNews(in snapshot: ProbeSnapshot, since previous: ProbeSnapshot?) {
        guard snapshot != previous else { return }
        for warning in snapshot.warnings where !(previous?.warnings.contains(warning) ?? false) {
            self.warning("\(warning)")
        }
        for encoder in snapshot.encoders { info("found an encoder: \(encoder.name)") }
        for device in snapshot.vulkan?.devices ?? [] {
            info(
                "found a Vulkan device: \(device.name)",
                metadata: ["verified": "\(device.verified)", "choice": "\(device.choice)"])
        }
        for node in snapshot.nodes {
            info("found a node", metadata: ["node": "\(node.node)", "reason": "\(node.reason ?? "none")"])
        }
    }
}
