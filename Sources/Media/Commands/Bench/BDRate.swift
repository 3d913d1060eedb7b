// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// Bjøntegaard's delta rate (ITU-T VCEG-M33), with the piecewise cubic interpolation of JVET's common test conditions.
enum BDRate {
    /// A coded stream: its bits per second and its quality, where more is better.
    struct Point: Hashable {
        var rate: Double
        var quality: Double
    }

    /// How many percent more bits `test` needs than `reference`, on average over the qualities that both have.
    ///
    /// The logarithms of rates are interpolated over quality by monotone cubic polynomials (Fritsch and Carlson).
    ///
    /// - Returns: nil where a curve has fewer than two points, its quality does not rise with the rate, or the qualities do
    ///   not overlap.
    static func percent(_ test: [Point], against reference: [Point]) -> Double? {
        guard let first = Curve(test), let second = Curve(reference) else { return nil }
        let (low, high) = (max(first.low, second.low), min(first.high, second.high))
        guard low < high else { return nil }
        let difference = (first.integral(low, high) - second.integral(low, high)) / (high - low)
        return (pow(10, difference) - 1) * 100
    }

    /// The logarithm of the rate over quality.
    private struct Curve {
        private let x: [Double]
        private let y: [Double]
        private let slopes: [Double]

        var low: Double { x[0] }
        var high: Double { x[x.count - 1] }

        init?(_ points: [Point]) {
            let sorted = points.sorted { $0.rate < $1.rate }
            guard sorted.count >= 2, sorted.allSatisfy({ $0.rate > 0 && $0.rate.isFinite && $0.quality.isFinite }),
                zip(sorted, sorted.dropFirst()).allSatisfy({ $0.quality < $1.quality })
            else { return nil }
            x = sorted.map(\.quality)
            y = sorted.map { log10($0.rate) }
            slopes = Self.slopes(x, y)
        }

        /// The derivatives at the points.
        private static func slopes(_ x: [Double], _ y: [Double]) -> [Double] {
            let steps = zip(x, x.dropFirst()).map { $1 - $0 }
            let rises = zip(zip(y, y.dropFirst()), steps).map { ($0.1 - $0.0) / $1 }
            guard rises.count > 1 else { return [rises[0], rises[0]] }
            let inner = (1..<rises.count).map { index -> Double in
                let (left, right) = (rises[index - 1], rises[index])
                guard left * right > 0 else { return 0 }
                let weights = (
                    2 * steps[index] + steps[index - 1], steps[index] + 2 * steps[index - 1]
                )
                return (weights.0 + weights.1) / (weights.0 / left + weights.1 / right)
            }
            let last = rises.count - 1
            return [end(steps[0], steps[1], rises[0], rises[1])] + inner
                + [end(steps[last], steps[last - 1], rises[last], rises[last - 1])]
        }

        /// The derivative at an end, from three points, limited so that the curve keeps its shape.
        private static func end(_ step: Double, _ next: Double, _ rise: Double, _ nextRise: Double) -> Double {
            let slope = ((2 * step + next) * rise - step * nextRise) / (step + next)
            if slope * rise <= 0 { return 0 }
            if rise * nextRise <= 0, abs(slope) > 3 * abs(rise) { return 3 * rise }
            return slope
        }

        /// The integral from one quality to another, both within the curve.
        func integral(_ from: Double, _ to: Double) -> Double {
            (0..<x.count - 1).reduce(0) { sum, index in
                let (start, end) = (max(from, x[index]), min(to, x[index + 1]))
                guard start < end else { return sum }
                return sum + primitive(index, end) - primitive(index, start)
            }
        }

        /// The integral of a segment's polynomial from its beginning.
        private func primitive(_ index: Int, _ place: Double) -> Double {
            let step = x[index + 1] - x[index]
            let t = (place - x[index]) / step
            let (first, second) = (slopes[index] * step, slopes[index + 1] * step)
            let rise = y[index + 1] - y[index]
            // y + first t + (3 rise - 2 first - second) t^2 + (first + second - 2 rise) t^3
            let quadratic = 3 * rise - 2 * first - second
            let cubic = first + second - 2 * rise
            return step * t * (y[index] + t * (first / 2 + t * (quadratic / 3 + t * cubic / 4)))
        }
    }
}
