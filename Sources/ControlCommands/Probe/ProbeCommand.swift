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
              hwctl probe --device /dev/dri/renderD128 --verify
              hwctl probe --json | jq '.encoders[] | select(.hardware) | .id'

            "hwctl doctor" says what to do about hardware that is not used.

            A separate process with a timeout opens each render node, one at a time if frames are sent through it, so \
            that a driver that crashes or hangs affects only its own line.

            A path is one codec, direction and profile on one device. It is claimed if the driver or library reports \
            it, and verified if a few frames passed through it with the right result. Results of the verification are \
            kept as long as device, driver, kernel, libraries and catalogue stay the same. Decoders of H.264, VP9 and AV1 \
            are listed where a driver claims them, for apps that use the driver themselves: sessions decode HEVC.

            Vulkan devices convert colors. A device is verified if small pictures that it converted in both directions \
            match the formulas, and its use of memfd pages if it converted a picture there without a copy. One is chosen as \
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

    @Flag(help: "Print wide tables, with a line for each path.")
    var table = false

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
            try Console.result(table ? ProbeTable.text(snapshot) : ProbeBlocks.text(snapshot))
        }
    }
}
