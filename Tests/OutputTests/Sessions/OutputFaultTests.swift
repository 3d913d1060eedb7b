// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDModel
import HWDTransport
import HWMovies
import HWOutput
import Testing

private let patience = Duration.seconds(120)
private let second = Int64(1_000_000_000)

/// A video of which some packets are replaced.
private struct ChangedVideo: VideoSource {
    var video: MovieVideo
    let change: @Sendable (VideoPacket) -> VideoPacket

    var timeBase: Rational { video.timeBase }
    var formatDescription: [UInt8] { video.formatDescription }
    mutating func next() throws -> VideoPacket? { try video.next().map(change) }
    mutating func seek(to time: Int64) -> VideoSeekPoint? { video.seek(to: time) }
    func seekPoint(after time: Int64) -> Int64? { video.seekPoint(after: time) }
}

/// Movies, clocks and daemons with faults: each has an answer of its own.
@Suite(.serialized) struct OutputFaultTests {
    private let service: PrivateService

    init() throws { service = try PrivateService() }

    private func halfFloats() -> VideoOutput.Options {
        var options = VideoOutput.Options()
        options.target = .init(pixelFormat: "AB4H", primaries: "p3")
        return options
    }

    /// The numbers that refreshes show anew, at 25 Hz.
    private func numbers(_ output: VideoOutput, _ clock: ManualClock, _ refreshes: Range<Int64>) -> [Int] {
        refreshes.compactMap { refresh in
            clock.set(refresh * second / 25)
            return output.copyFrame(waiting: patience).frame?.number
        }
    }

