// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// Numbers and values as sentences of a receipt have them.
enum ReceiptText {
    /// Seconds with three decimals.
    static func time(_ seconds: Double) -> String { "\(DecimalText.text(seconds, 3)) s" }

    /// A duration in milliseconds.
    static func milliseconds(_ seconds: Double) -> String {
        let value = seconds.magnitude * 1000
        return "\(DecimalText.text(value, value < 10 ? 2 : 0)) ms"
    }

    /// `1 frame`, `2 frames`.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    /// The first times of a list.
    static func places(_ times: [Double], count: Int) -> String {
        guard let first = times.first else { return "" }
        return count == 1 ? "at \(time(first))" : "the first at \(time(first))"
    }

    /// Three code points and the range.
    static func color(_ color: ColorDescription) -> String {
        "\(points(color)), \(color.isFullRange ? "full" : "video") range"
    }

    /// Three code points.
    static func points(_ color: ColorDescription) -> String {
        color.isSpecified ? "\(color.primaries)/\(color.transfer)/\(color.matrix)" : "no tags"
    }
}
