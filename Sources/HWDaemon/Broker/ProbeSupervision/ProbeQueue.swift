// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire

/// Runs probe processes, a few at a time, and reports the outcome of each.
final class ProbeQueue {
    /// Time for a probe of the software codecs, and for each of Vulkan's devices; a busy machine is not a fault.
    private static let softwareTimeout = Duration.seconds(15)
    /// The most probe processes at once; four are left for other subjects while Vulkan's slow one runs.
    private static let maxProcesses = 5

    /// The time limit for a node, and for each trial on it.
    var timeout: Duration
    /// How probes are confined.
    var confinement: Confinement
    /// The quirk that loosens the sandbox of a subject's driver.
    var sandboxQuirk: (ProbeRequest.Subject) -> Capabilities.Quirk? = { _ in nil }
    /// Called right before a job starts; returns its up-to-date request.
    var willStart: (ProbeJob) -> ProbeRequest = { $0.request }
    /// Called once for each job that ended.
    var ended: (ProbeJob, ProbeChild.End) -> Void = { _, _ in }

    private let libexec: String
    private let loop: EventLoop
    private var waiting: [ProbeJob] = []
    private var running: [ObjectIdentifier: (child: ProbeChild, verifiesNode: Bool)] = [:]
    private(set) var isStopped = false

    /// - Parameter libexec: the directory of `hwdaemon-probe` and `hwdaemon-verify`.
    init(libexec: String, timeout: Duration, confinement: Confinement, loop: EventLoop) {
        self.confinement = confinement
        self.libexec = libexec
        self.timeout = timeout
        self.loop = loop
    }

    /// Whether no probe process is left.
    var isIdle: Bool { running.isEmpty }

    /// Adds jobs behind those that wait; `start` starts them.
    func append(_ jobs: [ProbeJob]) { waiting += jobs }

    /// Adds a job before those that wait.
    func insertFirst(_ job: ProbeJob) { waiting.insert(job, at: 0) }

    /// Kills the running probes and starts no more.
    ///
    /// - Returns: the jobs that had not started.
    func stop() -> [ProbeJob] {
        isStopped = true
        defer { waiting = [] }
        for (child, _) in running.values { child.kill() }
        return waiting
    }

    /// Starts as many waiting jobs as may run at once.
    func start() {
        while running.count < Self.maxProcesses, !isStopped, let job = takeNext() { start(job) }
    }

    /// Removes the next job that may start: frames go through one device at a time.
    private func takeNext() -> ProbeJob? {
        let isVerifying = running.values.contains { $0.verifiesNode }
        guard let index = waiting.firstIndex(where: { !isVerifying || !$0.verifiesNode }) else { return nil }
        var job = waiting.remove(at: index)
        job.request = willStart(job)
        return job
    }

    private func start(_ job: ProbeJob) {
        var key: ObjectIdentifier?
        do {
            let child = try ProbeChild(
                job.request, executable: "\(libexec)/\(job.program)",
                sandbox: confinement.probe(job.request.subject, quirk: sandboxQuirk(job.request.subject)),
                timeout: timeout(of: job),
                trialTimeout: job.request.subject == .vulkan ? max(timeout, Self.softwareTimeout) : timeout,
                loop: loop
            ) { [weak self] end in
                guard let self else { return }
                if let key { running[key] = nil }
                ended(job, end)
                start()
            }
            key = ObjectIdentifier(child)
            running[ObjectIdentifier(child)] = (child, job.verifiesNode)
        } catch {
            let reason = "the probe could not be started: \(error)"
            ended(job, ProbeChild.End(outcome: .failure(.failed, reason)))
        }
    }

    private func timeout(of job: ProbeJob) -> Duration {
        job.request.subject == .software ? max(timeout, Self.softwareTimeout) : timeout
    }
}
