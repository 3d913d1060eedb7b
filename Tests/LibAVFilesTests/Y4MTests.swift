// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDLibAVReading
import HWDMetadata
import HWDModel
import Testing

@Suite struct Y4MTests {
    @Test(
        arguments: [
            ("yuv420p", PixelFormat.yu12, 64, 48), ("yuv420p10le", .i010, 64, 48), ("yuv420p", .yu12, 33, 17),
            // Not 33 wide: FFmpeg 5.1 writes odd chroma rows of 16-bit samples a byte short.
            ("yuv420p10le", .i010, 34, 17), ("yuv420p", .yu12, 1, 1),
        ])
    func readsFramesDirectlyIntoThePool(
        _ pixels: String, _ format: PixelFormat, _ width: Int, _ height: Int
    ) throws {
        let scratch = try Scratch()
        let (path, raw) = (scratch.file("in.y4m"), scratch.file("in.yuv"))
        let source = "testsrc2=s=64x48:r=30000/1001:d=0.4"
        let scale = "scale=\(width):\(height),format=\(pixels)"
        try run(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, "-vf", scale, "-strict", "-1", "-f",
            "yuv4mpegpipe",
            path)
        try run("ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", raw)
        let expected = [UInt8](try Data(contentsOf: URL(filePath: raw)))
        let pool = TestPool(slots: 1, slotSize: 1 << 16)
        let reader = try MediaReader(path: path, memory: pool)
        #expect(reader.video.format == format)
        #expect((reader.video.width, reader.video.height) == (width, height))
        #expect(reader.video.averageFrameRate == Rational(30000, 1001))
        #expect(reader.video.timeBase == Rational(1001, 30000))
        var all: [UInt8] = []
        var times: [Int64] = []
        try reader.forEachFrame { frame in
            let direct = try #require(frame.direct)
            let ours = try pool.samples(direct.layout, frame)
            #expect(try copied(frame) == ours)
            all += ours
            times.append(frame.pts)
        }
        #expect(all == expected)
        #expect(times == Array(0..<12))
        #expect(reader.report.directFrames == 12)
        #expect(pool.lent == 0)
        // Without a free slot the samples are the same.
        var again: [UInt8] = []
        try MediaReader(path: path).forEachFrame { again += try copied($0) }
        #expect(again == expected)
    }

    /// A Y4M stream of `frames` grey 4x2 frames.
    static func stream(_ parameters: String, frames: Int = 2, head: String = "FRAME\n") -> [UInt8] {
        var bytes = Array("YUV4MPEG2 \(parameters)\n".utf8)
        for frame in 0..<frames {
            bytes += Array(head.utf8)
            bytes += [UInt8](repeating: UInt8(100 + frame), count: 12)
        }
        return bytes
    }

    func reader(_ bytes: [UInt8], _ scratch: Scratch) throws -> MediaReader {
        let path = scratch.file("\(UUID().uuidString).y4m")
        try Data(bytes).write(to: URL(filePath: path))
        return try MediaReader(path: path)
    }

    @Test func parsesHeaders() throws {
        let scratch = try Scratch()
        func video(_ parameters: String) throws -> VideoDescription {
            try reader(Self.stream(parameters), scratch).video
        }
        #expect(try video("W4 H2").averageFrameRate == Rational(25))
        #expect(try video("W4 H2 F0:0").averageFrameRate == Rational(25))
        #expect(try video("W4 H2 F50:1 Ip A4:3").sampleAspectRatio == Rational(4, 3))
        #expect(try video("W4 H2 A0:0 I?").sampleAspectRatio == nil)
        #expect(try video("W4 H2 XCOLORRANGE=FULL XYSCSS=420JPEG").color.isFullRange)
        #expect(try !video("W4 H2 XCOLORRANGE=LIMITED").color.isFullRange)
        let locations = ["C420": nil, "C420jpeg": 1, "C420mpeg2": 0, "C420paldv": 2] as [String: UInt8?]
        for (chroma, location) in locations {
            #expect(try video("W4 H2 \(chroma)").color.chromaLocation == location)
        }
        #expect(try video("W2 H2 C420p10").format == .i010)
    }

    @Test(
        arguments: [
            ("yuv422p", 34, 18), ("yuv422p", 33, 17), ("yuv444p", 33, 17), ("yuv411p", 33, 17), ("gray", 33, 17),
            ("yuv420p12le", 34, 18), ("yuv420p16le", 34, 18), ("yuv422p10le", 34, 18), ("yuv444p16le", 34, 18),
            ("gray10le", 34, 18), ("gray16le", 34, 18), ("yuva444p", 34, 18),
        ])
    func convertsLikeMatroska(_ pixels: String, _ width: Int, _ height: Int) throws {
        let scratch = try Scratch()
        let (y4m, mkv) = (scratch.file("in.y4m"), scratch.file("in.mkv"))
        let test = ["-v", "error", "-f", "lavfi", "-i", "testsrc2=s=\(width)x\(height):d=0.2"]
        try run(["ffmpeg"] + test + ["-pix_fmt", pixels, "-strict", "-1", "-f", "yuv4mpegpipe", y4m])
        try run(["ffmpeg", "-v", "error", "-i", y4m, "-c:v", "ffv1", "-strict", "-1", "-pix_fmt", pixels, mkv])
        let (ours, other) = (try MediaReader(path: y4m), try MediaReader(path: mkv))
        #expect(ours.video.conversion != nil && ours.video.conversion == other.video.conversion)
        #expect(ours.video.format == other.video.format && ours.video.sourceFormat == pixels)
        #expect(ours.video.sourceBitDepth == other.video.sourceBitDepth)
        var expected: [[UInt8]] = []
        try other.forEachFrame { expected.append(try copied($0)) }
        var frames: [[UInt8]] = []
        try ours.forEachFrame { frames.append(try copied($0)) }
        #expect(frames == expected && frames.count == 5)
        let cut = try Data(contentsOf: URL(filePath: y4m)).dropLast(3)
        #expect(errorKind { try reader(Array(cut), scratch).forEachFrame { _ in } } == .badInput)
    }

