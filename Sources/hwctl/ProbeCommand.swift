// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWClient
internal import Model
internal import Wire

/// `hwctl probe`.
struct ProbeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Tell which encoders work on this machine, and why others do not.",
        discussion: """
            Every render node is opened by a process of its own under a timeout, so that a driver that crashes or \
            hangs costs nothing but its own line.
            """)

    @Option(help: ArgumentHelp("Look at this render node only.", valueName: "node"))
    var device: String?

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    func run() throws {
        try report {
            let snapshot = try Daemon.findAndTell().call(Probe.self, Probe.Parameters(device: device))
            if json { return try Console.json(snapshot) }
            Console.result(Self.table(snapshot))
        }
    }

    private static func table(_ snapshot: ProbeSnapshot) -> String {
        var rows = [["ENCODER", "CODEC", "KIND", "BITS", "PIXEL FORMATS", "NAME"]]
        for encoder in snapshot.encoders {
            rows.append([
                encoder.id, encoder.codec, encoder.hardware ? "hardware" : "software",
                encoder.bitDepths.map(String.init).joined(separator: ","),
                encoder.pixelFormats.joined(separator: ","), encoder.name,
            ])
        }
        var text = Console.table(rows)
        if snapshot.encoders.isEmpty { text += "\n(none)" }
        var nodes = [["RENDER NODE", "OPENED", "PCI", "DRIVER", "REASON"]]
        for node in snapshot.nodes {
            nodes.append([
                node.node, node.opened ? "yes" : "no", node.pciAddress ?? "-", node.kernelDriver ?? "-",
                node.reason ?? "",
            ])
        }
        text += "\n\n" + Console.table(nodes)
        if snapshot.nodes.isEmpty { text += "\n(none: there is no /dev/dri/renderD*)" }
        return text
    }
}
