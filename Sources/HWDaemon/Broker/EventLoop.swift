// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDTransport

/// The broker's one thread: who waits for which descriptor and which moment.
///
/// Tokens are never used twice, so an event that was fetched before its watch was taken off finds nobody.
final class EventLoop {
    /// A descriptor that is waited for.
    struct Watch: Hashable {
        fileprivate let fd: Int32
        fileprivate let token: UInt64
    }

    /// A moment that is waited for.
    struct Timer: Hashable {
        fileprivate let number: UInt64
    }

    private let epoll: Epoll
    private var last: UInt64 = 0
    private var watches: [UInt64: (Epoll.Events) -> Void] = [:]
    private var timers: [UInt64: (due: MonotonicTime, body: () -> Void)] = [:]
    private var isStopped = false

    init() throws(SystemError) { epoll = try Epoll() }

    /// Calls `body` whenever the descriptor, which stays the caller's, is ready.
    func watch(
        _ fd: Int32, _ events: Epoll.Events, _ body: @escaping (Epoll.Events) -> Void
    ) throws(SystemError) -> Watch {
        last += 1
        try epoll.add(fd, token: last, events: events)
        watches[last] = body
        return Watch(fd: fd, token: last)
    }

    /// Waits for other events from now on.
    func change(_ watch: Watch, to events: Epoll.Events) {
        // It can only fail for a descriptor that is not watched.
        try? epoll.modify(watch.fd, token: watch.token, events: events)
    }

    /// Waits no longer; to be done before the descriptor is closed.
    func remove(_ watch: Watch) {
        watches[watch.token] = nil
        try? epoll.remove(watch.fd)
    }

    /// Calls `body` once, that much later.
    func after(_ delay: Duration, _ body: @escaping () -> Void) -> Timer {
        last += 1
        timers[last] = (MonotonicTime.now + delay, body)
        return Timer(number: last)
    }

    /// Forgets a moment; one that has passed, too.
    func cancel(_ timer: Timer?) {
        if let timer { timers[timer.number] = nil }
    }

    /// Serves events and moments until `stop`.
    func run() throws(SystemError) {
        while !isStopped {
            // A few hundred timers at most: two or three a connection.
            let due = timers.values.lazy.map(\.due).min()
            for event in try epoll.wait(until: due) { watches[event.token]?(event.events) }
            let now = MonotonicTime.now
            for number in timers.filter({ $0.value.due <= now }).keys.sorted() {
                timers.removeValue(forKey: number)?.body()
            }
        }
    }

    /// Ends `run` after what it is at.
    func stop() { isStopped = true }
}
