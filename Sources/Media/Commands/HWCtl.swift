// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import Glibc
internal import HWClient
package import HWDControlCommands
internal import HWDMetadata
internal import HWDTransport
internal import HWImages

/// `hwctl-media`: the complete command line; `hwctl` executes it for the commands that read or write media.
@main
struct HWCtl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hwctl",
        abstract: "Encode and decode video in hardware or software through hwdaemon.",
        discussion: """
            EXAMPLES
              hwctl encode talk.mp4 talk.mov
              hwctl decode talk.mov talk.y4m
              hwctl info talk.mov
              hwctl doctor
              hwctl help encode

            hwctl connects to the daemon at /run/hwdaemon/hwdaemon.sock, or at $HWDAEMON_SOCKET if that is set. \
            If no daemon listens on the default socket, hwctl starts a private one for the duration of the command, \
            which -v reports; it never does so if $HWDAEMON_SOCKET is set.

            With --json a command prints one document on standard output. If it fails before it has a result, the document \
            has schema (1), error (the line on standard error) and exit_code.

            EXIT STATUS
              0  success             65  damaged or unsupported input
             64  wrong usage         69  required hardware, or the daemon, is missing
             66  input not found     73  output cannot be created
             70  internal error      74  input or output error
             75  limit, try later    76  broken protocol
             77  no permission      141  standard output was closed by its reader
            130  interrupted          1  verify, encode --verify: something was lost
                                         unasked; doctor: a problem was found

            ENVIRONMENT
              HWDAEMON_SOCKET   the daemon's socket (a path, or @name)
              HWDAEMON_DEVICES  render nodes of a private daemon, separated by colons
              HWDAEMON_PRESETS_DIR  presets of an administrator, instead of
                                /etc/hwdaemon/presets.d
            """,
        version: HWCtlVersion.text,
        subcommands: [
            EncodeCommand.self, DecodeCommand.self, ConvertCommand.self, PlayCommand.self, CaptureCommand.self,
            InfoCommand.self, VerifyCommand.self, SegmentsCommand.self, JoinCommand.self, RepairCommand.self,
            LivePhotoCommand.self,
            PresetsCommand.self, SettingsCommand.self, DoctorCommand.self, ProbeCommand.self,
            PropertiesCommand.self, EffectsCommand.self,
            SessionsCommand.self, RunCommand.self, DisplaysCommand.self,
            BenchCommand.self,
        ])

    static func main() {
        let arguments = CommandArguments.prepare()
        Daemon.takeOverStarted()
        guard let help = EncodeHelp.text(for: arguments) else { return CommandArguments.run(Self.self, arguments) }
        Console.write(1, help + "\n")
    }
}

extension MediaError: CommandError {
    /// The reason and the exit code; an interruption exits with 130, a closed pipe with 141 and without a reason.
    package var commandFailure: CommandFailure {
        switch kind {
        case .interrupted: .interrupted
        case .closedPipe: .closedPipe
        default: CommandFailure(exitStatus, reason)
        }
    }
}

extension SystemError: CommandError {
    /// The error; beyond a limit of file sizes, with the exit code of any write that fails.
    package var commandFailure: CommandFailure {
        CommandFailure(errno == EFBIG ? .ioError : .software, description)
    }
}

extension ImageError: CommandError {
    /// The reason and the exit code; an interruption exits with 130.
    package var commandFailure: CommandFailure {
        code == .cancelled ? .interrupted : CommandFailure(exitStatus, reason)
    }
}
