// SPDX-License-Identifier: MIT

/// Whether a picture's colors are multiplied by its alpha.
public enum AlphaChannelMode: String, CaseIterable, Hashable, Sendable {
    /// Colors are multiplied by alpha: fully transparent parts are black.
    case premultiplied
    /// Colors are independent of alpha.
    case straight
}

extension AlphaChannelMode {
    /// A video-range sample in this mode, from one in the other.
    ///
    /// It is multiplied by `alpha` of `opaque`, or divided, around `zero`: black for luma, no difference for
    /// chroma. Halves are rounded away from `zero`. Alpha 0 keeps no color, and divided values are clamped to the
    /// nominal range: at low alpha, rounding errors alone would exceed it by far.
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
