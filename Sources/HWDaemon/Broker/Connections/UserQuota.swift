// SPDX-License-Identifier: GPL-2.0-or-later

/// How many connections or sessions all users and each user may have at once.
///
/// The last ones are reserved, some for users who have none yet and some for root, so that a few users at their own limit
/// cannot lock out the others.
struct UserQuota: Hashable, Sendable {
    /// Of all users together.
    var total: Int
    /// Of one user.
    var perUser: Int

    /// Kept for root and for each user's first.
    var reservedCount: Int { reservedForFirst + reservedForRoot }
    private var reservedForFirst: Int { total / 8 }
    private var reservedForRoot: Int { total / 32 }

    /// What prevents one more.
    enum Obstacle: Hashable {
        /// All users together have `total`.
        case total
        /// What is left is kept for root, or for users who have none.
        case reserved
        /// The user has `perUser`.
        case perUser
    }

    /// What prevents one more of a user who has `own` of the `all` that there are; nil if nothing does.
    func obstacle(uid: UInt32, own: Int, all: Int) -> Obstacle? {
        if all >= total { return .total }
        if own >= perUser { return .perUser }
        if uid == 0 { return nil }
        let kept = own == 0 ? reservedForRoot : reservedCount
        return all >= total - kept ? .reserved : nil
    }
}
