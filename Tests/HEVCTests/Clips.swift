// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation

@testable import HWDHEVC

/// The project's clips and the outside tools that tests compare with.
enum Clips {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// A clip that is part of the repository; Tests/Media/ATTRIBUTION.md lists them.
    static func fixture(_ name: String) -> URL { root.appendingPathComponent("Tests/Media/\(name)") }

    /// Whether the large set of clips is beside the repository, in `shared/media`.
    static var hasShared: Bool { shared != nil }

    /// The shared clips beside the repository; nil when they are not there.
    static let shared: URL? = {
        let url = root.deletingLastPathComponent().appendingPathComponent("shared/media")
        if FileManager.default.fileExists(atPath: url.path) { return url }
        print("SKIPPED: no shared clips at \(url.path)")
        return nil
    }()

    /// The HEVC clips in it.
    static let hevc: [String] = [
        "natural_1024x768_hevc_2tracks.mp4", "hdr_hlg_1080p_real.mp4", "dv84_iphone_720p.MOV",
        "dovi_p7_pq_256x144.hevc", "hevc_854x480_bframes.mp4", "hevc_854x480.ts", "made_sdr10bit_720p.mp4",
        "made_pq_hdr10_720p.mov", "made_hlg_720p.mov", "made_hevc_alpha_x265v4.mov",
    ]

    /// The Annex B stream of a clip's first video track, as ffmpeg unpacks it; nil without the clip.
    static func annexB(_ name: String) throws -> [UInt8]? {
        guard let shared else { return nil }
        let path = shared.appendingPathComponent(name).path
        if name.hasSuffix(".hevc") { return try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) }
        var arguments = ["ffmpeg", "-v", "error", "-i", path, "-map", "0:v:0", "-c", "copy"]
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
