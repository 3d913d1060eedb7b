// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWMovies
import HWOutput
import Synchronization
import Testing

private let patience = Duration.seconds(120)

/// The output that a source seeks in while it is read.
private final class Sought: Sendable {
    let output = Mutex<VideoOutput?>(nil)
}

/// A video that says that it has ended whenever `ends` does.
private struct EndingVideo: VideoSource {
    var video: MovieVideo
    let ends: @Sendable () -> Bool

    var timeBase: Rational { video.timeBase }
    var formatDescription: [UInt8] { video.formatDescription }
    mutating func next() throws -> VideoPacket? { ends() ? nil : try video.next() }
    mutating func seek(to time: Int64) -> VideoSeekPoint? { video.seek(to: time) }
    func seekPoint(after time: Int64) -> Int64? { video.seekPoint(after: time) }
}

@Suite(.serialized) struct VideoOutputTests {
    private let service: PrivateService

    init() throws { service = try PrivateService() }

    private func open(
        _ path: String, _ clock: ManualClock, _ change: (inout VideoOutput.Options) -> Void = { _ in }
    ) throws -> VideoOutput {
        var options = VideoOutput.Options()
        change(&options)
        return try VideoOutput(service.daemon, try MovieVideo(path: path), options: options, clock: clock)
    }

    private func halfFloats(_ options: inout VideoOutput.Options) {
        options.target = .init(pixelFormat: "AB4H", primaries: "p3")
    }

    @Test(arguments: [true, false]) func everyFrameComesAtItsTime(_ converts: Bool) throws {
        let clock = ManualClock()
        let output = try open(try service.clip("clip.mp4"), clock) { if converts { halfFloats(&$0) } }
        output.play()
        var frames: [(number: Int, refresh: Int64)] = []
        for refresh in Int64(0)..<240 {
            clock.set(refresh * 1_000_000_000 / 60)
            guard let frame = output.copyFrame(waiting: patience).frame else { continue }
            #expect(frame.number == Int(frame.displayTime / 40_000_000) && frame.epoch == 0)
            frames.append((frame.number, refresh))
        }
        #expect(frames.map(\.number) == Array(0..<100))
        // The first refresh at or behind its time.
        #expect(frames.allSatisfy { $0.refresh == (Int64($0.number) * 60 + 24) / 25 }, "\(frames)")
        clock.set(5_000_000_000)
        #expect(output.copyFrame(waiting: patience).reason == .afterEnd)
        #expect(output.takeEvents() == [.ended(epoch: 0)])
        let counts = output.counts
        #expect(counts.shown == 100 && counts.late == 0 && counts.dropped == 0 && counts.skipped == 0, "\(counts)")
        #expect(counts.converted == (converts ? 100 : 0) && counts.restarts == 0)
        #expect(counts.peakBytes <= 256 << 20)
    }

