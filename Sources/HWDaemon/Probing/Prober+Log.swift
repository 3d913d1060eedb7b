// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDWire
internal import Logging

extension Prober {
    /// Logs what an answer has that the last one had not.
    func tell(_ answer: ProbeSnapshot) {
        guard answer != snapshot else { return }
        for warning in answer.warnings where !(snapshot?.warnings.contains(warning) ?? false) {
            logger.warning("\(warning)")
        }
        for encoder in answer.encoders { logger.info("found an encoder: \(encoder.name)") }
        for device in answer.vulkan?.devices ?? [] {
            logger.info(
                "found a Vulkan device: \(device.name)",
                metadata: ["verified": "\(device.verified)", "choice": "\(device.choice)"])
        }
        for node in answer.nodes {
            logger.info("found a node", metadata: ["node": "\(node.node)", "reason": "\(node.reason ?? "none")"])
        }
    }

    /// A question's subject, for the log.
    static func subject(_ request: ProbeRequest) -> String {
        switch request.subject {
        case .software: "none, software"
        case .vulkan: "none, Vulkan"
        case .node(let node): node
        }
    }
}
