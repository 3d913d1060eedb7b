// SPDX-License-Identifier: MIT

/// Whether a picture's colors are multiplied by its alpha.
public enum AlphaChannelMode: String, CaseIterable, Hashable, Sendable {
    /// Colors are multiplied by alpha: fully transparent parts are black.
    case premultiplied
    /// Colors are independent of alpha.
    case straight
}

extension AlphaChannelMode {
    /// Converts a video-range sample to this mode from the other.
    ///
    /// Its distance from `zero` is multiplied or divided by `alpha / opaque`; halves are rounded away from `zero`.
    /// Straight samples with alpha 0 become `zero`, and others are clamped to the nominal range, which rounding
    /// errors would exceed by far at low alpha.
    ///
    /// - Parameters:
    ///   - opaque: the largest alpha.
    ///   - zero: black for luma, the center for chroma.
    @inlinable
    public func converted(
        _ value: Int, alpha: Int, opaque: Int, zero: Int, nominal: ClosedRange<Int>
    ) -> Int {
        guard alpha > 0 || self == .premultiplied else { return zero }
        let (factor, divisor) = self == .premultiplied ? (alpha, opaque) : (opaque, alpha)
        let distance = ((value - zero).magnitude * UInt(factor) + UInt(divisor / 2)) / UInt(divisor)
        let result = value < zero ? zero - Int(distance) : zero + Int(distance)
        return self == .premultiplied ? result : min(max(result, nominal.lowerBound), nominal.upperBound)
    }
}
