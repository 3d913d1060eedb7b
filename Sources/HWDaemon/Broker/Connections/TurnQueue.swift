// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDTransport

/// Work that waits for its turn: users take turns, and so does the work of one user.
///
/// A user with sixty connections therefore delays another user's call by one piece of work, not by sixty. Each user's
/// work gets a quarter of a processor at most, after a short burst: a broker that never sleeps is not scheduled at once
/// when a call arrives, and takes its time from the codecs.
struct TurnQueue<Work> {
    /// One user's work takes one nanosecond in this many.
    static var share: UInt64 { 4 }
    /// Nanoseconds by which a user's account may be overdrawn.
    static var maxDebt: UInt64 { 20_000_000 }

    private struct Account {
        /// Nanoseconds that must pass until the user's work has had its share; they pass by themselves.
        var debt: UInt64
        var updated: MonotonicTime

        func debt(at now: MonotonicTime) -> UInt64 {
            let passed = now.nanoseconds(since: updated)
            return debt > passed ? debt - passed : 0
        }
    }

    private var waiting: [UInt32: [Work]] = [:]
    /// The users with waiting work; the first is next.
    private var users: [UInt32] = []
    private var accounts: [UInt32: Account] = [:]

    /// Adds work behind the other work of its user.
    mutating func append(_ work: Work, of user: UInt32) {
        if waiting[user] == nil { users.append(user) }
        waiting[user, default: []].append(work)
    }

    /// Removes the next work; its user's next turn comes after those of all others.
    mutating func next(now: MonotonicTime) -> (user: UInt32, work: Work)? {
        guard let index = users.firstIndex(where: { (accounts[$0]?.debt(at: now) ?? 0) <= Self.maxDebt }) else {
            return nil
        }
        let user = users.remove(at: index)
        guard var own = waiting.removeValue(forKey: user), !own.isEmpty else { return nil }
        let work = own.removeFirst()
        if !own.isEmpty {
            waiting[user] = own
            users.append(user)
        }
        return (user, work)
    }

    /// Records how much processor time a user's work took, in nanoseconds.
    mutating func charge(_ user: UInt32, _ time: UInt64, now: MonotonicTime) {
        let debt = (accounts[user]?.debt(at: now) ?? 0) + time * Self.share
        accounts[user] = Account(debt: debt, updated: now)
        // Accounts of users that are gone must not add up.
        if accounts.count > 64 { accounts = accounts.filter { $0.value.debt(at: now) > 0 } }
    }

    /// When the next work may have its turn; nil if none waits.
    func nextTurn(now: MonotonicTime) -> MonotonicTime? {
        users.lazy.map { user in
            let debt = accounts[user]?.debt(at: now) ?? 0
            return debt > Self.maxDebt ? now + .nanoseconds(Int64(clamping: debt - Self.maxDebt)) : now
        }.min()
    }
}
