// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import Glibc
internal import HWDControlCommands
internal import HWDModel
internal import HWDSystem

/// `hwctl`: what only asks the daemon is done here, in a few milliseconds; everything else is `hwctl-media`'s.
///
/// libavcodec and what it brings along take longer to load than most questions to answer.
@main
struct HWCtlMain {
    /// The commands that need no media library.
    private struct Questions: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "hwctl", version: HWCtlVersion.text,
            subcommands: [ProbeCommand.self, PropertiesCommand.self, SessionsCommand.self])
    }

    static func main() {
        let known = Questions.configuration.subcommands.compactMap { $0.configuration.commandName }
        if let command = CommandLine.arguments.dropFirst().first, known.contains(command) {
            return Questions.main()
        }
        becomeMedia()
    }

    /// Goes on as `hwctl-media`, from beside this program or where it is installed relative to it.
    private static func becomeMedia() -> Never {
        let folder = Program.folder
        for path in ["\(folder)/hwctl-media", "\(folder)/../libexec/hwdaemon/hwctl-media"] {
            execv(path, CommandLine.unsafeArgv)
        }
        Console.note("hwctl-media is not beside \(Program.path): \(String(cString: strerror(errno)))")
        exit(ExitStatus.software.rawValue)
    }
}
