// SPDX-License-Identifier: GPL-2.0-or-later
import ArgumentParser
import Glibc
import HWDCapturing
import HWDControlCommands
import HWDModel
import HWDWire
import Synchronization
import Testing

/// Bytes that a test allocates for planes.
final class Planes {
    let bytes: UnsafeMutableRawBufferPointer

    init(_ count: Int) {
        bytes = .allocate(byteCount: count, alignment: 64)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }

    func plane(_ range: Range<Int>, stride: Int) -> CapturePlane {
        CapturePlane(UnsafeRawBufferPointer(rebasing: bytes[range]), stride: stride)
    }
}

struct TestSourceTests {
    @Test(arguments: [(64, 64), (640, 360), (1921, 1081)], [0, 1, 0xDEAD_BEEF, UInt32.max])
    func picturesHaveTheirNumber(size: (Int, Int), number: UInt32) {
        let picture = TestPicture(width: size.0, height: size.1)
        let luma = Planes(size.0 * size.1)
        let chroma = Planes((size.0 + 1) / 2 * 2 * ((size.1 + 1) / 2))
        picture.paint(number, flashes: true, luma: luma.bytes, chroma: chroma.bytes)
        var read: UInt32 = 0
        for row in 0..<4 {
            for column in 0..<8 {
                let (x, y) = (column * picture.block + picture.block / 2, row * picture.block + picture.block / 2)
                read = read << 1 | (luma.bytes[y * size.0 + x] > 128 ? 1 : 0)
            }
        }
        #expect(read == number)
        #expect(luma.bytes[size.0 * size.1 - 1] == 235)
        #expect(chroma.bytes.allSatisfy { $0 == 128 })
        // Pictures move.
        let other = Planes(size.0 * size.1)
        picture.paint(number &+ 1, flashes: true, luma: other.bytes, chroma: chroma.bytes)
        let middle = size.1 / 2 * size.0 + size.0 / 2
        #expect(other.bytes[middle] != luma.bytes[middle])
    }

    /// Counts frames, and notes their numbers.
    private final class Counter: CaptureSink {
        let numbers = Mutex<[UInt64]>([])

        func frame(_ planes: [CapturePlane], at time: UInt64, sequence: UInt64?) {
            numbers.withLock { $0.append(sequence ?? .max) }
        }
        func coded(_ unit: UnsafeRawBufferPointer, isKeyFrame: Bool, at time: UInt64, sequence: UInt64?) {}
        func lost(_ count: Int, at time: UInt64, cause: String) {}
        func changed(_ format: CaptureFormat) {}
        func ended(_ end: CaptureEnd) {}
    }

    @Test func aSourceThatWasStoppedStartsAgain() throws {
        let source = try TestSource(CaptureRequest(part: "", width: 64, height: 64, rate: CaptureRate(1000)))
        for _ in 0..<2 {
            let counter = Counter()
            try source.start(counter)
            for _ in 0..<12_000 where counter.numbers.withLock({ $0.count < 3 }) { usleep(10_000) }
            source.stop()
            #expect(counter.numbers.withLock { $0.prefix(3) } == [0, 1, 2])
        }
    }

    @Test func theSecondSignalEndsTheProgram() {
        var rule = CaptureSignalRule()
        #expect(rule.take(SIGINT) == .endProgram)
        rule = CaptureSignalRule()
        rule.isRecording = true
        #expect([SIGTERM, SIGHUP, SIGINT].map { rule.take($0) } == [.endRecording, .none, .endProgram])
        rule = CaptureSignalRule()
        rule.isRecording = true
        // A terminal closes; systemd ends what is left.
        #expect([SIGHUP, SIGHUP, SIGTERM].map { rule.take($0) } == [.endRecording, .none, .none])
    }

    @Test(arguments: [nil, 1])
    func theRangeDoesNotDependOnTheColor(primaries: Int?) throws {
        let format = CaptureFormat(
            .raw(pixelFormat: "NV12"), width: 64, height: 64, rate: CaptureRate(1, 5), primaries: primaries,
            transfer: 1, matrix: 1, isFullRange: true)
        let arguments = try CaptureArguments.parse(["--source", "test", "a.mov"])
        let settings = CaptureSettings(arguments, format, .nv12)
        #expect(settings.parameters.properties?["FullRangeVideo"] == .bool(true))
        #expect(settings.parameters.properties?["ColorPrimaries"] == primaries.map { .int(Int64($0)) })
        // Of a frame that none follows.
        #expect(settings.frameDuration == 1_000_000_000)
    }

