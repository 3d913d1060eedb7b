// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWCapture
import HWClient
import HWMovies
import Synchronization
import Testing

/// Frames of one gray each, whose value is their number, that an app feeds.
final class GrayFrames: Sendable {
    static let (width, height) = (64, 64)
    let feed: CaptureFeed
    /// The time of the first frame, which is that at which it is sent.
    private let begin = Mutex<UInt64?>(nil)

    init(rate: CaptureRate? = CaptureRate(25)) {
        feed = CaptureFeed(
            CaptureFormat(
                .raw(pixelFormat: "NV12"), width: Self.width, height: Self.height, rate: rate, primaries: 1,
                transfer: 1, matrix: 1))
    }

    /// Nanoseconds of a frame's time: 40 ms apart.
    func time(_ number: Int) -> UInt64 {
        begin.withLock { begin in
            let first = begin ?? CaptureFeed.now
            begin = first
            return first + UInt64(number) * 40_000_000
        }
    }

    /// Sends a frame that is taken now.
    /// - Returns: when, in nanoseconds.
    func sendNow(_ number: Int) -> UInt64 {
        let now = CaptureFeed.now
        send(number..<number + 1, at: { _ in now })
        return now
    }

    /// Sends frames, by default each a moment after the other, 40 ms apart by their times.
    func send(_ numbers: Range<Int>, waits: Bool = true) {
        send(numbers, waits: waits, at: time)
    }

    private func send(_ numbers: Range<Int>, waits: Bool = true, at time: (Int) -> UInt64) {
        let chroma = [UInt8](repeating: 128, count: Self.width * Self.height / 2)
        for number in numbers {
            let luma = [UInt8](repeating: UInt8(16 + 4 * number), count: Self.width * Self.height)
            luma.withUnsafeBytes { luma in
                chroma.withUnsafeBytes { chroma in
                    let planes = [
                        CapturePlane(luma, stride: Self.width), CapturePlane(chroma, stride: Self.width),
                    ]
                    _ = feed.send(planes, at: time(number), sequence: UInt64(number))
                }
            }
            if waits { usleep(20_000) }
        }
    }

    /// The numbers of a file's pictures, as FFmpeg decodes them.
    static func numbers(_ path: String) throws -> [Int] {
        let ffmpeg = Process()
        ffmpeg.executableURL = URL(filePath: "/usr/bin/ffmpeg")
        ffmpeg.arguments = [
            "-v", "error", "-i", path, "-fps_mode", "passthrough", "-pix_fmt", "nv12", "-f", "rawvideo", "-",
        ]
        let pipe = Pipe()
        ffmpeg.standardOutput = pipe
        try ffmpeg.run()
        let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
        ffmpeg.waitUntilExit()
        try #require(ffmpeg.terminationStatus == 0)
        return stride(from: width * height / 2 + width / 2, to: bytes.count, by: width * height * 3 / 2).map {
            Int((Double(Int(bytes[$0]) - 16) / 4).rounded())
        }
    }
}

struct RecordingTests {
    private func fast() -> CaptureSession.Options {
        var options = CaptureSession.Options()
        options.properties = [.quality: .double(0.95), .x265Preset: .string("ultrafast")]
        return options
    }

