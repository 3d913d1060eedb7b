// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Synchronization
internal import Transport

/// Ctrl-C and its relatives: turned into a call on a thread of its own, so that the command can clean up.
final class Interruption: Sendable {
    private let happened = Atomic<Bool>(false)

    /// Whether a signal came.
    var isSet: Bool { happened.load(ordering: .relaxed) }

    /// From now on SIGINT, SIGTERM and SIGHUP call `action`, once.
    ///
    /// A command that has not ended five seconds after is ended: its output lies in a file without a name, and its
    /// private daemon ends with it.
    init(_ action: @escaping @Sendable () -> Void) throws {
        let signals = try SignalFD([SIGINT, SIGTERM, SIGHUP])
        let epoll = try Epoll()
        try epoll.add(signals.fileDescriptor, token: 0, events: .readable)
        _ = try Thread.spawn(name: "signals") { [self] in
            while (try? signals.next()) == nil { _ = try? epoll.wait(until: nil) }
            happened.store(true, ordering: .relaxed)
            action()
            sleep(5)
            _exit(130)
        }
    }
}
