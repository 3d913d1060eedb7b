// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDLibAVReading
import HWDMetadata
import HWDModel
import Testing

/// Pictures as input: series and single files.
@Suite struct PictureTests {
    /// Writes numbered pictures and returns the pattern.
    static func series(_ scratch: Scratch, from first: Int, count: Int, pattern: String = "f-%04d.png") throws
        -> String
    {
        let path = scratch.file(pattern)
        try run(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25", "-frames:v", "\(count)",
            "-start_number", "\(first)", path)
        return path
    }

    @Test(arguments: [0, 1, 1001, 9998], [nil, Rational(10), Rational(30000, 1001)])
    func seriesStartAtTheLowestNumber(_ first: Int, _ rate: Rational?) throws {
        let scratch = try Scratch()
        var options = MediaReader.Options()
        options.frameRate = rate
        let path = try Self.series(scratch, from: first, count: 4)
        let reader = try MediaReader(path: path, options: options)
        #expect(reader.video.averageFrameRate == rate ?? Rational(25))
        #expect(reader.video.frameCount == 4)
        #expect(reader.warnings.isEmpty)
        let reference = try Reference(
            scratch.file("f-%04d.png"), stream: 0, options: ["-pix_fmt", "yuv420p"],
            input: ["-start_number", "\(first)"])
        var times: [Double] = []
        try reader.forEachFrame { frame in
            times.append(Double(frame.pts) * reader.video.timeBase.value)
            let ours = try copied(frame)
            #expect(try psnr(ours, reference.next(ours.count), wide: false) > 30)
        }
        let length = 1 / (rate ?? Rational(25)).value
        #expect(times.count == 4)
        #expect(zip(times, 0...).allSatisfy { abs($0 - Double($1) * length) < 1e-6 })
    }

    @Test func warnsAboutAGap() throws {
        let scratch = try Scratch()
        let path = try Self.series(scratch, from: 7, count: 6, pattern: "g%02d.png")
        try FileManager.default.removeItem(atPath: scratch.file("g09.png"))
        let reader = try MediaReader(path: path)
        #expect(reader.warnings.count == 1)
        #expect(reader.warnings[0].contains("g09.png") && reader.warnings[0].contains("3 files"))
        var frames = 0
        try reader.forEachFrame { _ in frames += 1 }
        #expect(frames == 2)
    }

    @Test(arguments: ["png", "jpg", "bmp", "tiff"])
    func aSinglePictureIsOneFrame(_ ending: String) throws {
        let scratch = try Scratch()
        let path = scratch.file("one.\(ending)")
        try run(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=red:s=33x17,format=rgb24", "-frames:v", "1",
            "-update", "1", path)
        var options = MediaReader.Options()
        for rate in [nil, Rational(1)] {
            options.frameRate = rate
            let reader = try MediaReader(path: path, options: options)
            #expect((reader.video.width, reader.video.height) == (33, 17))
            var frames = 0
            try reader.forEachFrame { frame in
                frames += 1
                #expect(frame.pts == 0)
                #expect(Double(frame.duration) * reader.video.timeBase.value == 1 / (rate ?? Rational(25)).value)
            }
            #expect(frames == 1)
        }
    }

    @Test func existingFilesPrecedePatterns() throws {
        let scratch = try Scratch()
        #expect(errorKind { _ = try MediaReader(path: scratch.file("none-%04d.png")) } == .noInput)
        #expect(errorKind { _ = try MediaReader(path: scratch.file("no/none-%04d.png")) } == .noInput)
        #expect(errorKind { _ = try MediaReader(path: scratch.file("two-%d-%d.png")) } == .noInput)
        let path = scratch.file("take%02d.mp4")
        try FileManager.default.copyItem(atPath: Clips.h264, toPath: path)
        #expect(try MediaReader(path: path).video.codec == "h264")
        // Files of other widths and other names do not belong to the series.
        let pattern = try Self.series(scratch, from: 1, count: 2, pattern: "x%d.png")
        try Data().write(to: URL(filePath: scratch.file("x01.png")))
        try Data().write(to: URL(filePath: scratch.file("xa.png")))
        #expect(try MediaReader(path: pattern).video.frameCount == 2)
    }

    @Test func refusesARateForFilesWithTheirOwn() throws {
        let scratch = try Scratch()
        var options = MediaReader.Options()
        options.frameRate = Rational(30)
        #expect(errorKind { _ = try MediaReader(path: Clips.h264, options: options) } == .usage)
        let path = scratch.file("a.y4m")
        try run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=s=16x16:d=0.1,format=yuv420p", path)
        #expect(errorKind { _ = try MediaReader(path: path, options: options) } == .usage)
    }

    @Test func refusesPicturesOfAnotherSize() throws {
        let scratch = try Scratch()
        let path = try Self.series(scratch, from: 1, count: 3)
        try run(
            "ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "color=s=32x32", "-frames:v", "1", "-update", "1",
            scratch.file("f-0003.png"))
        #expect(errorKind { try MediaReader(path: path).forEachFrame { _ in } } == .unsupported)
    }
}