    @Test func ticksAreTheNearest() {
        #expect((0..<91).map { CaptureSettings.ticks($0 * 1_000_000_000 / 30) } == (0..<91).map { $0 * 3000 })
        #expect(CaptureSettings.ticks(41_708_333) == 3754)
        #expect(CaptureFiles.ticks(33_333_333) == 3000)
    }

    @Test func namesOfSourcesAreFound() throws {
        let camera = CaptureKind("camera", hasPart: true, list: { [] }, open: TestSource.kind.open)
        let kinds = [TestSource.kind, camera]
        #expect(try CaptureKind.find("test", in: kinds).0.name == "test")
        #expect(try CaptureKind.find("camera:/dev/video0:1", in: kinds).1 == "/dev/video0:1")
        for name in ["", "tests", "camera", "camera:", "test:1", ":"] {
            let failure = #expect(throws: CommandFailure.self, "\(name)") {
                try CaptureKind.find(name, in: kinds)
            }
            #expect(failure?.exitCode == ExitStatus.usage.rawValue)
        }
    }

    @Test func whatASourceDoesNotDoAsAskedIsNamed() {
        func differences(_ request: CaptureRequest, _ rate: CaptureRate?) -> [String] {
            request.differences(
                from: CaptureFormat(.raw(pixelFormat: "NV12"), width: 1280, height: 720, rate: rate))
        }
        let request = CaptureRequest(width: 640, height: 480, rate: CaptureRate(60))
        #expect(
            differences(request, CaptureRate(30)) == [
                "sends 1280x720, not 640x480", "sends 30.00 frames a second, not 60.00 a second",
            ])
        #expect(
            differences(CaptureRequest(rate: CaptureRate(30)), nil) == [
                "sends a frame when something changes, not 30.00 a second"
            ])
        #expect(
            differences(CaptureRequest(width: 1280, height: 720, rate: CaptureRate(30)), CaptureRate(30000, 1001))
                .isEmpty)
        #expect(differences(CaptureRequest(), nil).isEmpty)
    }

    @Test func numbersPrecedeTheSuffix() {
        var plan = CaptureFiles.Plan(
            path: "a/talk.mov", replaces: false, isNumbered: true, maxSize: nil, color: nil)
        #expect(plan.name(1) == "a/talk-001.mov")
        #expect(plan.name(1000) == "a/talk-1000.mov")
        plan.isNumbered = false
        #expect(plan.name(1) == "a/talk.mov" && plan.name(7) == "a/talk-007.mov")
    }

    @Test(arguments: [("500M", 500_000_000), ("4g", 4_000_000_000), ("1.5k", 1500), ("12", 12)])
    func sizesHaveSuffixes(text: String, bytes: Int64) { #expect(ScaledNumber.whole(text) == bytes) }

    @Test(arguments: ["", "M", "-1", "1e5", "1MB", "nan", "999999999999T"])
    func otherSizesAreRefused(text: String) { #expect(ScaledNumber.whole(text) == nil) }

    @Test(
        arguments: [
            ("v4l2:/dev/video0", nil, false), ("v4l2:/dev/video0", "default", true), ("test", nil, true),
            ("test", "none", false),
        ])
    func aCodecOfSoundNeedsSound(source: String, audio: String?, isAccepted: Bool) throws {
        let arguments = ["a.mov", "--source", source] + (audio.map { ["--audio", $0] } ?? [])
        _ = try CaptureArguments.parse(arguments)
        let codec = arguments + ["--audio-codec", "alac"]
        if isAccepted {
            #expect(try CaptureArguments.parse(codec).audioCodec == .alac)
        } else {
            let error = #expect(throws: (any Error).self) { try CaptureArguments.parse(codec) }
            #expect(CaptureArguments.message(for: try #require(error)).contains("--audio-codec needs sound"))
        }
    }
}