    @Test func reverseAndSeeks() throws {
        let clock = ManualClock()
        let output = try open(try service.clip("clip.mov"), clock, halfFloats)
        output.seek(to: 4_000_000_000)
        output.play(rate: -1)
        var numbers: [Int] = []
        for refresh in Int64(0)..<200 {
            clock.set(refresh * 1_000_000_000 / 50)
            if let frame = output.copyFrame(waiting: patience).frame { numbers.append(frame.number) }
        }
        #expect(numbers == (0..<100).reversed().map { $0 }, "\(numbers)")
        var random = SeededGenerator(3)
        output.play(rate: 2)
        var epochs: [Int: [Int]] = [:]
        var host = clock.now
        for _ in 0..<50 {
            let target = Int64.random(in: 0..<3_900_000_000, using: &random)
            output.seek(to: target)
            for step in 0..<4 {
                guard let frame = output.copyFrame(waiting: patience).frame else { continue }
                if step == 0 { #expect(frame.number == Int((target + 100_000) / 40_000_000)) }
                epochs[frame.epoch, default: []].append(frame.number)
                host += 16_666_667
                clock.set(host)
            }
        }
        #expect(epochs.count == 50)
        for numbers in epochs.values { #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count) }
        #expect(output.counts.peakBytes <= 512 << 20)
    }

    @Test func aWorkersDeathIsReplayed() throws {
        let clock = ManualClock()
        let output = try open(try service.clip("clip.mp4"), clock, halfFloats)
        output.play()
        var numbers: [Int] = []
        for refresh in Int64(0)..<100 {
            clock.set(refresh * 40_000_000)
            if refresh == 30 { #expect(try service.killWorkers("decompression") == 1) }
            if refresh == 60 { #expect(try service.killWorkers("transfer") == 1) }
            if let frame = output.copyFrame(waiting: patience).frame { numbers.append(frame.number) }
        }
        #expect(numbers == Array(0..<100), "\(numbers) \(output.takeEvents())")
        #expect(output.counts.restarts == 2)
    }

    @Test func theEndOfTheSourceIsNotThatOfALaterSeek() throws {
        let sought = Sought()
        let source = EndingVideo(video: try MovieVideo(path: try service.clip("clip.mp4"))) {
            sought.output.withLock { output in
                defer { output = nil }
                output?.seek(to: 2_200_000_000)
                return output != nil
            }
        }
        let output = try VideoOutput(service.daemon, source, clock: ManualClock())
        #expect(output.copyFrame(waiting: patience).frame?.number == 0)
        sought.output.withLock { $0 = output }
        output.seek(to: 1_000_000_000)
        while sought.output.withLock({ $0 != nil }) { usleep(1000) }
        #expect(output.copyFrame(waiting: patience).frame?.number == 55)
        #expect(!output.takeEvents().contains { if case .ended = $0 { true } else { false } })
    }

    @Test func aLoopBeginsAnEpoch() throws {
        let clock = ManualClock()
        let output = try open(try service.clip("clip.mp4", seconds: 1), clock) { $0.isLooping = true }
        output.play()
        var numbers: [Int] = []
        for refresh in Int64(0)..<100 {
            clock.set(refresh * 40_000_000)
            if let frame = output.copyFrame(waiting: patience).frame { numbers.append(frame.number) }
        }
        #expect(numbers == (0..<100).map { $0 % 25 }, "\(numbers)")
        #expect(output.takeEvents() == [.flushed(epoch: 1), .flushed(epoch: 2), .flushed(epoch: 3)])
    }

    @Test func aTrimmedMovieLoopsWithoutAGap() throws {
        let path = try service.clip("clip.mp4", seconds: 1)
        let trimmed = "\(service.folder)/trimmed.mp4"
        try service.ffmpeg(["-ss", "0.4", "-i", path, "-c", "copy", trimmed])
        let clock = ManualClock()
        let output = try open(trimmed, clock) { $0.isLooping = true }
        output.play()
        var numbers: [Int] = []
        for refresh in Int64(0)..<60 {
            clock.set(refresh * 40_000_000)
            if let frame = output.copyFrame(waiting: patience).frame { numbers.append(frame.number) }
        }
        #expect(numbers == (0..<60).map { 10 + $0 % 15 }, "\(numbers)")
    }

    @Test func aFileThatEndsEarlyShowsWhatIsThere() throws {
        let path = try service.clip("clip.mp4")
        let whole = "\(service.folder)/front.mp4"
        try service.ffmpeg(["-i", path, "-c", "copy", "-movflags", "faststart", whole])
        let bytes = try Data(contentsOf: URL(filePath: whole))
        try bytes.prefix(bytes.count * 3 / 4).write(to: URL(filePath: path))
        let clock = ManualClock()
        let output = try open(path, clock)
        output.play()
        var numbers: [Int] = []
        for refresh in Int64(0)..<100 {
            clock.set(refresh * 40_000_000)
            if let frame = output.copyFrame(waiting: patience).frame { numbers.append(frame.number) }
        }
        #expect(numbers.count > 10 && numbers.count < 100 && numbers == numbers.sorted(), "\(numbers)")
        #expect(output.copyFrame(at: 4_100_000_000, waiting: patience).reason == .afterEnd)
        let isCut = output.takeEvents().contains { if case .cutShort = $0 { true } else { false } }
        #expect(isCut)
    }
}
