// SPDX-License-Identifier: GPL-2.0-or-later
import HWDBoxes
import HWMovies
import Testing

@testable import HWCapture

struct CaptureSoundFeedTests {
    private static let origin: UInt64 = 50_000_000_000
    private let feed = CaptureSoundFeed(
        SoundTrackSettings(timeScale: 48_000, entry: Box("mp4a", [UInt8](repeating: 0, count: 28))))

    /// Sends packets of 1,000 ticks, whose times from the recording's begin are given in ticks.
    private func send(_ times: [Int64]) {
        for time in times {
            // A tick has 20,833.3 ns.
            let clock = Int64(Self.origin) + time * 62_500 / 3
            #expect(feed.send([1], duration: 1000, at: UInt64(clock), arrival: UInt64(clock)))
        }
    }

    private func written(until last: Int64 = .max) -> [Int64] {
        feed.packets(from: Self.origin, until: last).map(\.time)
    }

    @Test func packetsFollowOneAnotherThoughClocksDiffer() throws {
        #expect(!feed.send([1], duration: 1000, at: Self.origin))
        try feed.start()
        send([0, 1003, 1995, 3499, 4499])
        #expect(written() == [0, 1000, 2000, 3000, 4000])
        send([5490, 6000])
        #expect(written() == [5000, 6000])
        #expect(feed.counts == CaptureSession.Sound(packets: 7, dropped: 0, silence: 0))
        #expect(throws: CaptureError.self) { try feed.start() }
        feed.stop()
        #expect(!feed.send([1], duration: 1000, at: Self.origin))
        try feed.start()
    }

    @Test func gapsStayAndOverlapsAreDropped() throws {
        try feed.start()
        send([0, 1000, 5000, 5200, 5501, 7000])
        #expect(written() == [0, 1000, 5000, 6000, 7000])
        let counts = feed.counts
        #expect(counts.packets == 5 && counts.dropped == 1 && abs(counts.silence - 3000.0 / 48_000) < 1e-9)
    }

    @Test func whatADecoderNeedsOfTheTimeBeforeIsKept() throws {
        try feed.start()
        send([-40_000, -2000, -1000, 0, 1000])
        #expect(written(until: 1000) == [-1000, 0])
        #expect(feed.counts.packets == 2 && feed.counts.dropped == 0 && feed.counts.silence == 0)
    }

    @Test func onlyTheLastOfALongTimeBeforeWait() throws {
        try feed.start()
        send((-2000...0).map { $0 * 1000 })
        #expect(written() == [-1000, 0])
    }

    /// 50 s behind, ten seconds ahead, and more than the ticks of 32 and of 64 bits.
    @Test(arguments: [0, origin + 10_000_000_000, origin + 100_000_000_000_000, .max] as [UInt64])
    func aTimeThatCannotBeTrueIsThatOfTheArrival(stated: UInt64) throws {
        try feed.start()
        send([0, 1000])
        let arrival = Self.origin + 2000 * 62_500 / 3
        #expect(feed.send([1], duration: 1000, at: stated, arrival: arrival))
        send([3000, 4000])
        #expect(written() == [0, 1000, 2000, 3000, 4000])
        #expect(feed.counts == CaptureSession.Sound(packets: 5, dropped: 0, silence: 0))
    }

    @Test func pausesAreLeftOut() throws {
        try feed.start()
        send([0, 1000])
        // From 2,000 to 8,000 ticks.
        feed.pause(at: Self.origin + 41_666_000)
        send([2000, 3000, 7000])
        feed.resume(at: Self.origin + 166_666_667)
        send([8010, 9010])
        #expect(written() == [0, 1000, 2000, 3000])
        #expect(feed.counts.dropped == 0 && feed.counts.silence == 0)
    }
}
