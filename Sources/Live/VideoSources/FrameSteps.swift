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
    /// - Returns: how many are missing before the last one; nil without any.
    package mutating func add(_ time: UInt64, _ number: UInt64?) -> Int? {
        guard let period, let number else { return nil }
        defer { (before, last) = (last, (time, number)) }
        guard let before, let last, time > before.time, number > before.number else { return nil }
        let first = Double(last.time) - Double(before.time)
        // Those that gaps of numbers show are counted there.
        let (counted, all) = (Double(number - before.number), Double(time - before.time) / period)
        guard first / period - Double(last.number - before.number) > 0.5, all - counted > 0.5 else { return nil }
        return Int(min(1e4, (all - counted).rounded()))
    }
}
