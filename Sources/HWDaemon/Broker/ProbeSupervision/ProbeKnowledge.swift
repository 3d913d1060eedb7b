// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire

/// What is known about the software codecs, about every node and about Vulkan, including recent failures.
///
/// A pure value: times and file checks are passed in. Only `Prober` changes the daemon's copy.
struct ProbeKnowledge {
    private struct Node {
        var description: RenderNode
        var encoders: [EncoderDescription] = []
        var paths: [CodecPath] = []
        var hardware: [HardwareEncoder] = []
        /// Ids of paths that are claimed and not verified yet.
        var untried: [String] = []
        var quirks: [QuirkDescription] = []
    }

    private struct Software {
        /// Whether the decoders were listed, too; a probe at the daemon's start leaves them out.
        var isWhole: Bool
        var encoders: [EncoderDescription] = []
        var paths: [CodecPath] = []
        var quirks: [QuirkDescription] = []
    }

    /// nil until a probe has listed the software codecs, of which there may be none.
    private var software: Software?
    /// Why the last probe of the software codecs did not answer; nil if it did.
    private var softwareFailure: ProbeSnapshot.SoftwareFailure?
    private var nodes: [Node] = []
    private var vulkan: VulkanReport?
    private var warnings: [String] = []
    var sandbox = SandboxFindings()
    /// Nodes whose verification is running or scheduled.
    private var verifying: Set<String> = []
    /// What was verified, by subject: a probe skips what its record already answers.
    private(set) var records: [ProbeRequest.Subject: ProbeRecord]
    private var reusable = ReusableAnswers()
    private var failures = RecentFailures()
    /// The results of the last round that probed the whole machine; nil until the first has ended.
    private(set) var published: ProbeSnapshot?
    /// When the last round that probed the whole machine ended.
    private(set) var lastCompleteRound: MonotonicTime?

    /// Records that are kept: enough for every node there can be, the software, and Vulkan.
    private static let maxRecords = 64

    /// Starts with what earlier daemons verified.
    init(records: [ProbeRequest.Subject: ProbeRecord] = [:]) { self.records = records }

    /// The records without those of drivers that tried what their sandbox forbids.
    ///
    /// The next daemon verifies them again, and says again what they try.
    var lastingRecords: [ProbeRequest.Subject: ProbeRecord] { records.filter { !sandbox.hasForbidden($0.key) } }

    /// Whether the software codecs are known.
    var knowsSoftware: Bool { software != nil }

    /// Whether a probe has reported on a subject.
    func knows(_ subject: ProbeRequest.Subject) -> Bool {
        switch subject {
        case .software: software != nil
        case .node(let name): nodes.contains { $0.description.node == name }
        case .vulkan: vulkan != nil
        }
    }

    /// How hardware encoders are opened.
    var hardwareEncoders: [HardwareEncoder] { nodes.flatMap(\.hardware) }

    /// Nodes with paths that are claimed and not verified yet.
    var untriedNodes: [String] { nodes.filter { !$0.untried.isEmpty }.map(\.description.node) }

    /// Whether a node is being verified that sessions of a kind may use: one that encodes needs an encoder of an NVIDIA card.
    func isVerifying(for kind: SessionKind) -> Bool {
        verifying.contains { name in
            guard kind == .compression, CodecInterface(node: name) == .nvidia,
                let node = nodes.first(where: { $0.description.node == name })
            else { return true }
            return node.paths.contains { $0.operation == .encode && node.untried.contains($0.id) }
        }
    }

    /// What sessions need to know about Vulkan.
    var vulkanHints: VulkanHints {
        VulkanHints(
            preferred: codingGPU, faults: vulkan?.faults ?? [:], speeds: vulkan?.speeds ?? [:],
            avoidReason: vulkan?.avoidReason)
    }

    private var codingGPU: String? {
        ProbeSnapshot(encoders: nodes.flatMap(\.encoders), nodes: nodes.map(\.description)).codingGPU
    }

    /// Everything, hardware first.
    var snapshot: ProbeSnapshot { snapshot(of: nodes) }

    /// One node, with its paths and those of the software.
    func snapshot(of node: String) -> ProbeSnapshot { snapshot(of: nodes.filter { $0.description.node == node }) }

    private func snapshot(of nodes: [Node]) -> ProbeSnapshot {
        var snapshot = ProbeSnapshot(
            encoders: nodes.flatMap(\.encoders) + (software?.encoders ?? []), nodes: nodes.map(describe),
            paths: nodes.flatMap(\.paths) + (software?.paths ?? []),
            warnings: warnings
                + sandbox.warnings(
                    nodes.map(\.description),
                    besides: (nodes.map(\.description.reason) + [vulkan?.reason]).compactMap(\.self)))
        snapshot.vulkan = vulkan
        snapshot.vulkan?.choose(preferring: codingGPU)
        snapshot.softwareFailure = softwareFailure
        var names: Set<String> = []
        // Two nodes with the same driver name the same quirks.
        snapshot.quirks = (nodes.flatMap(\.quirks) + (software?.quirks ?? [])).filter {
            names.insert($0.id).inserted
        }
        return snapshot
    }

