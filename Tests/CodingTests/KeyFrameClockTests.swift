// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDCoding

@Suite struct KeyFrameClockTests {
    /// Key frames every 2 s by presentation time, with a gap and a forced one in between (time base 1/10 s).
    @Test func requestsKeyFramesByPresentationTime() {
        var clock = KeyFrameClock(seconds: 2, timeBase: Rational(1, 10) ?? Rational(1))
        let frames: [(pts: Int64, forced: Bool, due: Bool)] = [
            (5, false, true), (15, false, false), (24, false, false), (25, false, true), (30, true, true),
            (45, false, false), (49, false, false), (90, false, true), (91, false, false),
        ]
        for frame in frames {
            let isDue = clock.isDue(pts: frame.pts, isForced: frame.forced)
            #expect(isDue == frame.due, "pts \(frame.pts)")
        }
    }

    @Test func requestsOnlyForcedKeyFramesWithoutADuration() {
        var clock = KeyFrameClock(seconds: 0, timeBase: Rational(1))
        let due = [(0, false), (1_000_000, true), (Int64.max / 4, false)].map {
            clock.isDue(pts: $0.0, isForced: $0.1)
        }
        #expect(due == [false, true, false])
    }
}