    /// Writes clips one behind another, as one track with several sample entries.
    private func join(_ paths: [String], as name: String) throws -> String {
        let path = "\(service.folder)/\(name)"
        let writer = try MovieWriter(path: path)
        var (track, begin) = (Int?.none, Int64(0))
        for part in paths {
            let movie = try Movie(path: part)
            let video = try #require(movie.tracks.first)
            let record = try #require(video.entries.first?.hevc)
            if let track {
                try writer.changeConfiguration(of: track, to: record)
            } else {
                track = try writer.addVideo(
                    VideoTrackSettings(timeScale: video.timeScale, configuration: record))
            }
            var (packets, end) = (try movie.packets(of: video), begin)
            // The clips have one time scale, so only the decode times need room.
            var earliest = begin - 2 * Int64(video.timeScale) / 25
            while let packet = try packets.next() {
                let time = begin + packet.time
                earliest = max(earliest, min(time, begin + packet.decodeTime))
                try writer.append(
                    WrittenPacket(
                        bytes: packet.bytes, time: time, decodeTime: min(time, earliest), duration: packet.duration),
                    to: try #require(track))
                end = max(end, time + packet.duration)
            }
            begin = end
        }
        try writer.finish(sync: false)
        return path
    }

    // MARK: - Changes in the middle of a stream

    @Test(arguments: [1, -1]) func sizeAndColorChangeWithTheirPictures(_ rate: Double) throws {
        let path = try join(
            [
                try service.clip("a.mp4", seconds: 1), try service.clip("b.mp4", seconds: 1, size: "512x128"),
                try service.clip("c.mp4", seconds: 1, isHDR: true),
            ], as: "changes.mov")
        for converts in [false, true] {
            let clock = ManualClock()
            let output = try VideoOutput(
                service.daemon, try MovieVideo(path: path),
                options: converts ? halfFloats() : VideoOutput.Options(), clock: clock)
            if rate < 0 { output.seek(to: 3 * second - 1) }
            output.play(rate: rate)
            var shown: [(part: Int, number: Int)] = []
            for refresh in Int64(0)..<75 {
                clock.set(refresh * second / 25)
                guard let frame = output.copyFrame(waiting: patience).frame else { continue }
                let part = Int(frame.displayTime / second)
                shown.append((part, frame.number))
                #expect(frame.buffer.width == [256, 512, 256][part] && frame.buffer.height == [64, 128, 64][part])
                #expect((frame.description.color.transfer == 16) == (part == 2))
                guard converts else {
                    #expect(frame.buffer.format == (part == 2 ? .i010 : .yu12))
                    continue
                }
                #expect(frame.buffer.format == .rgba16f)
                // The first column is white in every second picture: 1 in SDR, far above in PQ.
                guard frame.number % 2 == 1 else { continue }
                let white = frame.buffer.withPlanes {
                    Float(Float16(bitPattern: $0[0][20].loadUnaligned(fromByteOffset: 64, as: UInt16.self)))
                }
                #expect(part == 2 ? white > 10 : abs(white - 1) < 0.02, "white is \(white) in part \(part)")
            }
            let all = (0..<75).map { (part: $0 / 25, number: $0 % 25) }
            let wanted = rate < 0 ? all.reversed() : all
            #expect(shown.map(\.part) == wanted.map(\.part) && shown.map(\.number) == wanted.map(\.number))
            let counts = output.counts
            #expect(counts.late == 0 && counts.dropped == 0 && counts.lost == 0, "\(counts)")
            #expect(counts.converted == (converts ? 75 : 0))
        }
    }

    @Test(arguments: [1, -1]) func aFormatThatTheDecoderRefusesEndsTheStream(_ rate: Double) throws {
        let path = try service.clip("clip.mp4", seconds: 2)
        let half = Int64(try Movie(path: path).tracks.first?.timeScale ?? 0)
        let source = ChangedVideo(video: try MovieVideo(path: path)) { packet in
            var packet = packet
            // A record of other lengths than those of the session's packets.
            if packet.time >= half { packet.formatDescription[21] = packet.formatDescription[21] & ~3 | 1 }
            return packet
        }
        let clock = ManualClock()
        let output = try VideoOutput(service.daemon, source, clock: clock)
        if rate < 0 { output.seek(to: second / 2) }
        output.play(rate: rate)
        let shown = numbers(output, clock, 0..<25)
        #expect(rate < 0 ? shown == (0...12).reversed() : Array(shown.prefix(20)) == Array(0..<20), "\(shown)")
        if rate > 0 {
            _ = numbers(output, clock, 25..<40)
            #expect(output.copyFrame(waiting: patience).reason == .afterEnd)
            #expect(output.takeEvents().contains { if case .cutShort = $0 { true } else { false } })
            #expect(output.counts.lost >= 1)
        }
        output.seek(to: 0)
        output.play()
        #expect(output.copyFrame(waiting: patience).frame?.number == 0)
    }

    @Test func packetsWithoutBytesAreLost() throws {
        let video = try MovieVideo(path: try service.clip("clip.mp4", seconds: 2, more: ":bframes=0"))
        let tick = Int64(video.timeBase.denominator) / 25
        let source = ChangedVideo(video: video) { packet in
            var packet = packet
            if packet.time == 24 * tick { packet.bytes = [] }
            return packet
        }
        let clock = ManualClock()
        let output = try VideoOutput(service.daemon, source, clock: clock)
        output.play()
        #expect(numbers(output, clock, 0..<50) == Array(0..<50).filter { $0 != 24 })
        #expect(output.counts.lost == 1 && output.counts.late == 0)
        #expect(!output.takeEvents().contains { if case .failed = $0 { true } else { false } })
    }

    @Test func gapsAndEqualTimes() throws {
        let path = "\(service.folder)/gaps.mov"
        // Half a second is missing behind 10; 20 and 21 have one time.
        func time(_ number: Int64) -> Int64 { (number + (number > 10 ? 12 : 0) - (number > 20 ? 1 : 0)) * 40 }
        try CodedClip.pictures(488, service).write(path, scale: 1000, count: 60, time: time)
        let clock = ManualClock()
        let output = try VideoOutput(service.daemon, try MovieVideo(path: path), clock: clock)
        output.play()
        let shown = numbers(output, clock, 0..<60)
        #expect(shown == Array(0..<20) + Array(21..<49), "\(shown)")
        let counts = output.counts
        #expect(counts.late == 0 && counts.dropped == 1 && counts.lost == 0, "\(counts)")
        // The frame before the gap stays through it.
        output.seek(to: 600 * 1_000_000)
        let frame = output.copyFrame(waiting: patience).frame
        #expect(frame?.number == 10 && frame?.displayTime == 400 * 1_000_000)
        output.play(rate: -1)
        let begin = clock.now * 25 / second
        output.seek(to: 1_400 * 1_000_000)
        let back = numbers(output, clock, begin + 1..<begin + 60)
        #expect(back == (0...23).filter { $0 != 20 }.reversed(), "\(back)")
    }

    // MARK: - Clocks

    @Test func aClockThatStandsOrJumpsBackGivesNothingTwice() throws {
        let clock = ManualClock(second * 1000)
        let output = try VideoOutput(
            service.daemon, try MovieVideo(path: try service.clip("clip.mp4")), clock: clock)
        output.play()
        #expect(output.copyFrame(waiting: patience).frame?.number == 0)
        for _ in 0..<3 { #expect(output.copyFrame(waiting: patience).reason == .same) }
        clock.set(second * 1001)
        #expect(output.copyFrame(waiting: patience).frame?.number == 25)
        for back in [second / 2, second, 2 * second, 2000 * second] {
            clock.set(second * 1001 - back)
            let reason = output.copyFrame(waiting: patience).reason
            #expect(reason == .same || (back > second && reason == .beforeStart), "\(String(describing: reason))")
            #expect(!output.hasNewFrame(at: clock.now))
        }
        clock.set(second * 1001 + second / 25)
        #expect(output.copyFrame(waiting: patience).frame?.number == 26)
        #expect(output.takeEvents().isEmpty)
    }

    // MARK: - Daemons

    @Test func whoWaitsHearsThatTheDaemonDied() throws {
        let clock = ManualClock()
        let output = try VideoOutput(
            service.daemon, try MovieVideo(path: try service.clip("clip.mp4")), options: halfFloats(), clock: clock)
        output.play()
        #expect(output.copyFrame(waiting: patience).frame?.number == 0)
        try service.killAll()
        // Frames that were decoded before may come.
        var reason: NoFrame?
        for refresh in Int64(1)..<200 where reason != .notDecodedYet {
            clock.set(refresh * second / 25)
            reason = output.copyFrame(waiting: patience).reason
        }
        #expect(reason == .notDecodedYet)
        #expect(output.takeEvents().contains { if case .failed = $0 { true } else { false } })
        output.seek(to: second)
        #expect(output.copyFrame(waiting: patience).reason == .seeking)
        #expect(throws: ClientError.self) {
            _ = try VideoOutput(service.daemon, try MovieVideo(path: "\(service.folder)/clip.mp4"), clock: clock)
        }
    }

    /// Pictures that wait are in the decoder's arenas, which the daemon counts as its session's memory.
    @Test func theDaemonCountsThePicturesThatWait() throws {
        let (small, large) = (
            try service.clip("small.mp4", seconds: 1), try service.clip("large.mp4", seconds: 1, size: "1920x1080")
        )
        let outputs = try [small, large].map { path in
            try VideoOutput(service.daemon, try MovieVideo(path: path), clock: ManualClock())
        }
        for output in outputs { #expect(output.copyFrame(waiting: patience).frame?.number == 0) }
        let picture = 1920 * 1080 * 3 / 2
        var waiting = 0
        var taken: (small: UInt64, large: UInt64) = (0, 0)
        let deadline = MonotonicTime.now + patience
        while MonotonicTime.now < deadline {
            taken.small = try service.memory("decompression", width: 256) ?? 0
            taken.large = try service.memory("decompression", width: 1920) ?? 0
            waiting = outputs[1].counts.peakBytes
            if taken.small > 0, waiting >= 3 * picture, taken.large >= taken.small + UInt64(waiting) { break }
            try #require(service.pause() == 0)
        }
        #expect(
            waiting >= 3 * picture && taken.small > 0 && taken.large >= taken.small + UInt64(waiting),
            "\(taken), \(waiting) wait")
        print("memory_bytes of sessions of 256x64 and 1920x1080: \(taken); \(waiting) bytes of pictures wait")
    }
}
