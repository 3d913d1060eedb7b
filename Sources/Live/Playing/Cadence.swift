// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDModel

/// For how many refreshes of a display each frame stays.
package struct Cadence: Equatable {
    /// Frames by their numbers of refreshes.
    package private(set) var frames: [Int: Int] = [:]
    private var shownAt: Int?

    package init() {}

    /// A frame is shown from a refresh on.
    package mutating func show(at refresh: Int) {
        end(at: refresh)
        shownAt = refresh
    }

    /// Nothing is shown from a refresh on.
    package mutating func end(at refresh: Int) {
        if let shownAt, refresh > shownAt { frames[refresh - shownAt, default: 0] += 1 }
        shownAt = nil
    }

    package static func == (a: Self, b: Self) -> Bool { a.frames == b.frames }
}

/// The refreshes of a display, from host time 0 on.
package struct Refreshes: Sendable {
    /// In Hz.
    package let rate: Rational

    package init(rate: Rational) { self.rate = rate }

    /// Nanoseconds of a refresh, rounded down.
    package func time(_ number: Int) -> Int64 {
        Int64(Int128(number) * 1_000_000_000 * Int128(rate.denominator) / Int128(max(1, rate.numerator)))
    }
}

/// What an ideal display shows of a video, by the times of its frames alone.
package struct IdealPlay {
    /// The frames' times in ticks, in order.
    package var times: [Int64]
    package var timeBase: Rational
    /// The item time at the first refresh of those that count, in nanoseconds.
    package var start: Int64
    /// Millionths.
    package var rate: Int64
    package var refreshes: Refreshes

    package init(times: [Int64], timeBase: Rational, start: Int64, rate: Int64, refreshes: Refreshes) {
        (self.times, self.timeBase, self.start) = (times, timeBase, start)
        (self.rate, self.refreshes) = (rate, refreshes)
    }

    /// At each of some refreshes the last frame at or before its time, 0.1 ms of tolerance included.
    package func cadence(_ range: Range<Int>) -> Cadence {
        var cadence = Cadence()
        var shown = -1
        for refresh in range {
            let moved = Int128(refreshes.time(refresh) - refreshes.time(range.lowerBound)) * Int128(rate)
            // Rounded down, also in reverse.
            let whole = moved >= 0 ? moved / 1_000_000 : -((-moved + 999_999) / 1_000_000)
            let index = last(atOrBefore: Int128(start) + whole + (rate < 0 ? -100_000 : 100_000))
            if index >= 0, index != shown {
                cadence.show(at: refresh)
                shown = index
            }
        }
        cadence.end(at: range.upperBound)
        return cadence
    }

    /// The index of the last frame at or before a time in nanoseconds; −1 before the first.
    private func last(atOrBefore time: Int128) -> Int {
        let (scale, limit) = (Int128(timeBase.numerator) * 1_000_000_000, time * Int128(timeBase.denominator))
        var (low, high) = (0, times.count)
        while low < high {
            let middle = (low + high) / 2
            if Int128(times[middle]) * scale <= limit { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }
}
