// SPDX-License-Identifier: MIT

/// One of how many frames is recorded, where the encoder does not keep up.
///
/// Times are seconds of the recording.
package struct ReducedRate: Sendable {
    /// One of so many frames is recorded.
    package private(set) var divisor = 1
    private var recent = RecentDrops()
    private var lastChange = -Self.settlingTime
    private var lastDrop = 0.0
    /// Without a dropped frame for so long, the rate is doubled again; longer after each time, so that it settles.
    private var quietTime = 10.0

    /// Seconds after a change in which the queue may still have the frames of before.
    private static let settlingTime = 2.0
    private static let greatestDivisor = 16

    package init() {}

    /// Notes a frame that is not left out for the rate.
    package mutating func note(frame time: Double) { recent.note(frame: time) }

    /// Whether the rate is doubled with a frame that arrives, because none was dropped for a while.
    package mutating func recovers(at time: Double) -> Bool {
        guard divisor > 1, time >= max(lastChange, lastDrop) + quietTime else { return false }
        quietTime *= 2
        change(to: divisor / 2, at: time)
        return true
    }

    /// Notes a frame that is dropped for want of room.
    /// - Parameter rate: frames a second of the source; nil for one that sends only what changes.
    /// - Returns: whether the rate is halved with it.
    package mutating func note(drop time: Double, rate: Double?) -> Bool {
        lastDrop = time
        guard time >= lastChange + Self.settlingTime else { return false }
        recent.note(drop: time)
        guard divisor < Self.greatestDivisor, recent.isTooMany(rate: rate.map { $0 / Double(divisor) }) else {
            return false
        }
        change(to: divisor * 2, at: time)
        return true
    }

    private mutating func change(to divisor: Int, at time: Double) {
        (self.divisor, lastChange, recent) = (divisor, time, RecentDrops())
    }
}
