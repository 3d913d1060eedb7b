// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWOutput

@Suite struct OutputStateTests {
    @Test func whoGivesUpIsForgotten() throws {
        let state = try OutputState(try #require(Rational(1, 30)), VideoOutput.Options())
        for _ in 0..<3 {
            guard case .waits(let reason, let waiter) = state.ask(at: 0, registering: true) else {
                Issue.record("a frame of nothing")
                return
            }
            #expect(waiter != nil && state.look { $0.waiters.count } == 1)
            #expect(state.giveUp(reason, waiter).reason == .seeking)
        }
        #expect(state.look { $0.waiters.isEmpty })
    }
}
