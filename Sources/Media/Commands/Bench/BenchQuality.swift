// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel

/// VMAF of coded streams, and H.264 of the same clip, by an ffmpeg program.
final class BenchQuality {
    private let program: FFmpegProgram
    private let source: (path: String, stream: Int)
    private let clip: BenchClip
    /// Where streams are written for the program; removed at the end.
    private let folder: String

    /// The pixel formats of ffmpeg in which pictures are compared.
    private var format: String { clip.video.format.bitDepth > 8 ? "yuv420p10le" : "yuv420p" }

    init(_ program: FFmpegProgram, _ input: String, _ clip: BenchClip) throws {
        self.program = program
        self.clip = clip
        source = (input, clip.video.streamIndex)
        var name = Array("/tmp/hwctl-bench-XXXXXX".utf8CString)
        guard mkdtemp(&name) != nil else {
            throw CommandFailure(.cannotCreate, "no folder in /tmp: \(String(cString: strerror(errno)))")
        }
        folder = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for name in [coded, h264] { unlink(name) }
        rmdir(folder)
    }

    private var coded: String { folder + "/coded.hevc" }
    private var h264: String { folder + "/coded.h264" }

    /// The VMAF of a session's stream.
    func vmaf(_ session: BenchSession) throws -> Double {
        try WholeFile.write(session.pictures, record: session.record, toAnnexB: coded)
        return try program.vmaf(of: coded, against: source, frames: clip.frames.count, format: format)
    }

    /// The clip as x264 codes it at some rates.
    func x264(_ rates: [Int64]) throws -> BenchCurve {
        let name = "x264 medium (\(program.version))"
        var curve = BenchCurve(name: name, encoderID: "x264", preset: "medium", points: [])
        for rate in rates {
            try program.codeH264(source, frames: clip.frames.count, format: format, rate: rate, to: h264)
            var status = stat()
            guard stat(h264, &status) == 0, status.st_size > 0 else {
                throw CommandFailure(.software, "x264 coded nothing")
            }
            let vmaf = try program.vmaf(of: h264, against: source, frames: clip.frames.count, format: format)
            curve.points.append(
                BenchCurve.Point(bitRate: Double(status.st_size) * 8 / clip.seconds, vmaf: vmaf))
        }
        return curve
    }
}
