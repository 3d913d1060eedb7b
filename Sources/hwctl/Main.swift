// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import Glibc
internal import HWDControlCommands
internal import HWDModel
internal import HWDSystem

/// `hwctl`: commands that only query the daemon run here, in a few milliseconds; `hwctl-media` runs all others.
///
/// Loading libavcodec and its dependencies takes longer than most queries.
@main
struct HWCtlMain {
    /// The commands that need no media library.
    private struct Queries: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "hwctl", version: HWCtlVersion.text,
            subcommands: [
                DoctorCommand.self, ProbeCommand.self, PropertiesCommand.self, RunCommand.self,
                SessionsCommand.self,
            ])
    }

    static func main() {
        let arguments = CommandArguments.prepare()
        let known = Queries.configuration.subcommands.compactMap { $0.configuration.commandName }
        if let command = arguments.first, known.contains(command) { return Queries.main(arguments) }
        executeMediaCommand()
    }

    /// Executes `hwctl-media`, beside this program or at its installed path relative to this program.
    private static func executeMediaCommand() -> Never {
        let folder = Program.folder
        for path in ["\(folder)/hwctl-media", "\(folder)/../libexec/hwdaemon/hwctl-media"] {
            execv(path, CommandLine.unsafeArgv)
        }
        let reason = String(cString: strerror(errno))
        Console.error("hwctl-media cannot be run from \(folder) or its ../libexec/hwdaemon: \(reason)")
        exit(ExitStatus.software.rawValue)
    }
}
