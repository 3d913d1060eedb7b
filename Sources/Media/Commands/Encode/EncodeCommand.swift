// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands

/// `hwctl encode`.
struct EncodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encode",
        abstract: "Encode a video as HEVC, or a picture as HEIC, through compression sessions of the daemon.",
        discussion: EncodeHelp.discussion)

    @Argument(
        help: ArgumentHelp(
            """
            INPUT and OUTPUT: a video or pictures such as frame-%04d.png, and a .mov, .mp4, .mkv, .ts, .nut, .hevc or .heic; - is \
            standard input or output. With --output-dir all are inputs; a .heic with --burst and a .heics have several.
            """, valueName: "file"))
    var files: [String]

    @OptionGroup(title: "Files")
    var outputs: OutputArguments

    @OptionGroup(title: "Encoder")
    var coding: EncoderArguments

    @Flag(help: "Encode nothing: say which presets and containers fit the INPUT, and why others do not.")
    var check = false

    @OptionGroup(title: "Time")
    var time: TimeArguments

    @OptionGroup(title: "Picture")
    var picture: PictureArguments

    @OptionGroup(title: "HEIC")
    var still: StillEncodeArguments

    @OptionGroup(title: "Sound and text")
    var sound: SoundArguments

    @Option(
        help: ArgumentHelp(
            "Frames per second of pictures and raw streams, such as 25, 23.976 or 30000/1001; 25 by default.",
            valueName: "rate"))
    var frameRate: String?

    @Flag(help: "Copy the coded HEVC video without encoding it; encoder options are then refused.")
    var copy = false

    @Option(
        help: ArgumentHelp("Leave out the temporal levels of an HEVC input above this one.", valueName: "0-6"))
    var maxLevel: Int?

    @Flag(help: "If the input ends early, keep the frames before that; the exit code still reports the error.")
    var keepPartial = false

    @Flag(
        help: """
            Compare the output with the input when it is complete, as hwctl verify does; if something was lost that was not \
            asked for, the exit code is 1 and the output stays.
            """)
    var verify = false

    @Option(
        help: ArgumentHelp(
            """
            Encode segment K of N alone, without sound and metadata, to a .mov or .mp4 for hwctl join. An OUTPUT that holds it \
            already is kept. hwctl segments lists the segments.
            """, valueName: "k/n"))
    var segment: SegmentNumber?

    @Option(
        help: ArgumentHelp(
            "Encode so many segments at a time, each in a process of its own, and join them.", valueName: "n"))
    var parallel: Int?

    @OptionGroup(title: "Sessions")
    var sessions: SessionArguments

    @OptionGroup(title: "Messages")
    var messages: ProgressArguments

    @Flag(help: "Print one JSON document about the result on standard output.")
    var json = false
}
