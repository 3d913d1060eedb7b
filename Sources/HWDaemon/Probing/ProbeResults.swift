// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDWire

/// What the probes of this machine have told: of the software, of each node, and of Vulkan.
struct ProbeResults {
    private struct Node {
        var description: RenderNode
        var encoders: [EncoderDescription] = []
        var paths: [CodecPath] = []
        var hardware: [HardwareEncoder] = []
        var untried: [String] = []
    }

    private var software: [EncoderDescription] = []
    private var softwarePaths: [CodecPath] = []
    private var warnings: [String] = []
    /// Whether the software encoders are known; a machine without any is known as well.
    private(set) var knowsSoftware = false
    private var nodes: [Node] = []
    private var vulkan: VulkanReport?

    /// Encoders kept of one answer, and items of one list in it.
    fileprivate static let maxList = 16
    /// Paths kept of one answer.
    fileprivate static let maxPaths = 64
    /// Bytes of a text kept of an answer.
    fileprivate static let maxText = 512

    /// Nodes whose claims are being verified, or soon are.
    var verifying: Set<String> = []

    /// Nodes with paths that are claimed and that no frames were sent through yet.
    var untried: [String] { nodes.filter { !$0.untried.isEmpty }.map(\.description.node) }

    /// Whether a probe told of a subject.
    func knows(_ subject: ProbeRequest.Subject) -> Bool {
        switch subject {
        case .software: knowsSoftware
        case .node(let name): nodes.contains { $0.description.node == name }
        case .vulkan: vulkan != nil
        }
    }

    /// How hardware encoders are opened.
    var hardware: [HardwareEncoder] { nodes.flatMap(\.hardware) }

    /// Everything, hardware first.
    var snapshot: ProbeSnapshot { snapshot(of: nodes) }

    /// One node and what can be coded there or without it.
    func snapshot(of node: String) -> ProbeSnapshot { snapshot(of: nodes.filter { $0.description.node == node }) }

    private func snapshot(of nodes: [Node]) -> ProbeSnapshot {
        var snapshot = ProbeSnapshot(
            encoders: nodes.flatMap(\.encoders) + software, nodes: nodes.map(describe),
            paths: nodes.flatMap(\.paths) + softwarePaths, warnings: warnings)
        snapshot.vulkan = vulkan
        snapshot.vulkan?.choose(preferring: codingGPU)
        return snapshot
    }

    /// What sessions should know of Vulkan.
    var vulkanHints: VulkanHints {
        VulkanHints(preferred: codingGPU, faults: vulkan?.faults ?? [:], avoidReason: vulkan?.avoidReason)
    }

    private var codingGPU: String? {
        ProbeSnapshot(encoders: nodes.flatMap(\.encoders), nodes: nodes.map(\.description)).codingGPU
    }

    /// Forgets to wait for nodes of which everything is known now.
    mutating func settle() { verifying.formIntersection(untried) }

    private func describe(_ node: Node) -> RenderNode {
        var description = node.description
        if description.state == .ready, !node.untried.isEmpty, verifying.contains(description.node) {
            description.state = .verifying
            description.reason = "its HEVC encoder is still being verified; try again in a moment"
        }
        return description
    }

    /// Takes in what a probe came to; an answer that does not fit its request is none.
    mutating func add(_ outcome: ProbeChild.Outcome, to request: ProbeRequest) {
        switch (request.subject, outcome) {
        case (.software, .answer(let answer)) where answer.node == nil:
            software = Self.bounded(answer.encoders, hardware: false, node: nil)
            softwarePaths = Self.bounded(answer.paths, device: nil)
            warnings = answer.warnings.prefix(Self.maxList).map(Self.line)
            knowsSoftware = true
        case (.software, .failure(_, let reason)) where request.verification != .startup && knowsSoftware:
            // The look at the start had worked: sessions may go on using what it found.
            for index in softwarePaths.indices {
                softwarePaths[index].verified = false
                softwarePaths[index].reason = Self.line(reason)
            }
        case (.software, _):
            (software, softwarePaths) = ([], [])
            knowsSoftware = false
        case (.node(let name), .answer(let answer)):
            guard let node = answer.node, node.node == name else {
                return set(Node(description: RenderNode(node: name, state: .failed, reason: Self.misfit)))
            }
            set(
                Node(
                    description: Self.bounded(node),
                    encoders: Self.bounded(answer.encoders, hardware: true, node: name),
                    paths: Self.bounded(answer.paths, device: name),
                    hardware: Self.bounded(answer.hardware, node: name),
                    untried: answer.untried.prefix(Self.maxPaths).map(Self.line)))
        case (.node(let name), .failure(let state, let reason)):
            set(Node(description: RenderNode(node: name, state: state, reason: reason)))
        case (.vulkan, .answer(let answer)):
            vulkan = Self.bounded(answer.vulkan)
        case (.vulkan, .failure(let state, let reason)):
            vulkan = VulkanReport(
                state: VulkanReport.State(rawValue: state.rawValue) ?? .failed,
                reason: VulkanReport.onCPU(Self.line(reason)))
        }
    }

    /// Leaves only these nodes, in this order, of which some may not have been probed yet.
    mutating func keep(_ names: [String]) {
        let known = nodes
        nodes = names.compactMap { name in known.first { $0.description.node == name } }
    }

    private mutating func set(_ node: Node) {
        if let index = nodes.firstIndex(where: { $0.description.node == node.description.node }) {
            nodes[index] = node
        } else {
            nodes.append(node)
        }
    }

