// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDCapturing
internal import HWDControlCommands
internal import HWDVideoSources
#if PIPEWIRE
    internal import HWDPipeWireVideo
    internal import HWDSoundInput
#endif
#if PORTAL
    internal import HWDPortal
#endif

/// `hwctl-capture`: `hwctl` executes it for `hwctl capture`.
@main
struct HWCtlCapture: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hwctl", version: HWCtlVersion.text, subcommands: [Capture.self])

    /// The kinds of sources of this build.
    static var kinds: [CaptureKind] {
        var kinds = [TestSource.kind, CameraSource.kind]
        #if PIPEWIRE
            kinds.append(PipeWireSource.kind)
        #endif
        #if PORTAL
            kinds += ScreenCastSource.kinds
        #endif
        return kinds
    }

    /// Where sound comes from in this build; nil without PipeWire.
    static var sound: CaptureSoundKind? {
        #if PIPEWIRE
            CaptureSoundKind(
                list: PipeWireMicrophone.list,
                open: { (name) throws(CommandFailure) in try PipeWireMicrophone(PipeWireMicrophone.Node(name)) })
        #else
            nil
        #endif
    }

    struct Capture: ParsableCommand {
        static let configuration = CaptureCommand.configuration

        @OptionGroup var arguments: CaptureArguments

        func run() throws {
            try report {
                if arguments.list {
                    try CaptureList(HWCtlCapture.kinds, sound: HWCtlCapture.sound).print(json: arguments.json)
                } else {
                    try CaptureJob(arguments, kinds: HWCtlCapture.kinds, sound: HWCtlCapture.sound).run()
                }
            }
        }
    }

    static func main() { CommandArguments.run(Self.self, CommandArguments.prepare()) }
}
