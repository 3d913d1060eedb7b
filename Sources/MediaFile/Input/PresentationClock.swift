// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDModel

/// Gives every frame a timestamp after the one before, from what the file says or, where it is silent, its rate.
public struct PresentationClock: Sendable {
    private let isUntimed: Bool
    private let ticksPerFrame: Int64
    private let secondsPerTick: Double
    /// The timestamp given last.
    public private(set) var last: Int64?

    /// A clock for a stream; `isUntimed` streams (raw `.hevc`) count frames in a time base that is one over the rate.
    init(_ video: VideoDescription, isUntimed: Bool) {
        self.isUntimed = isUntimed
        secondsPerTick = video.timeBase.value
        let rate = (video.averageFrameRate ?? video.baseFrameRate)?.value ?? 0
        let ticks = rate > 0 ? (1 / (rate * secondsPerTick)).rounded() : 0
        ticksPerFrame = isUntimed ? 1 : ticks < 1e9 ? Int64(ticks) : 0
    }

    /// The same of a frame whose timestamp may not be told.
    public mutating func stamp(
        _ told: Int64?, duration: Int64, index: Int
    ) -> (pts: Int64, duration: Int64, isRepaired: Bool) {
        stamp(told ?? clibav_no_pts(), duration: duration, index: index)
    }

    /// The timestamp and duration of the next frame, and whether the file's own timestamp could not be kept.
    mutating func stamp(
        _ told: Int64, duration: Int64, index: Int
    ) -> (pts: Int64, duration: Int64, isRepaired: Bool) {
        if isUntimed {
            last = Int64(index)
            return (Int64(index), 1, false)
        }
        let length = duration > 0 && duration < 1 << 40 ? duration : ticksPerFrame
        // Half of what is possible: those that are made up follow one that was told.
        let isTold = told != clibav_no_pts() && Ticks.isPossible(told) && Ticks.isPossible(2 * told)
        let follows = last.map { $0 + max(1, ticksPerFrame) } ?? 0
        var pts = isTold ? told : follows
        var isRepaired = false
        if let last, pts <= last {
            pts = last + 1
            isRepaired = true
        }
        last = pts
        return (pts, length, isRepaired)
    }

    /// A timestamp in seconds with two decimals, for people.
    func seconds(_ pts: Int64?) -> String? {
        guard let pts, pts != clibav_no_pts() else { return nil }
        let hundredths = (Double(pts) * secondsPerTick * 100).rounded()
        guard hundredths.magnitude < 1e15 else { return nil }
        return "\(hundredths / 100)"
    }
}