    /// Each frame is in the file at its time, or in the receipt with its cause.
    private func check(
        _ receipt: CaptureSession.Receipt, _ frames: GrayFrames, count: Int
    ) throws {
        #expect(receipt.captured == count)
        #expect(receipt.captured == receipt.coded + receipt.dropped)
        #expect(receipt.droppedByCause.values.reduce(0, +) == receipt.dropped)
        let dropped = receipt.drops.flatMap { drop in
            let first = Int((drop.time * 25).rounded())
            return first..<first + drop.frames
        }
        let expected = (0..<count).filter { !dropped.contains($0) }
        #expect(try GrayFrames.numbers(receipt.file) == expected)
        let movie = try Movie(path: receipt.file)
        let track = try #require(movie.tracks.first)
        var packets = try movie.packets(of: track)
        var times: [Double] = []
        while let packet = try packets.next() { times.append(Double(packet.time) / Double(track.timeScale)) }
        #expect(times.count == expected.count)
        for (time, number) in zip(times, expected) { #expect(abs(time - Double(number) / 25) < 0.001) }
    }

    @Test func framesOfAnAppAreInTheFileOrInTheReceipt() async throws {
        let service = try PrivateService()
        let frames = GrayFrames()
        let path = "\(service.folder)/app.mov"
        #expect(!frames.feed.send([], at: CaptureFeed.now))
        let session = try await CaptureSession.start(service.daemon, frames.feed, to: path, fast())
        frames.send(0..<40)
        #expect(session.counts.captured == 40)
        #expect(session.receipt == nil)
        let receipt = try await session.stop()
        guard case .stopped = receipt.end else {
            Issue.record("it ended by \(receipt.end)")
            return
        }
        #expect(receipt.file == path && receipt.encoderID == "org.hwdaemon.encoder.x265" && !receipt.usesHardware)
        try check(receipt, frames, count: 40)
        #expect(receipt.size == UInt64(try Data(contentsOf: URL(filePath: path)).count))
        // Again, and after the end.
        #expect(try await session.stop().coded == receipt.coded)
        #expect(session.counts.captured == 40)
        #expect(!frames.feed.send([], at: CaptureFeed.now))
    }

    @Test func aSessionWhoseProcessIsKilledLosesNoFrame() async throws {
        let service = try PrivateService()
        let frames = GrayFrames()
        let session = try await CaptureSession.start(
            service.daemon, frames.feed, to: "\(service.folder)/killed.mp4", fast())
        frames.send(0..<20)
        #expect(try service.killWorkers("ompression") == 1)
        frames.send(20..<45)
        let receipt = try await session.stop()
        #expect(receipt.restarts == 1)
        try check(receipt, frames, count: 45)
    }

    @Test func theTrialChoosesAPreset() async throws {
        let service = try PrivateService()
        let frames = GrayFrames()
        var options = fast()
        options.properties[.x265Preset] = nil
        let session = try await CaptureSession.start(
            service.daemon, frames.feed, to: "\(service.folder)/preset.mov", options)
        frames.send(0..<3)
        #expect(["ultrafast", "superfast", "veryfast"].contains(try await session.stop().preset ?? ""))
    }

    @Test func aSourceThatEndsOrFails() async throws {
        let service = try PrivateService()
        for end in [CaptureEnd.finished, .gone("the camera was unplugged"), .failed("the camera is broken")] {
            let frames = GrayFrames()
            let path = "\(service.folder)/source.mov"
            var options = fast()
            options.replaces = true
            let session = try await CaptureSession.start(service.daemon, frames.feed, to: path, options)
            frames.send(0..<10)
            frames.feed.finish(end)
            do {
                let receipt = try await session.waitUntilEnd()
                guard case .source(let reason) = receipt.end else {
                    Issue.record("it ended by \(receipt.end)")
                    continue
                }
                #expect(reason == end.reason ?? "the source has ended")
            } catch let error as CaptureError {
                #expect(error.code == .source && error.reason == "the camera is broken")
                #expect(error.exitStatus == .ioError)
                guard case .failed("the camera is broken") = end else {
                    Issue.record("\(end) is no failure")
                    continue
                }
            }
            try check(try #require(session.receipt), frames, count: 10)
        }
    }

    @Test func anotherSizeContinuesTheFile() async throws {
        let service = try PrivateService()
        let source = ChangingSource()
        let path = "\(service.folder)/changed.mov"
        let session = try await CaptureSession.start(service.daemon, source, to: path, fast())
        source.run()
        let receipt = try await session.waitUntilEnd()
        #expect(receipt.captured == 10 && receipt.coded == 10 && receipt.furtherFiles.isEmpty)
        #expect(receipt.newSizes.map { [$0.width, $0.height] } == [[128, 64]])
        #expect(abs((receipt.newSizes.first?.time ?? 0) - 0.2) < 0.001)
        let sizes = try Probe.lines(path, "-select_streams", "v", "-show_entries", "frame=width,height")
        let wanted = Array(repeating: ["64", "64"], count: 5) + Array(repeating: ["128", "64"], count: 5)
        #expect(sizes.map { $0.split(separator: ",").prefix(2).map { String($0) } } == wanted)
    }

    @Test func aDurationEndsIt() async throws {
        let service = try PrivateService()
        let frames = GrayFrames()
        var options = fast()
        options.duration = .milliseconds(400)
        let session = try await CaptureSession.start(
            service.daemon, frames.feed, to: "\(service.folder)/duration.mov", options)
        // Ten have room in the queue.
        frames.send(0..<15, waits: false)
        let receipt = try await session.waitUntilEnd()
        guard case .duration = receipt.end else {
            Issue.record("it ended by \(receipt.end)")
            return
        }
        try check(receipt, frames, count: 10)
    }

    @Test func whatCannotBeRecordedWritesNothing() async throws {
        let service = try PrivateService()
        let path = "\(service.folder)/none.mov"
        func failure(
            _ format: CaptureFormat, _ path: String, _ change: (inout CaptureSession.Options) -> Void = { _ in }
        ) async -> CaptureError? {
            var options = fast()
            change(&options)
            do throws(CaptureError) {
                _ = try await CaptureSession.start(service.daemon, CaptureFeed(format), to: path, options)
                return nil
            } catch { return error }
        }
        let good = GrayFrames().feed.format
        for wrong in [
            CaptureFormat(.coded(.hevc), width: 64, height: 64, rate: nil),
            CaptureFormat(.raw(pixelFormat: "YUY2"), width: 64, height: 64, rate: nil),
            CaptureFormat(.raw(pixelFormat: "NV12"), width: 0, height: 64, rate: nil),
            CaptureFormat(.raw(pixelFormat: "NV12"), width: 64, height: 1 << 40, rate: nil),
            CaptureFormat(.raw(pixelFormat: "NV12"), width: 64, height: 64, rate: CaptureRate(0)),
        ] {
            #expect(await failure(wrong, path)?.code == .format, "\(wrong)")
        }
        #expect(await failure(good, path) { $0.duration = .zero }?.code == .format)
        #expect(await failure(good, path) { $0.maxSize = 50_000 }?.code == .format)
        let entry = Box("mp4a", [UInt8](repeating: 0, count: 28))
        for sound in [
            SoundTrackSettings(timeScale: 0, entry: entry),
            SoundTrackSettings(timeScale: 48_000, entry: Box("mp4a", [0])),
        ] {
            #expect(await failure(good, path) { $0.sound = CaptureSoundFeed(sound) }?.code == .format)
        }
        #expect(await failure(good, "\(service.folder)/none/a.mov")?.code == .file(.cannotCreate))
        #expect(FileManager.default.createFile(atPath: path, contents: Data("old".utf8)))
        #expect(await failure(good, path)?.code == .file(.cannotCreate))
        let required = await failure(good, "\(service.folder)/other.mov") {
            $0.encoderSpecification = [.requireHardware: .bool(true)]
        }
        #expect(required?.code == .session(.session(.couldNotFindVideoEncoder)))
        #expect(required?.exitStatus == .unavailable)
        // What is replaced stays until there is a frame.
        var options = fast()
        options.replaces = true
        let session = try await CaptureSession.start(service.daemon, GrayFrames().feed, to: path, options)
        let error = await #expect(throws: CaptureError.self) { try await session.stop() }
        #expect(error?.code == .noFrames)
        #expect(session.receipt == nil)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("old".utf8))
    }

    @Test func aTaskThatIsCanceledWaitsNoLongerAndTheRecordingContinues() async throws {
        let service = try PrivateService()
        let frames = GrayFrames()
        let session = try await CaptureSession.start(
            service.daemon, frames.feed, to: "\(service.folder)/canceled.mov", fast())
        let waiter = Task { try await session.waitUntilEnd() }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        frames.send(0..<10)
        try check(try await session.stop(), frames, count: 10)
    }

    @Test func theLastReferenceEndsARecording() async throws {
        let service = try PrivateService()
        let frames = GrayFrames()
        let path = "\(service.folder)/dropped.mov"
        do {
            let session = try await CaptureSession.start(service.daemon, frames.feed, to: path, fast())
            frames.send(0..<10)
            #expect(session.counts.captured == 10)
        }
        // A finished file has its media behind the type.
        for _ in 0..<600 {
            let bytes = (try? Data(contentsOf: URL(filePath: path))) ?? Data()
            if bytes.count > 32, bytes[24..<28] == Data("mdat".utf8) { break }
            usleep(50_000)
        }
        #expect(try !GrayFrames.numbers(path).isEmpty)
        #expect(!frames.feed.send([], at: CaptureFeed.now))
    }
}

/// Sends frames, and then some of another size.
private final class ChangingSource: CaptureSource, @unchecked Sendable {
    let format = CaptureFormat(.raw(pixelFormat: "NV12"), width: 64, height: 64, rate: CaptureRate(25))
    private var sink: (any CaptureSink)?

    func start(_ sink: any CaptureSink) { self.sink = sink }
    func stop() {}

    func run() {
        let begin = CaptureFeed.now
        for number in 0..<10 {
            let width = number < 5 ? 64 : 128
            if number == 5 {
                var other = format
                other.width = width
                sink?.changed(other)
            }
            let bytes = [UInt8](repeating: 128, count: width * 96)
            bytes.withUnsafeBytes { bytes in
                let planes = [0..<width * 64, width * 64..<width * 96].map {
                    CapturePlane(UnsafeRawBufferPointer(rebasing: bytes[$0]), stride: width)
                }
                sink?.frame(planes, at: begin + UInt64(number) * 40_000_000, sequence: nil)
            }
        }
        sink?.ended(.finished)
    }
}
