// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDModel
import HWDTransport
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

    @Test func optionsWithoutEffectAreRefused() throws {
        var options = VideoOutput.Options()
        options.refreshInterval = .milliseconds(8)
        try options.check()
        options.refreshInterval = .zero
        #expect(throws: ClientError.self) { try options.check() }
        options = VideoOutput.Options()
        options.size = (64, 64)
        #expect(throws: ClientError.self) { try options.check() }
        options.target = .init(pixelFormat: "AB4H")
        try options.check()
        options = VideoOutput.Options()
        options.conversion = .init()
        #expect(throws: ClientError.self) { try options.check() }
    }

    @Test func memoryThatNoPictureNeedsGoes() throws {
        let wakeUp = try EventFD()
        var pools = PicturePools()
        var buffers: [PixelBuffer] = []
        for _ in 0..<6 {
            buffers.append(try pools.next(.bgra8, width: 64, height: 64, slots: 2, wakes: wakeUp))
        }
        #expect(pools.poolCount == 3 && pools.shrink().isEmpty)
        buffers.removeLast(3)
        #expect(pools.shrink().isEmpty && pools.poolCount == 3)
        buffers = []
        #expect(pools.shrink().count == 2 && pools.poolCount == 1)
    }
}
