// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDCaptureSound
import HWDEdits
import HWMovies
import Testing

/// Sound from a source with clicks through the clock, the encoder and a recorder, and what FFmpeg hears.
@Suite struct SoundTrackTests {
    /// A source that clicks at each half of a second of the simulated CLOCK_MONOTONIC.
    struct Source {
        var channels = 2
        var rate = 48_000
        var drift = 0.0
        /// Buffers that do not come.
        var lost: Set<Int> = []
        var isExact = true
        /// When it begins and ends, in seconds from the start of the movie.
        var first = -0.2
        var last = 10.5
        /// When its buffers arrive, in seconds from the start of the movie; nil for 2 ms after each one's end.
        var arrival: Double?
        static let size = 1024
        /// The movie's start, in seconds of CLOCK_MONOTONIC.
        static let begin = 4321.0

        static func click(_ time: Double) -> Float {
            let at = time - (2 * time).rounded(.down) / 2 - 0.25
            return abs(at) < 0.0005 ? Float(0.9 * cos(at * Double.pi / 0.001)) : 0
        }

        func send(to track: SoundTrack, _ each: (Double) throws -> Void = { _ in }) throws {
            let step = 1 / (Double(rate) * (1 + drift / 1e6))
            let start = Self.begin + first
            for number in 0..<Int((last - first) / step) / Self.size where !lost.contains(number) {
                let begin = start + Double(number * Self.size) * step
                var samples: [Float] = []
                for index in 0..<Self.size {
                    let value = Self.click(begin + Double(index) * step)
                    for _ in 0..<channels { samples.append(value) }
                }
                let end = begin + Double(Self.size) * step
                samples.withUnsafeBufferPointer {
                    track.receive(
                        $0, at: UInt64(begin * 1e9), isExact: isExact,
                        arrival: UInt64((arrival.map { Self.begin + $0 } ?? end + 0.002) * 1e9))
                }
                try each(end - Self.begin)
            }
        }
    }

    struct Recording {
        var receipt: SoundReceipt
        /// One channel, as FFmpeg decodes it, and its samples per second.
        var samples: [Float]
        var rate: Int
        /// How long the file says that its track is, in samples.
        var duration: Int64
        /// Samples of a packet, as far as the file can be longer than the sound.
        var packetSize: Int
        /// Seconds from each click of the source to where it is heard, by its time in the movie.
        var clicks: [Double] {
            var times: [Double] = []
            var index = 0
            while index < samples.count {
                guard abs(samples[index]) > 0.3 else {
                    index += 1
                    continue
                }
                let range = max(0, index - rate / 300)..<min(samples.count, index + rate / 300)
                let energy = range.map { Double(samples[$0]) * Double(samples[$0]) }
                let moment = zip(range, energy).reduce(0) { $0 + Double($1.0) * $1.1 }
                times.append(moment / energy.reduce(0, +) / Double(rate))
                index = range.upperBound
            }
            return times
        }
    }

    /// Records a source into a movie and decodes it.
    static func record(
        _ source: Source, _ codec: SoundCodec = .aac, suffix: String = "mov", end: Double = 10,
        _ body: (SoundTrack, Double) -> Void = { _, _ in }
    ) throws -> Recording {
        let time = { (seconds: Double) in UInt64((Source.begin + seconds) * 1e9) }
        return try record(rate: source.rate, channels: source.channels, codec, suffix: suffix, end: end) {
            track, append in
            var next = 0.0
            try source.send(to: track) { now in
                // The first picture comes a little after the first sound.
                if now > 0.1 { track.begin(at: time(0)) }
                body(track, now)
                guard now > next else { return }
                next = now + 0.1
                try append(track.packets(now: time(now)))
            }
            track.begin(at: time(0))
            while next + 0.1 < end {
                next += 0.1
                try append(track.packets(now: time(next)))
            }
        }
    }

    /// Records what `body` sends to a track, whose packets it appends, into a movie and decodes it.
    static func record(
        rate: Int = 48_000, channels: Int = 2, _ codec: SoundCodec = .aac, suffix: String = "mov", end: Double,
        _ body: (SoundTrack, ([WrittenPacket]) throws -> Void) throws -> Void
    ) throws -> Recording {
        let folder = FileManager.default.temporaryDirectory.appending(path: "capture-sound-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "sound.\(suffix)").path
        let track = try SoundTrack(
            sampleRate: rate, channels: channels, codec: codec, isQuickTime: suffix == "mov")
        let recorder = try MovieRecorder(path: path)
        let number = try recorder.addSound(track.settings)
        let append = { (packets: [WrittenPacket]) in
            for packet in packets { try recorder.append(packet, to: number) }
        }
        try body(track, append)
        try append(track.finish(at: UInt64((Source.begin + end) * 1e9)))
        try recorder.end(track: number, at: track.duration)
        try recorder.finish()
        let bytes = try ffmpeg(path, channels: channels)
        let all = bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
        let samples = stride(from: 0, to: all.count, by: channels).map { all[$0] }
        let written = try #require(try Movie(path: path).tracks.first)
        return Recording(
            receipt: track.receipt, samples: samples, rate: track.rate, duration: written.duration,
            packetSize: codec == .aac ? 1024 : 1)
    }

    /// What FFmpeg decodes of a file, as floats in the order of the file's channels.
    private static func ffmpeg(_ path: String, channels: Int) throws -> Data {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "timeout", "60", "ffmpeg", "-v", "error", "-xerror", "-i", path, "-ac", String(channels), "-f", "f32le",
            path + ".raw",
        ]
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return try Data(contentsOf: URL(filePath: path + ".raw"))
    }

