// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
internal import HWDMetadata

/// Compares the titles and flags of streams of sound and subtitles.
struct TrackComparison {
    private var described = 0
    private var differences: [String] = []

    /// Adds a stream of the input and its counterpart.
    mutating func add(_ input: OtherStream, _ output: OtherStream) {
        let (old, new) = (Self.flags(input), Self.flags(output))
        guard input.title != nil || !old.isEmpty || !new.isEmpty else { return }
        described += 1
        if let title = input.title, title != output.title {
            differences.append(
                "\(input.description): its title is \(output.title.map { "\"\($0)\"" } ?? "none"), not \"\(title)\""
            )
        }
        guard old != new else { return }
        differences.append("\(input.description): it is \(Self.text(new)), not \(Self.text(old))")
    }

    /// The flags that matter: players choose among tracks of sound, of which one is always on.
    private static func flags(_ stream: OtherStream) -> Set<TrackFlag> {
        stream.content == .subtitle ? stream.flags : stream.flags.subtracting([.shown])
    }

    private static func text(_ flags: Set<TrackFlag>) -> String {
        let names = TrackFlag.allCases.filter(flags.contains).map(\.rawValue)
        return names.isEmpty ? "without flags" : names.joined(separator: ", ")
    }

    /// The line; nil where no stream has a title or a flag.
    var item: ReceiptItem? {
        guard described > 0 else { return nil }
        let name = FileContent.tracks.rawValue
        guard !differences.isEmpty else {
            return ReceiptItem(name, .kept, "titles and flags of \(ReceiptText.count(described, "track")), equal")
        }
        return ReceiptItem(
            name, .lost, "titles or flags of \(ReceiptText.count(described, "track")) differ",
            details: differences)
    }
}
