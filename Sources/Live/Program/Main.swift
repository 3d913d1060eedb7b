// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWClient
internal import HWDControlCommands
internal import HWDModel
internal import HWDPlaying
#if WINDOW
    internal import HWDWindow
#endif

/// `hwctl-play`: `hwctl` executes it for `hwctl play`.
@main
struct HWCtlPlay: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hwctl", version: HWCtlVersion.text, subcommands: [Play.self])

    struct Play: ParsableCommand {
        static let configuration = PlayCommand.configuration

        @OptionGroup var arguments: PlayArguments

        func run() throws {
            try report {
                let setup = try PlaySetup(arguments)
                let receipt: PlayReceipt
                if arguments.headless {
                    receipt = try HeadlessPlay(setup).run(try Daemon.findAndReport())
                } else {
                    #if WINDOW
                        receipt = try WindowPlay(setup).run()
                    #else
                        throw CommandFailure(
                            .unavailable,
                            "this hwctl-play was built without libwayland-client and has no window: use "
                                + "hwctl decode --at, or --stats --headless")
                    #endif
                }
                if arguments.stats || arguments.json { try receipt.print(json: arguments.json) }
            }
        }
    }

    static func main() { CommandArguments.run(Self.self, CommandArguments.prepare()) }
}
