// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation

/// Decoders that are not ours.
public enum StreamDecoders {
    /// A command that failed, and what it said.
    public struct Failure: Error, CustomStringConvertible {
        /// The command and its words.
        public var description: String

        /// A failure.
        public init(description: String) { self.description = description }
    }

    /// The samples ffmpeg decodes from an annex B stream, planar; its complaints are failures, as are pictures that are
    /// not what their checksums say, where there are any.
    public static func ffmpeg(_ stream: [UInt8], pixelFormat: String) throws -> [UInt8] {
        try decode(stream) { source, target in
            [
                "ffmpeg", "-v", "error", "-err_detect", "crccheck", "-i", source, "-f", "rawvideo", "-pix_fmt",
                pixelFormat, "-fps_mode",
                "passthrough", target,
            ]
        }
    }

    /// The samples libde265 decodes from an annex B stream, planar: 8-bit ones a byte each, deeper ones two.
    public static func libde265(_ stream: [UInt8]) throws -> [UInt8] {
        try decode(stream) { source, target in [de265, "-q", "-o", target, source] }
    }

    /// Why libde265's decoder cannot be used here, or nil.
    public static var whyNotLibde265: String? {
        FileManager.default.isExecutableFile(atPath: de265) ? nil : "skipped: \(de265) is not installed"
    }

    private static let de265 = "/usr/bin/libde265-dec265"

    private static func decode(_ stream: [UInt8], _ command: (String, String) -> [String]) throws -> [UInt8] {
        let source = FileManager.default.temporaryDirectory.appendingPathComponent("stream-\(UUID()).hevc")
        let target = source.appendingPathExtension("yuv")
        defer { for url in [source, target] { try? FileManager.default.removeItem(at: url) } }
        try Data(stream).write(to: source)
        let said = try run(command(source.path, target.path))
        // libde265's tool says there how fast it was.
        let complaints = said.error.split(separator: "\n").filter { !$0.hasPrefix("nFrames decoded") }
        guard said.status == 0, complaints.isEmpty else {
            throw Failure(description: "\(command("", "")[0]) (\(said.status)): \(said.error)")
        }
        return [UInt8](try Data(contentsOf: target))
    }

    /// Runs a command for a minute at most.
    public static func run(
        _ command: [String], environment: [String: String] = [:]
    ) throws -> (status: Int32, output: [UInt8], error: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["timeout", "60"] + command
        if !environment.isEmpty {
            process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("run-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Files, not pipes: nobody has to empty them.
        let (output, error) = (folder.appendingPathComponent("out"), folder.appendingPathComponent("err"))
        for url in [output, error] { _ = FileManager.default.createFile(atPath: url.path, contents: nil) }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: error)
        try process.run()
        process.waitUntilExit()
        return (
            process.terminationStatus, [UInt8](try Data(contentsOf: output)),
            String(decoding: try Data(contentsOf: error), as: UTF8.self)
        )
    }
}