    /// The times of clicks between two times of the movie.
    private static func expected(_ range: Range<Double>) -> [Double] {
        (0..<100).map { 0.25 + Double($0) / 2 }.filter(range.contains)
    }

    private static func check(
        _ recording: Recording, _ expected: [Double], within tolerance: Double, end: Double = 10,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let clicks = recording.clicks
        #expect(clicks.count == expected.count, "\(clicks)", sourceLocation: location)
        for (heard, wanted) in zip(clicks, expected) {
            #expect(abs(heard - wanted) < tolerance, "\(heard) for \(wanted)", sourceLocation: location)
        }
        let length = Int((end * Double(recording.rate)).rounded())
        #expect(recording.duration == Int64(length), sourceLocation: location)
        // FFmpeg decodes the last packet whole.
        #expect(
            (length..<length + recording.packetSize).contains(recording.samples.count), sourceLocation: location)
    }

    @Test(
        "Clicks are heard within a millisecond of their times",
        arguments: [(SoundCodec.aac, "mov"), (.aac, "mp4"), (.alac, "mov"), (.alac, "mp4")])
    func clicks(_ codec: SoundCodec, _ suffix: String) throws {
        let recording = try Self.record(Source(), codec, suffix: suffix)
        Self.check(recording, Self.expected(0..<10), within: 0.001)
        #expect(recording.receipt.gaps.isEmpty && recording.receipt.silence == 0)
        #expect(recording.receipt.impossibleTimes == 0)
    }

    @Test("Channels and rates", arguments: [(1, 48_000), (2, 44_100), (1, 16_000), (2, 192_000)])
    func forms(_ channels: Int, _ rate: Int) throws {
        let recording = try Self.record(Source(channels: channels, rate: rate))
        Self.check(recording, Self.expected(0..<10), within: 0.001)
    }

    @Test("Drift and lost buffers", arguments: [(300.0, true), (-300.0, true), (300.0, false), (-300.0, false)])
    func drift(_ drift: Double, _ isExact: Bool) throws {
        let lost: Set<Int> = [30, 100, 101, 150, 300]
        let recording = try Self.record(Source(drift: drift, lost: lost, isExact: isExact))
        // A click within the lost buffers is not heard.
        let step = 1 / (48_000 * (1 + drift / 1e6))
        let expected = Self.expected(0..<10).filter { !lost.contains(Int(($0 + 0.2) / step) / Source.size) }
        Self.check(recording, expected, within: 0.004)
        #expect(
            recording.receipt.gaps.count == 4
                && recording.receipt.gaps.allSatisfy { $0.cause == SoundGap.Cause.lost })
        #expect(abs(recording.receipt.silence - 5 * Double(Source.size) / 48_000) < 0.006)
        #expect(recording.receipt.greatestCorrection <= 1000)
        for (gap, number) in zip(recording.receipt.gaps, [30, 100, 150, 300]) {
            #expect(abs(gap.time - (Double(number * Source.size) * step - 0.2)) < 0.004)
        }
    }

    @Test("A source that begins late and ends early")
    func lateAndEarly() throws {
        let recording = try Self.record(Source(first: 2.1, last: 4.1), end: 12)
        Self.check(recording, Self.expected(2.1..<4.1), within: 0.001, end: 12)
        let causes: [SoundGap.Cause] = recording.receipt.gaps.map(\.cause)
        #expect(causes == [.start, .stalled])
        #expect(abs(recording.receipt.silence - 10) < 0.05)
    }

    @Test("A source that sends nothing")
    func nothing() throws {
        let recording = try Self.record(Source(first: 20, last: 20), end: 12)
        #expect(recording.samples.allSatisfy { $0 == 0 })
        Self.check(recording, [], within: 0, end: 12)
        #expect(abs(recording.receipt.silence - 12) < 0.001)
    }

    @Test("A source that returns after a long silence")
    func returned() throws {
        let lost = Set(Int(2 * 48_000 / Source.size)..<Int(10 * 48_000 / Source.size))
        let recording = try Self.record(Source(lost: lost, last: 12.6), end: 12)
        let gap = Double(lost.count * Source.size) / 48_000
        let begin = Double(lost.min()! * Source.size) / 48_000 - 0.2
        let expected = Self.expected(0..<begin) + Self.expected(begin + gap..<12)
        Self.check(recording, expected, within: 0.001, end: 12)
        #expect(abs(recording.receipt.silence - gap) < 0.001)
    }

    /// Sends a source's buffers that end in a range, each at an arrival of its own or at one for all.
    private static func send(
        _ source: Source, _ range: Range<Double>, arriving arrival: Double? = nil, to track: SoundTrack,
        _ each: (Double) throws -> Void = { _ in }
    ) throws {
        let length = Double(Source.size) / 48_000
        let all = Set(0..<Int((source.last - source.first) / length))
        var part = source
        part.lost = all.filter { !range.contains(source.first + Double($0 + 1) * length) }
        part.arrival = arrival
        try part.send(to: track, each)
    }

    @Test("A source that stalls and returns is silent meanwhile", arguments: [true, false])
    func stalled(_ isExact: Bool) throws {
        let track = try SoundTrack(sampleRate: 48_000, channels: 2, codec: .alac, isQuickTime: true)
        let at = { (seconds: Double) in UInt64(((Source.begin + seconds) * 1e9).rounded()) }
        track.begin(at: at(0))
        let source = Source(isExact: isExact, last: 31)
        var times: [Range<Int64>] = []
        func take(_ packets: [WrittenPacket]) {
            times += packets.map { $0.time..<$0.time + $0.duration }
        }
        let reached = { Double(times.last?.upperBound ?? 0) / 48_000 }
        try Self.send(source, -1..<3, to: track) { take(try track.packets(now: at($0))) }
        for now in stride(from: 3.0, to: 7.9, by: 0.25) { take(try track.packets(now: at(now))) }
        #expect(!track.isStalled && reached() < 3)
        // 5 s later it is given up: everything of it comes out, and silence follows a second behind the present.
        for now in stride(from: 8.1, to: 20, by: 0.25) {
            take(try track.packets(now: at(now)))
            #expect(track.isStalled && abs(reached() - (now - 1)) < 0.2, "\(reached()) s at \(now) s")
        }
        try Self.send(source, 20..<30.3, to: track) { take(try track.packets(now: at($0))) }
        #expect(!track.isStalled)
        take(try track.finish(at: at(30)))
        let last = try #require(times.last)
        #expect(times[0].lowerBound == 0 && last.contains(30 * 48_000 - 1), "\(last)")
        #expect(zip(times, times.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
        let gaps = track.receipt.gaps
        #expect(gaps.map(\.cause) == [SoundGap.Cause.stalled], "\(gaps)")
        #expect(abs(track.receipt.silence - 17) < 0.05)
    }

    @Test("Sound that arrives after silence took its place is left out")
    func overtaken() throws {
        let at = { (seconds: Double) in UInt64(((Source.begin + seconds) * 1e9).rounded()) }
        let recording = try Self.record(end: 16) { track, append in
            track.begin(at: at(0))
            let source = Source(last: 17)
            try Self.send(source, -1..<3, to: track) { try append(track.packets(now: at($0))) }
            try append(track.packets(now: at(8.2)))
            #expect(track.isStalled)
            try Self.send(source, 3.5..<8, arriving: 8.3, to: track)
            try Self.send(source, 8..<16.5, to: track) { try append(track.packets(now: at($0))) }
        }
        Self.check(recording, Self.expected(0..<3) + Self.expected(7.2..<16), within: 0.001, end: 16)
        #expect(abs(recording.receipt.silence - 4.2) < 0.1)
    }

    @Test("Pauses are left out", arguments: [SoundCodec.aac, .alac])
    func pauses(_ codec: SoundCodec) throws {
        let at = { (seconds: Double) in UInt64((Source.begin + seconds) * 1e9) }
        let recording = try Self.record(Source(), codec) { track, now in
            if now > 3, now < 4.5 { track.pause(at: at(3)) }
            if now > 4.5 { track.resume(at: at(4.5)) }
        }
        let expected = Self.expected(0..<3) + Self.expected(4.5..<10).map { $0 - 1.5 }
        Self.check(recording, expected, within: 0.001, end: 8.5)
        #expect(recording.receipt.silence == 0)
    }

    @Test("Samples and times that cannot be")
    func hostile() throws {
        let track = try SoundTrack(sampleRate: 48_000, channels: 2, isQuickTime: true)
        track.begin(at: 1_000_000_000)
        let values: [Float] = [.nan, .infinity, -.infinity, 1e30, -1e30, .leastNonzeroMagnitude]
        let samples = (0..<2048).map { values[$0 % values.count] }
        var time: UInt64 = 1_000_000_000
        var packets = 0
        for stated in [1_000_000_000_000, UInt64.max, UInt64(Int64.max), 1 << 62] {
            for _ in 0..<60 {
                time += 21_333_333
                samples.withUnsafeBufferPointer { track.receive($0, at: stated, isExact: true, arrival: time) }
                track.receive(
                    UnsafeBufferPointer(start: nil, count: 0), at: stated, isExact: true, arrival: time)
                packets += try track.packets(now: time).count
            }
        }
        packets += try track.finish(at: time).count
        #expect((240...242).contains(packets))
        #expect(track.receipt.impossibleTimes == 240)
        for (rate, channels) in [(0, 2), (-1, 1), (48_000, 0), (48_000, 3), (.max, 2)] {
            #expect(throws: (any Error).self) {
                try SoundTrack(sampleRate: rate, channels: channels, isQuickTime: true)
            }
        }
    }
}
