// SPDX-License-Identifier: GPL-2.0-or-later
import HWDTransport
import Testing

@testable import hwctl_media

/// When `hwctl encode --parallel` tries segments again.
@Suite struct RetryPauseTests {
    @Test func pausesGrowToThirtySeconds() {
        var (pause, time) = (RetryPause(), MonotonicTime(nanoseconds: 1))
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            #expect(pause.isOver(at: time))
            let begins = pause.begin(alone: false, at: time)
            #expect(begins)
            let end = time + .seconds(seconds)
            #expect(!pause.isOver(at: end + .nanoseconds(-1)) && pause.isOver(at: end))
            time = end
        }
    }

    @Test func processesThatFailTogetherShareAPause() {
        var (pause, time) = (RetryPause(), MonotonicTime(nanoseconds: 1))
        for alone in [false, false, true] {
            let begins = pause.begin(alone: alone, at: time)
            #expect(begins)
        }
        time = time + .seconds(1)
        #expect(pause.isOver(at: time))
    }

    @Test func threeFailuresAloneEndTheJob() {
        var (pause, time) = (RetryPause(), MonotonicTime(nanoseconds: 1))
        var results: [Bool] = []
        for alone in [true, false, true, false, true] {
            results.append(pause.begin(alone: alone, at: time))
            time = time + .seconds(30)
        }
        #expect(results == [true, true, true, true, false])
        pause.reset()
        results = [pause.begin(alone: true, at: time)]
        #expect(results == [true])
    }

    @Test func processesThatFailInTurnEndTheJob() {
        var (pause, time) = (RetryPause(), MonotonicTime(nanoseconds: 1))
        var count = 0
        while count < 2000, pause.begin(alone: false, at: time) {
            time = time + .seconds(30)
            count += 1
        }
        #expect(count == 1000)
    }
}
