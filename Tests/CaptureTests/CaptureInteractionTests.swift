// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDTransport
import Testing

@testable import HWDCapturing

/// What pauses, repeats, sizes and stills do to each other.
struct CaptureInteractionTests {
    private static let screen = CaptureFormat(.raw(pixelFormat: "NV12"), width: 64, height: 64, rate: nil)
    private static let smallScreen = CaptureFormat(.raw(pixelFormat: "NV12"), width: 32, height: 32, rate: nil)
    private static let rate = CaptureRate(100)

    /// The number of the newest frame's picture, and when it was taken, in milliseconds.
    private func newest(_ feed: Feed) throws -> [UInt64] {
        let (frame, taken) = try #require(feed.queue.holdNewest())
        defer { frame.stage.pool.release(frame.slot) }
        return [UInt64(frame.stage.pool.bytes(of: frame.slot)[0]), (taken - feed.begin) / 1_000_000]
    }

    @Test func aTickIsSentOnceThoughAPauseBeginsWhileItsFrameIsCopied() throws {
        let feed = try Feed(constant: Self.rate)
        feed.send(0)
        let frame = try #require(feed.admit(1))
        #expect(feed.queue.pause(at: feed.time(30)) == feed.time(30))
        feed.queue.add(frame)
        #expect(feed.pictures() == [[0, 0], [0, 10], [0, 20], [0, 30]])
        #expect(feed.queue.counts.log.counts == [.rate: 1])
        _ = feed.queue.resume(at: feed.time(100))
        // It was taken before the pause, and is what is shown up to the next.
        feed.repeat(milliseconds: 110, isEnd: true)
        feed.send(2, milliseconds: 120)
        #expect(feed.pictures() == [[1, 40], [2, 50]])
        #expect(feed.queue.pool.freeCount == feed.queue.pool.slotCount - 1)
    }

    @Test func aTickIsSentOnceThoughItsFrameIsCopiedForLong() throws {
        let feed = try Feed(constant: Self.rate)
        feed.send(0)
        let frame = try #require(feed.admit(1))
        feed.repeat(milliseconds: 220)
        feed.queue.add(frame)
        feed.send(2, milliseconds: 230)
        let pictures = feed.pictures()
        #expect(pictures.map { $0[1] } == (0...23).map { $0 * 10 })
        #expect(pictures.map { $0[0] } == [0, 0, 0] + Array(repeating: 1, count: 20) + [2])
        #expect(feed.queue.counts.log.counts == [.rate: 1])
    }

    @Test func aFrameIsNotSentBehindARepeatedOne() throws {
        let feed = try Feed(Self.screen)
        feed.send(0)
        #expect(feed.pictures() == [[0, 0]])
        let frame = try #require(feed.admit(1))
        _ = feed.queue.pause(at: feed.time(400))
        feed.queue.add(frame)
        #expect(feed.pictures() == [[0, 400]])
        #expect(feed.queue.counts.log.counts == [.rate: 1])
        _ = feed.queue.resume(at: feed.time(1000))
        feed.repeat(milliseconds: 1100)
        #expect(feed.pictures() == [[1, 500]])
        #expect(feed.queue.pool.freeCount == feed.queue.pool.slotCount - 1)
    }

    /// What a screen shows after a pause came in it; a camera sends another picture.
    @Test(arguments: [(Feed.format, 1), (Self.screen, 3)] as [(CaptureFormat, UInt64)])
    func aConstantRateContinuesAfterAPause(format: CaptureFormat, shown: UInt64) throws {
        let feed = try Feed(format, constant: Self.rate)
        for number in 0..<2 as Range<UInt64> { feed.send(number) }
        #expect(feed.queue.pause(at: feed.time(24)) == feed.time(24))
        for number in 2..<4 as Range<UInt64> { feed.send(number, milliseconds: 10 + number * 10) }
        feed.repeat(milliseconds: 400)
        #expect(feed.pictures() == [[0, 0], [1, 10], [1, 20]])
        _ = feed.queue.resume(at: feed.time(60))
        feed.repeat(milliseconds: 300)
        feed.send(4, milliseconds: 130)
        #expect(feed.pictures() == (3..<9).map { [shown, $0 * 10] } + [[4, 90]])
        #expect(feed.queue.counts.captured == 3)
        #expect(feed.queue.counts.log.total == 0)
    }

    @Test func repeatsOfAConstantRateTakeNoRoomOfFrames() throws {
        let feed = try Feed(constant: Self.rate)
        for (number, time) in [(0, 0), (1, 300), (2, 310)] as [(UInt64, UInt64)] {
            feed.send(number, milliseconds: time)
        }
        #expect(feed.queue.counts.log.total == 0)
        #expect(feed.pictures().suffix(2) == [[1, 300], [2, 310]])
    }