    /// The quirk that loosens the sandbox of processes which run the drivers of these nodes; nil if none does.
    func sandboxQuirk(_ names: [String]) -> Capabilities.Quirk? {
        sandbox.quirk(
            names.map { name in
                nodes.first { $0.description.node == name }?.description ?? RenderNode(node: name, state: .failed)
            })
    }

    private func describe(_ node: Node) -> RenderNode {
        var description = node.description
        if description.state == .ready, !node.untried.isEmpty, verifying.contains(description.node) {
            description.state = .verifying
            let isCard = CodecInterface(node: description.node) == .nvidia
            description.reason =
                "its HEVC \(isCard ? "codecs are" : "encoder is") still being verified; try again in a moment"
        }
        return description
    }
}

extension RenderNode.State {
    /// The cause of a probe that ended in this state without an answer; nil for other states.
    var cause: ProbeCause? {
        switch self {
        case .crashed: .driverCrashed
        case .timedOut: .driverHung
        default: nil
        }
    }
}

// Results of probes.
extension ProbeKnowledge {
    /// Adds a probe's outcome; an answer about another subject counts as a failure.
    ///
    /// - Returns: whether `records` changed.
    mutating func add(_ outcome: ProbeChild.Outcome, to request: ProbeRequest, now: MonotonicTime = .now) -> Bool {
        // The probe at the daemon's start can end after one on request, which ran beside it and lists more.
        if request.subject == .software, request.verification == .startup, software?.isWhole == true {
            return false
        }
        switch request.subject {
        case .software: addSoftware(outcome, request.verification)
        case .node(let name): set(Self.node(name, outcome))
        case .vulkan: vulkan = Self.report(outcome)
        }
        verifying.formIntersection(untriedNodes)
        switch outcome {
        case .answer(let answer):
            reusable.keep(answer, to: request)
            guard let record = answer.record?.bounded else { return false }
            failures.note(record, of: request.subject, now: now)
            return keep(record, of: request.subject)
        case .failure(let state, _):
            reusable.forget(request.subject)
            // The driver hung before it claimed any path; a crash there costs no time.
            if state == .timedOut { addFatalFailure(of: request.subject, now: now) }
            return false
        }
    }

    private mutating func addSoftware(_ outcome: ProbeChild.Outcome, _ verification: ProbeRequest.Verification) {
        if case .failure(_, let reason) = outcome {
            softwareFailure = ProbeSnapshot.SoftwareFailure(
                reason: reason.bounded, cause: Self.lacksLibrary(reason) ? .libraryMissing : nil)
        } else if verification != .startup {
            // A probe at the daemon's start decodes nothing, so that it may work where another one does not start.
            softwareFailure = nil
        }
        switch outcome {
        case .answer(let answer) where answer.node == nil:
            software = Software(
                isWhole: verification != .startup,
                encoders: answer.encoders.bounded(hardware: false, node: nil),
                paths: answer.paths.bounded(device: nil), quirks: answer.quirks.bounded)
            warnings = answer.warnings.prefix(ProbeBounds.maxList).map(\.bounded)
            sandbox.quirks = [Capabilities.Quirk](bounding: answer.sandboxQuirks)
        case .failure(_, let reason) where verification != .startup && software != nil:
            // The round at the daemon's start succeeded, so sessions may continue to use its results.
            for index in software?.paths.indices ?? 0..<0 {
                software?.paths[index].verified = false
                software?.paths[index].reason = reason.bounded
            }
        default: software = nil
        }
    }

    private static func node(_ name: String, _ outcome: ProbeChild.Outcome) -> Node {
        switch outcome {
        case .answer(let answer):
            guard let description = answer.node, description.node == name else {
                let reason = "the probe of this node reported on another"
                return Node(description: RenderNode(node: name, state: .failed, reason: reason))
            }
            return Node(
                description: description.bounded, encoders: answer.encoders.bounded(hardware: true, node: name),
                paths: answer.paths.bounded(device: name), hardware: answer.hardware.bounded(node: name),
                untried: answer.untried.prefix(ProbeBounds.maxPaths).map(\.bounded), quirks: answer.quirks.bounded)
        case .failure(let state, let reason):
            var description = RenderNode(node: name, state: state, reason: reason.bounded)
            description.cause = lacksLibrary(reason) ? .libraryMissing : state.cause
            return Node(description: description)
        }
    }

    /// Whether the dynamic linker reported a missing library (untranslated).
    private static func lacksLibrary(_ reason: String) -> Bool { reason.contains(ProbeCause.linkerMessage) }