    private static let misfit = "the probe of this node answered for another"
}

extension ProbeResults {
    // A driver runs in the probe's process: what it tells is bounded before it goes on to clients and workers.

    /// A record to remember, without what no probe would say.
    static func bounded(_ record: ProbeRecord?) -> ProbeRecord? {
        guard var record else { return nil }
        record.key.device = line(record.key.device)
        record.key.driver = line(record.key.driver)
        record.key.kernel = line(record.key.kernel)
        record.key.libraries = line(record.key.libraries)
        record.key.catalogue = line(record.key.catalogue)
        record.judge = record.judge.map {
            ProbeRecord.Judge(name: line($0.name), file: line($0.file), stamp: line($0.stamp))
        }
        record.results = record.results.prefix(maxPaths).map {
            ProbeRecord.Result(
                id: line($0.id), verified: $0.verified, reason: $0.reason.map(line), passing: $0.passing)
        }
        return record
    }

    fileprivate static func bounded(_ node: RenderNode) -> RenderNode {
        var node = node
        node.pciAddress = node.pciAddress.map(line)
        node.pciID = node.pciID.map(line)
        node.kernelDriver = node.kernelDriver.map(line)
        node.driver = node.driver.map(line)
        node.byPath = node.byPath.map(line)
        node.reason = node.reason.map(line)
        return node
    }

    fileprivate static func bounded(_ paths: [CodecPath], device: String?) -> [CodecPath] {
        paths.prefix(maxPaths).filter { $0.device == device }.map { path in
            var path = path
            path.id = line(path.id)
            path.codec = line(path.codec)
            path.profile = line(path.profile)
            path.driver = line(path.driver)
            path.reason = path.reason.map(line)
            path.quirks = path.quirks.prefix(maxList).map(line)
            path.features = bounded(path.features)
            path.hardware = path.hardware.map {
                HardwareLimits(
                    entrypoint: line($0.entrypoint), maxWidth: $0.maxWidth, maxHeight: $0.maxHeight,
                    rateControl: $0.rateControl.prefix(maxList).map(line),
                    packedHeaders: $0.packedHeaders.prefix(maxList).map(line))
            }
            return path
        }
    }

    fileprivate static func bounded(
        _ encoders: [EncoderDescription], hardware: Bool, node: String?
    ) -> [EncoderDescription] {
        encoders.prefix(maxList).filter { $0.hardware == hardware }.map { encoder in
            var encoder = encoder
            encoder.device = node
            encoder.pciAddress = encoder.pciAddress.map(line)
            encoder.id = line(encoder.id)
            encoder.name = line(encoder.name)
            encoder.codec = line(encoder.codec)
            encoder.version = line(encoder.version)
            encoder.bitDepths = Array(encoder.bitDepths.prefix(maxList))
            encoder.pixelFormats = encoder.pixelFormats.prefix(maxList).map(line)
            return encoder
        }
    }

    private static func bounded(_ features: [CodecFeature]) -> [CodecFeature] {
        features.prefix(maxList).map { CodecFeature(rawValue: line($0.rawValue)) }
    }

    fileprivate static func bounded(_ hardware: [HardwareEncoder], node: String) -> [HardwareEncoder] {
        hardware.prefix(maxList).filter { $0.node == node }.map { encoder in
            HardwareEncoder(
                encoderID: line(encoder.encoderID), node: node,
                paths: encoder.paths.prefix(maxList).map { path in
                    HardwareEncoder.Path(
                        bitDepth: path.bitDepth, vaProfile: line(path.vaProfile),
                        vaEntrypoint: line(path.vaEntrypoint), vaRTFormat: line(path.vaRTFormat),
                        features: bounded(path.features),
                        adjustments: bounded(path.adjustments))
                })
        }
    }

    /// What a driver tells of its devices; an answer without that is told of as a failure.
    fileprivate static func bounded(_ report: VulkanReport?) -> VulkanReport {
        guard var report else {
            return VulkanReport(state: .failed, reason: VulkanReport.onCPU("its probe answered something else"))
        }
        report.loader = report.loader.map(line)
        report.reason = report.reason.map(line)
        report.devices = report.devices.prefix(maxList).map { device in
            var device = device
            device.id = line(device.id)
            device.name = line(device.name)
            device.driver = line(device.driver)
            device.apiVersion = line(device.apiVersion)
            device.pciAddress = device.pciAddress.map(line)
            device.reason = device.reason.map(line)
            // The choice is the broker's alone.
            (device.chosen, device.choice) = (false, "")
            return device
        }
        return report
    }

    /// Numbers, switches, and short lists of numbers or names: what quirks of the catalogue hold.
    fileprivate static func bounded(_ adjustments: [String: PropertyValue]) -> [String: PropertyValue] {
        guard adjustments.count <= maxPaths else { return [:] }
        return adjustments.compactMapValues { value in
            switch value {
            case .array(let values): .array(values.prefix(maxList).compactMap(bounded))
            default: bounded(value)
            }
        }
    }

    fileprivate static func bounded(_ value: PropertyValue) -> PropertyValue? {
        switch value {
        case .null, .array, .object: nil
        case .string(let text): .string(line(text))
        case .bool, .int, .double: value
        }
    }

    fileprivate static func line(_ text: String) -> String { SessionEnd.oneLine(text, maximum: maxText) }
}
