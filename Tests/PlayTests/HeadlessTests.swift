// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDSystem
import Testing

/// What `hwctl play` prints with `--json`.
private struct Receipt: Decodable {
    var shown: Int?
    var late: Int?
    var dropped: Int?
    var refreshes: Int?
    var cadence: [String: Int]?
    var ideal: [String: Int]?
    var error: String?
}

/// Runs `hwctl play --headless` with a private daemon, on clips of its own.
@Suite(.serialized) final class HeadlessTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "hwd-play-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func path(_ name: String) -> String { folder.appending(path: name).path }

    private func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: Data) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["-u", "HWDAEMON_SOCKET", "-u", "WAYLAND_SOCKET", "timeout", "200", program] + arguments
        var environment = ProcessInfo.processInfo.environment
        for name in ["HWDAEMON_DEVICES", "VK_DRIVER_FILES", "WAYLAND_DISPLAY"] {
            environment[name] = "/dev/null/none"
        }
        process.environment = environment
        let pipe = Pipe()
        (process.standardOutput, process.standardError) = (pipe, FileHandle.nullDevice)
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, output)
    }

    private func clip(_ name: String, rate: Int, codec: String = "libx265", seconds: Int = 2) throws -> String {
        let made = try run(
            "ffmpeg",
            [
                "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=128x64:rate=\(rate):duration=\(seconds)",
                "-c:v",
                codec, "-preset", "ultrafast", "-pix_fmt", "yuv420p",
            ] + (codec == "libx265" ? ["-tag:v", "hvc1", "-x265-params", "log-level=none:keyint=24"] : [])
                + [path(name)])
        try #require(made.status == 0)
        return path(name)
    }

    private func play(_ arguments: [String]) throws -> (status: Int32, receipt: Receipt) {
        let (status, output) = try run("\(Program.folder)/hwctl", ["play", "--json"] + arguments)
        return (status, try JSONDecoder().decode(Receipt.self, from: output))
    }

    @Test func cadencesAreExact() throws {
        let film = try play(["--headless", try clip("24.mov", rate: 24)])
        #expect(film.status == 0 && film.receipt.shown == 48 && film.receipt.refreshes == 120)
        #expect(film.receipt.cadence == ["2": 24, "3": 24] && film.receipt.ideal == film.receipt.cadence)
        #expect(film.receipt.late == 0 && film.receipt.dropped == 0)
        let video = try play(["--headless", "--display-rate", "144", try clip("60.mov", rate: 60)])
        #expect(video.status == 0 && video.receipt.shown == 120 && video.receipt.refreshes == 288)
        #expect(video.receipt.cadence == ["2": 72, "3": 48] && video.receipt.ideal == video.receipt.cadence)
    }

    @Test func ratesTimesAndLoops() throws {
        let path = try clip("24.mov", rate: 24)
        let reverse = try play(["--headless", "--rate", "-1", path]).receipt
        #expect(reverse.shown == 48 && reverse.ideal == reverse.cadence)
        let fast = try play(["--headless", "--rate", "2", "--start", "1", "--effect", "exposure:ev=1", path])
            .receipt
        #expect(fast.shown == 24 && fast.refreshes == 30 && fast.ideal == fast.cadence)
        let still = try play(["--headless", "--at", "1", "--duration", "0.5", path]).receipt
        #expect(still.shown == 1 && still.cadence == ["30": 1])
        let loop = try play(["--headless", "--loop", "--duration", "4", "--format", "AB4H", path]).receipt
        #expect(loop.shown == 96 && loop.refreshes == 240)
    }

    @Test func badInputIsOneDocument() throws {
        let path = try clip("24.mov", rate: 24)
        let other = try clip("h264.mov", rate: 24, codec: "libx264")
        let cases: [([String], Int32)] = [
            (["--headless", "\(path).none"], 66), (["--headless", other], 65), (["--headless", "/dev/null"], 66),
            (["--headless", "--start", "100", path], 65), (["--rate", "3", path], 64), (["--at", "x", path], 64),
            (["--headless", "--loop", path], 64), (["--effect", "none:x=1", path], 64), ([path], 69),
            (["--display-rate", "60", path], 64), (["--headless", "--fullscreen", path], 64),
            (["--at", "1", "--rate", "2", path], 64), (["--start", "0x10", path], 64),
            (["--start", "1e3", path], 64), (["--audio-track", "0", path], 64),
            (["--audio-track", "1", "--no-sound", path], 64), (["--format", "NV12", path], 64),
        ]
        for (arguments, status) in cases {
            let result = try play(arguments)
            #expect(result.status == status && result.receipt.error?.isEmpty == false, "\(arguments) \(result)")
        }
    }
}
