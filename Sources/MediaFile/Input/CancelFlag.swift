// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Synchronization

/// Set once, from any thread, to stop work that may be waiting inside libavformat.
final class CancelFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    /// Milliseconds from one look at the flag to the next while a pipe is silent.
    private static let interval: Int32 = 100

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }

    /// Throws once the flag is set.
    func check() throws(MediaError) {
        if isSet { throw MediaError(.interrupted, "interrupted") }
    }

    /// Waits a moment for bytes, the end or an error on `descriptor`; false when the caller should check the flag first.
    ///
    /// A read(2) of a pipe cannot be cancelled, and its writer may stay silent for ever.
    func pollsReadable(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let ready = poll(&entry, 1, Self.interval)
        return ready > 0 || (ready < 0 && errno != EINTR)
    }
}
