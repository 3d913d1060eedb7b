// SPDX-License-Identifier: GPL-2.0-or-later
internal import Synchronization

/// Set from any thread to stop reading, even while libavformat waits for input.
final class CancelFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }

    /// Throws once the flag is set.
    func check() throws(MediaError) {
        if isSet { throw MediaError(.interrupted, "interrupted") }
    }
}
