// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDCapturing
internal import HWDControlCommands

/// `hwctl-capture`: `hwctl` executes it for `hwctl capture`.
@main
struct HWCtlCapture: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hwctl", version: HWCtlVersion.text, subcommands: [Capture.self])

    /// The kinds of sources of this build.
    static var kinds: [CaptureKind] { [TestSource.kind] }

    struct Capture: ParsableCommand {
        static let configuration = CaptureCommand.configuration

        @OptionGroup var arguments: CaptureArguments

        func run() throws {
            try report {
                if arguments.list {
                    try CaptureList(HWCtlCapture.kinds).print(json: arguments.json)
                } else {
                    try CaptureJob(arguments, kinds: HWCtlCapture.kinds).run()
                }
            }
        }
    }

    static func main() { CommandArguments.run(Self.self, CommandArguments.prepare()) }
}
