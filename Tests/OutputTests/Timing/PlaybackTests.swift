// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWOutput

private let refreshTime = Int64(16_666_667)

@Suite struct PlaybackTests {
    /// 10 s at 30 Hz, groups of 30.
    private func stream(reordered: Int = 2, opens: Bool = false) -> NumberedStream {
        NumberedStream(
            (0..<300).map { $0 }, end: 300, scale: TickScale(numerator: 1, denominator: 30), reordered: reordered,
            opens: opens)
    }

    private func reason(_ player: inout SimulatedPlayer, at host: Int64) -> NoFrame? {
        for _ in 0..<100 {
            player.run(until: host)
            if player.playback.waits(at: host) { _ = player.playback.frame(at: host, isReady: { _ in false }) }
        }
        if case .none(let reason) = player.playback.frame(at: host, isReady: { _ in true }) { return reason }
        return nil
    }

    // MARK: - Seeks

    @Test(arguments: [1_000_000, -1_000_000, 2_000_000, -500_000] as [Int64], [0, Int64(3_000_000)])
    func fiftySeeksGiveNothingTwiceAndNothingBackwards(_ rate: Int64, _ cost: Int64) {
        var player = SimulatedPlayer(stream(opens: true))
        (player.depth, player.cost) = (2, cost)
        player.playback.setRate(rate, at: 0)
        var random = SeededGenerator(7)
        var given: [Int: [Int64]] = [:]
        for seek in Int64(0)..<50 {
            let target = Int64.random(in: 0..<10_000_000_000, using: &random)
            player.playback.seek(to: target, .exact)
            var isFirst = true
            for refresh in Int64(0)..<Int64.random(in: 12..<60, using: &random) {
                let host = (seek * 100 + refresh) * refreshTime + Int64.random(in: 0..<1_000_000, using: &random)
                guard let frame = player.ask(at: host) else { continue }
                // The first frame is exactly that of the time that was sought.
                if isFirst { #expect(frame.time == (target + 100_000 * rate.signum()) * 30 / 1_000_000_000) }
                isFirst = false
                given[frame.epoch, default: []].append(frame.time)
            }
            #expect(!isFirst, "seek \(seek) to \(target) shows nothing")
        }
        for times in given.values {
            #expect(zip(times, times.dropFirst()).allSatisfy { ($1 - $0) * rate.signum() > 0 }, "\(times)")
        }
        #expect(given.count == 50)
    }

    @Test func seeksToKeyFramesAndWithTolerance() {
        var player = SimulatedPlayer(stream())
        func land(_ time: Int64, _ mode: SeekMode) -> Int64? {
            player.playback.seek(to: time, mode)
            return player.ask(at: player.now + 1)?.time
        }
        #expect(land(1_900_000_000, .key) == 30)
        #expect(land(1_900_000_000, .exact) == 57)
        #expect(land(1_200_000_000, .tolerance(.milliseconds(200))) == 30)
        #expect(land(1_900_000_000, .tolerance(.milliseconds(200))) == 60)
        #expect(land(1_500_000_000, .tolerance(.milliseconds(200))) == 45)
        #expect(player.playback.itemTime(at: player.now) == 1_500_000_000)
    }

    @Test func aSeekBehindTheEndHasAnAnswer() {
        for knowsEnd in [false, true] {
            var player = SimulatedPlayer(stream())
            player.playback.setRate(TimeMap.one, at: 0)
            if knowsEnd {
                player.playback.seek(to: 9_900_000_000, .exact)
                #expect(player.ask(at: 0)?.time == 297)
            }
            player.playback.seek(to: 60_000_000_000, .exact)
            #expect(reason(&player, at: 1) == .afterEnd)
            #expect(player.playback.events.last == .ended(epoch: player.playback.epoch))
            // In reverse the last frame is the first.
            player.playback.setRate(-TimeMap.one, at: 2)
            #expect(player.ask(at: 3)?.time == 299)
        }
    }

    // MARK: - Rates

    @Test func aChangeOfDirectionBeginsAnEpochAndPausesDoNot() {
        var player = SimulatedPlayer(stream())
        player.playback.setRate(TimeMap.one, at: 0)
        for refresh in Int64(0)..<120 { _ = player.ask(at: refresh * refreshTime) }
        player.playback.setRate(0, at: 120 * refreshTime)
        #expect(player.playback.epoch == 0 && player.playback.itemTime(at: 500 * refreshTime) == 120 * refreshTime)
        #expect(reason(&player, at: 400 * refreshTime) == nil || reason(&player, at: 401 * refreshTime) == .same)
        player.playback.setRate(-TimeMap.one, at: 500 * refreshTime)
        #expect(player.playback.epoch == 1 && player.playback.events.contains(.flushed(epoch: 1)))
        let back = (Int64(500)..<560).compactMap { player.ask(at: $0 * refreshTime)?.time }
        #expect(back == (31...60).reversed().map { $0 } || back == (30...59).reversed().map { $0 }, "\(back)")
        #expect(reason(&player, at: 800 * refreshTime) != nil)
    }

    @Test(arguments: [1_000_000, -1_000_000] as [Int64]) func aLoopHasNoGap(_ rate: Int64) {
        var player = SimulatedPlayer(
            NumberedStream((0..<60).map { $0 }, end: 60, scale: TickScale(numerator: 1, denominator: 60)))
        // As fast as the display, with nothing to spare at the seam.
        player.cost = 10_000_000
        player.playback.isLooping = true
        if rate < 0 { player.playback.seek(to: 999_000_000, .exact) }
        player.playback.setRate(rate, at: 0)
        while player.ask(at: player.now + 1_000_000) == nil {}
        let begin = player.now
        var frames: [(time: Int64, epoch: Int)] = []
        for refresh in Int64(1)..<300 {
            if let frame = player.ask(at: begin + refresh * 1_000_000_000 / 60) { frames.append(frame) }
        }
        let times = frames.map(\.time)
        let late = player.playback.allCounts.late
        if rate > 0 {
            #expect(late <= 2 && times.count >= 295, "\(late) \(times)")
            let wrong = zip(frames, frames.dropFirst()).filter { $1.time != ($0.time + 1) % 60 }
            #expect(wrong.count <= 3, "\(wrong)")
        } else {
            #expect(times.count >= 200, "\(times)")
        }
        #expect((frames.last?.epoch ?? 0) - (frames.first?.epoch ?? 0) >= 3)
        for epoch in Set(frames.map(\.epoch)) {
            let given = frames.filter { $0.epoch == epoch }.map { $0.time * rate.signum() }
            #expect(given == given.sorted() && Set(given).count == given.count)
        }
    }

    @Test func theEndIsAnEvent() {
        var player = SimulatedPlayer(stream())
        player.playback.setRate(2 * TimeMap.one, at: 0)
        let frames = (Int64(0)..<400).compactMap { player.ask(at: $0 * refreshTime)?.time }
        #expect(frames == (0..<300).map { $0 })
        #expect(player.playback.events == [.ended(epoch: 0)])
        #expect(reason(&player, at: 401 * refreshTime) == .afterEnd)
    }

    // MARK: - Slow machines

    /// 4K at 60 Hz with four levels, or with four pictures between references that nothing refers to.
    private func ultraHD(levels: Bool, seconds: Int64 = 20) -> NumberedStream {
        var stream = NumberedStream.constant((60, 1), seconds: seconds, group: 60, reordered: levels ? 0 : 4)
        guard levels else { return stream }
        for index in stream.packets.indices where !stream.packets[index].isKey {
            let number = index % 60 % 8
            stream.packets[index].level = number == 0 ? 0 : number == 4 ? 1 : number % 4 == 2 ? 2 : 3
            stream.packets[index].isReference = number % 2 == 0
        }
        return stream
    }

    @Test(arguments: [true, false]) func twentyPicturesASecondAreEnough(_ levels: Bool) {
        var player = SimulatedPlayer(ultraHD(levels: levels), pictureBytes: 3840 * 2160 * 3 / 2)
        (player.cost, player.depth) = (50_000_000, levels ? 0 : 1)
        player.playback.setRate(TimeMap.one, at: 0)
        var shown: [(refresh: Int64, time: Int64)] = []
        var begin: Int64?
        for refresh in Int64(0)..<900 {
            guard let frame = player.ask(at: refresh * 1_000_000_000 / 60) else { continue }
            begin = begin ?? refresh - frame.time
            shown.append((refresh, frame.time))
        }
        // The first second shows how slow the decoder is.
        for second in Int64(2)..<14 {
            let frames = shown.filter { $0.refresh / 60 == second }
            #expect(frames.count >= 10, "second \(second): \(frames.map(\.time))")
            #expect(frames.allSatisfy { $0.refresh - $0.time == begin }, "second \(second): \(frames)")
        }
        let counts = player.playback.allCounts
        #expect(counts.skipped > 500 && counts.peakBytes <= 256 << 20)
    }

    @Test(arguments: [false, true]) func reverseStaysWithinItsBound(_ opens: Bool) {
        // A group of 60 pictures of P010 has 1.49 GB.
        let size = 3840 * 2160 * 3
        let stream = NumberedStream(
            (0..<600).map { $0 }, end: 600, scale: TickScale(numerator: 1, denominator: 60), group: 60,
            reordered: 3,
            opens: opens)
        var player = SimulatedPlayer(stream, pictureBytes: size)
        player.depth = 2
        player.playback.seek(to: 9_990_000_000, .exact)
        player.playback.setRate(-TimeMap.one, at: 0)
        let frames = (Int64(0)..<590).compactMap { player.ask(at: $0 * 1_000_000_000 / 60)?.time }
        #expect(frames == (10...599).reversed().map { $0 }, "\(frames)")
        let counts = player.playback.allCounts
        #expect(counts.peakBytes <= 512 << 20 && counts.dropped == 0 && counts.late == 0)
        // Parts of 10 pictures: the sum over a group is 6 × 35, less what nothing refers to.
        #expect(player.decodedCount <= 10 * 6 * 36, "\(player.decodedCount)")
    }

    @Test(arguments: [1, 4, 64] as [Int]) func reverseContinuesAfterAStall(_ capacity: Int) {
        var player = SimulatedPlayer(stream(), pictureBytes: (512 << 20) / capacity)
        player.playback.seek(to: 9_990_000_000, .exact)
        player.playback.setRate(-TimeMap.one, at: 0)
        #expect((Int64(0)..<60).contains { player.ask(at: $0 * refreshTime) != nil })
        // Every picture that waits is later than what is asked for next.
        let frames = (Int64(180)..<300).compactMap { player.ask(at: $0 * refreshTime)?.time }
        #expect(frames.count > 20, "\(frames)")
        #expect(frames.allSatisfy { $0 < 220 }, "\(frames)")
        #expect(zip(frames, frames.dropFirst()).allSatisfy { $0 > $1 }, "\(frames)")
    }

    @Test func aSlowDecoderThinsReverse() {
        var player = SimulatedPlayer(ultraHD(levels: true, seconds: 30), pictureBytes: 3840 * 2160 * 3 / 2)
        player.cost = 12_000_000
        player.playback.seek(to: 25_000_000_000, .exact)
        player.playback.setRate(-TimeMap.one, at: 0)
        let frames = (Int64(0)..<1200).compactMap { player.ask(at: $0 * 1_000_000_000 / 60)?.time }
        #expect(zip(frames, frames.dropFirst()).allSatisfy { $0 > $1 })
        #expect(frames.count > 100 && player.playback.allCounts.skipped > 100, "\(player.playback.allCounts)")
    }

    // MARK: - Streams and clocks with faults

    @Test func gapsAndEqualTimes() {
        // A second is missing behind 30; 40 is there twice.
        let times = Array(Int64(0)..<30) + Array(60..<70) + [69] + Array(70..<90)
        var stream = NumberedStream(times, end: 90, scale: TickScale(numerator: 1, denominator: 30), group: 30)
        for index in stream.packets.indices { stream.packets[index].duration = 1 }
        var player = SimulatedPlayer(stream)
        player.playback.setRate(TimeMap.one, at: 0)
        let frames = (Int64(0)..<180).compactMap { player.ask(at: $0 * refreshTime)?.time }
        #expect(frames == Array(0..<30) + Array(60..<90))
        let counts = player.playback.allCounts
        #expect(counts.dropped == 1 && counts.late == 0)
        // The frame before the gap stays through it.
        player.playback.seek(to: 1_900_000_000, .exact)
        #expect(player.ask(at: 200 * refreshTime)?.time == 29)
    }

    @Test func theFirstFrameMayComeLate() {
        var player = SimulatedPlayer(
            NumberedStream((30..<60).map { $0 }, end: 60, scale: TickScale(numerator: 1, denominator: 30)))
        player.playback.setRate(TimeMap.one, at: 0)
        #expect(reason(&player, at: 0) == .beforeStart)
        #expect(reason(&player, at: 500_000_000) == .beforeStart)
        #expect(player.ask(at: 1_000_000_000)?.time == 30)
    }

    @Test func aStreamThatEndsEarlyEndsThere() {
        var cut = stream()
        cut.packets.removeLast(100)
        var player = SimulatedPlayer(cut)
        player.playback.setRate(TimeMap.one, at: 0)
        let frames = (Int64(0)..<900).compactMap { player.ask(at: $0 * refreshTime)?.time }
        #expect(frames == cut.times)
        #expect(player.playback.events == [.ended(epoch: 0)])
    }

    @Test(arguments: [1, -1] as [Int64]) func aStreamWithoutPacketsEndsAtOnce(_ direction: Int64) {
        var player = SimulatedPlayer(stream())
        player.playback.setRate(direction * TimeMap.one, at: 0)
        #expect(player.playback.nextWork() == .seek(0))
        #expect(player.playback.didSeek(nil) == nil)
        #expect(player.playback.nextWork() == .wait)
        let (epoch, end) = (player.playback.epoch, direction > 0 ? NoFrame.afterEnd : .beforeStart)
        for host in [Int64(0), 1, 1_000_000_000] {
            guard case .none(end) = player.playback.frame(at: host, isReady: { _ in true }) else {
                Issue.record("no end of nothing at \(host)")
                return
            }
        }
        #expect(player.playback.events.last == .ended(epoch: epoch))
        #expect(player.playback.events.count { $0 == .ended(epoch: epoch) } == 1)
        #expect(player.playback.itemTime(at: 1_000_000_000) == direction * 1_000_000_000)
    }

    @Test(arguments: [1, -1] as [Int64]) func aStreamWithoutAPictureEnds(_ direction: Int64) {
        var player = SimulatedPlayer(stream())
        player.lost = Set(player.stream.times)
        player.playback.setRate(direction * TimeMap.one, at: 0)
        let frames = (Int64(0)..<60).compactMap { player.ask(at: $0 * refreshTime)?.time }
        #expect(frames.isEmpty)
        #expect(reason(&player, at: refreshTime * 60) == (direction > 0 ? .afterEnd : .beforeStart))
        #expect(player.playback.events.last == .ended(epoch: player.playback.epoch))
    }

    @Test(arguments: [0, 60] as [Int64], [0, 2])
    func aLostFirstPictureDoesNotHoldTheTime(_ first: Int64, _ depth: Int) {
        var player = SimulatedPlayer(stream())
        (player.depth, player.lost) = (depth, [first])
        player.playback.setRate(TimeMap.one, at: 0)
        if first > 0 { player.playback.seek(to: player.stream.scale.nanoseconds(first), .exact) }
        let frames = (Int64(0)..<240).compactMap { player.ask(at: $0 * refreshTime)?.time }
        #expect(frames.prefix(100) == (first + 1...first + 100).map { $0 }[...], "\(frames)")
    }

    @Test func aPictureThatCannotBeConvertedDoesNotHoldTheTime() {
        var player = SimulatedPlayer(stream())
        player.playback.setRate(TimeMap.one, at: 0)
        player.run(until: 0)
        guard case .none(.seeking) = player.playback.frame(at: 0, isReady: { _ in false }) else {
            Issue.record("it does not wait")
            return
        }
        let failed = player.playback.expected(at: 0)
        #expect(failed.first.flatMap { player.playback.picture($0) } == 0)
        if let first = failed.first { player.playback.didNotConvert(first) }
        #expect(reason(&player, at: 1) == .same)
        #expect(player.playback.expected(at: 1).allSatisfy { player.playback.picture($0) != 0 })
        #expect(player.ask(at: 2 * refreshTime + 1)?.time == 1)
    }

    @Test(arguments: [TimeMap.one, -TimeMap.one], [nil, Duration.milliseconds(16)])
    func anyHostTimeHasAnAnswer(_ rate: Int64, _ interval: Duration?) {
        for loops in [false, true] {
            var player = SimulatedPlayer(stream(), refreshInterval: interval)
            player.playback.isLooping = loops
            player.playback.seek(to: 9_900_000_000, .exact)
            player.playback.setRate(rate, at: 0)
            #expect(player.ask(at: 0) != nil)
            for host in [Int64.max, .min, 0, .min, .max, -1, .max - 1] {
                _ = player.playback.frame(at: host, isReady: { _ in true })
                _ = player.playback.expected(at: host)
                _ = player.playback.itemTime(at: host)
                _ = player.playback.hasNewFrame(at: host)
            }
        }
    }

    @Test func theLastEventsAreKept() {
        var playback = SimulatedPlayer(stream()).playback
        for _ in 0..<1100 { playback.seek(to: 0, .exact) }
        #expect(playback.events == (101...1100).map { .flushed(epoch: $0) })
    }

    @Test func aClockThatStandsOrJumpsBackGivesNothingTwice() {
        var player = SimulatedPlayer(stream())
        player.playback.setRate(TimeMap.one, at: 0)
        #expect(player.ask(at: 0)?.time == 0)
        #expect(reason(&player, at: 0) == .same)
        #expect(player.ask(at: 1_000_000_000)?.time == 30)
        #expect(reason(&player, at: 500_000_000) == .same)
        #expect(reason(&player, at: -5_000_000_000) == .beforeStart || reason(&player, at: -5_000_000_000) == .same)
        #expect(player.ask(at: 1_100_000_000)?.time == 33)
        #expect(!player.playback.hasNewFrame(at: 1_110_000_000))
        player.run(until: 1_140_000_000)
        #expect(player.playback.hasNewFrame(at: 1_140_000_000) && player.playback.hasNewFrame(at: 1_140_000_000))
    }
}

extension Playback {
    /// Whether a question at this time has no answer only because a picture is not there yet.
    fileprivate func waits(at host: Int64) -> Bool {
        var copy = self
        guard case .none(let reason) = copy.frame(at: host, isReady: { _ in true }) else { return false }
        return reason == .notDecodedYet || reason == .seeking
    }
}
