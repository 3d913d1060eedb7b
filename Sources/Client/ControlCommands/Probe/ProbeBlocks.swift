// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// `hwctl probe` on a terminal: a block for each device, and one for software.
struct ProbeBlocks {
    /// The width of the lines.
    var columns = Paragraphs.columns

    /// The column at which what follows a title begins.
    private static let indent = 12

    /// The blocks, with an empty line between two; remedies come last in each.
    func text(_ snapshot: ProbeSnapshot) -> String {
        var blocks = snapshot.nodes.map { block($0, snapshot) }
        if snapshot.nodes.isEmpty { blocks.append("no render node: there is no /dev/dri/renderD*") }
        blocks.append(software(snapshot))
        if let vulkan = snapshot.vulkan { blocks += self.vulkan(vulkan) }
        return blocks.joined(separator: "\n\n")
    }

    private func block(_ node: RenderNode, _ snapshot: ProbeSnapshot) -> String {
        let paths = snapshot.paths.filter { $0.device == node.node }
        var lines = ["\(node.node): \(node.state.rawValue.replacing("_", with: " "))"]
        let place = [node.kernelDriver, node.pciAddress, node.pciID].compactMap { $0 }.joined(separator: ", ")
        if !place.isEmpty { lines.append(line("Device", place)) }
        if let link = node.byPath { lines.append(line("Link", link)) }
        if let driver = node.driver { lines.append(line("Driver", driver)) }
        lines += codecs(paths)
        for path in paths where path.claimed && !path.verified {
            lines.append(line("Not used", "\(path.id): \(path.reason ?? "not verified")"))
        }
        for quirk in Set(paths.flatMap(\.quirks)).sorted() {
            let link = snapshot.quirks?.first { $0.id == quirk }?.link
            lines.append(line("Quirk", link.map { "\(quirk) (\($0))" } ?? quirk))
        }
        if let reason = node.reason { lines.append(line("Reason", reason)) }
        let causes = ([node.cause] + paths.filter { $0.claimed && !$0.verified }.map(\.cause)).compactMap { $0 }
        let known = node.reason ?? ""
        for remedy in causes.compactMap({ $0.remedy(pciID: node.pciID) }).unique where !known.contains(remedy) {
            lines.append(line("Remedy", remedy))
        }
        return lines.joined(separator: "\n")
    }

    private func software(_ snapshot: ProbeSnapshot) -> String {
        let names = snapshot.encoders.filter { !$0.hardware }.map(\.name)
        let encoders = names.isEmpty ? "no encoder works" : names.joined(separator: ", ")
        return (["software: \(encoders)"] + codecs(snapshot.paths.filter { $0.device == nil }))
            .joined(separator: "\n")
    }

    /// What was verified, a line for each direction.
    private func codecs(_ paths: [CodecPath]) -> [String] {
        [(CodecOperation.encode, "Encodes"), (.decode, "Decodes")].compactMap { operation, title in
            let verified = paths.filter { $0.operation == operation && $0.verified }
            guard !verified.isEmpty else { return nil }
            let codecs = verified.map(\.codec).unique.map { codec in
                let own = verified.filter { $0.codec == codec }.map { "\($0.profile) (\($0.bitDepth) bits)" }
                return "\(codec) \(own.unique.joined(separator: ", "))"
            }
            return line(title, codecs.joined(separator: "; "))
        }
    }

    private func vulkan(_ report: VulkanReport) -> [String] {
        var blocks = report.devices.map { device in
            var lines = ["\(device.name): \(device.verified ? "verified" : "not verified")"]
            let place = [device.kind.rawValue, device.pciAddress, device.driver].compactMap { $0 }
            lines.append(line("Vulkan", place.joined(separator: ", ")))
            if !device.choice.isEmpty { lines.append(line(device.chosen ? "Chosen" : "Not chosen", device.choice)) }
            if let reason = device.reason, !device.choice.hasSuffix(reason) { lines.append(line("Reason", reason)) }
            return lines.joined(separator: "\n")
        }
        if let reason = report.reason {
            blocks.append(Paragraphs.paragraph("Vulkan:", reason, indent: 8, columns: columns))
        }
        return blocks
    }

    /// A line of a block, wrapped behind its title.
    func line(_ title: String, _ text: String) -> String {
        Paragraphs.paragraph("  \(title)", text, indent: Self.indent + 2, columns: columns)
    }
}

extension Array where Element: Hashable {
    /// The elements without repetitions, each where it is first.
    fileprivate var unique: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
