// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDCapturing
import HWDTransport
import Testing

/// A queue whose frames come at times of a test's choice.
struct Feed {
    static let format = CaptureFormat(.raw(pixelFormat: "NV12"), width: 64, height: 64, rate: CaptureRate(100))
    let queue: CaptureQueue
    let planes = Planes(64 * 96)
    let begin: UInt64 = 1_000_000_000_000

    init(
        _ format: CaptureFormat = format, limit: UInt64? = nil, constant: CaptureRate? = nil,
        keepsNewest: Bool = false
    ) throws {
        queue = try CaptureQueue(
            format, try #require(FrameCopy(format)), held: 4, limit: limit, constant: constant,
            keepsNewest: keepsNewest)
    }

    /// Sends a frame, by default in time; it arrives when it was taken, or later.
    func send(_ number: UInt64, milliseconds: UInt64? = nil, late: UInt64 = 0, short: Int = 0, size: Int = 64) {
        let time = time(milliseconds ?? number * 10)
        queue.frame(
            picture(number, short: short, size: size), at: time, sequence: number,
            arrival: time + late * 1_000_000)
    }

    /// Begins to send a frame, and copies its picture: `queue.add` sends it.
    func admit(_ number: UInt64, milliseconds: UInt64? = nil) -> CaptureQueue.Admission? {
        let (time, picture) = (time(milliseconds ?? number * 10), picture(number))
        guard let frame = queue.admit(picture, at: time, time, number) else { return nil }
        frame.stage.copy.copy(picture, to: frame.stage.pool.bytes(of: frame.slot))
        return frame
    }

    /// CLOCK_MONOTONIC of a time since the first frame.
    func time(_ milliseconds: UInt64) -> UInt64 { begin + milliseconds * 1_000_000 }

    private func picture(_ number: UInt64, short: Int = 0, size: Int = 64) -> [CapturePlane] {
        planes.bytes[0] = UInt8(truncatingIfNeeded: number)
        let count = size * size
        return [
            planes.plane(0..<count, stride: size), planes.plane(count..<count * 3 / 2 - short, stride: size),
        ]
    }

    /// Asks for the last frame again.
    func `repeat`(milliseconds: UInt64, isEnd: Bool = false) {
        queue.repeatLast(at: begin + milliseconds * 1_000_000, isEnd: isEnd)
    }

    /// Takes what waits with the pictures' numbers, times in milliseconds.
    func pictures() -> [[UInt64]] {
        var pictures: [[UInt64]] = []
        while let frame = queue.next() {
            pictures.append([UInt64(frame.stage.pool.bytes(of: frame.slot)[0]), frame.time / 1_000_000])
            frame.stage.pool.release(frame.slot)
        }
        return pictures
    }

