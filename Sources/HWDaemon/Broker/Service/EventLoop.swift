// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDTransport

/// The broker's event loop: calls closures when descriptors become ready and timers expire, and gives users turns.
///
/// Tokens are never reused, so an event that was fetched before its watch was removed is ignored.
final class EventLoop {
    /// A descriptor being watched.
    struct Watch: Hashable {
        fileprivate let fd: Int32
        fileprivate let token: UInt64
    }

    /// A pending timer.
    struct Timer: Hashable {
        fileprivate let number: UInt64
    }

    /// Time for turns before events and timers are handled again.
    private static let turnTime = Duration.milliseconds(1)

    private let epoll: Epoll
    private var last: UInt64 = 0
    private var watches: [UInt64: (Epoll.Events) -> Void] = [:]
    private var timers: [UInt64: (due: MonotonicTime, body: () -> Void)] = [:]
    private var turns = TurnQueue<() -> Void>()
    private var isStopped = false

    init() throws(SystemError) { epoll = try Epoll() }

    /// Calls `body` whenever the descriptor is ready; the caller keeps it open until `remove`.
    func watch(
        _ fd: Int32, _ events: Epoll.Events, _ body: @escaping (Epoll.Events) -> Void
    ) throws(SystemError) -> Watch {
        last += 1
        try epoll.add(fd, token: last, events: events)
        watches[last] = body
        return Watch(fd: fd, token: last)
    }

    /// Calls `body` once, when the peer of a connection has closed it.
    ///
    /// The caller may close the descriptor if another process holds a copy. End the watch with `forget`: the number may
    /// then be another file's.
    func watchHangUp(_ fd: Int32, _ body: @escaping () -> Void) throws(SystemError) -> Watch {
        last += 1
        try epoll.addHangUp(fd, token: last)
        watches[last] = { _ in body() }
        return Watch(fd: fd, token: last)
    }

    /// Ends a watch without touching its descriptor.
    func forget(_ watch: Watch) { watches[watch.token] = nil }

    /// Watches for other events from now on.
    func change(_ watch: Watch, to events: Epoll.Events) {
        // This fails only for a descriptor that is not watched.
        try? epoll.modify(watch.fd, token: watch.token, events: events)
    }

    /// Stops watching; call it before closing the descriptor.
    func remove(_ watch: Watch) {
        watches[watch.token] = nil
        try? epoll.remove(watch.fd)
    }

    /// Calls `body` once, after `delay`.
    func after(_ delay: Duration, _ body: @escaping () -> Void) -> Timer {
        last += 1
        timers[last] = (MonotonicTime.now + delay, body)
        return Timer(number: last)
    }

    /// Cancels a timer; does nothing if it has expired.
    func cancel(_ timer: Timer?) {
        if let timer { timers[timer.number] = nil }
    }

    /// Calls `body` once, when it is the user's turn.
    func schedule(user: UInt32, _ body: @escaping () -> Void) { turns.append(body, of: user) }

    /// Handles events, timers and turns until `stop`.
    func run() throws(SystemError) {
        while !isStopped {
            // A linear search will do for a few hundred timers: two or three per connection.
            let due = [timers.values.lazy.map(\.due).min(), turns.nextTurn(now: .now)].compactMap(\.self).min()
            for event in try epoll.wait(until: due) { watches[event.token]?(event.events) }
            let now = MonotonicTime.now
            for number in timers.filter({ $0.value.due <= now }).keys.sorted() {
                timers.removeValue(forKey: number)?.body()
            }
            giveTurns(until: now + Self.turnTime)
        }
    }

    private func giveTurns(until end: MonotonicTime) {
        var now = MonotonicTime.now
        while !isStopped, now < end, let (user, body) = turns.next(now: now) {
            let start = ProcessControl.threadTime
            body()
            now = .now
            turns.charge(user, ProcessControl.threadTime - start, now: now)
        }
    }

    /// Makes `run` return after the present round of events.
    func stop() { isStopped = true }
}