    @Test(arguments: ["It", "Ib", "Im"])
    func announcesInterlacedFrames(_ parameter: String) throws {
        let scratch = try Scratch()
        let reader = try reader(Self.stream("W4 H2 F25:1 \(parameter)"), scratch)
        #expect(reader.video.isInterlaced && reader.warnings.count == 1)
        #expect(reader.warnings.first?.contains("interlaced") == true)
        var values: [UInt8] = []
        try reader.forEachFrame { values.append(try copied($0)[0]) }
        #expect(values == [100, 101])
    }

    @Test func ignoresFrameParameters() throws {
        let scratch = try Scratch()
        var values: [UInt8] = []
        try reader(Self.stream("W4 H2", head: "FRAME Ixyz Xsomething\n"), scratch).forEachFrame {
            values.append(try copied($0)[0])
        }
        #expect(values == [100, 101])
    }

    @Test(
        arguments: [
            ("W4 H2 C410", "C410"), ("W4 H2 C444p11", "C444p11"), ("W4 H2 Cmono32", "Cmono32"),
            ("W4 H2 C420p", "C420p"), ("W4 H2 C411p10", "C411p10"), ("W4 H2 C420\u{1B}[2J", "C420?[2J"),
        ])
    func namesUnsupportedParameters(_ parameters: String, _ name: String) throws {
        let scratch = try Scratch()
        do {
            _ = try reader(Self.stream(parameters), scratch)
            Issue.record("\(parameters) was accepted")
        } catch let error as MediaError {
            #expect(error.kind == .unsupported)
            #expect(error.reason.contains(name))
        }
    }

    @Test(
        arguments: [
            "", "W4", "H2", "W0 H2", "W4 H-2", "W99999 H99999", "W20000 H20000", "Wx H2", "W4 H2 F1", "W4 H2 F-1:1",
            "W4 H2 Fa:b", "W4 H2 Q7", "W4 H2 Ix", "W99999999999999999999 H2",
        ])
    func refusesDamagedHeaders(_ parameters: String) throws {
        let scratch = try Scratch()
        #expect(errorKind { _ = try reader(Self.stream(parameters), scratch) } == .badInput)
    }

    @Test func refusesOtherFormats() throws {
        let scratch = try Scratch()
        let endless = Array("YUV4MPEG2 ".utf8) + [UInt8](repeating: UInt8(ascii: "X"), count: 5000)
        for bytes in [[], [0], Array("YUV4MPEG".utf8), Array("RIFF....AVI ".utf8), endless] as [[UInt8]] {
            #expect(errorKind { _ = try reader(bytes, scratch) } == .badInput)
        }
        #expect(errorKind { _ = try MediaReader(path: scratch.file("missing.y4m")) } == .noInput)
        try FileManager.default.createDirectory(atPath: scratch.file("d.y4m"), withIntermediateDirectories: true)
        #expect(errorKind { _ = try MediaReader(path: scratch.file("d.y4m")) } == .noInput)
    }

    /// Cut after every byte: whole frames are returned, then the end or an error that names the frame.
    @Test func errorsOfCutStreamsNameTheFrame() throws {
        let scratch = try Scratch()
        let whole = Self.stream("W4 H2", frames: 2)
        let header = 16
        let frame = 18
        #expect(whole.count == header + 2 * frame)
        for length in header...whole.count {
            let reader = try reader(Array(whole.prefix(length)), scratch)
            let complete = (length - header) / frame
            do {
                var frames = 0
                defer { #expect(frames == complete, "\(length) bytes") }
                try reader.forEachFrame { _ in frames += 1 }
                #expect((length - header) % frame >= 0 && (length - header) % 18 == 0, "\(length) bytes")
            } catch let error as MediaError {
                #expect(error.kind == .badInput)
                #expect(error.reason.contains("frame \(complete)"), "\(error.reason)")
            }
        }
        #expect(
            errorKind { try reader(whole + Array("FRAMX\n".utf8), scratch).forEachFrame { _ in } } == .badInput)
    }

    @Test func readsStandardInput() async throws {
        let scratch = try Scratch()
        let path = scratch.file("piped")
        try Data(Self.stream("W4 H2", frames: 3)).write(to: URL(filePath: path))
        await #expect(processExitsWith: .exitCode(3)) { [path = path as String] in
            dup2(open(path, O_RDONLY), STDIN_FILENO)
            var frames: Int32 = 0
            try MediaReader(path: "-").forEachFrame { _ in frames += 1 }
            exit(frames)
        }
    }
}
