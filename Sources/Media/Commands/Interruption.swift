// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDTransport
internal import Synchronization

/// Handles SIGINT, SIGTERM and SIGHUP with a call on a dedicated thread, so that the command can clean up.
final class Interruption: Sendable {
    private let isSignaled = Atomic<Bool>(false)
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    /// Whether a signal has arrived.
    var isSet: Bool { isSignaled.load(ordering: .relaxed) }

    /// Blocks the signals; from now on they set `isSet` and run the action of `onSignal`.
    ///
    /// The process ends at once if there is no action yet, and otherwise five seconds later if it is still running. Its
    /// output is then in an unnamed file, which disappears, or a hidden one where the file system has no unnamed files;
    /// its private daemon ends with it.
    init() throws {
        let signals = try SignalFD([SIGINT, SIGTERM, SIGHUP])
        let epoll = try Epoll()
        try epoll.add(signals.fileDescriptor, token: 0, events: .readable)
        _ = try Thread.spawn(name: "signals") { [self] in
            while (try? signals.next()) == nil { _ = try? epoll.wait(until: nil) }
            isSignaled.store(true, ordering: .relaxed)
            if let action = action.withLock({ $0 }) {
                action()
                sleep(5)
            }
            _exit(130)
        }
    }

    /// Sets the action for a signal: it must make blocking calls return.
    func onSignal(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }
}
