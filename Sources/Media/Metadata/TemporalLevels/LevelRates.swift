// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDModel

import func Glibc.exp2
import func Glibc.log2

/// The number of pictures of each temporal level, and the frame rate when the levels above it are dropped.
package struct LevelRates: Hashable, Sendable {
    /// Pictures of each single level, from level 0 on.
    package private(set) var pictures: [Int] = []
    private var first: [Int64] = []
    private var last: [Int64] = []
    /// Whether pictures come without timestamps.
    package var isUntimed = false

    /// No pictures yet.
    package init() {}

    /// Counts the next picture in decoding order.
    package mutating func add(level: UInt8, time: Int64?) {
        while pictures.count <= Int(level) {
            pictures.append(0)
            first.append(.max)
            last.append(.min)
        }
        pictures[Int(level)] += 1
        guard let time, Ticks.isPossible(time) else { return }
        first[Int(level)] = min(first[Int(level)], time)
        last[Int(level)] = max(last[Int(level)], time)
    }

    /// The number of levels.
    package var count: Int { pictures.count }

    /// Pictures of the levels 0…`level`.
    package func total(_ level: Int) -> Int { pictures.prefix(level + 1).reduce(0, +) }

    /// Frames per second of the levels 0…`level`; nil when it cannot be derived.
    ///
    /// - Parameters:
    ///   - full: the rate of all levels. The others are expected to be whole fractions of it.
    ///   - tick: seconds per tick of the pictures' times.
    package func rate(_ level: Int, full: Rational?, tick: Double) -> Rational? {
        guard level >= 0, level < count else { return nil }
        if level == count - 1, let full { return full }
        if isUntimed { return full.flatMap { Self.divide($0, by: divisor(level)) } }
        guard let seen = hertz(level, tick: tick) else { return nil }
        if let full {
            let all = hertz(count - 1, tick: tick) ?? full.value
            let divisor = (all / seen).rounded()
            if (1...1024).contains(divisor), abs(all / seen / divisor - 1) < 0.05,
                let part = Self.divide(full, by: Int32(divisor))
            {
                return part
            }
        }
        return Rational(frameRate: seen)
    }

    /// The n for which every n-th picture is of the levels 0…`level`, from the numbers of pictures alone.
    ///
    /// Where they allow several, the power of two among them; 0 when there is none.
    private func divisor(_ level: Int) -> Int32 {
        let (all, seen) = (Double(total(count - 1) - 1), Double(total(level)))
        guard all > 0, seen > 1 else { return 0 }
        let (lower, upper) = (all / seen, all / (seen - 1))
        let power = exp2(log2(upper).rounded(.down))
        let found = power > lower ? power : upper.rounded(.down)
        return (1...1024).contains(found) ? Int32(found) : 0
    }

    /// The mean rate between the first and the last picture of the levels 0…`level`.
    private func hertz(_ level: Int, tick: Double) -> Double? {
        let start = first.prefix(level + 1).min() ?? .max
        let end = last.prefix(level + 1).max() ?? .min
        let intervals = total(level) - 1
        guard intervals > 0, end > start, tick > 0 else { return nil }
        let rate = Double(intervals) / (Double(end - start) * tick)
        return (0.001...100_000).contains(rate) ? rate : nil
    }

    private static func divide(_ rate: Rational, by divisor: Int32) -> Rational? {
        guard divisor > 0 else { return nil }
        if rate.numerator % divisor == 0 { return Rational(rate.numerator / divisor, rate.denominator) }
        let (denominator, isTooLarge) = rate.denominator.multipliedReportingOverflow(by: divisor)
        return isTooLarge ? nil : Rational(rate.numerator, denominator)
    }
}
