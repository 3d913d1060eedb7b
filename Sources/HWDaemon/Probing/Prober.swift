// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

/// Finds out what the machine can do by means of probe processes; the only one to change `ProbeKnowledge`.
final class Prober {
    /// How soon after a look that failed for lack of memory or descriptors a session causes another.
    private static let pauseAfterFailure = Duration.seconds(10)
    /// Paths of one node that may crash or hang a probe before the node is given up.
    private static let maxCrashes = 8

    /// What is known so far.
    private(set) var knowledge: ProbeKnowledge
    let loop: EventLoop
    private let logger: Logger
    private let cache: ProbeCache
    private let queue: ProbeQueue
    /// Nodes to probe, separated by colons; nil for every render node.
    private var deviceList: String?
    private var looks: [ProbeLook] = []
    /// Sessions that wait for hardware to be verified.
    var waiters: [HardwareWaiter] = []

    /// Knows what earlier daemons verified, and nothing else.
    init(_ queue: ProbeQueue, cache: ProbeCache, deviceList: String?, loop: EventLoop, logger: Logger) {
        self.queue = queue
        self.cache = cache
        self.deviceList = deviceList
        self.loop = loop
        self.logger = logger
        knowledge = ProbeKnowledge(records: cache.load())
        queue.willStart = { [weak self] in self?.currentRequest($0) ?? $0.request }
        queue.ended = { [weak self] in self?.ended($0, $1, $2) }
    }

    /// The nodes that exist now, or that the device list names.
    var nodes: [String] { Devices.nodes(deviceList: deviceList) }

    /// Whether no probe process is left.
    var isIdle: Bool { queue.isIdle }

    /// Hands over what is known, after the first look at the machine if that has not ended.
    ///
    /// That look sends no frames through anything, so that no session waits for a verification.
    func whenKnown(_ body: @escaping (ProbeSnapshot) -> Void) {
        let isPauseOver = knowledge.lastLook.map { $0 + Self.pauseAfterFailure < .now } ?? true
        if let snapshot = knowledge.published, knowledge.knowsSoftware || !isPauseOver { return body(snapshot) }
        look(device: nil, .startup, body)
    }

    /// Probes the machine, or one node; calls for the same look while it is running share its result.
    func look(
        device: String?, _ verification: ProbeRequest.Verification, _ body: @escaping (ProbeSnapshot) -> Void
    ) {
        let same = looks.first {
            $0.device == device && $0.verification == verification && !$0.isInBackground
        }
        if let same { return same.completions.append(body) }
        // Vulkan's drivers take long to load: they are probed first, beside the nodes, and only if neither a session
        // nor a single node is waited for.
        let others: [ProbeRequest.Subject] =
            device == nil && verification != .startup ? [.software, .vulkan] : [.software]
        let subjects = (others + (device.map { [$0] } ?? nodes).map { .node($0) }).filter {
            !knowledge.answers($0, verification)
        }
        let look = ProbeLook(device: device, verification, probeCount: subjects.count)
        look.completions = [body]
        looks.append(look)
        queue.append(
            subjects.map { subject in
                // Failures are retried on request: firmware installed since then changes no file that is checked.
                let record = knowledge.records[subject]
                let known = verification == .unlessKnown ? record?.successes : record
                return ProbeJob(
                    request: ProbeRequest(subject, verification: verification, known: known), look: look)
            })
        if look.pendingCount == 0 { return complete(look) }
        queue.start()
    }

    /// Verifies a subject for which no client waits, except sessions for a while.
    func verifyInBackground(_ subject: ProbeRequest.Subject) {
        let node: String? = if case .node(let name) = subject { name } else { nil }
        let isUnderWay = looks.contains { $0.device == node && $0.isInBackground }
        guard !isUnderWay, !queue.isStopped else { return }
        let look = ProbeLook(device: node, .unlessKnown, probeCount: 1, isInBackground: true)
        looks.append(look)
        let request = ProbeRequest(
            subject, verification: .unlessKnown, known: knowledge.records[subject]?.lasting)
        queue.append([ProbeJob(request: request, look: look)])
        queue.start()
    }

