// SPDX-License-Identifier: GPL-2.0-or-later
import ArgumentParser
import Foundation
import HWDControlCommands
import Testing

@testable import HWDCapturing

/// Streams of cameras that code themselves, copied into files that ffmpeg decodes.
@Suite struct CopyTests {
    private static func run(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        let pipe = Pipe()
        (process.standardOutput, process.standardInput) = (pipe, FileHandle.nullDevice)
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(arguments)")
        return String(decoding: output, as: UTF8.self)
    }

    /// A folder with a stream of key frames every ten pictures, and what is recorded of it.
    private final class Scratch {
        let url = FileManager.default.temporaryDirectory.appending(path: "copies-\(UUID().uuidString)")
        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: url) }
        func path(_ name: String) -> String { url.appending(path: name).path }
    }

    /// A picture of a stream, as a camera sends it.
    private struct Unit {
        var bytes: [UInt8]
        var isKeyFrame: Bool
    }

    private static func make(
        _ codec: CaptureCodec, _ path: String, size: String = "320x240", frames: Int = 30
    ) throws -> [Unit] {
        let parameters = "aud=1:keyint=10:min-keyint=10:scenecut=0:bframes=0:repeat-headers=1"
        let encoder =
            codec == .hevc
            ? ["libx265", "-x265-params", "log-level=none:\(parameters)"] : ["libx264", "-x264-params", parameters]
        _ = try run(
            [
                "ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=30", "-frames:v",
                "\(frames)", "-pix_fmt", "yuv420p", "-preset", "ultrafast", "-c:v",
            ] + encoder + ["-f", codec.rawValue, path])
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        let delimiter: [UInt8] = [0, 0, 0, 1, codec == .hevc ? 0x46 : 0x09]
        let starts = bytes.indices.filter { bytes[$0...].starts(with: delimiter) }
        try #require(starts.count == frames)
        return starts.indices.map { index in
            let end = index + 1 < starts.count ? starts[index + 1] : bytes.count
            return Unit(bytes: Array(bytes[starts[index]..<end]), isKeyFrame: index % 10 == 0)
        }
    }

    /// What was recorded.
    private struct Copy {
        var written: CaptureWriter.Result
        var counts: CaptureQueue.Counts
        var sizes: [String]
    }

    private static func record(
        _ units: [(number: UInt64, unit: Unit)], _ codec: CaptureCodec, to path: String, segment: UInt64? = nil
    ) throws -> Copy {
        let format = CaptureFormat(.coded(codec), width: 320, height: 240, rate: CaptureRate(30))
        let queue = try CopyQueue(format, limit: nil)
        let plan = CaptureFiles.Plan(
            path: path, replaces: false, isNumbered: segment != nil, maxSize: nil, color: nil)
        let writer = try CaptureWriter(plan, wake: queue.wake)
        let recording = CopyRecording(
            codec, queue, writer, nil, frameDuration: 33_333_333, color: nil, segment: segment, limit: nil)
        for (number, unit) in units {
            let time = 1_000_000_000_000 + number * 1_000_000_000 / 30
            unit.bytes.withUnsafeBytes {
                queue.coded($0, isKeyFrame: unit.isKeyFrame, at: time, sequence: number, arrival: time)
            }
            recording.drain()
        }
        let written = writer.finish()
        recording.settle(written.frames)
        return Copy(
            written: written, counts: recording.counts,
            sizes: recording.sizes.map { "\($0.width)x\($0.height) \(Int($0.time * 30 + 0.5))" })
    }

    /// The MD5 of every picture that ffmpeg decodes.
    private static func pictures(_ path: String) throws -> [String] {
        try run([
            "ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-autoscale", "0", "-fps_mode", "passthrough", "-f",
            "framemd5", "-",
        ]).split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { String($0.split(separator: ",").last ?? "").trimmingCharacters(in: .whitespaces) }
    }

    private static func numbered(_ units: [Unit], from first: Int = 0) -> [(number: UInt64, unit: Unit)] {
        units.enumerated().map { (UInt64($0 + first), $1) }
    }

    @Test(
        arguments: [(CaptureCodec.hevc, "hevc,Main,hvc1"), (.h264, "h264,Constrained Baseline,avc1")],
        ["mov", "mp4"])
    func aStreamIsCopied(codec: (CaptureCodec, String), suffix: String) throws {
        let scratch = try Scratch()
        let units = try Self.make(codec.0, scratch.path("in"))
        let path = scratch.path("out.\(suffix)")
        let copy = try Self.record(Self.numbered(units), codec.0, to: path)
        #expect(copy.written.frames == 30 && copy.counts.captured == 30 && copy.counts.log.total == 0)
        #expect(copy.sizes == ["320x240 0"])
        #expect(try Self.pictures(path) == Self.pictures(scratch.path("in")))
        let stream = try Self.run([
            "ffprobe", "-v", "error", "-show_entries", "stream=codec_name,profile,codec_tag_string", "-of",
            "csv=p=0",
            path,
        ])
        #expect(stream.trimmingCharacters(in: .newlines) == codec.1)
        let keys = try Self.run([
            "ffprobe", "-v", "error", "-show_entries", "packet=flags,pts", "-of", "csv=p=0", path,
        ]).split(separator: "\n")
        #expect(keys.indices.filter { keys[$0].contains("K") } == [0, 10, 20])
        #expect(keys.prefix(3).map { $0.split(separator: ",")[0] } == ["0", "3000", "6000"])
    }

    @Test(arguments: [CaptureCodec.hevc, .h264])
    func aStreamBeginsWithItsFirstKeyFrame(codec: CaptureCodec) throws {
        let scratch = try Scratch()
        let units = try Self.make(codec, scratch.path("in"))
        let path = scratch.path("out.mov")
        let copy = try Self.record(Array(Self.numbered(units).dropFirst(7)), codec, to: path)
        #expect(copy.written.frames == 20 && copy.counts.captured == 23)
        #expect(copy.counts.log.counts == [.keyFrame: 3])
        #expect(try Self.pictures(path) == Array(try Self.pictures(scratch.path("in")).dropFirst(10)))
    }

    /// A decoder conceals what depends on a lost picture; what is in the file is as it came.
    @Test func lostPicturesAreNamed() throws {
        let scratch = try Scratch()
        let units = Self.numbered(try Self.make(.h264, scratch.path("in"))).filter { ![13, 14, 27].contains($0.0) }
        let copy = try Self.record(units, .h264, to: scratch.path("out.mov"))
        #expect(copy.written.frames == 27 && copy.counts.captured == 30)
        #expect(
            copy.counts.log.drops.map { "\($0.frames) \($0.cause) \(Int($0.time * 30 + 0.5))" } == [
                "2 source 13", "1 source 27",
            ])
    }

    @Test(arguments: [CaptureCodec.hevc, .h264])
    func damagedUnitsAreCounted(codec: CaptureCodec) throws {
        let scratch = try Scratch()
        var units = Self.numbered(try Self.make(codec, scratch.path("in")))
        // No picture, no NAL unit, and a sequence parameter set that ends early.
        units[4].unit.bytes = Array(units[4].unit.bytes.prefix(7))
        units[5].unit.bytes = [1, 2, 3]
        units[10].unit.bytes =
            codec == .hevc
            ? [0, 0, 0, 1, 0x42, 1, 1, 1] + units[9].unit.bytes : [0, 0, 0, 1, 0x67, 66] + units[9].unit.bytes
        let copy = try Self.record(units, codec, to: scratch.path("out.mov"))
        #expect(copy.written.failure == nil)
        #expect(copy.written.frames == 27 && copy.counts.captured == 30)
        #expect(copy.counts.log.counts == [.damaged: 3])
    }

    @Test(arguments: [CaptureCodec.hevc, .h264])
    func anotherSizeIsAnotherSampleEntry(codec: CaptureCodec) throws {
        let scratch = try Scratch()
        let units =
            Self.numbered(try Self.make(codec, scratch.path("large")))
            + Self.numbered(try Self.make(codec, scratch.path("small"), size: "160x128"), from: 30)
            + Self.numbered(try Self.make(codec, scratch.path("again"), frames: 10), from: 60)
        let path = scratch.path("out.mov")
        let copy = try Self.record(units, codec, to: path)
        #expect(copy.written.frames == 70 && copy.written.reports.count == 1 && copy.counts.log.total == 0)
        #expect(copy.sizes == ["320x240 0", "160x128 30", "320x240 60"])
        let sizes = try Self.run([
            "ffprobe", "-v", "error", "-show_entries", "frame=width,height", "-of", "csv=p=0", path,
        ]).split(separator: "\n").map { $0.split(separator: ",").joined(separator: ",") }
        #expect(
            sizes == Array(repeating: "320,240", count: 30) + Array(repeating: "160,128", count: 30)
                + Array(repeating: "320,240", count: 10))
        let expected = try ["large", "small", "again"].flatMap { try Self.pictures(scratch.path($0)) }
        #expect(try Self.pictures(path) == expected)
    }

    /// The first movie box has room for some twenty entries; then another file begins.
    @Test func sizesWithoutEndAreInFurtherFiles() throws {
        let scratch = try Scratch()
        var units: [(number: UInt64, unit: Unit)] = []
        for size in 0..<40 {
            units += Self.numbered(
                try Self.make(.h264, scratch.path("in"), size: "\(64 + 2 * size)x64", frames: 1), from: size)
        }
        let copy = try Self.record(units, .h264, to: scratch.path("out.mov"))
        let reports = copy.written.reports
        #expect(reports.count > 1 && reports.reduce(0) { $0 + $1.frames } == 40 && copy.counts.log.total == 0)
        #expect(reports.prefix(2).map { URL(filePath: $0.file).lastPathComponent } == ["out.mov", "out-002.mov"])
        let pictures = try reports.reduce(0) { try $0 + Self.pictures($1.file).count }
        #expect(pictures == 40)
    }

    @Test func filesOfASegmentBeginWithKeyFrames() throws {
        let scratch = try Scratch()
        let units = Self.numbered(try Self.make(.hevc, scratch.path("in"), frames: 70))
        let copy = try Self.record(units, .hevc, to: scratch.path("out.mov"), segment: 1_000_000_000)
        #expect(copy.written.reports.map(\.frames) == [30, 30, 10])
        let pictures = try copy.written.reports.flatMap { try Self.pictures($0.file) }
        #expect(try pictures == Self.pictures(scratch.path("in")))
    }

    @Test func theOptionsOfCopiesExcludeTheEncoders() throws {
        let base = ["--source", "v4l2:/dev/video0", "a.mov"]
        #expect(try CaptureArguments.parse(base + ["--copy"]).copy)
        for other in [["--quality", "0.5"], ["--bitrate", "1M"], ["--preset", "fast"], ["--hardware", "off"]] {
            let error = #expect(throws: (any Error).self) { try CaptureArguments.parse(base + ["--copy"] + other) }
            #expect(CaptureArguments.message(for: try #require(error)).contains("--copy codes nothing"))
        }
        let error = #expect(throws: (any Error).self) {
            try CaptureArguments.parse(base + ["--constant-frame-rate"])
        }
        #expect(CaptureArguments.message(for: try #require(error)).contains("needs --frame-rate"))
    }
}