    /// Takes what waits, as an encoder that is fast enough does.
    func take() -> [UInt64] {
        var times: [UInt64] = []
        while let frame = queue.next() {
            times.append(frame.time)
            frame.stage.pool.release(frame.slot)
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
        // A number that jumps far was reset.
        #expect(counts.captured == 8)
        // The first of those that are missing.
        #expect(counts.log.drops == [DropLog.Drop(time: 0.02, frames: 2, cause: .source)])
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

    @Test func aReducedRateSettlesAndRecovers() {
        var rate = ReducedRate()
        // The frames of a stall have no room until the queue has drained: they halve the rate once.
        let stall = (0..<40).map { rate.note(drop: 1 + Double($0) / 30, rate: 30) }
        #expect(stall.filter(\.self).count == 1)
        #expect(rate.divisor == 2)
        // An encoder that is still too slow halves it again.
        for number in 0..<8 where rate.note(drop: 4 + Double(number) / 30, rate: 30) { break }
        #expect(rate.divisor == 4)
        let dropped = rate.note(drop: 20, rate: 30)
        #expect(!dropped)
        // 10 s without a dropped frame, then 20 s.
        let times = stride(from: 20.0, to: 80, by: 0.25).filter { rate.recovers(at: $0) }
        #expect(times == [30, 50])
        #expect(rate.divisor == 1)
    }

    /// What sends only changes.
    private static let screen = CaptureFormat(.raw(pixelFormat: "NV12"), width: 64, height: 64, rate: nil)

    @Test func theLastFrameIsSentAgain() throws {
        let feed = try Feed(Self.screen)
        feed.repeat(milliseconds: 0)
        #expect(feed.take().isEmpty)
        feed.send(0)
        feed.repeat(milliseconds: 1000)
        // What waits is recorded first.
        #expect(feed.pictures() == [[0, 0]])
        feed.repeat(milliseconds: 699)
        feed.repeat(milliseconds: 700)
        feed.repeat(milliseconds: 701)
        #expect(feed.pictures() == [[0, 700]])
        feed.repeat(milliseconds: 701, isEnd: true)
        #expect(feed.pictures() == [[0, 701]])
        #expect(feed.queue.counts.repeated == 2)
        #expect(feed.queue.counts.captured == 1)
    }

    @Test func aFrameThatComesBehindItsRepetitionIsKept() throws {
        let feed = try Feed(Self.screen)
        feed.send(0)
        _ = feed.take()
        feed.repeat(milliseconds: 1000)
        feed.send(1, milliseconds: 999, late: 2)
        #expect(feed.take() == [1_000_000_000, 1_000_100_000])
        #expect(feed.queue.counts.log.total == 0)
        // Its clock may not step back else.
        feed.send(2, milliseconds: 999, late: 3)
        #expect(feed.take().isEmpty)
        #expect(feed.queue.counts.log.counts == [.clock: 1])
    }

    @Test func aChangeThatIsDroppedIsSentLater() throws {
        let feed = try Feed(Self.screen)
        // All wait but the last two, of which the last one stays on the screen.
        for number in 0..<14 as Range<UInt64> { feed.send(number) }
        #expect(feed.pictures().map { $0[0] } == Array(0..<12))
        feed.repeat(milliseconds: 209)
        #expect(feed.pictures().isEmpty)
        feed.repeat(milliseconds: 210)
        #expect(feed.pictures() == [[13, 210]])
        feed.repeat(milliseconds: 310)
        #expect(feed.pictures().isEmpty)
        // A clock that stands still, and the end.
        feed.send(14, milliseconds: 400)
        feed.send(15, milliseconds: 400)
        feed.send(16, milliseconds: 400, short: 1)
        #expect(feed.pictures() == [[14, 400]])
        feed.repeat(milliseconds: 300, isEnd: true)
        #expect(feed.pictures() == [[15, 400]])
        let counts = feed.queue.counts
        #expect(counts.log.counts == [.queue: 2, .clock: 1, .damaged: 1])
        #expect(counts.repeated == 2)
        #expect(feed.queue.pool.freeCount == feed.queue.pool.slotCount - 1)
    }

    @Test func droppedChangesNeedOneSlot() throws {
        let feed = try Feed(Self.screen)
        // An encoder that returns nothing.
        for number in 0..<40 as Range<UInt64> {
            feed.send(number)
            _ = feed.queue.next()
        }
        #expect(feed.queue.pool.freeCount == 0)
        feed.repeat(milliseconds: 1000)
        let frame = try #require(feed.queue.next())
        #expect(feed.queue.pool.bytes(of: frame.slot)[0] == 39)
    }

    @Test(arguments: [(1 << 20, 20, 20), (64 << 20, 20, 8), (1 << 30, 20, 2), (64 << 20, 3, 3)])
    func memoryOfPoolsIsBounded(size: Int, wanted: Int, slots: Int) {
        #expect(CaptureQueue.slotCount(size, wanted: wanted) == slots)
    }

    /// A size of a quarter of the samples.
    private static let small = CaptureFormat(
        .raw(pixelFormat: "NV12"), width: 32, height: 32, rate: CaptureRate(100))

    @Test func framesOfAnotherSizeHaveAPoolOfTheirOwn() throws {
        let feed = try Feed()
        let first = feed.queue.stage
        feed.send(0)
        feed.queue.changed(Feed.format)
        feed.send(1)
        #expect(feed.queue.stage === first)
        feed.queue.changed(Self.small)
        // None is lost while a session for them is created, which takes longer than the queue's usual depth.
        for number in 2..<32 as Range<UInt64> { feed.send(number, size: 32) }
        #expect(feed.queue.end == nil && feed.queue.counts.log.total == 0)
        var frames: [CaptureQueue.Frame] = []
        while let frame = feed.queue.next() { frames.append(frame) }
        #expect(frames.map(\.time) == (0..<32).map { $0 * 10_000_000 })
        #expect(frames.map { $0.stage.format.width } == [64, 64] + Array(repeating: 32, count: 30))
        #expect(Set(frames.map { ObjectIdentifier($0.stage) }).count == 2)
        for frame in frames { frame.stage.pool.release(frame.slot) }
        #expect(
            feed.queue.pool.freeCount == feed.queue.pool.slotCount && first.pool.freeCount == first.pool.slotCount)
    }

    /// Each size that waits has memory of its own, which a source cannot make without end.
    @Test func aThirdSizeWaitsForTheFirst() throws {
        let feed = try Feed()
        feed.send(0)
        feed.queue.changed(Self.small)
        feed.send(1, size: 32)
        feed.queue.changed(Feed.format)
        feed.send(2)
        #expect(feed.queue.counts.log.counts == [.queue: 1])
        #expect(feed.take().isEmpty == false)
        feed.send(3)
        #expect(feed.take() == [30_000_000])
        #expect(feed.queue.counts.captured == 4)
    }

    @Test(arguments: [nil, CaptureRate(-1), CaptureRate(1, 0)])
    func aFormatThatIsNotRecordedEndsTheRecording(rate: CaptureRate?) throws {
        let feed = try Feed()
        feed.send(0)
        var other = Feed.format
        if let rate { other.rate = rate } else { other.content = .raw(pixelFormat: "YUYV") }
        feed.queue.changed(other)
        feed.send(1)
        #expect(feed.take() == [0])
        guard case .changed(other) = feed.queue.end else { throw Unexpected() }
    }

    // MARK: - A constant rate

    /// The numbers of the pictures that a file of 100 frames a second has.
    private func constant(_ feed: Feed) -> [UInt64] {
        let pictures = feed.pictures()
        #expect(pictures.map { $0[1] } == pictures.indices.map { UInt64($0) * 10 })
        return pictures.map { $0[0] }
    }

    @Test func whatASlowSourceDoesNotSendIsRepeated() throws {
        let feed = try Feed(constant: CaptureRate(100))
        for (number, time) in [(0, 0), (1, 11), (2, 38), (3, 50)] as [(UInt64, UInt64)] {
            feed.send(number, milliseconds: time)
        }
        #expect(constant(feed) == [0, 1, 1, 1, 2, 3])
        let counts = feed.queue.counts
        #expect(counts.captured == 4 && counts.repeated == 2 && counts.log.total == 0)
    }

    @Test func whatAFastSourceSendsIsLeftOutEvenly() throws {
        let feed = try Feed(constant: CaptureRate(100))
        for number in 0..<10 as Range<UInt64> { feed.send(number, milliseconds: number * 5) }
        // 5 ms are nearer to the second picture, which the next would be, too.
        #expect(constant(feed) == [0, 1, 3, 5, 7, 9])
        #expect(feed.queue.counts.log.counts == [.rate: 4])
    }

    @Test func aSourceThatIsSilentIsRepeatedByTheClock() throws {
        let feed = try Feed(Self.screen, limit: 500_000_000, constant: CaptureRate(100))
        feed.send(0)
        feed.repeat(milliseconds: 200)
        #expect(feed.take() == [0])
        // A frame may be late by 200 ms.
        feed.repeat(milliseconds: 250)
        feed.send(1, milliseconds: 60, late: 195)
        #expect(feed.pictures() == [[0, 10], [0, 20], [0, 30], [0, 40], [0, 50], [1, 60]])
        feed.send(2, milliseconds: 61, late: 199)
        #expect(feed.queue.counts.log.counts == [.rate: 1])
        feed.repeat(milliseconds: 490, isEnd: true)
        let rest = feed.pictures()
        // The picture that was left out is the last one, up to the end.
        #expect(rest.map { $0[1] } == (7..<50).map { $0 * 10 })
        #expect(rest.allSatisfy { $0[0] == 2 })
        let counts = feed.queue.counts
        #expect(counts.captured == 3 && counts.repeated == 48)
        #expect(feed.queue.pool.freeCount == feed.queue.pool.slotCount - 1)
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
