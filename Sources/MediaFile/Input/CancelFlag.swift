// SPDX-License-Identifier: GPL-2.0-or-later
internal import Synchronization

/// Set once, from any thread, to stop work that may be waiting inside libavformat.
final class CancelFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }

    /// Throws once the flag is set.
    func check() throws(MediaError) {
        if isSet { throw MediaError(.interrupted, "interrupted") }
    }
}
