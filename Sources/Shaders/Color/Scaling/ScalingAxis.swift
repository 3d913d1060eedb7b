// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.ceil
import func Glibc.floor

/// The taps of one axis of a plane: target sample i is the sum of `taps` source samples from `first[i]` on.
public struct ScalingAxis: Hashable, Sendable {
    /// The first source sample of each target sample.
    public let first: [Int32]
    /// Source samples of a target sample.
    public let taps: Int
    /// Their weights, `taps` for each target sample; their sum is 1.
    public let weights: [Double]

    /// Weights below this do not change a code.
    private static let smallest = 1e-7

    /// Computes the taps of `count` target samples.
    ///
    /// - Parameters:
    ///   - step: source samples for a target sample; the filter widens where it is above 1.
    ///   - bounds: the source samples that are read. Beyond them the picture is mirrored at its edge, as in libzimg.
    ///   - center: the position of a target sample in the source, where source sample j covers j…j + 1.
    init(
        _ filter: ScalingOptions.Filter, count: Int, step: Double, in bounds: Range<Int>, center: (Int) -> Double
    ) {
        let width = max(1, step)
        let support = filter.support * width
        var rows: [(first: Int, weights: [Double])] = []
        rows.reserveCapacity(count)
        for index in 0..<count {
            let center = center(index)
            var all = [Double](repeating: 0, count: 0)
            let lowest = Int(floor(center - support - 0.5))
            let highest = Int(ceil(center + support - 0.5))
            let places = (lowest...highest).map { Self.mirrored($0, bounds) }
            let (low, high) = (places.min() ?? bounds.lowerBound, places.max() ?? bounds.lowerBound)
            all = [Double](repeating: 0, count: high - low + 1)
            for (offset, place) in places.enumerated() {
                all[place - low] += filter.weight((Double(lowest + offset) + 0.5 - center) / width)
            }
            let sum = all.reduce(0, +)
            all = all.map { $0 / sum }
            let begin = all.firstIndex { abs($0) > Self.smallest } ?? 0
            let end = all.lastIndex { abs($0) > Self.smallest } ?? 0
            rows.append((low + begin, Array(all[begin...end])))
        }
        let taps = rows.map(\.weights.count).max() ?? 1
        var first: [Int32] = []
        var weights = [Double](repeating: 0, count: count * taps)
        first.reserveCapacity(count)
        for (index, row) in rows.enumerated() {
            let place = max(bounds.lowerBound, min(row.first, bounds.upperBound - taps))
            first.append(Int32(place))
            for (offset, weight) in row.weights.enumerated() {
                weights[index * taps + row.first - place + offset] = weight
            }
        }
        (self.first, self.taps, self.weights) = (first, taps, weights)
    }

    private static func mirrored(_ place: Int, _ bounds: Range<Int>) -> Int {
        let inside =
            place < bounds.lowerBound
            ? 2 * bounds.lowerBound - 1 - place
            : place >= bounds.upperBound ? 2 * bounds.upperBound - 1 - place : place
        return min(max(inside, bounds.lowerBound), bounds.upperBound - 1)
    }
}
