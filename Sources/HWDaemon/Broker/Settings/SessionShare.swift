// SPDX-License-Identifier: GPL-2.0-or-later

/// How many sessions, as an administrator writes it: a number, or a share of the machine's processors.
enum SessionShare: Hashable, Sendable {
    case count(Int)
    case percent(Int)

    /// The number of sessions; a share is one at least.
    func resolved(processors: Int) -> Int {
        switch self {
        case .count(let count): count
        case .percent(let percent): max(processors * percent / 100, 1)
        }
    }
}
