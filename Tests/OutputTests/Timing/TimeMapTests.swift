// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWOutput

@Suite struct TimeMapTests {
    @Test func itemTimesFollowTheRate() {
        var map = TimeMap()
        map.setRate(-1_500_000, at: 50)
        #expect(map.item(at: 1_000) == 0)
        map.start(at: 100)
        #expect(map.item(at: 103) == -5)
        map.setRate(2_000_000, at: 103)
        #expect(map.item(at: 104) == -3)
        map.hold(at: 40)
        #expect(map.item(at: 1_000) == 40)
        map.start(at: 200)
        #expect(map.item(at: 210) == 60)
    }

    @Test func refreshIntervalsHaveLimits() {
        for wrong in [Duration.zero, .seconds(-1), .seconds(3600), .seconds(Int64.max), .seconds(Int64.min)] {
            #expect(RefreshGrid(wrong) == nil, "\(wrong)")
        }
        #expect(RefreshGrid(.milliseconds(8))?.nanoseconds == 8_000_000)
    }
}
