// SPDX-License-Identifier: MIT

extension Unicode.Scalar {
    /// Whether a terminal acts on the character, or shows the text around it in another order: C0, DEL, C1, U+2028,
    /// U+2029, and bidirectional embeddings, overrides and isolates (UAX #9).
    public var isControl: Bool {
        switch value {
        case 0...0x1f, 0x7f...0x9f, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}

extension String {
    /// Untrusted text as one line without control characters, which become spaces, of at most `maxBytes` bytes of UTF-8,
    /// and an ellipsis if it was longer.
    public func printable(maxBytes: Int = 1024) -> String {
        var line = ""
        var bytes = 0
        for scalar in unicodeScalars {
            bytes += scalar.isControl ? 1 : UTF8.width(scalar)
            if bytes > maxBytes { return line + "…" }
            line.unicodeScalars.append(scalar.isControl ? " " : scalar)
        }
        return line
    }

    /// Untrusted text of any length with its line feeds, in which other control characters become spaces.
    public var printableLines: String {
        replacingControls { _ in " " }
    }

    /// A JSON text in which control characters are escaped; they occur within strings only, except for line feeds.
    public var printableJSON: String {
        replacingControls { scalar in
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    /// The text with each control character but the line feed replaced.
    private func replacingControls(by replacement: (Unicode.Scalar) -> String) -> String {
        guard unicodeScalars.contains(where: { $0.isControl && $0 != "\n" }) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isControl, scalar != "\n" {
                text += replacement(scalar)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
