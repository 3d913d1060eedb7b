// SPDX-License-Identifier: MIT

/// Numbers in decimal notation, as messages have them.
public enum DecimalText {
    /// A number with `digits` decimals; `-` for one that is not finite or has more than 12 digits before the point.
    public static func text(_ value: Double, _ digits: Int) -> String {
        let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
        guard value.isFinite, value.magnitude < 1e12 else { return "-" }
        let scaled = Int((value.magnitude * scale).rounded())
        let fraction = String(scaled % Int(scale))
        let padded = String(repeating: "0", count: digits - min(digits, fraction.count)) + fraction
        return (value < 0 ? "-" : "") + "\(scaled / Int(scale))" + (digits > 0 ? ".\(padded)" : "")
    }
}
