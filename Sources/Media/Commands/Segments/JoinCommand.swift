// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDEdits
internal import HWDModel

/// `hwctl join`.
struct JoinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join the segments that hwctl encode wrote into one file, with the source's sound and metadata.",
        discussion: """
            EXAMPLES
              hwctl join film-hevc.mov part-*.mov --from film.mov
              hwctl join film.mp4 part-*.mov --from film.mkv --audio aac --subtitle none
              hwctl verify film.mov film-hevc.mov

            The parts are what hwctl encode --segment wrote of one source, with one --count and the same options, each once and \
            in any order. OUTPUT gets their pictures as they are, at the times that hwctl encode of all of the source gives \
            them, and the source's sound, subtitles, chapters, timecode and metadata as hwctl encode writes them. Its extension \
            selects the format. Where parameter sets differ, as after a hardware and a software encoder, a .mov or .mp4 gets \
            another sample entry (hvc1).

            A part that is damaged or changes meanwhile, of another source, of other options or there twice, a segment that is \
            missing, and times that overlap or leave a gap are errors (status 65). OUTPUT is created only when it is complete.
            """)

    @Argument(
        help: ArgumentHelp(
            "OUTPUT, a .mov, .mp4, .mkv, .ts, .nut or .hevc, and the parts.", valueName: "file"))
    var files: [String]

    @Option(help: ArgumentHelp("The source: the INPUT of hwctl encode --segment.", valueName: "file"))
    var from: String

    @OptionGroup(title: "Files")
    var replacing: ReplaceArguments

    @OptionGroup(title: "Sound and text")
    var sound: SoundArguments

    @OptionGroup(title: "Messages")
    var messages: ProgressArguments

    @Flag(help: "Print one JSON document about the result on standard output.")
    var json = false

    func validate() throws {
        guard files.count > 1 else { throw ValidationError("Missing expected argument: an OUTPUT and its parts.") }
        if files.contains("-") || from == "-" {
            throw ValidationError("Files are joined, not standard input or output.")
        }
    }

    func run() throws {
        let file = FilePair(input: from, output: files[0])
        try report(output: file.output) {
            guard try replacing.writes(file) else { return Console.file("\(file.output): exists, skipped") }
            var edits = FileEdits()
            (edits.sound, edits.text) = (sound.options, sound.subtitle)
            let request = JoinJob.Request(
                file: file, parts: Array(files.dropFirst()), edits: edits, replaces: replacing.replaces,
                report: { try $0.report(json: json) })
            // Before any other thread starts: threads inherit the blocked signals.
            try JoinJob(request).run(try Interruption())
        }
    }
}
