// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDComparison
internal import HWDControlCommands
internal import HWDEdits

/// A receipt as text.
struct ReceiptReport {
    let receipt: Receipt

    /// The failure of a command whose output lost something that was not asked for; nil without such a loss.
    var failure: CommandFailure? {
        let lost = receipt.items.filter(\.isFault).map(Self.name)
        return lost.isEmpty
            ? nil : .differs("\(receipt.output): lost and not asked for: \(lost.joined(separator: ", "))")
    }

    /// One line for each item, aligned.
    ///
    /// - Parameter explains: whether single differences and the meaning of each item are added.
    func text(explains: Bool) -> String {
        var rows: [[String]] = []
        for item in receipt.items {
            let reason = item.expected.map { " (\($0))" } ?? ""
            rows.append([item.verdict.rawValue, Self.name(item), item.sentence + reason])
            guard explains else { continue }
            if let content = FileContent(rawValue: item.name), let meaning = content.meaning {
                rows.append(["", "", "  compared: \(meaning)"])
            }
            rows += item.details.map { ["", "", "  \($0)"] }
        }
        return Console.table(rows)
    }

    /// The same, for a command that reports more than the receipt.
    var lines: [String] { text(explains: false).split(separator: "\n").map(String.init) }

    private static func name(_ item: ReceiptItem) -> String {
        item.name + (item.number.map { " \($0)" } ?? "")
    }
}
