// SPDX-License-Identifier: MIT

/// The frames of the last 5 seconds, and those that were dropped.
package struct RecentDrops: Sendable {
    private var frames: ArraySlice<Double> = []
    private var drops: ArraySlice<Double> = []

    package static let window = 5.0
    /// The share of dropped frames above which the rate is halved.
    package static let share = 0.05

    package init() {}

    package mutating func note(frame time: Double) {
        frames.append(time)
        while let first = frames.first, first <= time - Self.window { frames.removeFirst() }
        while let first = drops.first, first <= time - Self.window { drops.removeFirst() }
    }

    package mutating func note(drop time: Double) { drops.append(time) }

    /// Whether more than 5 % were dropped.
    /// - Parameter rate: of the source; a window that has not lasted 5 seconds counts as a whole one.
    package func isTooMany(rate: Double?) -> Bool {
        Double(drops.count) > Self.share * max(Double(frames.count), (rate ?? 10) * Self.window)
    }
}
