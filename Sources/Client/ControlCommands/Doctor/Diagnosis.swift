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

    /// A reason why hardware or a software codec is not used, or not in full.
    struct Problem: Encodable {
        /// A cause of `ProbeCause`; nil where it is not known.
        var cause: ProbeCause?
        /// The node, if it is about one.
        var device: String?
        var problem: String
        var remedy: String?
        /// A command for root on Debian that cures it, or shows more about it.
        var command: String?
        /// The quirk of the catalogue that it is about.
        var quirk: String?
        /// Features that sessions lack for that reason; nil where the whole path is not used.
        var lost: [CodecFeature]?
        /// A page with details.
        var link: String?

        /// The node before a colon, unless the sentence begins with it.
        var subject: String { device.map { problem.hasPrefix($0) ? "" : "\($0): " } ?? "" }
    }

    var schema = 1
    var encode: Ability
    var decode: Ability
    /// Nil where Vulkan's devices have not been probed.
    var convert: Ability?
    var problems: [Problem]
    /// What drivers lack and no known later version of them has, which is no problem of this machine.
    var limits: [Problem]

    /// Finds the causes in what a probe found.
    init(_ snapshot: ProbeSnapshot, _ machine: Machine) {
        problems = Self.nodeProblems(snapshot, machine) + Self.pathProblems(snapshot)
        let hasRenderNode = snapshot.nodes.contains { CodecInterface(node: $0.node) == .vaapi }
        let nvidia =
            machine.nvidia?.faults(isContainer: machine.isContainer, hasRenderNode: hasRenderNode) ?? []
        problems += nvidia.map { Problem($0.cause, $0.text) }
        // Each fault explains the missing node but this one.
        if !hasRenderNode, nvidia.allSatisfy({ $0.cause == .nvidiaMemory }) {
            problems.insert(Self.noNode(machine), at: 0)
        }
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
        let lost = Self.lostFeatures(snapshot)
        problems = Self.softwareProblems(snapshot) + problems + lost.problems
        limits = lost.limits
    }

    private static func encoding(_ snapshot: ProbeSnapshot, _ reason: String?) -> Ability {
        let hardware = snapshot.encoders.filter(\.hardware)
        guard hardware.isEmpty else {
            let names = hardware.map { "\($0.codec.uppercased()) of \(bits($0.bitDepths)) by \($0.name)" }
            return Ability(hardware: true, by: names.joined(separator: "; "))
        }
        return inSoftware(
            snapshot, by: encoderStarts(snapshot) ? snapshot.encoders.first?.name : nil,
            reason ?? "no device encodes HEVC")
    }

    private static func decoding(_ snapshot: ProbeSnapshot, _ reason: String?) -> Ability {
        let paths = snapshot.paths.filter { $0.operation == .decode && $0.codec == "hevc" && $0.claimed }
        let hardware = paths.filter { $0.device != nil && $0.verified }
        guard let first = hardware.first else {
            // Software decodes whether or not it is verified (`DecoderPolicy`).
            let software = paths.first { $0.device == nil }
            return inSoftware(
                snapshot, by: missingLibrary(snapshot) == nil ? software?.driver : nil,
                reason ?? "no device decodes HEVC")
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
            let disabled = snapshot.paths.first { $0.device == node.node && $0.claimed && $0.cause == .quirk }
            return Problem(
                node.cause, reason, device: node.node, pciID: node.pciID,
                quirk: node.cause == .quirk ? disabled.flatMap(snapshot.quirk) : nil,
                group: machine.groups[node.node], user: machine.user, hasService: machine.hasService)
        }
    }

    /// Paths that a driver claims and that are not used, on nodes whose other paths are.
    private static func pathProblems(_ snapshot: ProbeSnapshot) -> [Problem] {
        let working = snapshot.nodes.filter { $0.reason == nil }
        return snapshot.paths.compactMap { path in
            guard path.claimed, !path.verified, let reason = path.reason,
                let node = working.first(where: { $0.node == path.device })
            else { return nil }
            return Problem(
                path.cause, "\(path.id): \(reason)", device: node.node, pciID: node.pciID,
                quirk: snapshot.quirk(of: path))
        }
    }

    private static func noNode(_ machine: Machine) -> Problem {
        machine.isContainer
            ? Problem(.containerWithoutNode, "this container has no render node (/dev/dri/renderD*)")
            : Problem(.noRenderNode, "this machine has no render node (/dev/dri/renderD*)")
    }
}

extension ProbeSnapshot {
    /// The quirk for which a path is not used; nil without one, and from a daemon that does not describe quirks.
    func quirk(of path: CodecPath) -> QuirkDescription? {
        guard path.cause == .quirk else { return nil }
        return quirks?.first { $0.disablesPath && path.quirks.contains($0.id) }
    }
}

extension Diagnosis.Problem {
    /// A problem with the remedy of its cause.
    init(
        _ cause: ProbeCause?, _ problem: String, device: String? = nil, pciID: String? = nil,
        quirk: QuirkDescription? = nil, group: String? = nil, user: String = "USER", hasService: Bool = false
    ) {
        self.cause = cause
        self.device = device
        self.problem = problem
        let group = group ?? "render"
        remedy = cause?.remedy(pciID: pciID, group: group, fixedIn: quirk?.fixedIn)
        command = cause?.command(
            pciID: pciID, group: group, user: user, library: Self.missingLibrary(problem), fixedIn: quirk?.fixedIn)
        (self.quirk, link) = (quirk?.id, quirk?.link)
        switch cause {
        case .permission where hasService: command? += " && systemctl restart hwdaemon"
        // A private daemon has the environment of its command.
        case .driverName where !hasService: command = "unset LIBVA_DRIVER_NAME"
        // A probe that crashed has not reported the vendor, and NVIDIA's own node has no VA-API driver.
        case .driverCrashed, .driverHung, .unstable:
            guard let device, CodecInterface(node: device) == .nvidia else { break }
            remedy = "install another version of NVIDIA's driver, and report the fault to NVIDIA"
            command = "apt policy nvidia-driver libcuda1 libnvcuvid1"
        default: break
        }
    }

    /// The file name of the library that the dynamic linker did not find; nil in a sentence that has none.
    static func missingLibrary(_ problem: String) -> String? {
        guard let complaint = problem.firstRange(of: ProbeCause.linkerMessage) else { return nil }
        return problem[complaint.upperBound...].split(separator: ":").first.map(String.init)
    }
}
