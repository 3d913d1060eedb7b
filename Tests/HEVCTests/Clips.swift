// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

@testable import HWDHEVC

/// The project's clips, and the external tools that tests compare with.
enum Clips {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The clips of the repository.
    static let folder = root.appendingPathComponent("Tests/Media")

    /// The media set beside the repository; nil in a clone without it.
    static let mediaSet: URL? = {
        let url = root.deletingLastPathComponent().appendingPathComponent("shared/media")
        return FileManager.default.fileExists(atPath: url.path) ? url : nil
    }()

    /// HEVC clips of the repository; `layered` ones have a second layer.
    static let hevc = [
        "bframes.mp4", "bframes.ts", "pq.mov", "hlg.mov", "raw.hevc", "two_tracks.mp4", "fps240.mp4",
        "bbb_720p_main10.mp4", "dolby_vision_84.mov", "dolby_vision_81.hevc",
    ]
    static let layered = ["bbb_alpha.mov"]

    /// HEVC clips of the media set.
    static let largeHEVC = [
        "natural_1024x768_hevc_2tracks.mp4", "hdr_hlg_1080p_real.mp4", "dv84_iphone_720p.MOV",
        "dovi_p7_pq_256x144.hevc", "hevc_854x480_bframes.mp4", "hevc_854x480.ts", "made_sdr10bit_720p.mp4",
        "made_pq_hdr10_720p.mov", "made_hlg_720p.mov",
    ]
    static let largeLayered = ["made_hevc_alpha_x265v4.mov"]

    /// A clip of the repository, otherwise one of the media set.
    static func url(_ name: String) throws -> URL {
        let url = folder.appendingPathComponent(name)
        if FileManager.default.fileExists(atPath: url.path) { return url }
        return try #require(mediaSet, "\(name) is neither in Tests/Media nor in the media set")
            .appendingPathComponent(name)
    }

    static func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: url(name))) }

    /// The Annex B stream of a clip's first video track, as ffmpeg extracts it.
    static func annexB(_ name: String) throws -> [UInt8] {
        if name.hasSuffix(".hevc") { return try bytes(name) }
        var arguments = ["ffmpeg", "-v", "error", "-i", try url(name).path, "-map", "0:v:0", "-c", "copy"]
        if !name.hasSuffix(".ts") { arguments += ["-bsf:v", "hevc_mp4toannexb"] }
        return [UInt8](try run(arguments + ["-f", "hevc", "-"]).output)
    }

    /// Runs a tool found on PATH; throws when it fails or takes longer than two minutes.
    static func run(_ arguments: [String], errors: Bool = false) throws -> (output: Data, errors: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["timeout", "120"] + arguments
        process.standardInput = FileHandle.nullDevice
        let (out, err) = (scratch("out"), scratch("err"))
        defer { for url in [out, err] { try? FileManager.default.removeItem(at: url) } }
        for url in [out, err] { _ = FileManager.default.createFile(atPath: url.path, contents: nil) }
        process.standardOutput = try FileHandle(forWritingTo: out)
        process.standardError = try FileHandle(forWritingTo: err)
        try process.run()
        process.waitUntilExit()
        let message = String(decoding: try Data(contentsOf: err), as: UTF8.self)
        guard process.terminationStatus == 0 else {
            throw BitstreamError(.malformed, "\(arguments[0]) failed: \(message.suffix(400))")
        }
        return (try Data(contentsOf: out), message)
    }

    /// A path for a temporary file.
    static func scratch(_ ending: String) -> URL {
        FileManager.default.temporaryDirectory.appendingPathComponent("hevc-\(UUID().uuidString).\(ending)")
    }
}

extension Trait where Self == ConditionTrait {
    /// For what only the large clips can show.
    static var needsMediaSet: Self {
        .enabled(if: Clips.mediaSet != nil, "needs the media set beside the repository")
    }
}
