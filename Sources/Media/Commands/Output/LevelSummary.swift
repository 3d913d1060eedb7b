// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDMetadata

/// The result of `--max-level`.
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

    /// - Parameters:
    ///   - report: the reader's; nil where all levels were read.
    ///   - leftOut: packets that a session dropped, which the report does not count.
    init?(_ report: LevelReport?, leftOut: Int = 0) {
        guard let report else { return nil }
        maxLevel = report.limit
        levels = report.levels
        source = report.source.rawValue
        self.leftOut = report.dropped + leftOut
        warning = report.warning
    }

    /// The human-readable line.
    var line: String {
        let signaled =
            source == LevelReport.LevelSource.annotations.rawValue
            ? "the file's annotations" : "the NAL unit headers"
        return "temporal levels 0 to \(maxLevel): \(leftOut) packets left out, according to \(signaled)"
    }

    /// A warning that came up after `announce` printed `early`; nil where there is none.
    func lateWarning(_ early: String?) -> String? { warning == early ? nil : warning.map { "warning: \($0)" } }
}
