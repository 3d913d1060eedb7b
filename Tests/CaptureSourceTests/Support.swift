// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

/// A folder that is removed with its owner.
final class Folder {
    let url = FileManager.default.temporaryDirectory.appending(path: "sources-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }

    func bytes(_ name: String) throws -> Data { try Data(contentsOf: url.appending(path: name)) }
}

func run(_ program: String, _ arguments: [String], camera: String? = nil) throws -> (status: Int32, output: String)
{
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["timeout", "60", program] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(camera.map { ["FAKE_CAMERA": $0] } ?? [:]) {
        $1
    }
    let pipe = Pipe()
    (process.standardOutput, process.standardError) = (pipe, FileHandle.nullDevice)
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
}

/// Where the built programs are.
let programs: URL = {
    // The test runner is beside them.
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    return (bundle?.bundleURL ?? URL(filePath: CommandLine.arguments[0])).deletingLastPathComponent()
}()

/// What a source sent, by the lines of `hwd-source-tool`.
struct SourceLog {
    struct Frame: Hashable {
        var sequence: Int
        var time: Int
        /// The number that is drawn into it; of an access unit its bytes.
        var number: Int
    }

    let status: Int32
    let lines: [String]

    init(camera: String, _ arguments: [String] = [], command: String = "camera") throws {
        let tool = programs.appending(path: "hwd-source-tool").path
        let result = try run(tool, [command, "/fake/video0"] + arguments, camera: "path=/fake/video0,\(camera)")
        status = result.status
        lines = result.output.split(separator: "\n").map(String.init)
    }

    private func fields(_ word: String) -> [[String]] {
        lines.map { $0.split(separator: " ").map(String.init) }.filter { $0.first == word }
    }

    var frames: [Frame] {
        (fields("frame") + fields("unit")).compactMap { fields in
            guard fields.count >= 4, let time = Int(fields[2]), let number = Int(fields[3]) else { return nil }
            return Frame(sequence: Int(fields[1]) ?? -1, time: time, number: number)
        }
    }

    /// Frames that gaps of the numbers say are missing.
    var gaps: Int { zip(frames, frames.dropFirst()).map { $1.sequence - $0.sequence - 1 }.reduce(0, +) }

    var damaged: Int { fields("lost").filter { $0.last == "damaged" }.compactMap { Int($0[1]) }.reduce(0, +) }

    var format: String? { lines.first { $0.hasPrefix("format ") } }

    /// The last line but that of `stop`.
    var end: String? { lines.last { $0 != "stopped" } }

    var timesRise: Bool { zip(frames, frames.dropFirst()).allSatisfy { $0.time < $1.time } }
}
