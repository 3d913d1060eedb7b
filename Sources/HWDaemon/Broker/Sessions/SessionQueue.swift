// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDTransport

/// Create calls that wait for a slot: a pure value, to which times are passed in.
///
/// The user with the fewest sessions is first, and of one user's calls the one that came first.
struct SessionQueue<Work> {
    /// How many calls may wait.
    static var quota: UserQuota { UserQuota(total: 128, perUser: 32) }

    /// A call that waits.
    struct Entry {
        /// Counts calls by their arrival.
        let number: UInt64
        let uid: UInt32
        let deadline: MonotonicTime
        let work: Work
        /// Why it waits.
        var refusal: Refusal
    }

    /// By arrival.
    private(set) var entries: [Entry] = []
    private var nextNumber: UInt64 = 0

    /// Adds a call; false if no more may wait.
    mutating func append(
        _ work: Work, of uid: UInt32, for wait: Duration, because refusal: Refusal, now: MonotonicTime
    ) -> Bool {
        let own = entries.count { $0.uid == uid }
        guard Self.quota.obstacle(uid: uid, own: own, all: entries.count) == nil else { return false }
        entries.append(
            Entry(number: nextNumber, uid: uid, deadline: now + wait, work: work, refusal: refusal))
        nextNumber += 1
        return true
    }

    /// The calls in the order in which they may start.
    ///
    /// - Parameter counts: the sessions of each user.
    func inOrder(_ counts: [UInt32: Int]) -> [Entry] {
        entries.sorted { (counts[$0.uid] ?? 0, $0.number) < (counts[$1.uid] ?? 0, $1.number) }
    }

    /// Stores why a call still waits.
    mutating func setRefusal(_ refusal: Refusal, of number: UInt64) {
        guard let index = entries.firstIndex(where: { $0.number == number }) else { return }
        entries[index].refusal = refusal
    }

    /// Removes a call.
    mutating func remove(_ number: UInt64) { entries.removeAll { $0.number == number } }

    /// Removes and returns the calls that a condition holds for.
    mutating func take(where condition: (Entry) -> Bool) -> [Entry] {
        defer { entries.removeAll(where: condition) }
        return entries.filter(condition)
    }

    /// When the first call has waited for as long as it may; nil if none waits.
    var nextDeadline: MonotonicTime? { entries.map(\.deadline).min() }
}