    @Test func aSizeThatComesInAPauseIsRecordedAfterIt() throws {
        let feed = try Feed(Self.screen)
        let first = feed.queue.pool
        feed.send(0)
        #expect(feed.pictures() == [[0, 0]])
        _ = feed.queue.pause(at: feed.time(100))
        #expect(feed.pictures() == [[0, 100]])
        feed.queue.changed(Self.smallScreen)
        feed.send(1, milliseconds: 200, size: 32)
        #expect(first.freeCount == first.slotCount)
        _ = feed.queue.resume(at: feed.time(300))
        feed.repeat(milliseconds: 400)
        let frame = try #require(feed.queue.next())
        #expect(frame.stage.format == Self.smallScreen)
        #expect(frame.time / 1_000_000 == 200)
        #expect(frame.stage.pool.bytes(of: frame.slot)[0] == 1)
    }

    @Test func onlyAFormatWithoutARateIsRepeated() throws {
        let feed = try Feed(Self.screen)
        let first = feed.queue.pool
        feed.send(0)
        feed.queue.changed(Feed.format)
        feed.send(1)
        #expect(feed.pictures() == [[0, 0], [1, 10]])
        #expect(first.freeCount == first.slotCount)
        feed.repeat(milliseconds: 2000)
        feed.repeat(milliseconds: 2000, isEnd: true)
        #expect(feed.pictures().isEmpty)
        feed.queue.changed(Self.screen)
        feed.send(2, milliseconds: 3000)
        #expect(feed.pictures() == [[2, 3000]])
        feed.repeat(milliseconds: 4000)
        #expect(feed.pictures() == [[2, 4000]])
    }

    // MARK: - Before the first frame

    @Test func aScreenThatIsCopiedWhileAPauseEndsIsRecorded() throws {
        let feed = try Feed(Self.screen)
        _ = feed.queue.pause(at: feed.begin)
        let frame = try #require(feed.admit(7, milliseconds: 100))
        _ = feed.queue.resume(at: feed.time(300))
        feed.queue.add(frame)
        feed.repeat(milliseconds: 310)
        #expect(feed.queue.origin == feed.time(300))
        #expect(feed.pictures() == [[7, 0]])
    }

    @Test func aScreenThatArrivesBehindAPauseIsRecorded() throws {
        let feed = try Feed(Self.screen)
        _ = feed.queue.pause(at: feed.begin)
        _ = feed.queue.resume(at: feed.time(300))
        feed.repeat(milliseconds: 305)
        feed.send(7, milliseconds: 290, late: 20)
        feed.repeat(milliseconds: 310)
        #expect(feed.pictures() == [[7, 0]])
        #expect(feed.queue.counts.repeated == 1)
    }

    // MARK: - Stills

    @Test(arguments: [nil, Self.rate] as [CaptureRate?])
    func aChangeThatIsRecordedLaterIsTheNewest(constant: CaptureRate?) throws {
        let feed = try Feed(Self.screen, constant: constant, keepsNewest: true)
        feed.send(0)
        // Its clock stands still.
        feed.send(1, milliseconds: 0)
        #expect(try newest(feed) == [0, 0])
        _ = feed.take()
        feed.repeat(milliseconds: 310)
        #expect(feed.pictures().first?[0] == 1)
        #expect(try newest(feed) == [1, 0])
        feed.send(2, milliseconds: 500)
        #expect(try newest(feed) == [2, 500])
        _ = feed.take()
        // What repeats it, and what is held for stills.
        #expect(feed.queue.pool.freeCount == feed.queue.pool.slotCount - 1)
    }

    @Test func whatAResumedRecordingBeginsWithIsTheNewest() throws {
        let feed = try Feed(Self.screen, keepsNewest: true)
        _ = feed.queue.pause(at: feed.begin)
        feed.send(7, milliseconds: 100)
        #expect(feed.queue.holdNewest() == nil)
        _ = feed.queue.resume(at: feed.time(300))
        #expect(try newest(feed) == [7, 100])
    }

    @Test func theNewestFrameMayHaveAnotherSize() throws {
        let feed = try Feed(Self.screen, keepsNewest: true)
        let first = feed.queue.pool
        feed.send(0)
        feed.queue.changed(Self.smallScreen)
        feed.send(1, size: 32)
        let held = try #require(feed.queue.holdNewest())
        #expect(held.frame.stage.format == Self.smallScreen)
        held.frame.stage.pool.release(held.frame.slot)
        _ = feed.take()
        #expect(try newest(feed) == [1, 10])
        #expect(first.freeCount == first.slotCount)
        #expect(feed.queue.pool.freeCount == feed.queue.pool.slotCount - 1)
    }
}

