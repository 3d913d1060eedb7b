// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDCapturing
import Testing

@testable import HWDVideoSources

/// Cameras, played by Tests/FakeCamera in a process of their own.
@Suite struct CameraTests {
    @Test(arguments: [
        ("NV12", "NV12"), ("YU12", "YU12"), ("YUYV", "NV12"), ("UYVY", "NV12"), ("XR24", "AR24"),
    ])
    func everyFrameComes(format: String, handedOn: String) throws {
        let log = try SourceLog(camera: "formats=\(format),frames=100,end=unplug")
        #expect(log.format?.hasPrefix("format \(handedOn) 640x480 30/1 1 1 ") == true)
        #expect(log.frames.map(\.number) == Array(0..<100))
        #expect(log.gaps == 0 && log.damaged == 0 && log.timesRise)
        #expect(log.end == "ended gone /fake/video0 was unplugged")
        #expect(log.status == 0)
    }

    @Test func gapsOfTheNumbersAreTheLosses() throws {
        let log = try SourceLog(camera: "frames=100,drop=7,end=unplug")
        let numbers = log.frames.map(\.number)
        #expect(numbers == (0..<100).filter { $0 % 7 != 6 })
        #expect(log.frames.map { $0.sequence - 1 } == numbers && log.gaps == 14)
    }

    /// Frames that a driver marks, or cuts off, are reported once, and leave no gap.
    @Test(arguments: ["NV12", "YUYV"])
    func damagedFramesAreNoGap(format: String) throws {
        let log = try SourceLog(camera: "formats=\(format),frames=60,error=10,short=15,end=unplug")
        #expect(log.frames.map(\.number) == (0..<60).filter { $0 % 10 != 9 && $0 % 15 != 14 })
        #expect(log.damaged == 60 - log.frames.count && log.damaged == 8 && log.gaps == 0)
    }

    @Test func silenceEndsTheSource() throws {
        let log = try SourceLog(camera: "frames=3", ["silence=300"])
        #expect(log.frames.count == 3)
        #expect(log.end?.hasPrefix("ended failed /fake/video0 sent no picture for") == true)
    }

    @Test func stopsWhenItIsTold() throws {
        let log = try SourceLog(camera: "formats=NV12", ["limit=5"])
        #expect(log.frames.prefix(5).map(\.number) == [0, 1, 2, 3, 4] && log.lines.last == "stopped")
        #expect(!log.lines.contains { $0.hasPrefix("ended") })
    }

    /// Each way in which a device can lie ends in one line, or changes nothing.
    @Test(arguments: [
        ("stride", "failure 65 /fake/video0 has pictures of 640x480 in rows of 320 bytes"),
        ("long-rows", "failure 65 /fake/video0 has pictures of 640x480 in rows of 4294967295 bytes"),
        ("format", "failure 65 /fake/video0 chose BGR3 instead of NV12, which cannot be recorded"),
        ("size", "failure 65 /fake/video0 has pictures of 4294967295x4294967295"),
        ("buffers", "failure 74 /fake/video0 has"),
        ("length", "failure 74 a buffer of /fake/video0 cannot be mapped"),
        ("output", "failure 66 /fake/video0 is no camera: it sends no video"),
        ("busy", "failure 75 /fake/video0 does not take NV12: another program uses the camera"),
        ("forbidden", "failure 77 /fake/video0 cannot be opened: Permission denied"),
        ("index", "ended failed /fake/video0 answers with a buffer that it does not have"),
        ("bytes", "ended failed /fake/video0 sent no picture for"),
    ])
    func liesAreRefused(way: String, line: String) throws {
        let log = try SourceLog(camera: "evil=\(way)", ["silence=300", "limit=50"])
        #expect(log.end?.hasPrefix(line) == true, "\(log.lines.suffix(3))")
        if line.hasPrefix("failure"), let code = line.split(separator: " ").dropFirst().first.flatMap({ Int32($0) })
        {
            #expect(log.status == code && log.lines.count == 1)
        }
    }

