// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWCapture
import HWClient
import HWMovies
import Synchronization
import Testing

/// What ffmpeg's programs say of a file.
enum Probe {
    static func run(_ arguments: [String]) throws -> [String] {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["timeout", "60"] + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(arguments)")
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { String($0) }
    }

    static func lines(_ path: String, _ options: String...) throws -> [String] {
        try run(["ffprobe", "-v", "error"] + options + ["-of", "csv=p=0", path])
    }

    /// The size and the MD5 of each packet of a file's sound.
    static func sound(_ path: String) throws -> [String] {
        try run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-c", "copy", "-f", "framemd5", "-"])
            .filter { !$0.hasPrefix("#") }
            .map {
                $0.split(separator: ",").suffix(2).map { $0.trimmingCharacters(in: .whitespaces) }.joined(
                    separator: " ")
            }
    }
}

/// What an app asks of a recording that runs.
struct RecordingControlsTests {
    private func fast() -> CaptureSession.Options {
        var options = CaptureSession.Options()
        options.properties = [.quality: .double(0.95), .x265Preset: .string("ultrafast")]
        return options
    }

    /// The times of a file's pictures, in seconds.
    private func times(_ path: String) throws -> [Double] {
        try Probe.lines(path, "-select_streams", "v", "-show_entries", "packet=pts_time").compactMap {
            $0.split(separator: ",").first.flatMap { Double($0) }
        }
    }

    @Test func pausesAreLeftOutAndMarksAreChapters() async throws {
        let service = try PrivateService()
        let frames = GrayFrames()
        let path = "\(service.folder)/controls.mov"
        let session = try await CaptureSession.start(service.daemon, frames.feed, to: path, fast())
        #expect(!session.isPaused && !session.resume())
        var sent: [UInt64] = []
        for number in 0..<30 {
            switch number {
            case 5: #expect(session.mark("Über uns"))
            case 10:
                #expect(session.pause() && session.isPaused && !session.pause())
            case 20: #expect(session.resume() && !session.isPaused && !session.resume())
            case 25: #expect(session.mark())
            default: break
            }
            sent.append(frames.sendNow(number))
        }
        let receipt = try await session.stop()
        #expect(!session.pause() && !session.mark("late"))
        #expect(receipt.captured == 20 && receipt.coded + receipt.dropped == 20)
        let numbers = try GrayFrames.numbers(path)
        #expect(numbers.count == receipt.coded)
        #expect(numbers.allSatisfy { $0 < 10 || $0 >= 20 } && numbers == numbers.sorted())
        #expect(receipt.pauses.count == 1)
        let pause = try #require(receipt.pauses.first)
        for (number, time) in zip(numbers, try times(path)) {
            let wanted = Double(sent[number] - sent[0]) / 1e9 - (number < 10 ? 0 : pause.duration)
            #expect(abs(time - wanted) < 0.001, "\(number)")
        }
        #expect(receipt.marks.map(\.title) == ["Über uns", "Chapter 2"])
        let chapters = try Probe.lines(path, "-show_entries", "chapter=start_time:chapter_tags=title")
            .map { $0.split(separator: ",", maxSplits: 1) }
        #expect(chapters.map { $0.last.map { String($0) } } == ["Start", "Über uns", "Chapter 2"])
        for (chapter, mark) in zip(chapters.dropFirst(), receipt.marks) {
            #expect(abs((Double(chapter[0]) ?? -1) - mark.time) < 0.003)
        }
    }

    @Test func whatIsMarkedWhileItEndsIsInTheFileOrRefused() async throws {
        let service = try PrivateService()
        let frames = GrayFrames()
        let path = "\(service.folder)/end.mov"
        let session = try await CaptureSession.start(service.daemon, frames.feed, to: path, fast())
        frames.send(0..<10)
        #expect(session.mark("first"))
        let marker = Marker(session)
        frames.send(10..<20)
        while marker.count == 0 { try await Task.sleep(for: .milliseconds(5)) }
        let receipt = try await session.stop()
        let count = await marker.end()
        #expect(receipt.marks.count == count + 1)
        guard case .stopped = receipt.end else {
            Issue.record("it ended by \(receipt.end)")
            return
        }
        #expect(!session.mark() && !session.pause())
        let titles = try Probe.lines(path, "-show_entries", "chapter_tags=title")
        #expect(titles == ["Start"] + receipt.marks.map(\.title))
    }

