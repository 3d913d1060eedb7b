// SPDX-License-Identifier: MIT
internal import func Glibc.exp
internal import func Glibc.log
internal import func Glibc.pow

/// Bits per second that pictures of a size need, from points between which it interpolates on logarithmic axes.
public struct RateTable: Codable, Hashable, Sendable {
    /// Frames per second of the points.
    public var frameRate: Double
    /// Twice the frames per second need 2 to this power as many bits.
    public var frameRateExponent: Double
    public var tenBitFactor: Double
    public var alphaFactor: Double
    /// Samples of a picture, and bits per second; both ascending.
    public var points: [[Int64]]

    enum CodingKeys: String, CodingKey, CaseIterable {
        case points
        case frameRate = "frame_rate"
        case frameRateExponent = "frame_rate_exponent"
        case tenBitFactor = "ten_bit_factor"
        case alphaFactor = "alpha_factor"
    }

    /// What is wrong with the table; nil where nothing is.
    var fault: String? {
        guard points.count >= 2, points.count <= 64, points.allSatisfy({ $0.count == 2 && $0[0] > 0 && $0[1] > 0 })
        else {
            return "rates: points are 2 to 64 pairs of positive numbers"
        }
        guard zip(points, points.dropFirst()).allSatisfy({ $0[0] < $1[0] && $0[1] <= $1[1] }) else {
            return "rates: points ascend"
        }
        guard frameRate > 0, (0...1).contains(frameRateExponent), (1...4).contains(tenBitFactor),
            (1...4).contains(alphaFactor)
        else { return "rates: frame_rate, its exponent or a factor is out of range" }
        return nil
    }

    /// The rate for pictures of a size, in thousands of bits per second; 30 frames per second where the rate is not known.
    ///
    /// - Returns: bits per second.
    public func bitsPerSecond(
        _ size: ExportPreset.Size, frameRate rate: Double?, bitDepth: Int = 8, alpha: Bool = false
    ) -> Int64 {
        let samples = log(Double(max(1, size.width * size.height)))
        let last = max(1, points.firstIndex { log(Double($0[0])) >= samples } ?? points.count - 1)
        let (low, high) = (points[last - 1], points[last])
        let (from, to) = (log(Double(low[0])), log(Double(high[0])))
        let share = (samples - from) / (to - from)
        var bits = exp(log(Double(low[1])) + share * (log(Double(high[1])) - log(Double(low[1]))))
        bits *= pow(max(1, rate ?? frameRate) / frameRate, frameRateExponent)
        if bitDepth > 8 { bits *= tenBitFactor }
        if alpha { bits *= alphaFactor }
        return max(1, Int64((min(bits, 1e9) / 1000).rounded())) * 1000
    }
}
