// SPDX-License-Identifier: MIT

/// The range of timestamps and durations, in units of any time base.
public enum Ticks {
    /// Timestamps are smaller in magnitude, so that sums of them do not overflow; 2⁵⁶ ns are two years.
    public static let bound: Int64 = 1 << 56

    /// Whether a timestamp is in range.
    public static func isPossible(_ time: Int64) -> Bool { time.magnitude < bound.magnitude }
}
