// SPDX-License-Identifier: MIT

/// A ratio of two integers: frame rates in Hz, time bases in seconds, aspect ratios.
public struct Rational: Hashable, Sendable, CustomStringConvertible {
    public let numerator: Int32
    /// Always positive.
    public let denominator: Int32

    /// A ratio in lowest terms; nil when the denominator is not positive.
    public init?(_ numerator: Int32, _ denominator: Int32) {
        guard denominator > 0 else { return nil }
        let divisor = Self.gcd(numerator.magnitude, UInt32(denominator))
        self.numerator = numerator / Int32(divisor)
        self.denominator = denominator / Int32(divisor)
    }

    /// Makes `value`/1.
    public init(_ value: Int32) {
        numerator = value
        denominator = 1
    }

    private init(unchecked numerator: Int32, _ denominator: Int32) {
        self.numerator = numerator
        self.denominator = denominator
    }

    /// The ratio nearest to `value` with a denominator of 1001 or of at most 1000; nil unless 0 < value < 2³¹ / 1001.
    ///
    /// 29.97 becomes 30000/1001, the rate that film and television mean by it.
    public init?(frameRate value: Double) {
        guard value.isFinite, value > 0, value < 2_145_000 else { return nil }
        let ntsc = (value * 1.001).rounded()
        if (value * 1000).rounded() != value.rounded() * 1000,
            ntsc >= 1, abs(ntsc / 1.001 - value) < 0.006
        {
            self.init(Int32(ntsc) * 1000, 1001)
        } else {
            self.init(Int32((value * 1000).rounded()), 1000)
        }
        if numerator == 0 { return nil }
    }

    /// Parses `numerator/denominator` or a decimal number.
    public init?(text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2 {
            guard let numerator = Int32(parts[0]), let denominator = Int32(parts[1]) else { return nil }
            self.init(numerator, denominator)
        } else if let whole = Int32(text) {
            self.init(whole)
        } else if let value = Double(String(text)) {
            self.init(frameRate: value)
        } else {
            return nil
        }
    }

    public var value: Double { Double(numerator) / Double(denominator) }

    /// The reciprocal; nil for 0 and negative ratios.
    public var inverse: Rational? {
        numerator > 0 ? Rational(unchecked: denominator, numerator) : nil
    }

    /// `numerator/denominator`.
    public var description: String { "\(numerator)/\(denominator)" }

    private static func gcd(_ a: UInt32, _ b: UInt32) -> UInt32 {
        var (a, b) = (a, b)
        while b != 0 { (a, b) = (b, a % b) }
        return max(a, 1)
    }
}
