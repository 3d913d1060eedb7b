// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCapturing

/// Times and numbers of a source's frames, as a sink can trust them: what comes from a driver or another process may jump.
package struct SourceClock {
    /// How old a frame can be, and how far its clock can be ahead, in nanoseconds.
    static let (oldest, newest): (Int64, Int64) = (5_000_000_000, 100_000_000)

    private var lastTime: UInt64?
    private var lastNumber: UInt64?
    private var sequence: UInt64 = 0
    private var damaged: UInt64 = 0

    package init() {}

    /// The time of a frame: its own where that can be true, else that of its arrival; always after the one before.
    ///
    /// - Parameters:
    ///   - stated: nanoseconds of CLOCK_MONOTONIC, if the source states any.
    ///   - arrival: the same clock, now.
    package mutating func time(stated: Int64?, arrival: Int64) -> UInt64 {
        var time = UInt64(max(0, arrival))
        if let stated, stated > 0, stated >= arrival - Self.oldest, stated <= arrival + Self.newest {
            time = UInt64(stated)
        }
        if let lastTime, time <= lastTime { time = max(UInt64(max(0, arrival)), lastTime + 1) }
        lastTime = time
        return time
    }

    /// The number of a frame without the jumps that are no loss, and without frames that were reported as damaged.
    ///
    /// - Parameter bits: those of the source's counter, which begins again after its last number.
    package mutating func number(_ number: UInt64, bits: Int = 64) -> UInt64 {
        sequence += advance(number, bits: bits)
        lastNumber = number
        return sequence - damaged
    }

    /// A frame that came, but that no sink gets: it is reported by another call than a gap in the numbers.
    package mutating func damaged(_ number: UInt64, bits: Int = 64) {
        sequence += advance(number, bits: bits)
        lastNumber = number
        damaged += 1
    }

    private func advance(_ number: UInt64, bits: Int) -> UInt64 {
        guard let lastNumber else { return 1 }
        let mask = bits >= 64 ? UInt64.max : 1 << UInt64(bits) - 1
        let step = (number &- lastNumber) & mask
        // A driver that does not count sends the same number always.
        return step == 0 || step > CaptureQueue.longestGap ? 1 : step
    }
}
