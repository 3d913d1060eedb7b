// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDMetadata
internal import HWDModel

/// The error that ended an input early, if `--keep-partial` keeps the frames before it.
struct EarlyEnd {
    let error: MediaError

    /// The kinds of errors that are not the input's.
    private static let others: [MediaError.Kind] = [.interrupted, .closedPipe, .cannotCreate, .cannotWrite]

    /// Fails for an interruption and a fault of the output, and if there is nothing to keep.
    init?(_ error: MediaError, keepsPartial: Bool, frames: Int) {
        guard keepsPartial, frames > 0, !Self.others.contains(error.kind) else { return nil }
        self.error = error
    }

    /// The failure that the command reports once the output is complete.
    func failure(output: String) -> CommandFailure {
        CommandFailure(
            error.exitStatus, "the input ends early; \(output) holds everything before that: \(error.reason)")
    }
}
