// SPDX-License-Identifier: GPL-2.0-or-later
internal import Model

/// When `MaxKeyFrameIntervalDuration` asks for a key frame: by presentation time, whatever the frame rate does.
struct KeyFrameClock: Sendable {
    private let ticks: Double?
    private var last: Int64?

    /// - Parameter seconds: from a key frame to the next; nil or 0 sets no limit.
    init(seconds: Double?, timeBase: Rational) {
        ticks = seconds.flatMap { $0 > 0 ? $0 / timeBase.value : nil }
    }

    /// Whether a frame must be a key frame; `isForced` tells that it is one anyway.
    ///
    /// The encoder's own key frames are not known here: they can only make the intervals shorter.
    mutating func isDue(pts: Int64, isForced: Bool) -> Bool {
        guard let ticks else { return isForced }
        guard let last, !isForced, Double(pts) - Double(last) < ticks else {
            self.last = pts
            return true
        }
        return false
    }
}
