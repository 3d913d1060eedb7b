// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

/// Clips to encode.
enum Clips {
    private static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The clips beside the repository; nil where there are none.
    static let shared: URL? = existing(
        repository.deletingLastPathComponent().appendingPathComponent("shared/media"))

    /// A clip that comes with the repository.
    private static func committed(_ name: String) -> URL? {
        existing(repository.appendingPathComponent("Tests/Media/\(name)"))
    }

    /// Clips to encode whole: every video that is not a still.
    static let videos: [URL] = {
        guard let shared else {
            print("SKIPPED: the shared clips are not there; the committed ones are encoded instead")
            return ["bbb_720p.mp4", "bbb_720p_main10.mp4"].compactMap(committed)
        }
        let endings: Set = ["mp4", "mov", "MOV", "mkv", "webm", "ts", "hevc"]
        return contents(shared).filter { endings.contains($0.pathExtension) }
    }()

    /// Those of them that are coded in little time; all with HWDAEMON_TEST_ALL=1.
    static let short: [URL] = {
        let long = ["sdr1080p60_bbb_vp8.webm", "made_240fps_720p.mp4", "natural_640x360_long_h264.mp4"]
        guard getenv("HWDAEMON_TEST_ALL") == nil else { return videos }
        print("SKIPPED without HWDAEMON_TEST_ALL=1: encoding all of \(long.joined(separator: ", "))")
        return videos.filter { !long.contains($0.lastPathComponent) }
    }()

    /// Damaged and hostile files.
    static let damaged: [URL] = {
        guard let shared else {
            print("SKIPPED: damaged files: the shared clips are not there")
            return []
        }
        return contents(shared.appendingPathComponent("bad"))
    }()

    /// A shared clip by its name, else a committed one; nil, with the reason printed, where there is neither.
    static func named(_ name: String, else committed: String) -> URL? {
        if let shared, let url = existing(shared.appendingPathComponent(name)) { return url }
        let url = self.committed(committed)
        if url == nil {
            print("SKIPPED: \(name) is not there")
        } else if name != committed {
            print("\(name) is not there; \(committed) stands in")
        }
        return url
    }

    private static func existing(_ url: URL) -> URL? {
        FileManager.default.fileExists(atPath: url.path) ? url : nil
    }

    private static func contents(_ folder: URL) -> [URL] {
        let all = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (all ?? []).sorted { $0.path < $1.path }
    }
}

/// What ffprobe and ffmpeg say of a file.
struct Probe {
    let path: String

    init(_ path: String) { self.path = path }

    private func ask(_ selection: String, _ entries: String) throws -> [String] {
        // Damage is the decoder's to tell; here it would only drown the answer.
        let arguments = [
            "-v", "quiet", "-select_streams", selection, "-show_entries", entries, "-of",
            "default=noprint_wrappers=1:nokey=1", path,
        ]
        return try Programs.tool("ffprobe", arguments).text.split(separator: "\n").map(String.init)
    }

    /// A field of the first video stream.
    func field(_ name: String) throws -> String { try ask("v:0", "stream=\(name)").first ?? "" }

    var size: (width: Int, height: Int) {
        get throws {
            let text = try ask("v:0", "stream=width,height")
            return (Int(text.first ?? "") ?? 0, Int(text.dropFirst().first ?? "") ?? 0)
        }
    }

    /// The video frames' times in seconds, rising; nil for a frame of a stream without any.
    func frameTimes() throws -> [Double?] {
        try ask("v:0", "frame=best_effort_timestamp_time").map { Double($0) }
            .sorted { ($0 ?? 0) < ($1 ?? 0) }
    }

    /// The codecs of the audio streams.
    func audioCodecs() throws -> [String] { try ask("a", "stream=codec_name") }

    /// In presentation order, whether each video frame is a key frame.
    func keyFrames() throws -> [Bool] { try ask("v:0", "frame=key_frame").map { $0 == "1" } }

    /// Whether samples have more than 8 bits: libavutil's names tell the byte order then.
    var isDeep: Bool { get throws { try field("pix_fmt").hasSuffix("le") } }

    /// What ffmpeg prints while it decodes everything; nothing for a sound file.
    func decodingMessages() throws -> String {
        // In the file's own ticks: in those of a frame rate ffmpeg warns of frames that lie closer than that.
        let video = [
            "-map", "0:v", "-fps_mode", "passthrough", "-enc_time_base", "-1", "-f", "rawvideo", "/dev/null",
        ]
        let audio = try audioCodecs().isEmpty ? [] : ["-map", "0:a", "-f", "null", "-"]
        return try Programs.tool("ffmpeg", ["-y", "-v", "warning", "-i", path] + video + audio).errors
    }

    /// Every decoded sample.
    func samples(_ pixelFormat: String) throws -> [UInt8] {
        let arguments = [
            "-v", "error", "-i", path, "-map", "0:v:0", "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt",
            pixelFormat, "-",
        ]
        return try Programs.tool("ffmpeg", arguments).output
    }
}

/// PSNR in dB over all planes and frames, as ffmpeg measures it; `.infinity` for equal pictures.
func psnr(_ first: [String], _ second: [String], as pixelFormat: String) throws -> Double {
    // Paired by number, whatever time the containers give them.
    let same = "settb=1/30,setpts=N,format=\(pixelFormat)"
    let graph = "[0:v:0]\(same)[a];[1:v:0]\(same)[b];[a][b]psnr=shortest=1"
    let errors = try Programs.tool(
        "ffmpeg", ["-v", "info", "-nostats"] + first + second + ["-lavfi", graph, "-f", "null", "-"]
    ).errors
    let average = try #require(errors.split(separator: " ").last { $0.hasPrefix("average:") })
    let value = average.dropFirst("average:".count)
    return value.hasPrefix("inf") ? .infinity : try #require(Double(value))
}
