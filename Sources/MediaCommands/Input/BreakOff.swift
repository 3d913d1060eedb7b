// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDMediaFile
internal import HWDModel

/// The end of an input before its proper end, where `--keep-partial` keeps what came before.
struct BreakOff {
    let error: MediaError

    /// Nil for an interruption, and where nothing is to be kept.
    init?(_ error: MediaError, keepsPartial: Bool, frames: Int) {
        guard keepsPartial, frames > 0, error.kind != .interrupted else { return nil }
        self.error = error
    }

    /// What the command ends with once the output is complete.
    func failure(output: String) -> CommandFailure {
        CommandFailure(
            error.exitStatus, "the input ends early; \(output) holds everything before that: \(error.reason)")
    }
}
