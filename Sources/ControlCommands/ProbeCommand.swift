// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import HWClient
internal import HWDModel
internal import HWDWire

/// `hwctl probe`.
package struct ProbeCommand: ParsableCommand {
    /// The command's name and help.
    package static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Show which encoders and converters work on this machine, and why others do not.",
        discussion: """
            EXAMPLES
              hwctl probe
              hwctl probe --verify
              hwctl probe --device /dev/dri/renderD128 --json

            A separate process with a timeout opens each render node, one at a time if frames are sent through it, so \
            that a driver that crashes or hangs affects only its own line.

            A path is one codec, direction and profile on one device. It is claimed if the driver or library reports \
            it, and verified if a few frames passed through it with the right result. Results of the verification are \
            kept as long as device, driver, kernel, libraries and catalogue stay the same. Decoders of H.264, VP9 and AV1 \
            are listed where a driver claims them, for apps that use the driver themselves: sessions decode HEVC.

            Vulkan devices convert colors. A device is verified if small pictures that it converted in both directions \
            match the formulas, and its use of memfd pages if it converted a picture there without a copy. CHOSEN marks \
            the device of sessions that leave the choice to the daemon: the GPU of VA-API, then other GPUs, never \
            software. Without such a device the CPU converts colors, and the reason is shown. With --device only known \
            results of Vulkan devices are shown.
            """)

    @Option(help: ArgumentHelp("Probe only this render node.", valueName: "node"))
    var device: String?

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "Verify every claimed path with frames, or none.",
            discussion: "Default: those without a kept result."))
    var verify: Bool?

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    /// Created by the parser.
    package init() {}

    /// Asks the daemon and prints the answer.
    package func run() throws {
        try report {
            let snapshot = try Daemon.findAndReport().call(
                Probe.self, Probe.Parameters(device: device, verify: verify), timeout: .seconds(60))
            for warning in snapshot.warnings { Console.note(warning) }
            if json { return try Console.json(snapshot) }
            let vulkan = snapshot.vulkan.map { [VulkanText.section($0)] } ?? []
            try Console.result(
                ([encoders(snapshot), paths(snapshot), nodes(snapshot)] + vulkan).joined(separator: "\n\n"))
        }
    }

    private func encoders(_ snapshot: ProbeSnapshot) -> String {
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

    private func paths(_ snapshot: ProbeSnapshot) -> String {
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
    private func remark(_ reason: String, _ cause: ProbeCause?, _ pciID: String?) -> String {
        guard let remedy = cause?.remedy(pciID: pciID), !reason.contains(remedy) else { return reason }
        return "\(reason) (\(remedy))"
    }

    private func nodes(_ snapshot: ProbeSnapshot) -> String {
        var rows = [["RENDER NODE", "STATE", "PCI", "KERNEL DRIVER", "DRIVER", "REASON"]]
        for node in snapshot.nodes {
            rows.append([
                node.node, node.state.rawValue, node.pciAddress ?? "-", node.kernelDriver ?? "-",
                node.driver ?? "-", remark(node.reason ?? "", node.cause, node.pciID),
            ])
            // The name for configurations: the node's number can change at the next boot.
            if let link = node.byPath { rows.append(["  \(link)"]) }
        }
        return Console.table(rows) + (snapshot.nodes.isEmpty ? "\n(none: there is no /dev/dri/renderD*)" : "")
    }
}
