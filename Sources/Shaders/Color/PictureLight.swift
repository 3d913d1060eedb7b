// SPDX-License-Identifier: GPL-2.0-or-later

/// A summary of a picture's light, as PQ codes of 12 bits.
public struct PictureLight: Hashable, Sendable {
    /// The least code.
    public var min: Int
    /// The code that 99.9 % of the picture do not exceed: single bright pixels do not darken the rest.
    public var max: Int
    /// The greatest code.
    public var peak: Int
    /// The mean of codes.
    public var average: Double
    /// The standard deviation of codes.
    public var deviation: Double

    /// Summarizes how often each code occurs; all 0 for an empty picture.
    public init(counts: Span<UInt32>) {
        var (total, sum, squares) = (0.0, 0.0, 0.0)
        var (first, last): (Int?, Int) = (nil, 0)
        for code in counts.indices where counts[code] > 0 {
            let (count, value) = (Double(counts[code]), Double(code))
            total += count
            sum += count * value
            squares += count * value * value
            first = first ?? code
            last = code
        }
        min = first ?? 0
        peak = last
        average = total > 0 ? sum / total : 0
        deviation = total > 0 ? Swift.max(0, squares / total - average * average).squareRoot() : 0
        var (above, code) = (0.0, last)
        while code > min, above + Double(counts[code]) <= total * 0.001 {
            above += Double(counts[code])
            code -= 1
        }
        max = code
    }
}

/// Finds the first picture of each shot by jumps of brightness: pictures of one shot have nearly the same distribution of
/// codes.
public struct ShotDetector: Sendable {
    /// Bins of the distribution.
    private static let bins = 64
    /// The least distance of a jump; pictures of a shot rarely differ by 0.1, even in motion.
    private static let minDistance: Float = 0.25
    /// The least ratio to the recent mean, which is large in fades and flicker.
    private static let minRatio: Float = 4

    private var last = [Float](repeating: 0, count: bins)
    private var current = [Float](repeating: 0, count: bins)
    private var recent: Float = 0
    private var isFirst = true

    public init() {}

    /// Whether the picture starts a shot, as the first one does.
    ///
    /// - Parameter counts: how often each code occurs.
    public mutating func startsShot(counts: Span<UInt32>) -> Bool {
        var total: Float = 0
        for bin in 0..<Self.bins { current[bin] = 0 }
        for code in counts.indices {
            let count = Float(counts[code])
            current[code * Self.bins / counts.count] += count
            total += count
        }
        var distance: Float = 0
        for bin in 0..<Self.bins {
            current[bin] /= Swift.max(total, 1)
            distance += abs(current[bin] - last[bin]) / 2
        }
        swap(&current, &last)
        if isFirst {
            isFirst = false
            return true
        }
        let isJump = distance >= Self.minDistance && distance >= Self.minRatio * recent
        // A jump restarts the mean.
        recent = isJump ? 0 : recent * 0.75 + distance * 0.25
        return isJump
    }
}
