// SPDX-License-Identifier: GPL-2.0-or-later

/// The clients that wait for the end of sessions.
struct ResultWaiters {
    private struct Waiter {
        let connection: ClientConnection
        let timer: EventLoop.Timer
    }

    private var waiting: [String: [Waiter]] = [:]

    /// Adds a client that waits until the session ends or its timer expires.
    mutating func add(_ session: String, _ connection: ClientConnection, _ timer: EventLoop.Timer) {
        waiting[session, default: []].append(Waiter(connection: connection, timer: timer))
    }

    /// Removes and returns those that wait for a session, with their timers.
    mutating func take(_ session: String) -> [(connection: ClientConnection, timer: EventLoop.Timer)] {
        (waiting.removeValue(forKey: session) ?? []).map { ($0.connection, $0.timer) }
    }

    /// Removes a client and returns its timers.
    mutating func remove(_ connection: ClientConnection) -> [EventLoop.Timer] {
        var timers: [EventLoop.Timer] = []
        for (session, waiters) in waiting {
            let left = waiters.filter { $0.connection !== connection }
            guard left.count < waiters.count else { continue }
            timers += waiters.filter { $0.connection === connection }.map(\.timer)
            waiting[session] = left.isEmpty ? nil : left
        }
        return timers
    }
}
