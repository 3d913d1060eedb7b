// SPDX-License-Identifier: GPL-2.0-or-later
internal import Model
internal import Wire

/// What the probes of this machine have told: the software encoders, and each node with the encoders on it.
struct ProbeResults {
    private var software: [EncoderDescription] = []
    /// Whether the software encoders are known; a machine without any is known as well.
    private(set) var knowsSoftware = false
    private var nodes: [(node: RenderNode, encoders: [EncoderDescription])] = []

    /// Encoders kept of one answer, and formats and depths of one encoder.
    private static let maximumList = 16
    /// Bytes of a text kept of an answer.
    private static let maximumText = 512

    /// Everything, hardware first.
    var snapshot: ProbeSnapshot {
        ProbeSnapshot(encoders: nodes.flatMap(\.encoders) + software, nodes: nodes.map(\.node))
    }

    /// One node and what can be encoded there or without it.
    func snapshot(of node: String) -> ProbeSnapshot {
        let found = nodes.filter { $0.node.node == node }
        return ProbeSnapshot(encoders: found.flatMap(\.encoders) + software, nodes: found.map(\.node))
    }

    /// Takes an answer in; one that does not fit its request, or none, becomes the node's reason.
    ///
    /// - Parameter failure: what happened to the probe, used when there is no fitting answer.
    mutating func add(_ answer: ProbeAnswer?, to request: ProbeRequest, failure: String) {
        switch (request, answer) {
        case (.software, .software(let encoders)?):
            software = Self.bounded(encoders, hardware: false)
            knowsSoftware = true
        case (.software, _):
            software = []
            knowsSoftware = false
        case (.node(let name), .node(let node, let encoders)?) where node.node == name:
            set(Self.bounded(node), Self.bounded(encoders, hardware: true))
        case (.node(let name), _):
            set(RenderNode(node: name, opened: false, reason: failure), [])
        }
    }

    /// Leaves only these nodes, in this order, of which some may not have been probed yet.
    mutating func keep(_ names: [String]) {
        let known = nodes
        nodes = names.compactMap { name in known.first { $0.node.node == name } }
    }

    private mutating func set(_ node: RenderNode, _ encoders: [EncoderDescription]) {
        if let index = nodes.firstIndex(where: { $0.node.node == node.node }) {
            nodes[index] = (node, encoders)
        } else {
            nodes.append((node, encoders))
        }
    }

    // A driver runs in the probe's process: what it tells is bounded before it goes on to clients and workers.

    private static func bounded(_ node: RenderNode) -> RenderNode {
        var node = node
        node.pciAddress = node.pciAddress.map(line)
        node.kernelDriver = node.kernelDriver.map(line)
        node.reason = node.reason.map(line)
        return node
    }

    private static func bounded(_ encoders: [EncoderDescription], hardware: Bool) -> [EncoderDescription] {
        encoders.prefix(maximumList).filter { $0.hardware == hardware }.map { encoder in
            var encoder = encoder
            encoder.id = line(encoder.id)
            encoder.name = line(encoder.name)
            encoder.codec = line(encoder.codec)
            encoder.version = line(encoder.version)
            encoder.bitDepths = Array(encoder.bitDepths.prefix(maximumList))
            encoder.pixelFormats = encoder.pixelFormats.prefix(maximumList).map(line)
            return encoder
        }
    }

    private static func line(_ text: String) -> String { SessionEnd.oneLine(text, maximum: maximumText) }
}
