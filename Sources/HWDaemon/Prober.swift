// SPDX-License-Identifier: GPL-2.0-or-later
internal import Logging
internal import Model
internal import Transport
internal import Wire

/// Finds out what the machine can do, in processes of their own, and remembers it.
final class Prober {
    /// How long one look may take.
    var patience = Duration.seconds(5)
    /// How long it may take to send frames through the software; a busy machine is no fault.
    private static let softwarePatience = Duration.seconds(15)
    /// Probe processes at once.
    private static let processes = 4
    /// How soon a look that failed for want of memory or descriptors is tried again, when somebody asks.
    private static let pauseAfterFailure = Duration.seconds(10)

    /// One look at the machine, or at one node, and who waits for it.
    private final class Run {
        let device: String?
        let verification: ProbeRequest.Verification
        var open: Int
        var waiting: [(ProbeSnapshot) -> Void] = []

        init(device: String?, _ verification: ProbeRequest.Verification, requests: Int) {
            self.device = device
            self.verification = verification
            open = requests
        }
    }

    private let libexec: String
    /// The nodes to look at, separated by colons; nil for every render node.
    var deviceList: String?
    private let loop: EventLoop
    private let logger: Logger
    private var results = ProbeResults()
    private var cache: ProbeCache
    private var runs: [Run] = []
    private var queue: [(ProbeRequest, Run)] = []
    private var children: [ObjectIdentifier: ProbeChild] = [:]
    private var isStopped = false
    private var lastLook: MonotonicTime?
    /// What the last look at everything told; nil until the first has ended.
    private(set) var snapshot: ProbeSnapshot?

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
        if let run = runs.first(where: { $0.device == device && $0.verification == verification }) {
            return run.waiting.append(body)
        }
        let subjects = [ProbeRequest.Subject.software] + (device.map { [$0] } ?? nodes).map { .node($0) }
        let run = Run(device: device, verification, requests: subjects.count)
        run.waiting = [body]
        runs.append(run)
        queue += subjects.map { (ProbeRequest($0, verification: verification, known: cache[$0]), run) }
        startNext()
    }

    /// Kills what runs and starts nothing more.
    func stop() {
        isStopped = true
        let left = queue
        queue = []
        // Whoever waits is answered, if only with what is known.
        for (request, run) in left { finish(request, run, .failure(.failed, "the daemon is shutting down")) }
        for child in children.values { child.kill() }
    }

    /// Whether no probe process is left.
    var isIdle: Bool { children.isEmpty }

    /// Who looks at a start loads no more libraries than it needs: a session may be waiting.
    private func executable(_ request: ProbeRequest) -> String {
        "\(libexec)/\(request.verification == .startup ? "hwdaemon-probe" : "hwdaemon-verify")"
    }

    private func patience(_ request: ProbeRequest) -> Duration {
        let isListing = request.verification == .startup || request.verification == .never
        return request.subject == .software && !isListing ? max(patience, Self.softwarePatience) : patience
    }

    private func startNext() {
        while children.count < Self.processes, !queue.isEmpty, !isStopped {
            let (request, run) = queue.removeFirst()
            var key: ObjectIdentifier?
            do {
                let child = try ProbeChild(
                    request, executable: executable(request),
                    patience: patience(request), loop: loop
                ) { [weak self] outcome in
                    guard let self else { return }
                    if let key { children[key] = nil }
                    finish(request, run, outcome)
                    startNext()
                }
                key = ObjectIdentifier(child)
                children[ObjectIdentifier(child)] = child
            } catch {
                finish(request, run, .failure(.failed, "the probe could not be started: \(error)"))
            }
        }
    }

    private func finish(_ request: ProbeRequest, _ run: Run, _ outcome: ProbeChild.Outcome) {
        results.add(outcome, to: request)
        switch outcome {
        case .answer(let answer):
            if let record = ProbeResults.bounded(answer.record), !cache.keep(record, of: request.subject) {
                logger.debug("cannot write the probe's cache")
            }
        case .failure(_, let reason):
            if !isStopped { logger.warning("\(reason)", metadata: ["node": "\(Self.subject(request))"]) }
        }
        run.open -= 1
        guard run.open == 0 else { return }
        runs.removeAll { $0 === run }
        // A node that is not the daemon's own is told of once and forgotten.
        let single = run.device.map { results.snapshot(of: $0) }
        results.keep(nodes)
        let answer = single ?? results.snapshot
        if run.device == nil {
            tell(answer)
            lastLook = .now
        }
        if run.device == nil || snapshot != nil { snapshot = results.snapshot }
        for body in run.waiting { body(answer) }
    }

    private func tell(_ answer: ProbeSnapshot) {
        guard answer != snapshot else { return }
        for warning in answer.warnings where !(snapshot?.warnings.contains(warning) ?? false) {
            logger.warning("\(warning)")
        }
        for encoder in answer.encoders { logger.info("found an encoder: \(encoder.name)") }
        for node in answer.nodes {
            logger.info("found a node", metadata: ["node": "\(node.node)", "reason": "\(node.reason ?? "none")"])
        }
    }

    private static func subject(_ request: ProbeRequest) -> String {
        switch request.subject {
        case .software: "none, software"
        case .node(let node): node
        }
    }
}
