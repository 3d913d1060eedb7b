// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDTransport
internal import Synchronization

/// Ctrl-C and its relatives: turned into a call on a thread of its own, so that the command can clean up.
final class Interruption: Sendable {
    private let happened = Atomic<Bool>(false)
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    /// Whether a signal came.
    var isSet: Bool { happened.load(ordering: .relaxed) }

    /// From now on SIGINT, SIGTERM and SIGHUP set `isSet` and call what `onSignal` was given.
    ///
    /// A command that was not given anything to call yet, or has not ended five seconds after, is ended: its output
    /// lies in a file without a name (or, where the file system has none such, under a hidden one that stays behind), and
    /// its private daemon ends with it.
    init() throws {
        let signals = try SignalFD([SIGINT, SIGTERM, SIGHUP])
        let epoll = try Epoll()
        try epoll.add(signals.fileDescriptor, token: 0, events: .readable)
        _ = try Thread.spawn(name: "signals") { [self] in
            while (try? signals.next()) == nil { _ = try? epoll.wait(until: nil) }
            happened.store(true, ordering: .relaxed)
            if let action = action.withLock({ $0 }) {
                action()
                sleep(5)
            }
            _exit(130)
        }
    }

    /// What to call when a signal comes; it makes whatever blocks return.
    func onSignal(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }
}
