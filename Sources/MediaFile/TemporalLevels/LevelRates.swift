// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel

/// How many pictures each temporal level has, and how many a second are shown when the levels above it are dropped.
struct LevelRates: Hashable, Sendable {
    /// Pictures of each level alone, from level 0 on.
    private(set) var pictures: [Int] = []
    private var first: [Int64] = []
    private var last: [Int64] = []
    /// Whether pictures come without times.
    var isUntimed = false

    /// Nothing seen yet.
    init() {}

    /// Takes the next picture.
    mutating func add(level: UInt8, time: Int64?) {
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
    var count: Int { pictures.count }

    /// Pictures of the levels 0…`level`.
    func total(_ level: Int) -> Int { pictures.prefix(level + 1).reduce(0, +) }

    /// Pictures a second when the levels 0…`level` are shown; nil when that cannot be told.
    ///
    /// - Parameters:
    ///   - full: the rate of all levels, of which the others are whole parts in all but odd streams.
    ///   - tick: seconds a unit of time.
    func rate(_ level: Int, full: Rational?, tick: Double) -> Rational? {
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

    /// One picture in how many is of the levels 0…`level`, by their numbers: every n-th of them and the first; where the
    /// numbers allow several, a power of two.
    private func divisor(_ level: Int) -> Int32 {
        let (all, seen) = (Double(total(count - 1) - 1), Double(total(level)))
        guard all > 0, seen > 1 else { return 0 }
        let (least, most) = (all / seen, all / (seen - 1))
        let power = exp2(log2(most).rounded(.down))
        let found = power > least ? power : most.rounded(.down)
        return (1...1024).contains(found) ? Int32(found) : 0
    }

    /// Intervals over the time between the first and the last picture of the levels 0…`level`.
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