    @Test func aSizeEndsIt() async throws {
        let service = try PrivateService()
        let frames = GrayFrames()
        var options = fast()
        options.maxSize = 100_000
        let session = try await CaptureSession.start(
            service.daemon, frames.feed, to: "\(service.folder)/size.mov", options)
        frames.send(0..<40)
        let receipt = try await session.waitUntilEnd()
        guard case .maxSize = receipt.end else {
            Issue.record("it ended by \(receipt.end)")
            return
        }
        #expect(receipt.size <= 100_000 && receipt.coded > 1)
        #expect(receipt.captured == receipt.coded + receipt.dropped)
        #expect(try GrayFrames.numbers(receipt.file).count == receipt.coded)
    }

    /// AAC that FFmpeg has coded, as an app's encoder would.
    private func tone(_ folder: String) throws -> (
        path: String, settings: SoundTrackSettings, packets: [MoviePacket]
    ) {
        let path = "\(folder)/tone.mp4"
        _ = try Probe.run([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=1000:sample_rate=48000:duration=3", "-c:a", "aac",
            path,
        ])
        let movie = try Movie(path: path)
        let track = try #require(movie.tracks.first { $0.kind == .sound })
        var settings = SoundTrackSettings(timeScale: track.timeScale, entry: track.entries[0].box)
        settings.rollDistance = -1
        var reader = try movie.packets(of: track)
        var packets: [MoviePacket] = []
        while let packet = try reader.next() { packets.append(packet) }
        try #require(packets.count > 100)
        return (path, settings, packets)
    }

    @Test(arguments: ["mov", "mp4"])
    func soundOfAnAppIsInTheFile(suffix: String) async throws {
        let service = try PrivateService()
        let (tone, settings, packets) = try tone(service.folder)
        let (frames, sound) = (GrayFrames(), CaptureSoundFeed(settings))
        #expect(!sound.send([0], duration: 1024, at: 0))
        var options = fast()
        options.sound = sound
        let path = "\(service.folder)/sound.\(suffix)"
        let session = try await CaptureSession.start(service.daemon, frames.feed, to: path, options)
        frames.send(0..<1)
        let begin = frames.time(0)
        var rest = packets[...]
        for number in 1..<40 {
            // As they would come: those that end before the frame.
            while let packet = rest.first, packet.time + packet.duration < Int64(number) * 48000 / 25 {
                let time = Int64(begin) + packet.time * 1_000_000_000 / 48000
                #expect(sound.send(packet.bytes, duration: Int(packet.duration), at: UInt64(time)))
                rest.removeFirst()
            }
            frames.send(number..<number + 1)
        }
        let receipt = try await session.stop()
        #expect(!sound.send([0], duration: 1024, at: 0))
        let counts = try #require(receipt.sound)
        #expect(counts.dropped == 0 && counts.silence == 0)
        let (mine, wanted) = (try Probe.sound(path), try Probe.sound(tone))
        #expect(mine.count >= 60 && mine == Array(wanted.prefix(mine.count)), "\(mine.count) packets")
        #expect(try GrayFrames.numbers(path).count == receipt.coded)
        // Both begin with the movie, and a decoder finds no fault.
        for stream in ["v", "a"] {
            let start = try Probe.lines(path, "-select_streams", stream, "-show_entries", "stream=start_time")
            #expect(start.first.flatMap { Double($0) } == 0, "\(stream): \(start)")
        }
        #expect(
            try Probe.run(["ffmpeg", "-v", "error", "-xerror", "-i", path, "-map", "0:a", "-f", "null", "-"])
                .isEmpty)
    }
}

/// Marks a recording again and again, on a thread of its own.
private final class Marker: Sendable {
    private let state = Mutex((count: 0, ends: false, hasEnded: false))

    var count: Int { state.withLock { $0.count } }

    init(_ session: CaptureSession) {
        Thread.detachNewThread { [self] in
            while !state.withLock({ $0.ends }) {
                if session.mark() { state.withLock { $0.count += 1 } }
                // Chapters' times are in milliseconds.
                usleep(5_000)
            }
            state.withLock { $0.hasEnded = true }
        }
    }

    /// Returns how many marks were taken.
    func end() async -> Int {
        state.withLock { $0.ends = true }
        while !state.withLock({ $0.hasEnded }) { try? await Task.sleep(for: .milliseconds(5)) }
        return count
    }
}
