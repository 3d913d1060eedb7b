// SPDX-License-Identifier: GPL-2.0-or-later

/// Work that waits for its turn: users take turns, and so does the work of one user.
///
/// A user with sixty connections therefore delays another user's call by one piece of work, not by sixty.
struct TurnQueue<Work> {
    private var waiting: [UInt32: [Work]] = [:]
    /// The users with waiting work; the first is next.
    private var users: [UInt32] = []

    var isEmpty: Bool { users.isEmpty }

    /// Adds work behind the other work of its user.
    mutating func append(_ work: Work, of user: UInt32) {
        if waiting[user] == nil { users.append(user) }
        waiting[user, default: []].append(work)
    }

    /// Removes the next work; its user's next turn comes after those of all others.
    mutating func next() -> Work? {
        guard !users.isEmpty else { return nil }
        let user = users.removeFirst()
        guard var own = waiting.removeValue(forKey: user), !own.isEmpty else { return nil }
        let work = own.removeFirst()
        if !own.isEmpty {
            waiting[user] = own
            users.append(user)
        }
        return work
    }
}
