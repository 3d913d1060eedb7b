// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWClient
internal import HWDControlCommands
internal import HWDModel
internal import HWDPlaying
#if SOUND
    internal import HWDSound
#endif
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
                        receipt = try WindowPlay(setup, sound: try HWCtlPlay.sound(setup)).run()
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

    /// The sound of a file; nil for none.
    fileprivate static func sound(_ setup: PlaySetup) throws(CommandFailure) -> (any PlayedSound)? {
        let arguments = setup.arguments
        if arguments.noSound { return nil }
        #if SOUND
            return try PipeWireSound(setup.video.file, track: arguments.audioTrack, file: arguments.file)
        #else
            Console.note("\(arguments.file) is silent: this hwctl-play was built without PipeWire")
            return nil
        #endif
    }

    static func main() { CommandArguments.run(Self.self, CommandArguments.prepare()) }
}
