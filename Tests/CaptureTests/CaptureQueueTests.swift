// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDCapturing
import HWDTransport
import Testing

/// A queue whose frames come at times of a test's choice.
private struct Feed {
    static let format = CaptureFormat(.raw(pixelFormat: "NV12"), width: 64, height: 64, rate: CaptureRate(100))
    let queue: CaptureQueue
    let planes = Planes(64 * 96)
    /// In the past, so that a test's times are not ahead of the clock.
    let begin = MonotonicTime.now.nanoseconds - 2_000_000_000

    init(_ format: CaptureFormat = format, limit: UInt64? = nil) throws {
        queue = try CaptureQueue(format, try #require(FrameCopy(format)), held: 4, limit: limit)
    }

    /// Sends a frame, by default in time.
    func send(_ number: UInt64, milliseconds: UInt64? = nil, short: Int = 0) {
        queue.frame(
            [planes.plane(0..<64 * 64, stride: 64), planes.plane(64 * 64..<64 * 96 - short, stride: 64)],
            at: begin + (milliseconds ?? number * 10) * 1_000_000, sequence: number)
    }

    /// Takes what waits, as an encoder that is fast enough does.
    func take() -> [UInt64] {
        var times: [UInt64] = []
        while let frame = queue.next() {
            times.append(frame.time)
            queue.pool.release(frame.slot)
        }
        return times
    }
}

struct CaptureQueueTests {
    @Test func framesKeepTheirTimes() throws {
        let feed = try Feed()
        for number in 0..<10 as Range<UInt64> { feed.send(number) }
        #expect(feed.take() == (0..<10).map { $0 * 10_000_000 })
        #expect(feed.queue.counts.captured == 10)
        #expect(feed.queue.counts.log.total == 0)
    }

    @Test func whatHasNoRoomIsDroppedAndNamed() throws {
        let feed = try Feed()
        for number in 0..<15 as Range<UInt64> { feed.send(number) }
        #expect(feed.take().count == CaptureQueue.depth)
        feed.send(15)
        #expect(feed.take() == [150_000_000])
        let counts = feed.queue.counts
        #expect(counts.captured == 16)
        #expect(counts.log.drops == [DropLog.Drop(time: 0.12, frames: 3, cause: .queue)])
    }

    @Test func skippedNumbersAreFramesOfTheSource() throws {
        let feed = try Feed()
        for number in [0, 1, 4, 5, 1_000_000, 1_000_001] as [UInt64] {
            feed.send(number, milliseconds: number > 9 ? number - 999_900 : nil)
        }
        let counts = feed.queue.counts
        // A number that jumps far was set anew.
        #expect(counts.captured == 8)
        #expect(counts.log.drops == [DropLog.Drop(time: 0.04, frames: 2, cause: .source)])
    }

    @Test func damagedFramesAndClocksThatStepBackAreCounted() throws {
        let feed = try Feed()
        feed.send(0)
        feed.send(1, short: 1)
        feed.send(2, milliseconds: 0)
        feed.send(3)
        #expect(feed.take() == [0, 30_000_000])
        #expect(feed.queue.counts.log.counts == [.damaged: 1, .clock: 1])
    }

    @Test func theDurationEndsBeforeItsTime() throws {
        let feed = try Feed(limit: 50_000_000)
        for number in 0..<9 as Range<UInt64> { feed.send(number) }
        #expect(feed.take().count == 5)
        #expect(feed.queue.counts.captured == 5)
        guard case .duration = feed.queue.end else { throw Unexpected() }
    }

    @Test func moreThanFivePercentHalveTheRateEvenly() throws {
        let feed = try Feed()
        // All frames are of the last 5 seconds.
        var log: [UInt64] = []
        func run(_ range: Range<UInt64>, stallingEvery interval: UInt64, of length: UInt64) {
            for number in range {
                feed.send(number, milliseconds: number * 2)
                if number % interval >= length { log += feed.take() }
            }
        }
        run(0..<400, stallingEvery: 400, of: 0)
        #expect(feed.queue.counts.halvings.isEmpty)
        // Stalls of 30 frames, of which 18 have no room.
        run(400..<700, stallingEvery: 100, of: 30)
        let halvings = feed.queue.counts.halvings
        #expect(halvings.map(\.divisor) == [2])
        log = []
        run(700..<800, stallingEvery: 100, of: 0)
        #expect(log.count == 50)
        #expect(Set(zip(log, log.dropFirst()).map { $1 - $0 }) == [4_000_000])
        #expect(feed.queue.counts.log.counts[.rate] ?? 0 >= 50)
    }

    @Test func theLastFrameIsSentAgain() throws {
        let format = CaptureFormat(.raw(pixelFormat: "NV12"), width: 64, height: 64, rate: nil)
        let feed = try Feed(format)
        feed.queue.repeatLast(at: feed.begin)
        #expect(feed.take().isEmpty)
        feed.send(0)
        feed.queue.repeatLast(at: feed.begin + 1_000_000_000)
        #expect(feed.take() == [0, 1_000_000_000])
        #expect(feed.queue.counts.repeated == 1)
        #expect(feed.queue.counts.captured == 1)
    }

    @Test func anotherFormatEndsTheRecording() throws {
        let feed = try Feed()
        feed.send(0)
        feed.queue.changed(Feed.format)
        #expect(feed.queue.end == nil)
        var other = Feed.format
        other.width = 128
        feed.queue.changed(other)
        feed.send(1)
        #expect(feed.take() == [0])
        guard case .changed(other) = feed.queue.end else { throw Unexpected() }
    }

    private struct Unexpected: Error {}
}

struct FrameCopyTests {
    @Test(arguments: ["H264", "YUYV", "YUY2", "XR24", "AR30", "", "YUVA"])
    func otherFormatsAreNotCopied(name: String) {
        #expect(FrameCopy(CaptureFormat(.raw(pixelFormat: name), width: 64, height: 64, rate: nil)) == nil)
    }

    @Test func manyDropsAreCountedWithoutEntries() {
        var log = DropLog()
        for number in 0..<30_000 { log.add(1, at: Double(number), .queue) }
        #expect(log.total == 30_000)
        #expect(log.isCut)
        #expect(log.drops.count == 10_000)
    }
}
