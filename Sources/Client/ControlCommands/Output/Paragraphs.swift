// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// Lines of titled text that fit a terminal.
enum Paragraphs {
    /// Columns of the terminal on standard output; 80 where it is none, so that files and pipes have the same lines.
    static var columns: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return max(Int(size.ws_col), 40)
    }

    /// A title and a text beside it, whose lines break at spaces; a word that is longer than a line stays whole.
    ///
    /// - Parameters:
    ///   - title: what stands before the first line.
    ///   - indent: the column at which the text begins; a longer title pushes the first line.
    static func paragraph(_ title: String, _ text: String, indent: Int, columns: Int = columns) -> String {
        var lines: [String] = []
        var line = title + String(repeating: " ", count: max(indent - title.count, title.isEmpty ? 0 : 1))
        var isEmpty = true
        for word in text.split(separator: " ") {
            if !isEmpty, line.count + 1 + word.count > columns {
                lines.append(line)
                line = String(repeating: " ", count: indent)
                isEmpty = true
            }
            line += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        return (lines + [line]).joined(separator: "\n")
    }
}
