// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser

/// A segment among others, as `--segment 2/32` names it.
struct SegmentNumber: ExpressibleByArgument, Hashable, CustomStringConvertible {
    /// The most segments of a video.
    static let maxCount = 100_000

    /// From 1.
    let number: Int
    /// The number of segments that was requested.
    let count: Int

    /// Parses `k/n`; nil for other text, and where `k` is not from 1 to `n`.
    init?(argument: String) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let number = parts[0], let count = parts[1], (1...Self.maxCount).contains(count),
            (1...count).contains(number)
        else { return nil }
        (self.number, self.count) = (number, count)
    }

    var description: String { "\(number)/\(count)" }
}
