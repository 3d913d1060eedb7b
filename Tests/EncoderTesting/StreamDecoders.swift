// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation

/// Independent decoders, as command lines.
public enum StreamDecoders {
    /// A failed command.
    public struct Failure: Error, CustomStringConvertible {
        /// The command, its status and its standard error.
        public var description: String

        /// A failure with this description.
        public init(description: String) { self.description = description }
    }

    /// Decodes an annex B stream to planar samples with ffmpeg; throws for its messages, and for pictures that do not match
    /// their checksums.
    public static func ffmpeg(_ stream: [UInt8], pixelFormat: String) throws -> [UInt8] {
        try decode(stream) { source, target in
            [
                "ffmpeg", "-v", "error", "-err_detect", "crccheck", "-i", source, "-f", "rawvideo", "-pix_fmt",
                pixelFormat, "-vf",
                // ffmpeg 7 derives equal times for raw streams with sub-layers, and complains about them.
                "setpts=N/FRAME_RATE/TB", "-fps_mode", "passthrough", target,
            ]
        }
    }

    /// Decodes an annex B stream to planar samples with libde265, in one byte for 8 bits and two for more.
    public static func libde265(_ stream: [UInt8]) throws -> [UInt8] {
        try decode(stream) { source, target in [de265, "-q", "-o", target, source] }
    }

    /// Why libde265's decoder cannot be used; nil where it can.
    public static var libde265UnavailableReason: String? {
        FileManager.default.isExecutableFile(atPath: de265) ? nil : "skipped: \(de265) is not installed"
    }

    private static let de265 = "/usr/bin/libde265-dec265"

    private static func decode(_ stream: [UInt8], _ command: (String, String) -> [String]) throws -> [UInt8] {
        let source = FileManager.default.temporaryDirectory.appendingPathComponent("stream-\(UUID()).hevc")
        let target = source.appendingPathExtension("yuv")
        defer { for url in [source, target] { try? FileManager.default.removeItem(at: url) } }
        try Data(stream).write(to: source)
        let said = try run(command(source.path, target.path))
        // libde265's tool prints its speed there.
        let complaints = said.error.split(separator: "\n").filter { !$0.hasPrefix("nFrames decoded") }
        guard said.status == 0, complaints.isEmpty else {
            throw Failure(description: "\(command("", "")[0]) (\(said.status)): \(said.error)")
        }
        return [UInt8](try Data(contentsOf: target))
    }

    /// Runs a command with a timeout of one minute.
    public static func run(
        _ command: [String], environment: [String: String] = [:]
    ) throws -> (status: Int32, output: [UInt8], error: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["timeout", "600"] + command
        if !environment.isEmpty {
            process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("run-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Files cannot fill up like pipes.
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
