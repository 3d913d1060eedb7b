// SPDX-License-Identifier: GPL-2.0-or-later

/// Prometheus's text format, version 0.0.4 (prometheus.io, "Exposition formats"), which the node exporter's textfile
/// collector reads.
enum PrometheusText {
    /// Rewrites OpenMetrics text (openmetrics.io, version 1.0.0), in which the type of a family comes before its help.
    ///
    /// A counter's family has the name of its samples, and an info is a gauge. The format has no units and no end mark.
    static func text(_ openMetrics: String) -> String {
        var suffixes: [Substring: String] = [:]
        var text = ""
        for line in openMetrics.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3)
            guard line.hasPrefix("#") else {
                text += "\(line)\n"
                continue
            }
            guard words.count == 4 else { continue }
            let name = words[2]
            switch words[1] {
            case "TYPE":
                suffixes[name] = words[3] == "counter" ? "_total" : words[3] == "info" ? "_info" : ""
                text += "# TYPE \(name)\(suffixes[name] ?? "") \(words[3] == "info" ? "gauge" : words[3])\n"
            case "HELP":
                text += "# HELP \(name)\(suffixes[name] ?? "") \(withoutEscapedQuotes(words[3]))\n"
            default: break
            }
        }
        return text
    }

    /// A help text, in which this format escapes backslashes and line feeds only.
    private static func withoutEscapedQuotes(_ help: Substring) -> String {
        var result = ""
        var isEscaped = false
        for character in help {
            if isEscaped, character == "\"" { result.removeLast() }
            result.append(character)
            isEscaped = character == "\\" && !isEscaped
        }
        return result
    }
}
