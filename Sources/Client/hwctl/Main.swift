// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import Glibc
internal import HWClient
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
                CaptureCommand.self, DoctorCommand.self, EffectsCommand.self, PlayCommand.self, ProbeCommand.self,
                PropertiesCommand.self, RepairCommand.self, RunCommand.self, SessionsCommand.self,
            ])
    }

    /// The kind of session that each command begins with, for which a private daemon starts while `hwctl-media` is loaded.
    private static let firstSessions: [String: SessionKind] = [
        "encode": .compression, "decode": .decompression, "convert": .transfer,
    ]

    static func main() {
        let arguments = CommandArguments.prepare()
        let known = Queries.configuration.subcommands.compactMap { $0.configuration.commandName }
        if let command = arguments.first, known.contains(command) {
            return CommandArguments.run(Queries.self, arguments)
        }
        startDaemon(for: arguments)
        executeMediaCommand()
    }

    /// Starts the private daemon of a command that has files and needs one, where no other runs.
    private static func startDaemon(for arguments: [String]) {
        let options = arguments.prefix { $0 != "--" }
        guard let kind = arguments.first.flatMap({ firstSessions[$0] }), arguments.count > 2,
            !options.contains(where: { ["-h", "--help", "--version"].contains($0) })
        else { return }
        Daemon.startForNextProgram(
            expecting: kind, logs: options.contains { ["-v", "--verbose"].contains($0) })
    }

    /// Executes `hwctl-media`.
    private static func executeMediaCommand() -> Never {
        let reason = String(cString: strerror(SiblingProgram.execute("hwctl-media")))
        let folder = Program.folder
        Console.report(
            CommandFailure(
                .software, "hwctl-media cannot be run from \(folder) or its ../libexec/hwdaemon: \(reason)"))
        exit(ExitStatus.software.rawValue)
    }
}
