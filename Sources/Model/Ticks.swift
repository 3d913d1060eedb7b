// SPDX-License-Identifier: MIT

/// What timestamps and durations may be, in ticks of whatever time base.
public enum Ticks {
    /// No timestamp has this magnitude: far from overflow, whatever is added up of them; 2⁵⁶ ns are two years.
    public static let bound: Int64 = 1 << 56

    /// Whether a timestamp can be counted with.
    public static func isPossible(_ time: Int64) -> Bool { time.magnitude < bound.magnitude }
}
