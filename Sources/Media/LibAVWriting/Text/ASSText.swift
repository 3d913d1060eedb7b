// SPDX-License-Identifier: GPL-2.0-or-later

/// The text of a cue in the form of ASS, in which libavcodec's decoders of text return all cues: nine fields separated by
/// commas, of which the last is the text, with styles in braces.
struct ASSText: Hashable {
    /// The fields before the text, with their commas.
    let fields: String
    let text: String
    /// Whether a part of the text was a drawing, which is left out.
    let hadDrawing: Bool

    private static let fieldCount = 8

    /// nil for a line with too few fields.
    init?(_ line: String) {
        let parts = line.split(separator: ",", maxSplits: Self.fieldCount, omittingEmptySubsequences: false)
        guard parts.count == Self.fieldCount + 1 else { return nil }
        fields = parts.dropLast().map { $0 + "," }.joined()
        (text, hadDrawing) = Self.withoutDrawings(parts[Self.fieldCount])
    }

    /// Whether nothing would be seen.
    var isBlank: Bool {
        var depth = 0
        return !text.replacing("\\N", with: "").replacing("\\n", with: "").replacing("\\h", with: "").contains {
            if $0 == "{" { depth += 1 }
            if $0 == "}" { depth = max(0, depth - 1) }
            return depth == 0 && $0 != "}" && !$0.isWhitespace
        }
    }

    /// Leaves out what is between `\\p` with a scale and `\\p0`, which are the commands of a drawing.
    private static func withoutDrawings(_ text: Substring) -> (String, Bool) {
        var (result, rest, isDrawing, found) = ("", text, false, false)
        while let brace = rest.firstIndex(of: "{"), let end = rest[brace...].firstIndex(of: "}") {
            if !isDrawing { result += rest[..<brace] }
            let block = rest[brace...end]
            for match in block.matches(of: #/\\p(\d+)/#) { isDrawing = (Int(match.1) ?? 1) > 0 }
            found = found || isDrawing
            result += block
            rest = rest[rest.index(after: end)...]
        }
        return (isDrawing ? result : result + rest, found)
    }

    /// The lines of several cues as one: each begins in its own style.
    static func joined(_ texts: [String]) -> String { texts.joined(separator: "\\N{\\r}") }
}