    /// Applies new settings; everything is probed again from now on.
    func reconfigure(timeout: Duration, deviceList: String?) {
        queue.timeout = timeout
        self.deviceList = deviceList
        knowledge.invalidate()
    }

    /// Notes that a driver crashed or hung while a session opened it.
    func sessionFailed(_ failure: CodecFailure) { knowledge.add(failure, now: .now) }

    /// Verifies nodes again whose encoders were busy or crashed a while ago; no session waits for that.
    func retryTemporaryFailures() {
        for node in knowledge.takeNodesToRetry(among: nodes, now: .now) { verifyInBackground(.node(node)) }
    }

    /// Kills what runs and starts nothing more; those who wait get what is known.
    func stop() {
        for job in queue.stop() { finish(job, .failure(.failed, "the daemon is shutting down")) }
    }

    /// The request of a job that is about to start: another look may have verified its subject meanwhile.
    private func currentRequest(_ job: ProbeJob) -> ProbeRequest {
        var request = job.request
        if job.look.isInBackground, job.look.crashCount == 0 {
            request.known = knowledge.records[request.subject]?.lasting
        }
        return request
    }

    private func ended(_ job: ProbeJob, _ outcome: ProbeChild.Outcome, _ progress: ProbeChild.Progress?) {
        var next = job
        next.needsJudge = true
        switch outcome {
        case .answer(let answer) where job.mustRepeatWithJudge(after: answer) && !queue.isStopped:
            queue.insertFirst(next)
        case .failure(_, let reason):
            guard let progress, let record = record(after: progress, reason, job) else {
                return finish(job, outcome)
            }
            // What was found before the crash counts, even if everything was to be tried anew.
            next.request = ProbeRequest(job.request.subject, verification: .unlessKnown, known: record)
            queue.insertFirst(next)
        case .answer: finish(job, outcome)
        }
    }

    /// The record with which the other paths are tried after one path crashed or hung its driver; nil to give up.
    private func record(after progress: ProbeChild.Progress, _ reason: String, _ job: ProbeJob) -> ProbeRecord? {
        guard job.request.subject != .software, job.look.crashCount < Self.maxCrashes, !queue.isStopped else {
            return nil
        }
        job.look.crashCount += 1
        logger.warning("\(reason)", metadata: ["node": "\(job.subjectName)", "path": "\(progress.path)"])
        var record = progress.record.bounded
        record.results.removeAll { $0.id == progress.path }
        record.results.append(
            ProbeRecord.Result(id: progress.path, verified: false, reason: reason, passing: .fatal))
        return record
    }

    private func finish(_ job: ProbeJob, _ outcome: ProbeChild.Outcome) {
        if knowledge.add(outcome, to: job.request), !cache.save(knowledge.records) {
            logger.debug("cannot write the probe's cache")
        }
        if case .failure(_, let reason) = outcome, !queue.isStopped {
            logger.warning("\(reason)", metadata: ["node": "\(job.subjectName)"])
        }
        job.look.pendingCount -= 1
        if job.look.pendingCount == 0 { complete(job.look) }
    }

    /// Hands a look's result to all who wait for it.
    private func complete(_ look: ProbeLook) {
        looks.removeAll { $0 === look }
        // A node that is not the daemon's own is reported once and forgotten.
        let single = look.device.map { knowledge.snapshot(of: $0) }
        knowledge.retain(nodes: nodes)
        if look.isInBackground {
            if let node = look.device { knowledge.endVerification(of: node) }
        } else {
            verifyUntriedNodes()
        }
        let snapshot = knowledge.snapshot
        // A look in the background that has no device is one at Vulkan alone.
        let isCompleteLook = look.device == nil && !look.isInBackground
        if isCompleteLook || look.isInBackground { logger.logNews(in: snapshot, since: knowledge.published) }
        knowledge.publish(isCompleteLook: isCompleteLook, now: .now)
        for body in look.completions { body(single ?? snapshot) }
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
