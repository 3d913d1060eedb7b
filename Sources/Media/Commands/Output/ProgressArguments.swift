// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import Synchronization

/// The options of commands that take long, about what they print on standard error.
struct ProgressArguments: ParsableArguments {
    @OptionGroup
    var verbosity: VerbosityArguments

    @Flag(help: "Draw no progress bar.")
    var noProgress = false

    /// Applies the option.
    func validate() { if noProgress { Progress.isWanted.store(false, ordering: .relaxed) } }
}
