// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDEdits
internal import HWDModel

/// The table of everything that a file can hold, as a document and as text.
struct ContentTable: Encodable {
    struct Row: Encodable {
        /// The name of a receipt's line.
        var verify: String
        var title: String
        /// The types of its boxes.
        var boxes: [String]
        /// What is done with it, by the name of the format.
        var formats: [String: String]
    }

    private var schema = 1
    private var contents = FileContent.allCases.map { content in
        Row(
            verify: content.line, title: content.title, boxes: content.boxes,
            formats: Dictionary(
                uniqueKeysWithValues: OutputFormat.allCases.map {
                    ($0.title, content.treatment(in: $0) == .none ? "none" : content.treatment(in: $0).rawValue)
                }))
    }

    private enum CodingKeys: String, CodingKey { case schema, contents }

    private static let legend = """
        kept: there as it was, or in the form that the format has. copied: there as it was where --copy copies the pictures; \
        where they are encoded, left out with a line. named: left out with a line. –: the format is one without it.
        """

    /// For a terminal.
    static var text: String { Console.table(FileContent.table) + "\n\n" + legend }

    /// For a document in Markdown.
    static var markdown: String {
        var rows = FileContent.table.map { "| \($0.joined(separator: " | ")) |" }
        let columns = FileContent.table.first?.count ?? 0
        rows.insert("|" + String(repeating: "---|", count: columns), at: 1)
        return rows.joined(separator: "\n") + "\n\n" + legend
    }
}
