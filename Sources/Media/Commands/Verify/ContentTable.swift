// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDEdits

/// The table of everything that a file can hold, as text.
enum ContentTable {
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
