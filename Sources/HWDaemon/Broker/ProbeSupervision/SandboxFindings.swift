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

    /// Keeps only what concerns these nodes, the software codecs and Vulkan.
    mutating func retain(nodes names: [String]) {
        forbidden = forbidden.filter { subject, _ in
            if case .node(let name) = subject { names.contains(name) } else { true }
        }
    }

    /// Forgets what was forbidden.
    mutating func forget() { forbidden = [:] }

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

    /// A sentence for each of these nodes with a looser sandbox, and for each of them, the software codecs and Vulkan that
    /// tried what the sandbox forbids.
    func warnings(_ nodes: [RenderNode]) -> [String] {
        let looser = nodes.compactMap { node in quirk([node]).map { "\(node.node): \($0.sandboxNotice)" } }
        let subjects: [(ProbeRequest.Subject, String)] =
            nodes.map { (.node($0.node), "the driver of \($0.node)") } + [
                (.software, "a software codec"), (.vulkan, "a driver of Vulkan"),
            ]
        return looser
            + subjects.compactMap { subject, name in
                forbidden[subject].map { "\(name) \($0), while it was probed" }
            }
    }
}
