// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// What works in hardware, what does not and why, and what cures it: the JSON document of `hwctl doctor`.
struct Diagnosis: Encodable {
    /// How one kind of work is done on this machine.
    struct Ability: Encodable {
        var hardware: Bool
        /// The device and driver, or the library; nil where nothing can do it.
        var by: String?
        /// Why it is not hardware; nil where it is.
        var reason: String?
    }

    /// Something that keeps hardware from being used.
    struct Problem: Encodable {
        /// A cause of `ProbeCause`; nil where it is not known.
        var cause: ProbeCause?
        /// The node, if it is about one.
        var device: String?
        var problem: String
        var remedy: String?
        /// Commands for root on Debian, one for each line.
        var command: String?

        /// The node before a colon, unless the sentence begins with it.
        var subject: String { device.map { problem.hasPrefix($0) ? "" : "\($0): " } ?? "" }
    }

    var schema = 1
    var encode: Ability
    var decode: Ability
    /// Nil where Vulkan's devices have not been probed.
    var convert: Ability?
    var problems: [Problem]

    /// Judges what a probe found.
    init(_ snapshot: ProbeSnapshot, _ machine: Machine) {
        problems = Self.nodeProblems(snapshot, machine) + Self.pathProblems(snapshot)
        if snapshot.nodes.isEmpty { problems.append(Self.noNode(machine)) }
        if let vulkan = snapshot.vulkan, let cause = vulkan.cause {
            problems.append(Problem(cause, vulkan.reason ?? "Vulkan does not work"))
        }
        problems += snapshot.warnings.map { Problem(nil, $0) }
        let reason = problems.first.map { problem in
            problem.subject + problem.problem
        }
        encode = Self.encoding(snapshot, reason)
        decode = Self.decoding(snapshot, reason)
        convert = snapshot.vulkan.map(Self.converting)
    }

    private static func encoding(_ snapshot: ProbeSnapshot, _ reason: String?) -> Ability {
        let hardware = snapshot.encoders.filter(\.hardware)
        guard hardware.isEmpty else {
            let names = hardware.map { "\($0.codec.uppercased()) of \(bits($0.bitDepths)) by \($0.name)" }
            return Ability(hardware: true, by: names.joined(separator: "; "))
        }
        return Ability(
            hardware: false, by: snapshot.encoders.first?.name, reason: reason ?? "no device encodes HEVC")
    }

    private static func decoding(_ snapshot: ProbeSnapshot, _ reason: String?) -> Ability {
        let paths = snapshot.paths.filter { $0.operation == .decode && $0.codec == "hevc" && $0.verified }
        let hardware = paths.filter { $0.device != nil }
        guard let first = hardware.first else {
            return Ability(hardware: false, by: paths.first?.driver, reason: reason ?? "no device decodes HEVC")
        }
        let own = hardware.filter { $0.device == first.device }.map(\.bitDepth)
        return Ability(hardware: true, by: "HEVC of \(bits(own)) by \(first.driver) on \(first.device ?? "")")
    }

    private static func converting(_ report: VulkanReport) -> Ability {
        guard let device = report.devices.first(where: \.chosen) else {
            let prefix = VulkanReport.onCPU("")
            let reason = report.reason.map { $0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : $0 }
            return Ability(hardware: false, by: "the CPU", reason: reason)
        }
        return Ability(
            hardware: device.kind != .cpu, by: "\(device.name) (\(device.driver))", reason: report.reason)
    }

    private static func bits(_ depths: [Int]) -> String {
        "\(Set(depths).sorted().map(String.init).joined(separator: " and ")) bits"
    }

    private static func nodeProblems(_ snapshot: ProbeSnapshot, _ machine: Machine) -> [Problem] {
        snapshot.nodes.filter { $0.state != .verifying }.compactMap { node in
            guard let reason = node.reason else { return nil }
            return Problem(
                node.cause, reason, device: node.node, pciID: node.pciID, group: machine.groups[node.node],
                user: machine.user, hasService: machine.hasService)
        }
    }

    /// Paths that a driver claims and that are not used, on nodes whose other paths are.
    private static func pathProblems(_ snapshot: ProbeSnapshot) -> [Problem] {
        let working = snapshot.nodes.filter { $0.reason == nil }
        return snapshot.paths.compactMap { path in
            guard path.claimed, !path.verified, let reason = path.reason,
                let node = working.first(where: { $0.node == path.device })
            else { return nil }
            return Problem(path.cause, "\(path.id): \(reason)", device: node.node, pciID: node.pciID)
        }
    }

    private static func noNode(_ machine: Machine) -> Problem {
        machine.isContainer
            ? Problem(.containerWithoutNode, "this container has no render node (/dev/dri/renderD*)")
            : Problem(.noRenderNode, "this machine has no render node (/dev/dri/renderD*)")
    }
}

extension Diagnosis.Problem {
    /// A problem with the remedy of its cause.
    fileprivate init(
        _ cause: ProbeCause?, _ problem: String, device: String? = nil, pciID: String? = nil, group: String? = nil,
        user: String = "USER", hasService: Bool = false
    ) {
        self.cause = cause
        self.device = device
        self.problem = problem
        remedy = cause?.remedy(pciID: pciID)
        command = cause?.command(pciID: pciID, group: group ?? "render", user: user)
        if cause == .permission, hasService { command? += " && systemctl restart hwdaemon" }
    }
}
