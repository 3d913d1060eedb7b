// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Synchronization
import Testing

/// The clips that tests encode and decode.
enum Clips {
    private static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static let media = repository.appendingPathComponent("Tests/Media")

    /// A clip that is part of the repository; Tests/Media/ATTRIBUTION.md lists them.
    static func fixture(_ name: String) -> URL { media.appendingPathComponent(name) }

    /// The large set of clips, which is not part of the repository; nil where it is not beside it.
    static let shared: URL? = {
        let url = repository.deletingLastPathComponent().appendingPathComponent("shared/media")
        return FileManager.default.fileExists(atPath: url.path) ? url : nil
    }()

    static var hasShared: Bool { shared != nil }
    /// Why a test that needs `shared` is skipped.
    static let needsShared: Comment = "needs the media set beside the repository"

    /// Every committed video.
    static let videos: [URL] = videos(in: media)

    /// Every video of the large set; none where there is no such set.
    static let sharedVideos: [URL] = shared.map(videos) ?? []

    /// Damaged and hostile files.
    static let damaged: [URL] = contents(media.appendingPathComponent("damaged"))

    /// Those of the large set; none where there is no such set.
    static let sharedDamaged: [URL] = shared.map { contents($0.appendingPathComponent("bad")) } ?? []

    private static func videos(in folder: URL) -> [URL] {
        let endings: Set = ["mp4", "mov", "MOV", "mkv", "webm", "ts", "hevc"]
        return contents(folder).filter { endings.contains($0.pathExtension) }
    }

    private static func contents(_ folder: URL) -> [URL] {
        let all = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (all ?? []).sorted { $0.path < $1.path }
    }
}

/// A file with its present contents: another value once they have changed.
private struct FileVersion: Hashable {
    private let path: String
    private let numbers: [Int64]

    init(_ path: String) {
        var status = stat()
        stat(path, &status)
        self.path = path
        numbers = [
            Int64(status.st_ino), Int64(status.st_size), Int64(status.st_ctim.tv_sec),
            Int64(status.st_ctim.tv_nsec),
        ]
    }
}

/// A file as ffprobe and ffmpeg describe it.
struct Probe {
    let path: String

    init(_ path: String) { self.path = path }

    private func ask(_ selection: String, _ entries: String) throws -> [String] {
        // Complaints about damage would drown the answer; `decodingMessages` collects them.
        let arguments = [
            "-v", "quiet", "-select_streams", selection, "-show_entries", entries, "-of",
            "default=noprint_wrappers=1:nokey=1", path,
        ]
        return try Programs.tool("ffprobe", arguments).text.split(separator: "\n").map(String.init)
    }

    /// The fields of each stream, once per version of a file.
    private static let streams = Mutex<[FileVersion: [[String: String]]]>([:])

    private var streams: [[String: String]] {
        get throws {
            let version = FileVersion(path)
            if let known = Self.streams.withLock({ $0[version] }) { return known }
            var streams: [[String: String]] = []
            let text = try Programs.tool("ffprobe", ["-v", "quiet", "-show_streams", path]).text
            for line in text.split(separator: "\n") {
                if line == "[STREAM]" { streams.append([:]) }
                guard let sign = line.firstIndex(of: "="), !streams.isEmpty else { continue }
                // Side data follows, which can have fields of the same names.
                let name = String(line[..<sign])
                if streams[streams.count - 1][name] == nil {
                    streams[streams.count - 1][name] = String(line[line.index(after: sign)...])
                }
            }
            Self.streams.withLock { $0[version] = streams }
            return streams
        }
    }

    /// A field of the first video stream.
    func field(_ name: String) throws -> String {
        try streams.first { $0["codec_type"] == "video" }?[name] ?? ""
    }

    var size: (width: Int, height: Int) {
        get throws { (Int(try field("width")) ?? 0, Int(try field("height")) ?? 0) }
    }

    /// The video frames' times in seconds, rising; nil for a frame of a stream without any.
    func frameTimes() throws -> [Double?] {
        try ask("v:0", "frame=best_effort_timestamp_time").map { Double($0) }
            .sorted { ($0 ?? 0) < ($1 ?? 0) }
    }

    /// The codecs of the audio streams.
    func audioCodecs() throws -> [String] {
        try streams.filter { $0["codec_type"] == "audio" }.map { $0["codec_name"] ?? "" }
    }

    /// In presentation order, whether each video frame is a key frame.
    func keyFrames() throws -> [Bool] { try ask("v:0", "frame=key_frame").map { $0 == "1" } }

    /// Whether samples have more than 8 bits: libavutil's names end in the byte order then.
    var isDeep: Bool { get throws { try field("pix_fmt").hasSuffix("le") } }

    /// What ffmpeg prints while it decodes everything; nothing for a sound file.
    func decodingMessages() throws -> String {
        // In the file's own time base: in that of a frame rate, ffmpeg warns of frames closer than one tick.
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
    // Paired by number: containers round times differently.
    let same = "settb=1/30,setpts=N,format=\(pixelFormat)"
    let graph = "[0:v:0]\(same)[a];[1:v:0]\(same)[b];[a][b]psnr=shortest=1"
    let errors = try Programs.tool(
        "ffmpeg", ["-v", "info", "-nostats"] + first + second + ["-lavfi", graph, "-f", "null", "-"]
    ).errors
    let average = try #require(errors.split(separator: " ").last { $0.hasPrefix("average:") })
    let value = average.dropFirst("average:".count)
    return value.hasPrefix("inf") ? .infinity : try #require(Double(value))
}
