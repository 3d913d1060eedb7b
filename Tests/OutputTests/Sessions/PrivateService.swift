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

    /// Kills the daemon and every process of its sessions.
    func killAll() throws {
        let sessions = try daemon.call(ListSessions.self, Empty()).sessions
        try child.kill(SIGKILL)
        for session in sessions { Glibc.kill(session.pid, SIGKILL) }
    }

    /// The memory that a session takes according to the daemon, once it has reported it.
    func memory(_ kind: String, width: Int) throws -> UInt64? {
        try daemon.call(ListSessions.self, Empty()).sessions
            .first { "\($0.kind)".contains(kind) && $0.width == width }?.memoryBytes
    }

    /// Lets the daemon's processes report.
    func pause() -> Int32 { usleep(50_000) }

    /// A clip whose pictures have their numbers as 16 columns, black or white, in the upper left 256x64.
    /// - Parameter isHDR: whether it has 10 bits with PQ (SMPTE ST 2084) and the primaries of ITU-R BT.2020.
    func clip(
        _ name: String, rate: Int = 25, seconds: Int = 4, group: Int = 25, size: String = "256x64",
        isHDR: Bool = false, more: String = ""
    ) throws -> String {
        let path = "\(folder)/\(name)"
        let pad = "pad=\(size.replacing("x", with: ":"))"
        let color = isHDR ? ":colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc" : ""
        let bits = "geq=lum='16+219*mod(floor(N/pow(2\\,floor(X/16)))\\,2)':cb=128:cr=128"
        try ffmpeg([
            "-f", "lavfi", "-i", "color=size=256x64:rate=\(rate):duration=\(seconds),format=yuv444p,\(bits),\(pad)",

            "-c:v",
            "libx265", "-preset", "ultrafast", "-pix_fmt", isHDR ? "yuv420p10le" : "yuv420p", "-tag:v", "hvc1",
            "-x265-params",
            "log-level=none:keyint=\(group):min-keyint=\(group):scenecut=0:open-gop=1:bframes=3\(color)\(more)",
            path,
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
    /// The number that the samples show in 16 columns, or in 4 rows of 4 squares where the picture has 64x64.
    var number: Int {
        buffer.withPlanes { planes in
            (0..<16).reduce(0) { number, bit in
                let isSquare = buffer.width == 64
                let (x, y) = isSquare ? (bit % 4 * 16 + 8, bit / 4 * 16 + 8) : (bit * 16 + 8, 20)
                return number | (isWhite(planes[0][y], x) ? 1 << bit : 0)
            }
        }
    }

    /// Whether a sample is white: of luma in 8 or 10 bits, or of half floats.
    private func isWhite(_ row: UnsafeRawBufferPointer, _ x: Int) -> Bool {
        switch buffer.format {
        case .rgba16f: row.loadUnaligned(fromByteOffset: x * 8, as: UInt16.self) > 0x3400
        case .i010: row.loadUnaligned(fromByteOffset: x * 2, as: UInt16.self) > 0x200
        default: row[x] > 128
        }
    }
}
