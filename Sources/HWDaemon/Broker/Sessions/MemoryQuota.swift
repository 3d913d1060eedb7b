// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDPolicy

/// How much memory sessions may take: all of them together, and those of one user.
struct MemoryQuota: Hashable, Sendable {
    /// Bytes of all users together; nil for no limit.
    var total: UInt64?
    /// Bytes of one user; nil for no limit.
    var perUser: UInt64?

    /// No limit.
    static let unlimited = MemoryQuota(total: nil, perUser: nil)

    /// A quota whose half one user may have, or all of it where there is only one.
    init(total: UInt64?, isForOneUser: Bool) {
        self.init(total: total, perUser: total.map { isForOneUser ? $0 : $0 / 2 })
    }

    init(total: UInt64?, perUser: UInt64?) {
        self.total = total
        self.perUser = perUser
    }

    /// The most that counts for one session, in bytes: more than any machine has, and sums of it do not overflow.
    static let maxSession: UInt64 = 1 << 44

    /// What was granted.
    struct Usage: Hashable {
        /// To the session that asks.
        var session: UInt64 = 0
        /// To the user's other sessions.
        var others: UInt64 = 0
        /// To the sessions of other users.
        var otherUsers: UInt64 = 0

        /// To all sessions but the one that asks.
        var allOthers: UInt64 { others.saturatingSum(otherUsers) }
    }

    /// What prevents a session from having more.
    enum Obstacle: Hashable {
        case total
        case perUser
    }

    /// What a session may have altogether, and what prevents more.
    struct Decision: Hashable {
        /// Bytes, never less than the session has; nil for no limit.
        var granted: UInt64?
        /// Nil where the session has what it needs.
        var obstacle: Obstacle?
    }

    /// Decides on a session that needs `needed` bytes altogether and would rather have `wanted`.
    func decide(_ usage: Usage, needed: UInt64, wanted: UInt64) -> Decision {
        guard let total, let perUser else { return Decision(granted: nil, obstacle: nil) }
        func room(_ limit: UInt64, beside others: UInt64) -> UInt64 { limit - min(limit, others) }
        let ofUser = room(perUser, beside: usage.others)
        let ofAll = room(total, beside: usage.allOthers)
        let room = max(min(ofUser, ofAll), usage.session)
        if needed > room {
            return Decision(granted: usage.session, obstacle: ofUser <= ofAll ? .perUser : .total)
        }
        return Decision(granted: max(min(max(wanted, needed), room), usage.session), obstacle: nil)
    }

    /// Why a session of a user cannot have `needed` bytes, with the limit and its value.
    func reason(_ obstacle: Obstacle, _ usage: Usage, uid: UInt32, needed: UInt64) -> String {
        let need = "the session needs \(SessionMemory.text(needed)) of memory"
        switch obstacle {
        case .total:
            let used = SessionMemory.text(usage.allOthers)
            return "\(need), and the others have \(used) of the \(SessionMemory.text(total ?? 0)) "
                + "that all sessions may have (MaxMemory)"
        case .perUser:
            let share = total == perUser ? "MaxMemory" : "half of MaxMemory"
            return "\(need), and the other sessions of user \(uid) have \(SessionMemory.text(usage.others)) of the "
                + "\(SessionMemory.text(perUser ?? 0)) that one user may have (\(share))"
        }
    }
}

extension UInt64 {
    /// The sum, or the largest number where it overflows.
    func saturatingSum(_ other: UInt64) -> UInt64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }
}