    /// Numbers and times that cannot be true cost no frame.
    @Test(arguments: ["numbers", "unnumbered", "times", "rates", "text", "endless"])
    func jumpsAreNoLosses(way: String) throws {
        let log = try SourceLog(camera: "evil=\(way),frames=50,end=unplug")
        #expect(log.frames.map(\.number) == Array(0..<50))
        #expect(log.gaps == 0 && log.timesRise && log.end?.hasPrefix("ended gone") == true)
    }

    @Test func listsWhatItHas() throws {
        let log = try SourceLog(
            camera: "formats=MJPG:BGR3:YUYV,sizes=1280x720:640x480,rate=60", command: "list")
        #expect(
            log.lines == [
                "camera Fake camera driver fake", "mode MJPG 1280x720 60/1", "mode MJPG 640x480 60/1",
                "mode YUYV 1280x720 60/1", "mode YUYV 640x480 60/1", "other BGR3",
            ])
        let range = try SourceLog(camera: "range=1", command: "list")
        #expect(range.lines.contains("mode NV12 4096x2160 30/1") && range.lines.contains("mode NV12 1280x720 30/1"))
        #expect(try SourceLog(camera: "evil=endless", command: "list").lines.count == 64 + 1)
    }

    @Test func anotherFileIsNoCamera() throws {
        let tool = programs.appending(path: "hwd-source-tool").path
        let folder = try Folder()
        try Data("text".utf8).write(to: folder.url.appending(path: "text"))
        let file = try run(tool, ["camera", folder.path("text")])
        #expect(file.status == 66 && file.output.contains("is no camera"))
        let missing = try run(tool, ["camera", folder.path("missing")])
        #expect(missing.status == 66 && missing.output.contains("No such file"))
        #expect(Camera.all(in: folder.url.path).isEmpty && Camera.all(in: folder.path("missing")).isEmpty)
    }

    // MARK: - Coded pictures

    private func ffmpeg(_ arguments: [String]) throws {
        #expect(try run("ffmpeg", ["-v", "error", "-y"] + arguments).status == 0)
    }

    /// The pictures are those that the ffmpeg program decodes; of 4:2:2 rows of chroma are averaged.
    @Test(arguments: ["yuvj420p", "yuvj422p"])
    func decodesJPEG(format: String) throws {
        let folder = try Folder()
        let source = "testsrc2=size=320x240:rate=10:duration=1"
        try ffmpeg(["-f", "lavfi", "-i", source, "-pix_fmt", format, "-q:v", "3", "-f", "mjpeg", folder.path("in")])
        try ffmpeg([
            "-f", "mjpeg", "-i", folder.path("in"), "-f", "rawvideo", "-pix_fmt", format, folder.path("all"),
        ])
        let log = try SourceLog(
            camera: "formats=MJPG,sizes=320x240,file=\(folder.path("in")),frames=10,end=unplug",
            ["out=\(folder.path("out"))"])
        #expect(log.format == "format YU12 320x240 30/1 1 1 1 full")
        #expect(log.frames.count == 10 && log.damaged == 0)
        let (reference, pictures) = (try folder.bytes("all"), try folder.bytes("out"))
        let (width, height) = (320, 240)
        #expect(pictures.count == 10 * width * height * 3 / 2)
        guard format == "yuvj422p" else {
            #expect(reference == pictures)
            return
        }
        var expected = Data()
        for frame in 0..<10 {
            let base = frame * width * height * 2
            expected += reference[base..<base + width * height]
            for plane in 0..<2 {
                let start = base + width * height + plane * width / 2 * height
                for row in stride(from: 0, to: height, by: 2) {
                    for x in 0..<width / 2 {
                        let at = start + row * width / 2 + x
                        expected.append(UInt8((Int(reference[at]) + Int(reference[at + width / 2]) + 1) / 2))
                    }
                }
            }
        }
        #expect(expected == pictures)
    }

    @Test func damagedJPEGIsReported() throws {
        let folder = try Folder()
        try ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=12:duration=1", "-pix_fmt", "yuvj422p", "-f", "mjpeg",
            folder.path("in"),
        ])
        let log = try SourceLog(
            camera: "formats=MJPG,sizes=320x240,file=\(folder.path("in")),frames=12,short=4,end=unplug")
        #expect(log.frames.count == 9 && log.damaged == 3 && log.gaps == 0)
        // A picture of another size than was agreed on is none.
        let other = try SourceLog(
            camera: "formats=MJPG,sizes=640x480,file=\(folder.path("in")),frames=5", ["silence=3000"])
        #expect(other.frames.isEmpty && other.damaged == 5 && other.end?.hasPrefix("ended failed") == true)
    }

    /// Cameras write segments of their own, which libavcodec refuses; their pictures are whole.
    @Test(arguments: ["AVI1", "LEN2", "Exif"])
    func segmentsOfACameraAreNoDamage(segment: String) throws {
        let folder = try Folder()
        try ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=10:duration=0.1", "-pix_fmt", "yuvj420p", "-f",
            "mjpeg", folder.path("plain"),
        ])
        let body: [UInt8] =
            switch segment {
            // APP0 of AVI that is cut off, APP4 without a byte, APP1 whose TIFF header is none.
            case "AVI1": [0xff, 0xe0, 0, 6] + Array("AVI1".utf8)
            case "LEN2": [0xff, 0xe4, 0, 2]
            default: [0xff, 0xe1, 0, 16] + Array("Exif\0\0XX\0*\0\0\0\u{8}".utf8)
            }
        let plain = try folder.bytes("plain")
        try (plain.prefix(2) + Data(body) + plain.dropFirst(2)).write(to: folder.url.appending(path: "in"))
        func pictures(_ file: String) throws -> Data {
            let log = try SourceLog(
                camera: "formats=MJPG,sizes=320x240,file=\(folder.path(file)),frames=5,end=unplug",
                ["out=\(folder.path("out"))"])
            #expect(log.frames.count == 5 && log.damaged == 0)
            return try folder.bytes("out")
        }
        #expect(try pictures("in") == pictures("plain"))
    }

    @Test(arguments: [
        (
            CaptureCodec.hevc, "HEVC", "libx265",
            ["-x265-params", "log-level=none:aud=1:keyint=10:bframes=0:repeat-headers=1"]
        ),
        (CaptureCodec.h264, "H264", "libx264", ["-x264-params", "aud=1:keyint=10:bframes=0:repeat-headers=1"]),
    ])
    func copiesCodedPictures(codec: CaptureCodec, format: String, encoder: String, options: [String]) throws {
        let folder = try Folder()
        try ffmpeg(
            [
                "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=30:duration=1", "-pix_fmt", "yuv420p", "-c:v",
                encoder, "-preset", "ultrafast",
            ] + options + ["-f", codec.rawValue, folder.path("in")])
        let camera = "formats=NV12:\(format),sizes=320x240,file=\(folder.path("in")),frames=30,end=unplug"
        let log = try SourceLog(camera: camera, ["codec=\(codec.rawValue)", "out=\(folder.path("out"))"])
        #expect(log.format?.hasPrefix("format \(codec.rawValue) 320x240") == true)
        #expect(log.frames.count == 30)
        #expect(try folder.bytes("out") == folder.bytes("in"))
        #expect(log.lines.filter { $0.hasSuffix(" key") }.count == 3)
        // Without the word, pictures are taken.
        #expect(try SourceLog(camera: camera).format?.hasPrefix("format NV12") == true)
    }

    @Test func aCodecThatItLacksIsRefused() throws {
        let log = try SourceLog(camera: "formats=NV12", ["codec=hevc"])
        #expect(
            log.status == 64 && log.lines == ["failure 64 /fake/video0 has no format that is hevc: it has NV12"])
        let other = try SourceLog(camera: "formats=BGR3")
        #expect(
            other.lines == ["failure 65 /fake/video0 has no format that can be recorded: it has BGR3"])
    }
}
