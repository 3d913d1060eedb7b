// SPDX-License-Identifier: GPL-2.0-or-later

/// An option of a command line that was given.
struct OptionWord: Hashable, CustomStringConvertible {
    var name: String
    /// Nil for a flag.
    var value: String?

    /// An option with a value; nil where it was not given.
    init?(_ name: String, _ value: (some CustomStringConvertible)?) {
        guard let value else { return nil }
        (self.name, self.value) = (name, value.description)
    }

    /// A flag; nil where it was not given.
    init?(_ name: String, isGiven: Bool) {
        guard isGiven else { return nil }
        self.name = name
    }

    /// `--name=value`, one word of a command line.
    var description: String { name + (value.map { "=\($0)" } ?? "") }
}
