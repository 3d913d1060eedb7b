// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDCapturing
internal import HWDControlCommands

/// `hwctl-capture`: `hwctl` executes it for `hwctl capture`.
@main
struct HWCtlCapture: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "hwctl", version: HWCtlVersion.text)

    static func main() { CommandArguments.run(Self.self, CommandArguments.prepare()) }
}
