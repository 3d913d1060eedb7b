// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// When `MaxKeyFrameIntervalDuration` asks for a key frame: by presentation time, whatever the frame rate does.
struct KeyFrameClock: Sendable {
    private let ticks: Double?
    private let groupSize: Int
    /// Ticks of a group.
    private let groupTicks: Double
    private var last: Int64?
    private var framesSince = 0

    /// - Parameters:
    ///   - seconds: from a key frame to the next; nil or 0 sets no limit.
    ///   - levels: whose rhythm a key frame in the middle of a group would break; nil for one level.
    init(seconds: Double?, timeBase: Rational, levels: TemporalLevels? = nil) {
        ticks = seconds.flatMap { $0 > 0 ? $0 / timeBase.value : nil }
        groupSize = levels?.groupSize ?? 1
        groupTicks = levels.map { Double($0.groupSize) / ($0.frameRate.value * timeBase.value) } ?? 0
    }

    /// Whether a frame must be a key frame; `isForced` tells that it is one anyway.
    ///
    /// The encoder's own key frames are not known here: they can only make the intervals shorter.
    mutating func isDue(pts: Int64, isForced: Bool) -> Bool {
        guard let ticks else { return isForced }
        guard let last, !isForced, !isOver(Double(pts) - Double(last), ticks) else {
            self.last = pts
            framesSince = 1
            return true
        }
        framesSince += 1
        return false
    }

    /// Whether it is time: at the start of a group also when it will be before the next starts.
    private func isOver(_ elapsed: Double, _ ticks: Double) -> Bool {
        if elapsed >= ticks { return true }
        // Half a tick's rounding of presentation times is no reason.
        return groupSize > 1 && framesSince % groupSize == 0 && elapsed + groupTicks > ticks + 0.5
    }
}
