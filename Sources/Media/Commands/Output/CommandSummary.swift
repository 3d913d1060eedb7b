// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDMetadata

/// The result that a command reports when it ends.
protocol CommandSummary: Encodable {
    /// The human-readable lines, printed on standard error.
    var lines: [String] { get }
}

/// The result for one of several files.
protocol FileSummary: CommandSummary {
    /// The line that names the output.
    var result: String { get }
}

extension CommandSummary {
    /// The warning about jumps of the input's timestamps; nil without any.
    static func warning(discontinuities count: Int) -> String? {
        guard count > 0 else { return nil }
        let places = count == 1 ? "1 place" : "\(count) places"
        return "warning: the input's timestamps jump in \(places): its parts are joined"
    }

    /// Prints the JSON document on standard output, or the lines.
    func report(json: Bool) throws {
        guard !json else { return try Console.json(self) }
        lines.forEach(Console.note)
    }
}

extension MediaReader {
    /// Prints the pixel conversion, notes about temporal levels, and warnings before work begins.
    func announce(_ lines: [String]) {
        if let conversion = video.conversion { Console.note("converting the source: \(conversion)") }
        if let warning = levels?.warning { Console.note("warning: \(warning)") }
        if let note = levels?.note { Console.note(note) }
        lines.forEach(Console.note)
    }
}
