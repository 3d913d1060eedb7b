// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDLibAVReading
import HWDMetadata
import HWDModel
import Testing

@Suite struct InputTests {
    static let damaged = Clips.names(in: "\(Clips.folder)/damaged").map { "damaged/\($0)" }

    /// Damaged files end in an error or in the frames that can be decoded, never in a crash or a hang.
    @Test(arguments: damaged, [false, true])
    func damagedFilesEndCleanly(_ name: String, _ usesPool: Bool) throws {
        let pool = TestPool(slots: 24, slotSize: 4 << 20)
        do {
            let reader = try MediaReader(path: Clips.path(name))
            if usesPool { reader.use(pool) }
            var frames = 0
            try reader.forEachFrame { frame in
                _ = try copied(frame)
                frames += 1
            }
            #expect(frames > 0)
            let report = reader.report
            #expect(report.frames == frames)
            #expect((report.errors == 0) == (report.firstError == nil))
        } catch let error as MediaError {
            #expect([.badInput, .unsupported].contains(error.kind))
            #expect(!error.reason.contains("\n"))
        }
        #expect(pool.lent == 0)
    }

    @Test func countsAndLocatesDamage() throws {
        let reader = try MediaReader(path: Clips.path("damaged/bitflips_mdat.mp4"))
        try reader.forEachFrame { _ in }
        #expect(reader.report.errors > 0)
        #expect(try #require(reader.report.firstError).hasPrefix("frame "))
    }

    @Test func missingFilesAndDirectoriesAreNoInput() throws {
        let scratch = try Scratch()
        #expect(errorKind { _ = try MediaReader(path: scratch.file("missing.mp4")) } == .noInput)
        #expect(errorKind { _ = try MediaReader(path: scratch.path) } == .noInput)
        #expect(errorKind { _ = try MediaReader(path: "") } == .noInput)
        let name = String(repeating: "x", count: 5000)
        #expect(errorKind { _ = try MediaReader(path: name) } == .noInput)
    }

    /// The superuser may read every file, so the reader runs in a process without its rights.
    @Test func unreadableFilesAreNoPermission() async throws {
        let scratch = try Scratch()
        let path = scratch.file("secret.mp4")
        try FileManager.default.copyItem(atPath: Clips.h264, toPath: path)
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
        await #expect(processExitsWith: .exitCode(HWDModel.ExitStatus.noPermission.rawValue)) {
            [path = path as String] in
            let nobody: uid_t = 65534
            if geteuid() == 0, setgid(nobody) != 0 || setuid(nobody) != 0 { exit(1) }
            let kind = errorKind { _ = try MediaReader(path: path) }
            exit(kind == .noPermission ? HWDModel.ExitStatus.noPermission.rawValue : 1)
        }
    }

    @Test func refusesFilesWithoutVideo() throws {
        let scratch = try Scratch()
        let path = scratch.file("sound.mp4")
        try run("ffmpeg", "-v", "error", "-i", Clips.h264, "-vn", "-c", "copy", path)
        do {
            _ = try MediaReader(path: path)
            Issue.record("a file without video was accepted")
        } catch {
            #expect(error.kind == .badInput)
            #expect(error.reason.contains("no video stream"))
        }
    }

    @Test func opensNamesThatLookLikeProtocols() throws {
        let scratch = try Scratch()
        let path = scratch.file("take:2.mp4")
        try FileManager.default.copyItem(atPath: Clips.h264, toPath: path)
        #expect(try MediaReader(path: path).video.codec == "h264")
    }

    @Test func refusesChangesOfSize() throws {
        let scratch = try Scratch()
        let (a, b, both) = (scratch.file("a.h264"), scratch.file("b.h264"), scratch.file("ab.h264"))
        for (path, size) in [(a, "128x96"), (b, "160x96")] {
            try run(
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=\(size):d=0.2", "-c:v", "libx264", path)
        }
        try (Data(contentsOf: URL(filePath: a)) + Data(contentsOf: URL(filePath: b))).write(to: URL(filePath: both))
        do {
            try MediaReader(path: both).forEachFrame { _ in }
            Issue.record("a change of size was accepted")
        } catch let error as MediaError {
            #expect(error.kind == .unsupported)
            #expect(error.reason.contains("from 128x96 to 160x96 at frame 5"), "\(error.reason)")
        }
    }

    @Test func cancelEndsReading() throws {
        let reader = try MediaReader(path: Clips.h264)
        _ = try reader.next()
        reader.cancel()
        #expect(errorKind { try reader.forEachFrame { _ in } } == .interrupted)
    }

    @Test func describesVideo() throws {
        let video = try MediaReader(path: Clips.h264).video
        #expect(video.codec == "h264")
        #expect((video.width, video.height) == (1280, 720))
        #expect(video.averageFrameRate == Rational(25))
        #expect(video.frameCount == 50)
        #expect(video.timeBase == Rational(1, 12800))
        #expect(video.format == .yu12)
        #expect(!video.isInterlaced)
        let other = try MediaReader(path: Clips.hevc10)
        #expect(other.video.format == .i010)
        #expect(other.video.color == ColorDescription(primaries: 1, transfer: 1, matrix: 1, chromaLocation: 0))
        #expect(other.otherStreams.map(\.codec) == ["aac"])
        #expect(other.otherStreams.map(\.content) == [.audio])
    }

    /// RGB of 720 rows or more is converted with BT.709's matrix, which is not swscale's default.
    @Test func convertsUntaggedRGBToBT709() throws {
        let scratch = try Scratch()
        let path = scratch.file("rgb.mkv")
        try run(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=1280x720:d=0.08,format=bgr0", "-c:v", "ffv1",
            path)
        let reader = try MediaReader(path: path)
        #expect(reader.video.conversion?.contains("BT.709") == true)
        #expect(reader.video.color.matrix == 1)
        let scale = "scale=flags=bicubic+accurate_rnd+full_chroma_inp+full_chroma_int:out_color_matrix=bt709"
        let reference = try Reference(
            path, stream: 0,
            options: ["-vf", scale + ":out_range=tv:out_h_chr_pos=0:out_v_chr_pos=128", "-pix_fmt", "yuv420p"])
        try reader.forEachFrame { frame in
            let ours = try copied(frame)
            #expect(try psnr(ours, reference.next(ours.count), wide: false) > 50)
        }
        #expect(reader.report.frames == 2)
    }
}
