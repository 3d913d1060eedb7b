// SPDX-License-Identifier: GPL-2.0-or-later

extension String {
    /// Untrusted text without control characters (Unicode category Cc become spaces), of at most `maxBytes` bytes of
    /// UTF-8, and an ellipsis if it was longer.
    func singleLine(maxBytes: Int = 1024) -> String {
        var line = ""
        var bytes = 0
        for scalar in unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            bytes += isControl ? 1 : String(scalar).utf8.count
            if bytes > maxBytes { return line + "…" }
            line.unicodeScalars.append(isControl ? " " : scalar)
        }
        return line
    }
}
