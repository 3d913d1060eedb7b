// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// The tables of `hwctl probe --table`.
enum ProbeTable {
    /// Encoders, paths, nodes and Vulkan devices, a line for each.
    static func text(_ snapshot: ProbeSnapshot) -> String {
        let vulkan = snapshot.vulkan.map { [VulkanText.section($0)] } ?? []
        return ([encoders(snapshot), paths(snapshot), nodes(snapshot)] + vulkan).joined(separator: "\n\n")
    }

    private static func encoders(_ snapshot: ProbeSnapshot) -> String {
        var rows = [["ENCODER", "CODEC", "KIND", "BITS", "PIXEL FORMATS", "NAME"]]
        for encoder in snapshot.encoders {
            rows.append([
                encoder.id, encoder.codec, encoder.hardware ? "hardware" : "software",
                encoder.bitDepths.map(String.init).joined(separator: ","),
                encoder.pixelFormats.joined(separator: ","), encoder.name,
            ])
        }
        return Console.table(rows) + (snapshot.encoders.isEmpty ? "\n(none)" : "")
    }

    private static func paths(_ snapshot: ProbeSnapshot) -> String {
        var rows = [["PATH", "ON", "CLAIMED", "VERIFIED", "BY", "REASON"]]
        for path in snapshot.paths {
            let pciID = snapshot.nodes.first { $0.node == path.device }?.pciID
            var remarks = path.reason.map { [remark($0, path.cause, pciID)] } ?? []
            if !path.quirks.isEmpty { remarks.append("quirks: \(path.quirks.joined(separator: ", "))") }
            rows.append([
                path.id, path.device ?? "software", path.claimed ? "yes" : "no", path.verified ? "yes" : "no",
                path.driver, remarks.joined(separator: "; "),
            ])
        }
        return Console.table(rows) + (snapshot.paths.isEmpty ? "\n(none)" : "")
    }

    /// The reason with the remedy of its cause, unless that is part of it.
    private static func remark(_ reason: String, _ cause: ProbeCause?, _ pciID: String?) -> String {
        guard let remedy = cause?.remedy(pciID: pciID), !reason.contains(remedy) else { return reason }
        return "\(reason) (\(remedy))"
    }

    private static func nodes(_ snapshot: ProbeSnapshot) -> String {
        var rows = [["RENDER NODE", "STATE", "PCI", "KERNEL DRIVER", "DRIVER", "REASON"]]
        for node in snapshot.nodes {
            rows.append([
                node.node, node.state.rawValue, node.pciAddress ?? "-", node.kernelDriver ?? "-",
                node.driver ?? "-", remark(node.reason ?? "", node.cause, node.pciID),
            ])
            // The name for configurations: the node's number can change at the next boot.
            if let link = node.byPath { rows.append(["  \(link)"]) }
        }
        let none = "\n(none: there is no /dev/dri/renderD* and no /dev/nvidia0 to 7)"
        return Console.table(rows) + (snapshot.nodes.isEmpty ? none : "")
    }
}
