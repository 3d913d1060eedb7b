// SPDX-License-Identifier: GPL-2.0-or-later

/// The part of a video that is kept, in microseconds of its time line.
///
/// It begins with the first picture at `start` or later, as ffmpeg's accurate seek does.
public struct TimeRange: Hashable, Sendable {
    /// Where the part ends.
    public enum End: Hashable, Sendable {
        /// With the input.
        case input
        /// Before pictures at this time and later.
        case time(Int64)
        /// So long after the time of its first picture.
        case duration(Int64)
    }

    public var start: Int64
    public var end: End

    /// The part from `start` to `end`.
    public init(start: Int64 = 0, end: End = .input) { (self.start, self.end) = (start, end) }

    /// The longest time, in microseconds: 1000 hours.
    private static let longest: Int64 = 3_600_000_000_000

    /// Parses seconds, `m:s` or `h:m:s`, with a fraction such as `1:02:03.5`; nil for other text and more than 1000 hours.
    public static func microseconds(_ text: String) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count) else { return nil }
        var total: Int64 = 0
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            guard let value = number(part, allowsFraction: isLast), index == 0 || value < 60_000_000 else {
                return nil
            }
            total = total * 60 + value
        }
        return total <= longest ? total : nil
    }

    /// Microseconds of decimal digits with up to nine behind the point.
    private static func number(_ text: Substring, allowsFraction: Bool) -> Int64? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let areDigits = parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { ("0"..."9").contains($0) } }
        guard areDigits, parts.count == 1 || allowsFraction && parts.count == 2, parts[0].count < 10,
            let whole = Int64(parts[0])
        else { return nil }
        guard parts.count == 2 else { return whole * 1_000_000 }
        guard parts[1].count < 10, let fraction = Double("0.\(parts[1])") else { return nil }
        return whole * 1_000_000 + Int64((fraction * 1_000_000).rounded())
    }

    /// Microseconds in seconds, with as many digits as they have.
    public static func seconds(_ microseconds: Int64) -> String {
        var digits = String(microseconds % 1_000_000 + 1_000_000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(microseconds / 1_000_000)\(digits.isEmpty ? "" : ".\(digits)") s"
    }
}

extension TimeRange {
    /// The range as items of `AskedChanges`.
    package var texts: [String] {
        func text(_ name: String, _ time: Int64) -> String { "\(name)=\(Self.seconds(time).dropLast(2))" }
        switch end {
        case .input: return [text("start", start)]
        case .time(let time): return [text("start", start), text("end", time)]
        case .duration(let length): return [text("start", start), text("duration", length)]
        }
    }
}
