// SPDX-License-Identifier: GPL-2.0-or-later

/// Builds a text in the OpenMetrics format (openmetrics.io, version 1.0.0), family by family.
struct OpenMetrics {
    /// A sample's labels, in the order in which they are written.
    typealias Labels = [(name: String, value: String)]

    private var text = ""

    /// The finished text.
    var finished: String { text + "# EOF\n" }

    /// Starts a family; `name` must end in the unit.
    mutating func family(_ name: String, _ type: String, unit: String? = nil, _ help: String) {
        text += "# TYPE \(name) \(type)\n"
        if let unit { text += "# UNIT \(name) \(unit)\n" }
        text += "# HELP \(name) \(Self.escaped(help))\n"
    }

    /// Adds a sample to the family.
    mutating func sample(_ name: String, _ labels: Labels, _ value: some CustomStringConvertible) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",") + "}"
        }
        text += " \(value)\n"
    }

    /// Adds a gauge with one sample.
    mutating func gauge(_ name: String, unit: String? = nil, _ help: String, _ value: some CustomStringConvertible)
    {
        family(name, "gauge", unit: unit, help)
        sample(name, [], value)
    }

    /// Adds a counter with one sample; `name` is the family's, without `_total`.
    mutating func counter(_ name: String, unit: String? = nil, _ help: String, _ value: UInt64) {
        family(name, "counter", unit: unit, help)
        sample("\(name)_total", [], value)
    }

    /// Adds a counter with labels.
    mutating func counter(_ name: String, _ help: String, _ counter: LabelledCounter) {
        family(name, "counter", help)
        for (values, count) in counter.sorted {
            sample("\(name)_total", zip(counter.labels, values).map { (name: $0, value: $1) }, count)
        }
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// Counts by the values of some labels, for a bounded number of combinations.
///
/// Each combination is a time series that the monitoring system stores; new ones beyond the bound count as `other`.
struct LabelledCounter {
    /// Combinations that are counted separately.
    static let maxCombinations = 64
    /// The value of every label of the other combinations.
    static let overflow = "other"

    let labels: [String]
    private var counts: [[String]: UInt64] = [:]

    init(_ labels: String...) { self.labels = labels }

    /// Adds one to a combination.
    mutating func count(_ values: String...) {
        let isKnown = counts[values] != nil || counts.count < Self.maxCombinations
        let key = isKnown ? values : labels.map { _ in Self.overflow }
        counts[key, default: 0] += 1
    }

    /// Every combination, in lexicographic order of its values.
    var sorted: [(values: [String], count: UInt64)] {
        counts.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) }
    }
}
