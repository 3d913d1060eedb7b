// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import Glibc
internal import HWDModel
internal import HWDSystem

/// The preparation that hwctl's programs share, before their arguments are parsed.
package enum CommandArguments {
    /// Secures the standard descriptors and returns the arguments, without the program's name; exits if one is wrong.
    package static func prepare() -> [String] {
        StandardDescriptors.reserve()
        let arguments = Program.arguments
        // A write beyond RLIMIT_FSIZE then fails, and the command says why. Programs of `run` inherit the disposition.
        if arguments.first != RunCommand.configuration.commandName { signal(SIGXFSZ, SIG_IGN) }
        if arguments.prefix(while: { $0 != "--" }).contains("--json") { Console.documentFailures() }
        if let argument = mistakenFileName(in: arguments) {
            let answers = foreignOptions(arguments).map { $0 + hint(arguments, after: $0) }
            refuse(answers ?? "\(argument) is not an option; if it is a file, write it as ./\(argument)")
        }
        return arguments
    }

    /// Runs the command that the arguments name.
    ///
    /// Argument errors are reported in one line, where ArgumentParser prints three.
    package static func run(_ root: any ParsableCommand.Type, _ arguments: [String]) {
        do {
            var command = try root.parseAsRoot(arguments)
            try command.run()
        } catch {
            guard let failure = failure(error, of: root, arguments) else {
                if let help = CommandHelp.text(root.fullMessage(for: error)) {
                    Console.write(1, help)
                    return
                }
                root.exit(withError: error)
            }
            Console.report(failure)
            exit(failure.exitCode)
        }
    }

    /// The failure of an error that has a message; nil for requests of help and for failures that have been reported.
    ///
    /// ArgumentParser prints names and values as they are, so it prints none of its errors itself.
    package static func failure(
        _ error: any Error, of root: any ParsableCommand.Type, _ arguments: [String]
    ) -> CommandFailure? {
        let status = root.exitCode(for: error)
        let message = root.message(for: error)
        guard status != .success, !message.isEmpty else { return nil }
        guard status == .validationFailure else { return CommandFailure(.software, message) }
        let names = root.configuration.subcommands.compactMap { $0.configuration.commandName }
        let isCommand = arguments.first.map(names.contains) ?? false
        let text =
            isCommand
            ? unknownOptions(of: root, arguments, message) ?? otherCommand(for: arguments)
                ?? line(of: escaping(arguments, in: message))
            : unknownCommand(arguments) ?? early(arguments, names)
                ?? line(of: escaping(arguments, in: message))
        return CommandFailure(.usage, text + hint(isCommand ? arguments : [], after: text))
    }

    /// Where the help is, as the end of a message.
    private static func hint(_ arguments: [String], after text: String = "") -> String {
        let command = arguments.first.flatMap { $0.hasPrefix("-") ? nil : " \($0)" } ?? ""
        // What ends in a command needs no more.
        if let last = text.firstRange(of: solution), !text[last.upperBound...].isEmpty { return "" }
        return "\(text.hasSuffix("?") ? " See" : "; see") hwctl\(FileName.printable(command)) --help"
    }

    /// What precedes a command line that does what the refused one asks for.
    private static let solution = "; write: "

    /// The answers to options of other programs, with the whole command line where each has one; nil without such options.
    private static func foreignOptions(_ arguments: [String]) -> String? {
        ForeignOptions.answers(to: arguments).map { answers in
            FileName.printable(answers) + (ForeignOptions.commandLine(for: arguments).map { solution + $0 } ?? "")
        }
    }

    /// What to write where an option of a command precedes it; nil elsewhere.
    private static func early(_ arguments: [String], _ commands: [String]) -> String? {
        guard let first = arguments.first, first.hasPrefix("-"),
            let command = arguments.first(where: commands.contains)
        else { return nil }
        return "options follow the command: hwctl \(command) \(FileName.printable(first))"
    }

    /// What the command's unknown options stand for, or the first of them; nil where the message names one, or there is none.
    ///
    /// The parser counts names first, and values of options that it does not know are names.
    private static func unknownOptions(
        of root: any ParsableCommand.Type, _ arguments: [String], _ message: String
    ) -> String? {
        if let answers = foreignOptions(arguments) { return answers }
        guard !message.contains("nknown option") else { return nil }
        let known = CommandHelp.options(of: root, command: arguments[0])
        let names = arguments.dropFirst().prefix { $0 != "--" }.filter { $0.hasPrefix("--") }
            .map { String($0.prefix { $0 != "=" }) }
        return names.first { !known.contains($0) }.map { "there is no option \(FileName.printable($0))" }
    }

    /// What to write where a command is expected; nil without arguments.
    private static func unknownCommand(_ arguments: [String]) -> String? {
        guard let first = arguments.first, !first.hasPrefix("-") else { return nil }
        let name = FileName.printable(first)
        if first.contains(".") || first.contains("/") {
            return "there is no command \(name): a file is encoded by hwctl encode \(name) OUTPUT"
        }
        return "there is no command \(name)" + (otherNames[first].map { ": did you mean hwctl \($0)?" } ?? "")
    }

    /// Names that other programs have for what our commands do.
    private static let otherNames = [
        "transcode": "encode", "compress": "encode", "remux": "encode --copy", "mux": "encode --copy",
        "cut": "encode --start",
        "extract": "decode --at", "thumbnail": "decode --at", "compare": "verify", "check": "verify",
        "diff": "verify",
        "concat": "join", "merge": "join", "inspect": "info", "mediainfo": "info", "ffprobe": "info",
        "encoders": "probe",
        "list": "sessions", "status": "sessions", "ps": "sessions", "ffmpeg": "encode", "benchmark": "bench",
    ]

    /// The command that does what a refused command line seems to ask for; nil where there is none.
    private static func otherCommand(for arguments: [String]) -> String? {
        let names = arguments.dropFirst().filter { !$0.hasPrefix("-") && $0.contains(".") }.map(FileName.printable)
        switch arguments.first {
        case "probe" where !names.isEmpty:
            return "probe looks at this machine: hwctl info \(names[0]) describes a file"
        case "convert" where names.contains { videos.contains(ending($0)) }:
            return
                "convert takes raw frames: hwctl encode \(names.prefix(2).joined(separator: " ")) encodes a video"
        case "convert" where ["heic", "heif"].contains(names.first.map(ending)):
            return
                "convert takes raw frames: hwctl decode \(names.prefix(2).joined(separator: " ")) writes a picture"
        case "convert" where names.contains { pictures.contains(ending($0)) }:
            return
                "convert takes raw frames: hwctl encode \(names.prefix(2).joined(separator: " ")) encodes a picture"
        case "join" where names.count > 1 && !arguments.contains { $0.hasPrefix("--from") }:
            return "join joins the segments of one video, which --from names; different videos are joined by "
                + "ffmpeg -f concat -i LIST -c copy -f nut - | hwctl encode - OUTPUT"
        default: return nil
        }
    }

    /// Extensions of videos, which are no raw frames.
    private static let videos: Set = ["avi", "gif", "m4v", "mkv", "mov", "mp4", "ts", "webm"]
    private static let pictures: Set = ["heic", "heif", "jpeg", "jpg", "png", "tif", "tiff", "webp"]

    private static func ending(_ name: String) -> String { name.split(separator: ".").last?.lowercased() ?? "" }

    /// A message with the control characters escaped in arguments and in names and values of options, so that a
    /// line feed in one of them does not end a line.
    private static func escaping(_ arguments: [String], in message: String) -> String {
        let parts = arguments.flatMap { argument in
            [argument] + argument.split(separator: "=", maxSplits: 1).map(String.init)
        }
        return parts.reduce(message) { text, part in
            let clean = FileName.printable(part)
            return clean == part ? text : text.replacing(part, with: clean)
        }
    }

    /// A message of the parser or of a command as one line: lower case, without a full stop, lists separated by commas.
    private static func line(of message: String) -> String {
        let lines = message.split(separator: "\n")
        guard let first = lines.first else { return message }
        // The parser lists values with bullets.
        let items = lines.dropFirst().map { line in line.drop { " -".contains($0) } }
        var text = first + (items.isEmpty ? "" : " " + items.joined(separator: ", "))
        if text.hasSuffix("."), !text.hasSuffix("...") { text.removeLast() }
        // A word of a sentence, not a name such as INPUT or MultiPassStorage.
        let word = text.prefix { $0 != " " }
        guard let initial = text.first, !word.dropFirst().contains(where: \.isUppercase) else {
            return String(text)
        }
        return initial.lowercased() + text.dropFirst()
    }

    private static func refuse(_ reason: String) -> Never {
        Console.report(CommandFailure(.usage, reason))
        exit(ExitStatus.usage.rawValue)
    }

    private static let shortOptions: Set = ["-h", "-q", "-v", "-y"]

    /// The first argument such as `-dash.mp4`, which the parser would read as the short options -d, -a, -s and -h.
    ///
    /// Numbers are values.
    private static func mistakenFileName(in arguments: [String]) -> String? {
        arguments.prefix { $0 != "--" }.first { argument in
            guard argument.hasPrefix("-"), let second = argument.dropFirst().first,
                !shortOptions.contains(argument)
            else {
                return false
            }
            return second != "-" && second != "." && !second.isNumber
        }
    }
}
