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
              hwctl probe --heic 8000x6000
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

            The last block shows which encoder writes HEIC files, in 512x512 tiles, or for the size given with --heic. It is \
            left out with --device and --no-verify.
            """)

    @Option(help: ArgumentHelp("Probe only this render node.", valueName: "node"))
    var device: String?

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "Verify every claimed path with frames, or none.",
            discussion: "Default: those without a kept result."))
    var verify: Bool?

    @Option(
        help: ArgumentHelp(
            "Say whether a HEIC file of this size can be written, and in hardware; 10 bits with :10, in one tile with :single.",
            valueName: "WxH"))
    var heic: StillSize?

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
            let daemon = try Daemon.findWithRefusal(describes: true).daemon
            let snapshot = try daemon.call(
                Probe.self, Probe.Parameters(device: device, verify: verify), timeout: .seconds(60))
            for warning in snapshot.warnings { Console.note(warning) }
            let still = try stillSupport(daemon)
            if json { return try Console.json(ProbeDocument(snapshot: snapshot, heic: still)) }
            let text = table ? ProbeTable.text(snapshot) : ProbeBlocks().text(snapshot)
            let block = still.map { "\n\n" + StillSupportText.block($0, heic) } ?? ""
            try Console.result(text + block)
        }
    }

    /// Whether HEIC files can be written; nil where that is not asked, and from a daemon that does not know.
    private func stillSupport(_ daemon: Daemon) throws(ClientError) -> IsStillEncodeSupported.Reply? {
        guard heic != nil || device == nil && verify != false else { return nil }
        let question = heic?.question ?? StillQuestion()
        do throws(ClientError) { return try daemon.isStillEncodeSupported(question) } catch {
            // A daemon of an earlier version.
            guard heic == nil, error.code == .session(.parameter) else { throw error }
            return nil
        }
    }
}

/// The size of a HEIC file that is asked about: WxH, with :10 for 10 bits and :single for one tile.
struct StillSize: ExpressibleByArgument, Hashable {
    let question: StillQuestion
    let text: String

    init?(argument: String) {
        let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
        let sides = (parts.first ?? "").split(separator: "x", omittingEmptySubsequences: false).map { text in
            text.count <= 8 && text.allSatisfy { $0.isASCII && $0.isNumber } ? Int(text) ?? 0 : 0
        }
        let options = parts.dropFirst().map(String.init)
        guard sides.count == 2, sides.allSatisfy({ $0 > 0 }), Set(options).count == options.count,
            options.allSatisfy({ ["10", "single"].contains($0) })
        else { return nil }
        text = "\(sides[0])x\(sides[1])"
        question = StillQuestion(
            bitDepth: options.contains("10") ? 10 : 8, width: sides[0], height: sides[1],
            tile: options.contains("single") ? 0 : nil)
    }
}

/// The JSON document of `hwctl probe`: the daemon's, with what it says of HEIC files.
private struct ProbeDocument: Encodable {
    let snapshot: ProbeSnapshot
    let heic: IsStillEncodeSupported.Reply?

    private enum CodingKeys: String, CodingKey { case heic }

    func encode(to encoder: any Encoder) throws {
        try snapshot.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encodeIfPresent(heic, forKey: .heic)
    }
}
