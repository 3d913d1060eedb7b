// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire

/// What probes found out about sandboxes: what they forbade, and the quirks that loosen them.
struct SandboxFindings {
    /// The catalogue's quirks that loosen the sandbox.
    var quirks: [Capabilities.Quirk] = []
    /// What the sandbox forbade probes, by subject: the rest of a sentence.
    private var forbidden: [ProbeRequest.Subject: String] = [:]
    /// The drivers that the sandbox blocked in the last probe of each subject.
    private var refused: [ProbeRequest.Subject: [RefusedDriver]] = [:]

    /// Notes what the sandbox forbade the process that a request started, nil for nothing.
    ///
    /// What was forbidden once is remembered until everything is tried again: later probes
    /// skip what their record answers, so they need not try it again.
    mutating func note(_ calls: ForbiddenCalls?, by request: ProbeRequest) {
        if let calls {
            forbidden[request.subject] = calls.sentence.bounded
        } else if request.verification == .always {
            forbidden[request.subject] = nil
        }
    }

    /// Notes which drivers the sandbox blocked in a probe.
    mutating func note(_ drivers: [RefusedDriver], by request: ProbeRequest) {
        refused[request.subject] = drivers.prefix(ProbeBounds.maxList).map(\.bounded)
    }

    /// Keeps only what concerns these nodes, the software codecs and Vulkan.
    mutating func retain(nodes names: [String]) {
        func isKept(_ subject: ProbeRequest.Subject) -> Bool {
            if case .node(let name) = subject { names.contains(name) } else { true }
        }
        forbidden = forbidden.filter { isKept($0.key) }
        refused = refused.filter { isKept($0.key) }
    }

    /// Forgets what was forbidden.
    mutating func forget() { (forbidden, refused) = ([:], [:]) }

    /// Whether the sandbox forbade something to probes of a subject.
    func hasForbidden(_ subject: ProbeRequest.Subject) -> Bool { forbidden[subject] != nil }

    /// The quirk that loosens the sandbox of processes which run the drivers of these nodes; nil if none does.
    ///
    /// A node without a driver is one that no probe has listed yet, or whose driver does not start.
    func quirk(_ nodes: [RenderNode]) -> Capabilities.Quirk? {
        let found = nodes.flatMap { node in
            quirks.filter { $0.applies(driver: node.driver ?? "", pciID: node.pciID) }
        }
        return found.first { $0.sandbox == .off } ?? found.first
    }

    /// A sentence for each of these nodes with a looser sandbox, for each of them, the software codecs and Vulkan that
    /// tried what the sandbox forbids, and for each driver that it blocked.
    ///
    /// - Parameter reasons: why devices are not used, which may name such drivers already.
    func warnings(_ nodes: [RenderNode], besides reasons: [String] = []) -> [String] {
        let looser = nodes.compactMap { node in quirk([node]).map { "\(node.node): \($0.sandboxNotice)" } }
        let subjects: [(ProbeRequest.Subject, String)] =
            nodes.map { (.node($0.node), "the driver of \($0.node)") } + [
                (.software, "a software codec"), (.vulkan, "a driver of Vulkan"),
            ]
        return looser
            + subjects.compactMap { subject, name in
                forbidden[subject].map { "\(name) \($0), while it was probed" }
            }
            + subjects.flatMap { refused[$0.0] ?? [] }.filter { driver in
                !reasons.contains { $0.contains(driver.driver) }
            }.map(\.sentence)
    }
}
