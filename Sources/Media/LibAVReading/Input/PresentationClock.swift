// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDMetadata
internal import HWDModel

/// Assigns ascending timestamps to frames: the file's or, where it has none, those of its frame rate.
public struct PresentationClock: Sendable {
    private let isUntimed: Bool
    private let ticksPerFrame: Int64
    private let secondsPerTick: Double
    /// The last assigned timestamp.
    public private(set) var last: Int64?

    /// A clock for a stream; in `isUntimed` streams (raw `.hevc`) one tick is one frame.
    init(_ video: VideoDescription, isUntimed: Bool) {
        self.isUntimed = isUntimed
        secondsPerTick = video.timeBase.value
        let rate = (video.averageFrameRate ?? video.baseFrameRate)?.value ?? 0
        let ticks = rate > 0 ? (1 / (rate * secondsPerTick)).rounded() : 0
        ticksPerFrame = isUntimed ? 1 : ticks < 1e9 ? Int64(ticks) : 0
    }

    /// The timestamp and duration of the next frame, and whether the file's timestamp was replaced.
    ///
    /// - Parameter filePTS: the file's timestamp; nil where it has none.
    public mutating func stamp(
        _ filePTS: Int64?, duration: Int64, index: Int
    ) -> (pts: Int64, duration: Int64, isRepaired: Bool) {
        stamp(filePTS ?? clibav_no_pts(), duration: duration, index: index)
    }

    /// The same with libavutil's value for "no timestamp".
    mutating func stamp(
        _ filePTS: Int64, duration: Int64, index: Int
    ) -> (pts: Int64, duration: Int64, isRepaired: Bool) {
        if isUntimed {
            last = Int64(index)
            return (Int64(index), 1, false)
        }
        let length = duration > 0 && duration < 1 << 40 ? duration : ticksPerFrame
        // Half of the bound is left for derived timestamps that follow.
        let isUsable = filePTS != clibav_no_pts() && Ticks.isPossible(filePTS) && Ticks.isPossible(2 * filePTS)
        let derived = last.map { $0 + max(1, ticksPerFrame) } ?? 0
        var pts = isUsable ? filePTS : derived
        var isRepaired = false
        if let last, pts <= last {
            pts = last + 1
            isRepaired = true
        }
        last = pts
        return (pts, length, isRepaired)
    }

    /// A timestamp in seconds with two decimals.
    func seconds(_ pts: Int64?) -> String? {
        guard let pts, pts != clibav_no_pts() else { return nil }
        let hundredths = (Double(pts) * secondsPerTick * 100).rounded()
        guard hundredths.magnitude < 1e15 else { return nil }
        return "\(hundredths / 100)"
    }
}
