// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDMediaFile

/// What became of `--max-level`, for people and programs.
struct LevelSummary: Encodable {
    private var maxLevel: Int
    private var levels: Int?
    private var source: String
    private var leftOut: Int
    private var warning: String?

    enum CodingKeys: String, CodingKey {
        case levels, source, warning
        case maxLevel = "max_level"
        case leftOut = "left_out_packets"
    }

    /// Of a reader, and the packets that a session left out for it; nil where every level was wanted.
    init?(_ reader: MediaReader, leftOut: Int = 0) {
        guard let report = reader.levels else { return nil }
        maxLevel = report.limit
        levels = report.levels
        source = report.source.rawValue
        self.leftOut = report.dropped + leftOut
        warning = report.warning
    }

    /// Says what a person should know before work begins.
    static func announce(_ reader: MediaReader) {
        if let warning = reader.levels?.warning { Console.note("warning: \(warning)") }
        if let note = reader.levels?.note { Console.note(note) }
    }

    /// The line for people.
    var line: String {
        "temporal levels 0 to \(maxLevel): \(leftOut) packets left out, as "
            + (source == LevelReport.LevelSource.annotations.rawValue
                ? "the file's annotations tell" : "the pictures' NAL units tell")
    }

    /// What was found out on the way, which `announce` could not tell; nil where that is nothing.
    func lateWarning(_ early: String?) -> String? { warning == early ? nil : warning.map { "warning: \($0)" } }
}
