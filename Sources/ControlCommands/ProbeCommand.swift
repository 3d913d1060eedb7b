// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import HWClient
internal import HWDModel
internal import HWDWire

/// `hwctl probe`.
package struct ProbeCommand: ParsableCommand {
    /// Its name and help.
    package static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Tell which encoders and converters work on this machine, and why others do not.",
        discussion: """
            Every render node is opened by a process of its own under a timeout, one at a time where frames go through \
            it, so that a driver that crashes or hangs costs nothing but its own line.

            A path is one codec, direction and profile on one device. It is claimed when the driver or library says \
            that it can, and verified when a few frames went through it and came back right. What was verified is \
            remembered for as long as device, driver, kernel, libraries and catalogue stay the same.

            Vulkan devices convert colours. A device is verified when small pictures, converted on it both ways, are what \
            the formulas say, and its use of memfd pages when one was converted there without a copy. Chosen is the \
            one that a session takes which leaves the choice to the daemon: the GPU of VA-API, then other GPUs, never \
            software. Where there is none colours are converted on the CPU, and the reason is told. With --device that \
            is told which is known already.
            """)

    @Option(help: ArgumentHelp("Look at this render node only.", valueName: "node"))
    var device: String?

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "Send frames through every path that is claimed, or through none.",
            discussion: "Default: through those of which it is not remembered what became of that."))
    var verify: Bool?

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    /// Made by the parser.
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
            var remarks = path.reason.map { [$0] } ?? []
            if !path.quirks.isEmpty { remarks.append("quirks: \(path.quirks.joined(separator: ", "))") }
            rows.append([
                path.id, path.device ?? "software", path.claimed ? "yes" : "no", path.verified ? "yes" : "no",
                path.driver, remarks.joined(separator: "; "),
            ])
        }
        return Console.table(rows) + (snapshot.paths.isEmpty ? "\n(none)" : "")
    }

    private func nodes(_ snapshot: ProbeSnapshot) -> String {
        var rows = [["RENDER NODE", "STATE", "PCI", "KERNEL DRIVER", "DRIVER", "REASON"]]
        for node in snapshot.nodes {
            rows.append([
                node.node, node.state.rawValue, node.pciAddress ?? "-", node.kernelDriver ?? "-",
                node.driver ?? "-", node.reason ?? "",
            ])
            // The name to use in configurations: the node's number may be another one after the next boot.
            if let link = node.byPath { rows.append(["  \(link)"]) }
        }
        return Console.table(rows) + (snapshot.nodes.isEmpty ? "\n(none: there is no /dev/dri/renderD*)" : "")
    }
}