/// Coded frames that come at times of a test's choice.
struct CopyQueueTests {
    private static let format = CaptureFormat(.coded(.h264), width: 64, height: 64, rate: CaptureRate(100))
    private let begin: UInt64 = 1_000_000_000_000

    private func time(_ milliseconds: UInt64) -> UInt64 { begin + milliseconds * 1_000_000 }

    private func send(_ queue: CopyQueue, _ number: UInt64, milliseconds: UInt64? = nil, bytes: Int = 8) {
        let time = time(milliseconds ?? number * 10)
        [UInt8](repeating: 1, count: bytes).withUnsafeBytes {
            queue.coded($0, isKeyFrame: number == 0, at: time, sequence: number, arrival: time)
        }
    }

    /// Takes what waits: times in milliseconds, and whether the frame before is there, too.
    private func take(_ queue: CopyQueue) -> [UInt64: Bool] {
        var units: [UInt64: Bool] = [:]
        while let unit = queue.next() { units[(unit.time - begin) / 1_000_000] = unit.isContinuous }
        return units
    }

    @Test func whatFollowsAPauseIsNotContinuous() throws {
        let queue = try CopyQueue(Self.format, limit: nil)
        for number in 0..<3 as Range<UInt64> { send(queue, number) }
        queue.begin(at: begin)
        // Not before the last frame.
        #expect(queue.pause(at: time(15)) == time(20) + CaptureQueue.shortestStep)
        #expect(queue.isPaused)
        for number in 3..<5 as Range<UInt64> { send(queue, number) }
        #expect(queue.resume(at: time(45)) == time(45))
        for number in 5..<7 as Range<UInt64> { send(queue, number) }
        #expect(take(queue) == [0: true, 10: true, 20: true, 50: false, 60: true])
        #expect(queue.elapsed(at: time(50)) == 25_000_000 + CaptureQueue.shortestStep)
        #expect(queue.counts.captured == 5)
        #expect(queue.counts.log.total == 0)
        #expect(queue.pauses(now: time(99)).count == 1)
    }

    @Test func aPauseIsNoWaitForAKeyFrame() throws {
        let queue = try CopyQueue(Self.format, limit: nil)
        #expect(queue.waited(at: time(10)) == nil)
        send(queue, 1)
        #expect(queue.waited(at: time(30)) == 20_000_000)
        #expect(queue.pause(at: time(30)) == time(30))
        #expect(queue.waited(at: time(60_000)) == 20_000_000)
        #expect(queue.resume(at: time(60_000)) == time(60_000))
        #expect(queue.waited(at: time(60_010)) == 30_000_000)
    }

    @Test func theDurationLeavesPausesOut() throws {
        let queue = try CopyQueue(Self.format, limit: 50_000_000)
        send(queue, 0)
        queue.begin(at: begin)
        #expect(queue.pause(at: time(5)) == time(5))
        #expect(queue.resume(at: time(25)) == time(25))
        for number in 1..<9 as Range<UInt64> { send(queue, number) }
        #expect(take(queue).keys.sorted() == [0, 30, 40, 50, 60])
        guard case .duration = queue.end else { throw Unexpected() }
    }

    @Test func whatHasNoRoomIsDropped() throws {
        let queue = try CopyQueue(Self.format, limit: nil)
        for number in 0..<70 as Range<UInt64> { send(queue, number, bytes: 1 << 20) }
        #expect(queue.counts.log.drops == [DropLog.Drop(time: 0, frames: 6, cause: .queue)])
        #expect(take(queue).count == 64)
        // One frame always has room.
        send(queue, 70, bytes: 65 << 20)
        send(queue, 71)
        #expect(take(queue) == [700: false])
        send(queue, 72)
        #expect(take(queue) == [720: false])
        #expect(queue.counts.captured == 73)
        #expect(queue.counts.log.counts == [.queue: 7])
    }

    @Test func aSourceThatIsBackBeginsAgain() throws {
        let queue = try CopyQueue(Self.format, limit: nil)
        send(queue, 100, milliseconds: 0)
        queue.begin(at: begin)
        queue.interrupted(from: time(0), to: time(500))
        send(queue, 0, milliseconds: 500)
        send(queue, 1, milliseconds: 510)
        #expect(take(queue) == [0: true, 500: false, 510: true])
        #expect(queue.counts.captured == 3)
        #expect(queue.counts.log.total == 0)
        #expect(queue.counts.interruptions.map(\.duration) == [0.5])
    }

    @Test func onlyAnotherCodecEndsTheRecording() throws {
        let queue = try CopyQueue(Self.format, limit: nil)
        var other = Self.format
        other.width = 128
        queue.changed(other)
        #expect(queue.end == nil)
        other.content = .coded(.hevc)
        queue.changed(other)
        guard case .changed(other) = queue.end else { throw Unexpected() }
    }

    private struct Unexpected: Error {}
}
