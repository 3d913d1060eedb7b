// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDMediaFile

/// What a command reports at its end.
protocol CommandSummary: Encodable {
    /// The lines for people, printed on standard error.
    var lines: [String] { get }
}

extension CommandSummary {
    /// Prints the JSON document on standard output, or the lines.
    func report(json: Bool) throws {
        if json { try Console.json(self) } else { lines.forEach(Console.note) }
    }
}

extension MediaReader {
    /// Prints what a person should know before work begins: the conversion of pixels, temporal levels, warnings.
    func announce(_ lines: [String]) {
        if let conversion = video.conversion { Console.note("converting the source: \(conversion)") }
        if let warning = levels?.warning { Console.note("warning: \(warning)") }
        if let note = levels?.note { Console.note(note) }
        lines.forEach(Console.note)
    }
}
