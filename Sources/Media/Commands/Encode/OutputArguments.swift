// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import Glibc
internal import HWDControlCommands
internal import HWDEdits
internal import HWDModel
internal import HWDSystem

/// The options of `hwctl encode` about the files that it writes.
struct OutputArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The format on standard output: nut, matroska, mpegts, fmp4 (fragmented) or hevc (Annex B, the default); with \
            --output-dir mov (the default), mp4, matroska, mpegts, nut or hevc.
            """, valueName: "format"))
    var to: String?

    @Option(
        help: ArgumentHelp(
            "Write each input to a file of its name in this directory, which is created; inputs may be folders of videos.",
            valueName: "dir"))
    var outputDir: String?

    @OptionGroup
    var replacing: ReplaceArguments

    /// The formats that `--to` takes.
    var formats: [OutputFormat] {
        outputDir == nil
            ? [.nut, .matroska, .mpegts, .fmp4, .hevc] : [.mov, .mp4, .matroska, .mpegts, .nut, .hevc]
    }

    /// The format that was chosen; nil for the default.
    var format: OutputFormat? { to.flatMap(OutputFormat.init) }
}

/// The options of commands that write files, about files that exist.
struct ReplaceArguments: ParsableArguments {
    @Flag(help: "Leave inputs out whose output exists.")
    var skipExisting = false

    @Flag(help: "Replace no file: an output that exists is an error.")
    var noOverwrite = false

    @Flag(
        name: [.customShort("y"), .customLong("yes")],
        help: "Replace files without a question, which is asked on a terminal only.")
    var yes = false

    func validate() throws {
        let flags = [("--skip-existing", skipExisting), ("--no-overwrite", noOverwrite), ("-y", yes)]
        let given = flags.filter(\.1).map(\.0)
        if given.count > 1 {
            throw ValidationError("\(given[0]) and \(given[1]) contradict each other.")
        }
    }

    /// Whether an output may replace a file.
    var replaces: Bool { !noOverwrite && !skipExisting }

    /// Whether an output is to be written, which may be asked on the terminal.
    /// - Throws: a failure where a file must not be replaced.
    func writes(_ file: FilePair) throws -> Bool {
        var status = stat()
        let exists = file.output != "-" && stat(FileName.bytes(file.output), &status) == 0
        return try writes(over: exists ? [file.output] : [], asks: file.input != "-")
    }

    /// Whether outputs are to be written although some exist; may ask on the terminal.
    ///
    /// - Parameter asks: whether standard input can be asked.
    /// - Throws: a failure where a file must not be replaced.
    func writes(over existing: [String], asks: Bool) throws -> Bool {
        guard let first = existing.first else { return true }
        if skipExisting { return false }
        let refusal = CommandFailure(.cannotCreate, Self.refusal(first, count: existing.count))
        if noOverwrite { throw refusal }
        guard !yes, asks, isatty(0) == 1, isatty(2) == 1 else { return true }
        Console.write(2, Self.question(FileName.printable(first), count: existing.count))
        guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else { throw refusal }
        return true
    }

    static func refusal(_ first: String, count: Int) -> String {
        count == 1
            ? "\(first) exists and is not replaced" : "\(first) and \(count - 1) more exist and are not replaced"
    }

    static func question(_ first: String, count: Int) -> String {
        let what =
            count == 1 ? "\(first) exists; replace it?" : "\(first) and \(count - 1) more exist; replace them?"
        return "hwctl: \(what) [y/N] "
    }
}

/// An input and its output.
struct FilePair: Hashable {
    var input: String
    var output: String
}
