// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDMetadata
internal import Synchronization

/// Set from any thread to stop reading, even while libavformat waits for input.
package final class CancelFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    /// A flag that is not set.
    package init() {}

    /// Milliseconds between checks of the flag while a pipe has no data.
    private static let interval: Int32 = 100

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }

    /// Throws once the flag is set.
    func check() throws(MediaError) {
        if isSet { throw MediaError(.interrupted, "interrupted") }
    }

    /// Waits briefly for data, the end or an error on `descriptor`; false when the caller should check the flag first.
    ///
    /// A read(2) of a pipe cannot be canceled, and its writer may never write.
    func waitUntilReadable(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let ready = poll(&entry, 1, Self.interval)
        return ready > 0 || (ready < 0 && errno != EINTR)
    }
}