    private static func report(_ outcome: ProbeChild.Outcome) -> VulkanReport {
        switch outcome {
        case .answer(let answer):
            answer.vulkan?.bounded
                ?? VulkanReport(state: .failed, reason: VulkanReport.onCPU("its probe reported on something else"))
        case .failure(let state, let reason):
            VulkanReport(
                state: VulkanReport.State(rawValue: state.rawValue) ?? .failed,
                reason: VulkanReport.onCPU(reason.bounded))
        }
    }

    private mutating func set(_ node: Node) {
        if let index = nodes.firstIndex(where: { $0.description.node == node.description.node }) {
            nodes[index] = node
        } else {
            nodes.append(node)
        }
    }

    private mutating func keep(_ record: ProbeRecord, of subject: ProbeRequest.Subject) -> Bool {
        guard records[subject] != record else { return false }
        if records[subject] == nil, records.count >= Self.maxRecords { records = [:] }
        records[subject] = record
        return true
    }

    /// Keeps only these nodes, in this order; some may not have been probed yet.
    mutating func retain(nodes names: [String], now: MonotonicTime) {
        failures.retain(nodes: names, now: now)
        sandbox.retain(nodes: names)
        let known = nodes
        nodes = names.compactMap { name in known.first { $0.description.node == name } }
    }

    /// Forgets what is known about a node, and what was verified on it.
    mutating func forget(node name: String) {
        nodes.removeAll { $0.description.node == name }
        records[.node(name)] = nil
        reusable.forget(.node(name))
        verifying.remove(name)
        failures.forget(node: name)
    }

    /// Marks a node as being verified until everything on it was tried.
    mutating func beginVerification(of node: String) { verifying.insert(node) }

    /// Marks a node as not being verified, even if something was not tried.
    mutating func endVerification(of node: String) { verifying.remove(node) }

    /// Makes the present results those that sessions use, once the whole machine has been probed.
    mutating func publish(isCompleteRound: Bool, now: MonotonicTime) {
        if isCompleteRound { lastCompleteRound = now }
        if isCompleteRound || published != nil { published = snapshot }
    }
}

// What need not be probed again, and what should be.
extension ProbeKnowledge {
    /// Whether what is known answers a request, so that another probe would only repeat it.
    ///
    /// - Parameter isUnchanged: whether a file that an answer depends on is still the same.
    func answers(
        _ subject: ProbeRequest.Subject, _ verification: ProbeRequest.Verification,
        now: MonotonicTime = .now, isUnchanged: (FileStamp) -> Bool = \.holds
    ) -> Bool {
        knows(subject)
            && (reusable.answers(subject, verification, isUnchanged: isUnchanged)
                || isPaused(subject, verification, now: now))
    }

    /// Whether a node's driver, which hung before it claimed anything, is not tried again yet.
    private func isPaused(
        _ subject: ProbeRequest.Subject, _ verification: ProbeRequest.Verification, now: MonotonicTime
    ) -> Bool {
        guard case .node(let name) = subject, verification != .always,
            let state = nodes.first(where: { $0.description.node == name })?.description.state
        else { return false }
        return state == .timedOut && failures.isPaused(name, now: now)
    }

    /// What a probe on request need not try: what was verified, and what crashed or hung a driver a moment ago.
    ///
    /// Other failures are tried again: firmware installed since then changes no file that is checked.
    func knownOnRequest(_ subject: ProbeRequest.Subject, now: MonotonicTime) -> ProbeRecord? {
        guard case .node(let name) = subject, failures.isPaused(name, now: now), var record = records[subject]
        else {
            return records[subject]?.successes
        }
        record.results.removeAll { !$0.verified && $0.passing != .fatal }
        return record.results.isEmpty ? nil : record
    }

    /// Adds that a driver crashed or hung its probe, which the node's next verifications must wait for.
    mutating func addFatalFailure(of subject: ProbeRequest.Subject, now: MonotonicTime) {
        if case .node(let name) = subject { failures.addFailure(of: name, now: now) }
    }

    /// Adds a hardware encoder or decoder whose driver crashed or hung while a session opened it.
    mutating func add(_ failure: CodecFailure, now: MonotonicTime) { failures.add(failure, now: now) }

    /// The hardware encoders and decoders that sessions must avoid for now.
    func sessionFailures(now: MonotonicTime) -> [CodecFailure] { failures.present(now: now) }

    /// The failures of hardware that a session of a kind would use.
    func failures(of kind: SessionKind, _ snapshot: ProbeSnapshot) -> [CodecFailure] {
        let hardware = kind.hardware(hardwareEncoders, snapshot)
        return sessionFailures(now: .now).filter { hardware.contains($0.codecID) }
    }

    /// Returns the nodes on which something failed temporarily and may work again, each once per failure period.
    mutating func takeNodesToRetry(among nodes: [String], now: MonotonicTime) -> [String] {
        failures.takeNodesToRetry(among: nodes, now: now)
    }

    /// Causes everything to be probed again, and lets sessions try hardware that failed; results and records stay.
    mutating func invalidate() {
        software?.isWhole = false
        reusable = ReusableAnswers()
        sandbox.forget()
        failures.forget()
    }
}
