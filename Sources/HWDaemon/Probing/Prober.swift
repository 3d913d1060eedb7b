// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

/// Finds out what the machine can do, in processes of their own, and remembers it.
final class Prober {
    /// How long one look may take.
    var timeout = Duration.seconds(5)
    /// How long it may take to send frames through software, one of Vulkan's devices too; a busy machine is no fault.
    private static let softwareTimeout = Duration.seconds(15)
    /// Probe processes at once; that of Vulkan takes the place of no other.
    private static let processes = 5
    /// How soon a look that failed for want of memory or descriptors is tried again, when somebody asks.
    private static let pauseAfterFailure = Duration.seconds(10)

    /// Paths of one node that may crash or hang a probe before the node is given up.
    private static let maxCrashes = 8

    private let libexec: String
    /// The nodes to look at, separated by colons; nil for every render node.
    var deviceList: String?
    let loop: EventLoop
    let logger: Logger
    var results = ProbeResults()
    private(set) var cache: ProbeCache
    private var runs: [Run] = []
    private var queue: [Job] = []
    private var children: [ObjectIdentifier: (child: ProbeChild, verifiesNode: Bool)] = [:]
    private(set) var isStopped = false
    private var lastLook: MonotonicTime?
    /// What the last look at everything told; nil until the first has ended.
    var snapshot: ProbeSnapshot?
    /// What need not be asked again.
    private var memory = ProbeAnswerCache()
    /// Sessions that wait for hardware to be verified.
    var waiting: [HardwareWaiter] = []
    /// When nodes were last verified, of those where something failed that may pass.
    var passing: [String: MonotonicTime] = [:]

    /// Knows nothing yet.
    ///
    /// - Parameters:
    ///   - libexec: the directory of `hwdaemon-probe` and `hwdaemon-verify`.
    ///   - deviceList: the value of `HWDAEMON_DEVICES`, if it is set.
    ///   - cacheFolder: where to remember what was verified; nil for nowhere.
    init(libexec: String, deviceList: String?, cacheFolder: String?, loop: EventLoop, logger: Logger) {
        self.libexec = libexec
        cache = ProbeCache(folder: cacheFolder)
        self.deviceList = deviceList
        self.loop = loop
        self.logger = logger
    }

    /// The nodes there are now.
    var nodes: [String] { Devices.nodes(environment: deviceList) }

    /// Hands over what is known, after the first look at everything if that has not ended.
    ///
    /// That look sends no frames through anything, so that no session waits for it.
    func whenKnown(_ body: @escaping (ProbeSnapshot) -> Void) {
        let isWorthAnother = !results.knowsSoftware && (lastLook.map { $0 + Self.pauseAfterFailure < .now } ?? true)
        if let snapshot, !isWorthAnother { return body(snapshot) }
        run(device: nil, .startup, body)
    }

    /// Looks anew, at everything or at one node; who asks while the same look is under way gets its answer.
    func run(
        device: String?, _ verification: ProbeRequest.Verification, _ body: @escaping (ProbeSnapshot) -> Void
    ) {
        let same = runs.first {
            $0.device == device && $0.verification == verification && !$0.isInBackground
        }
        if let same { return same.waiting.append(body) }
        // Vulkan's drivers take long to load: they are looked at beside the others, from the beginning, and by nobody
        // who waits for a session or for one node.
        let others: [ProbeRequest.Subject] =
            device == nil && verification != .startup ? [.software, .vulkan] : [.software]
        let subjects = (others + (device.map { [$0] } ?? nodes).map { .node($0) }).filter {
            !results.knows($0) || !memory.answers($0, verification)
        }
        let run = Run(device: device, verification, requests: subjects.count)
        run.waiting = [body]
        runs.append(run)
        queue += subjects.map { subject in
            // Whoever asks gets what failed tried again: firmware that is there now changes nothing else.
            let known = cache[subject]
            return Job(
                request: ProbeRequest(
                    subject, verification: verification,
                    known: verification == .unlessKnown ? known?.successes : known), run: run)
        }
        if run.open == 0 { return complete(run) }
        startNext()
    }

    /// Has something verified that nobody waits for but sessions, for a while.
    func verifyInBackground(_ subject: ProbeRequest.Subject) {
        let node: String? = if case .node(let name) = subject { name } else { nil }
        let isUnderWay = runs.contains { $0.device == node && $0.isInBackground }
        guard !isUnderWay, !isStopped else { return }
        let run = Run(device: node, .unlessKnown, requests: 1, isInBackground: true)
        runs.append(run)
        queue.append(
            Job(
                request: ProbeRequest(subject, verification: .unlessKnown, known: cache[subject]?.lasting), run: run
            ))
        startNext()
    }

    /// Asks everything again from now on.
    func forget() { memory.forget() }

