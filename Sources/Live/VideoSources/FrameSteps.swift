// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDCapturing

/// Finds frames that a source of a fixed rate did not send: it counts those that it sends, so that no gap of numbers shows them.
package struct FrameSteps {
    /// Nanoseconds between frames; nil without a fixed rate.
    private let period: Double?
    private var before: (time: UInt64, number: UInt64)?
    private var last: (time: UInt64, number: UInt64)?

    package init(rate: CaptureRate? = nil) { period = rate.map { 1e9 / $0.perSecond } }

    /// A frame that came.
    ///
    /// A late frame is none that is missing: the frame behind it decides, which of a late one is no later itself.
    /// - Returns: how many are missing before the last one, and the time of the first of them; nil without any.
    package mutating func add(_ time: UInt64, _ number: UInt64?) -> (count: Int, time: UInt64)? {
        guard let period, let number else { return nil }
        defer { (before, last) = (last, (time, number)) }
        guard let before, let last, before.time < last.time, last.time < time, before.number < last.number,
            last.number < number
        else { return nil }
        // Those that gaps of numbers show are counted there.
        let lateness = Double(last.time - before.time) / period - Double(last.number - before.number)
        let remaining = Double(time - before.time) / period - Double(number - before.number)
        // What is missing behind the last frame is not counted before the next one.
        let missing = min(lateness, remaining)
        guard missing > 0.5 else { return nil }
        return (Int(min(1e4, missing.rounded())), min(last.time, before.time + UInt64(min(1e18, period))))
    }
}
