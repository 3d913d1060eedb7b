// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDSystem
import HWDTransport
import HWDWire
import HWOutput
import Testing

/// An `hwdaemon` of the test's own, with a folder for clips; both go with this object.
final class PrivateService: Sendable {
    let folder: String
    let daemon: Daemon
    private let child: ChildProcess

    init() throws {
        var template = Array("/tmp/hwd-XXXXXX".utf8CString)
        let made = mkdtemp(&template) != nil
        try #require(made)
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let configuration = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "NoConfiguration").path
        child = try ChildProcess(
            spawning: "\(Program.folder)/hwdaemon",
            arguments: [
                "--socket", "\(folder)/socket", "--set", "ProbeTimeout=60", "--config", configuration,
                "--log-level",
                "error",
            ],
            environment: [
                "HWDAEMON_DEVICES": "/dev/null/none", "HWDAEMON_SOCKET": "", "VK_DRIVER_FILES": "/dev/null/none",
                "HWDAEMON_CAPABILITIES_DIR": "/dev/null/none", "HWDAEMON_PRESETS_DIR": "/dev/null/none",
            ])
        daemon = Daemon(address: "\(folder)/socket")
        let deadline = MonotonicTime.now + .seconds(120)
        while (try? daemon.call(ListEncoders.self, Empty())) == nil {
            try #require(MonotonicTime.now < deadline, "hwdaemon does not answer")
            usleep(20_000)
        }
    }

    deinit {
        try? child.kill(SIGTERM)
        _ = try? child.wait(until: MonotonicTime.now + .seconds(60))
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Kills the process of each session of a kind, and says how many there were.
    func killWorkers(_ kind: String) throws -> Int {
        let found = try daemon.call(ListSessions.self, Empty()).sessions.filter { "\($0.kind)".contains(kind) }
        for session in found { Glibc.kill(session.pid, SIGKILL) }
        return found.count
    }

    /// A clip whose pictures have their numbers as 16 columns, black or white.
    func clip(_ name: String, rate: Int = 25, seconds: Int = 4, group: Int = 25) throws -> String {
        let path = "\(folder)/\(name)"
        let bits = "geq=lum='16+219*mod(floor(N/pow(2\\,floor(X/16)))\\,2)':cb=128:cr=128"
        try ffmpeg([
            "-f", "lavfi", "-i", "color=size=256x64:rate=\(rate):duration=\(seconds),format=yuv444p,\(bits)",
            "-c:v",
            "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-tag:v", "hvc1", "-x265-params",
            "log-level=none:keyint=\(group):min-keyint=\(group):scenecut=0:open-gop=1:bframes=3", path,
        ])
        return path
    }

    func ffmpeg(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["timeout", "120", "ffmpeg", "-v", "error", "-y"] + arguments
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "ffmpeg \(arguments) failed")
    }
}

extension VideoOutput.Frame {
    /// The number that the samples show: of luma in 8 bits, or of half floats.
    var number: Int {
        buffer.withPlanes { planes in
            let row = planes[0][20]
            return (0..<16).reduce(0) { number, bit in
                let x = bit * 16 + 8
                let isWhite =
                    buffer.format == .rgba16f
                    ? row.loadUnaligned(fromByteOffset: x * 8, as: UInt16.self) > 0x3400
                    : row[x] > 128
                return number | (isWhite ? 1 << bit : 0)
            }
        }
    }
}