    /// Kills what runs and starts nothing more.
    func stop() {
        isStopped = true
        let left = queue
        queue = []
        // Whoever waits is answered, if only with what is known.
        for job in left { finish(job, .failure(.failed, "the daemon is shutting down")) }
        for (child, _) in children.values { child.kill() }
    }

    /// Whether no probe process is left.
    var isIdle: Bool { children.isEmpty }

    private func timeout(_ request: ProbeRequest) -> Duration {
        let isListing = request.verification == .startup || request.verification == .never
        return request.subject == .software && !isListing ? max(timeout, Self.softwareTimeout) : timeout
    }

    /// The next job that may start: frames go through one device at a time.
    private func takeNext() -> Job? {
        let isVerifying = children.values.contains { $0.verifiesNode }
        guard let index = queue.firstIndex(where: { !isVerifying || !$0.verifiesNode }) else { return nil }
        var job = queue.remove(at: index)
        // Somebody else's look may have found it out meanwhile.
        if job.run.isInBackground, job.run.crashes == 0 { job.request.known = cache[job.request.subject]?.lasting }
        return job
    }

    private func startNext() {
        while children.count < Self.processes, !isStopped, let job = takeNext() {
            var key: ObjectIdentifier?
            do {
                let child = try ProbeChild(
                    job.request, executable: "\(libexec)/\(job.isLook ? "hwdaemon-probe" : "hwdaemon-verify")",
                    timeout: timeout(job.request),
                    trialTimeout: job.request.subject == .vulkan
                        ? max(timeout, Self.softwareTimeout) : timeout,
                    loop: loop
                ) { [weak self] outcome, progress in
                    guard let self else { return }
                    if let key { children[key] = nil }
                    ended(job, outcome, progress)
                    startNext()
                }
                key = ObjectIdentifier(child)
                children[ObjectIdentifier(child)] = (child, job.verifiesNode)
            } catch {
                finish(job, .failure(.failed, "the probe could not be started: \(error)"))
            }
        }
    }

    private func ended(_ job: Job, _ outcome: ProbeChild.Outcome, _ progress: ProbeChild.Progress?) {
        var next = job
        switch outcome {
        case .answer(let answer) where job.lacks(answer) && !isStopped:
            next.needsJudge = true
            queue.insert(next, at: 0)
        case .failure(_, let reason):
            guard let progress, let record = knowing(progress, reason, job) else { return finish(job, outcome) }
            // What was found before counts now even where everything was to be tried anew.
            next.request = ProbeRequest(job.request.subject, verification: .unlessKnown, known: record)
            next.needsJudge = true
            queue.insert(next, at: 0)
        case .answer: finish(job, outcome)
        }
    }

    /// Where one path crashed or hung its driver: what is known then, so that the others are tried without it.
    private func knowing(_ progress: ProbeChild.Progress, _ reason: String, _ job: Job) -> ProbeRecord? {
        guard job.request.subject != .software, job.run.crashes < Self.maxCrashes, !isStopped,
            var record = ProbeResults.bounded(progress.record)
        else { return nil }
        job.run.crashes += 1
        logger.warning("\(reason)", metadata: ["node": "\(Self.subject(job.request))", "path": "\(progress.path)"])
        record.results.removeAll { $0.id == progress.path }
        record.results.append(
            ProbeRecord.Result(id: progress.path, verified: false, reason: reason, passing: .fatal))
        return record
    }

    private func finish(_ job: Job, _ outcome: ProbeChild.Outcome) {
        let (request, run) = (job.request, job.run)
        results.add(outcome, to: request)
        results.settle()
        switch outcome {
        case .answer(let answer):
            memory.keep(answer, to: request)
            if let record = ProbeResults.bounded(answer.record) {
                note(record, of: request.subject)
                if !cache.keep(record, of: request.subject) { logger.debug("cannot write the probe's cache") }
            }
        case .failure(_, let reason):
            memory.forget(request.subject)
            if !isStopped { logger.warning("\(reason)", metadata: ["node": "\(Self.subject(request))"]) }
        }
        run.open -= 1
        if run.open == 0 { complete(run) }
    }

    /// Hands a look's answer to everyone who waits for it.
    private func complete(_ run: Run) {
        runs.removeAll { $0 === run }
        // A node that is not the daemon's own is told of once and forgotten.
        let single = run.device.map { results.snapshot(of: $0) }
        results.keep(nodes)
        if run.isInBackground {
            if let node = run.device { results.verifying.remove(node) }
        } else {
            verifyUntried()
        }
        let answer = single ?? results.snapshot
        // A look at Vulkan alone is none at everything.
        let isAll = run.device == nil && !run.isInBackground
        if isAll || run.isInBackground { tell(results.snapshot) }
        if isAll { lastLook = .now }
        if isAll || snapshot != nil { snapshot = results.snapshot }
        for body in run.waiting { body(answer) }
        notifyWaiters()
    }
}
