// SPDX-License-Identifier: MIT
package import HWClient
internal import HWDTransport

extension CaptureQueue {
    /// Frames of one format, and the pool that they are copied to.
    package final class Stage: Sendable {
        package let format: CaptureFormat
        package let copy: FrameCopy
        package let pool: FramePool
        /// The most frames that wait.
        let depth: Int
        /// Whether the last frame is held for what repeats it.
        let keepsLast: Bool
        /// Seconds of a frame; 0 without a rate.
        let period: Double

        init(
            _ format: CaptureFormat, _ copy: FrameCopy, held: Int, depth: Int, isConstant: Bool, keepsNewest: Bool
        ) throws(SystemError) {
            (self.format, self.copy, self.depth) = (format, copy, depth)
            keepsLast = isConstant || format.rate == nil
            period = format.rate.map { 1 / $0.perSecond } ?? 0
            // Where frames are repeated, one is kept, and a slot is spare for one that is dropped.
            let kept = (keepsLast ? 2 : 0) + (keepsNewest ? 1 : 0)
            pool = try FramePool(
                slotSize: copy.slotSize,
                slotCount: CaptureQueue.slotCount(copy.slotSize, wanted: depth + held + kept, fewest: 2 + kept))
        }
    }
}

extension CaptureQueue.Counts {
    /// Counts the frames that a gap of the source's numbers shows, before the frame of a time.
    package mutating func noteGap(_ sequence: UInt64?, _ last: inout UInt64?, at seconds: Double, period: Double) {
        guard let sequence else { return }
        defer { (last, lastTime) = (sequence, seconds) }
        // A number that jumps by more was reset.
        guard let last, sequence > last + 1, sequence - last <= CaptureQueue.longestGap else { return }
        let lost = Int(sequence - last - 1)
        captured += lost
        // Evenly between the two that came.
        let step = max(0, seconds - lastTime) / Double(lost + 1)
        log.add(lost, at: max(0, seconds - step * Double(lost)), step: step, .source, period: period)
    }

    /// Counts frames that the source has reported as lost.
    package mutating func noteLoss(_ count: Int, at seconds: Double, cause: String, period: Double) {
        let isDamage = cause == DropCause.damaged.rawValue
        captured += count
        log.add(
            count, at: seconds, isDamage ? .damaged : .source, detail: isDamage ? nil : cause, period: period)
    }

    package mutating func noteInterruption(at seconds: Double, seconds duration: Double) {
        interruptions.append((seconds, duration))
    }
}

extension CaptureRate {
    /// The number of the frame that is nearest to a time in nanoseconds.
    package func tick(_ time: UInt64) -> UInt64 { UInt64((Double(time) * perSecond / 1e9).rounded()) }

    /// The time of a frame in nanoseconds.
    package func time(_ tick: UInt64) -> UInt64 { UInt64((Double(tick) * 1e9 / perSecond).rounded()) }
}
