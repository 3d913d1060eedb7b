// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
package import HWDControlCommands
package import HWDMediaFile

/// `hwctl-media`: the whole command line of HWDaemon, which `hwctl` becomes for what it does not do itself.
@main
struct HWCtl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hwctl",
        abstract: "Encode and decode video with this machine's codec hardware, or in software, through hwdaemon.",
        discussion: """
            hwctl talks to the daemon on /run/hwdaemon/hwdaemon.sock, or on $HWDAEMON_SOCKET when that is set. \
            Where no daemon listens on the default socket, hwctl runs a private one for the length of the command \
            and says so; an explicit $HWDAEMON_SOCKET is never replaced by a private one.

            EXIT STATUS
              0  success            64  wrong usage or property    65  damaged or unreadable input
              66 input not there    69  no hardware when required, or no daemon
              70 internal fault     73  output cannot be created   74  input or output error
              75 limits, try later  77  no permission             130  interrupted

            ENVIRONMENT
              HWDAEMON_SOCKET   the daemon's socket (a path, or @name)
              HWDAEMON_DEVICES  render nodes a private daemon looks at, colon-separated
            """,
        version: HWCtlVersion.text,
        subcommands: [
            EncodeCommand.self, DecodeCommand.self, ConvertCommand.self, InfoCommand.self, ProbeCommand.self,
            PropertiesCommand.self,
            SessionsCommand.self, BenchCommand.self,
        ])
}

extension MediaError: CommandError {
    /// One line and the exit code; an interruption has its own.
    package var commandFailure: CommandFailure {
        kind == .interrupted ? .interrupted : CommandFailure(exitStatus, reason)
    }
}
