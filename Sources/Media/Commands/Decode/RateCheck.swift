// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// Counts frames whose times a file with one frame rate, such as Y4M, cannot express.
struct RateCheck {
    /// The rate that the file has.
    let rate: Rational
    /// Frames that do not follow the one before by the rate's period.
    private(set) var irregularFrames = 0
    /// Seconds between frames.
    private let period: Double
    /// Seconds by which a frame's distance from the one before may differ from `period`.
    private let tolerance: Double
    /// Seconds per tick of the timestamps.
    private let tick: Double
    private var last: Int64?

    /// nil where the video has no times.
    init?(_ reader: MediaReader, isUsed: Bool) {
        let video = reader.video
        guard isUsed, !reader.isUntimed, let rate = video.averageFrameRate ?? video.baseFrameRate, rate.value > 0
        else {
            return nil
        }
        self.rate = rate
        period = 1 / rate.value
        tick = video.timeBase.value
        // Times that are rounded to ticks differ by up to one; average rates are rounded as well.
        tolerance = max(1.01 * tick, 0.05 * period)
    }

    /// Counts a frame with presentation time `pts`, in ticks, if it is irregular; call it in output order.
    mutating func add(_ pts: Int64) {
        defer { last = pts }
        guard let last else { return }
        if (Double(pts - last) * tick - period).magnitude > tolerance { irregularFrames += 1 }
    }

    /// A warning about the frames; nil where all are regular.
    func warning(_ output: String) -> String? {
        guard irregularFrames > 0 else { return nil }
        return "warning: \(irregularFrames) frames are not spaced at \(rate) per second, the only frame rate that "
            + "\(output == "-" ? "Y4M" : output) can store: their timing is lost"
    }
}
