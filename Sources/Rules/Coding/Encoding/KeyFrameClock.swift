// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// Decides by presentation time when `MaxKeyFrameIntervalDuration` requires a key frame.
struct KeyFrameClock: Sendable {
    private let ticks: Double?
    private let timeBase: Rational
    private var anchorDistance = 1
    /// Ticks from one anchor to the next.
    private var anchorTicks = 0.0
    private var last: Int64?
    private var framesSince = 0

    /// - Parameters:
    ///   - seconds: from a key frame to the next; nil or 0 sets no limit.
    ///   - levels: the temporal levels, whose pattern a key frame in the middle of a group would break; nil for one.
    init(seconds: Double?, timeBase: Rational, levels: TemporalLevels? = nil) {
        ticks = seconds.flatMap { $0 > 0 ? $0 / timeBase.value : nil }
        self.timeBase = timeBase
        if let levels { change(levels) }
    }

    /// Sets the temporal levels from the next frame on.
    mutating func change(_ levels: TemporalLevels) {
        anchorDistance = levels.anchorDistance
        anchorTicks = levels.count > 1 ? Double(anchorDistance) / (levels.frameRate.value * timeBase.value) : 0
    }

    /// Whether a frame must be a key frame; `isForced` means that the client requested one.
    ///
    /// Key frames that the encoder inserts are not known here; they can only shorten the intervals.
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

    /// Whether the interval is over or, at the start of a group, will be before the next group.
    private func isOver(_ elapsed: Double, _ ticks: Double) -> Bool {
        if elapsed >= ticks { return true }
        // Presentation times are rounded by up to half a tick.
        return anchorDistance > 1 && framesSince % anchorDistance == 0 && elapsed + anchorTicks > ticks + 0.5
    }
}
