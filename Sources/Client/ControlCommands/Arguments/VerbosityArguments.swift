// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser

/// The options of all commands about what they print on standard error.
package struct VerbosityArguments: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Print only errors and warnings.")
    package var quiet = false

    @Flag(name: .shortAndLong, help: "Also print what the command does, and the log of a private daemon.")
    package var verbose = false

    /// Created by the parser.
    package init() {}

    /// Checks the options, and applies them.
    package func validate() throws {
        guard !quiet || !verbose else { throw ValidationError("--quiet and --verbose contradict each other.") }
        if quiet { Console.verbosity = .quiet }
        if verbose { Console.verbosity = .verbose }
    }
}
