// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
internal import HWDModel
internal import HWDSystem
internal import HWDTransport

/// An ffmpeg program: it measures VMAF, and codes H.264 to compare with.
struct FFmpegProgram {
    /// Its first line, such as `ffmpeg version 7.1`.
    let version: String
    let measuresVMAF: Bool
    let codesH264: Bool
    private let path: String
    private let interruption: Interruption

    /// The most that a run may print.
    private static let maxOutput = 1 << 20
    /// How long it may run once it has closed its outputs, and once it is killed.
    private static let (endTimeout, killTimeout) = (Duration.seconds(10), Duration.seconds(2))

    /// Finds a program by its name on PATH or by its path; nil where there is none that runs.
    init?(_ name: String, _ interruption: Interruption) {
        guard let path = Self.path(of: name) else { return nil }
        (self.path, self.interruption) = (path, interruption)
        guard let first = try? Self.run(path, ["-version"], interruption).split(separator: "\n").first else {
            return nil
        }
        version = first.split(separator: " ").prefix(3).joined(separator: " ").printable()
        let filters = (try? Self.run(path, ["-hide_banner", "-filters"], interruption)) ?? ""
        let encoders = (try? Self.run(path, ["-hide_banner", "-encoders"], interruption)) ?? ""
        measuresVMAF = filters.contains(" libvmaf ")
        codesH264 = encoders.contains(" libx264 ")
    }

    private static func path(of name: String) -> String? {
        let folders =
            name.contains("/") ? [""] : (Environment.value("PATH") ?? "").split(separator: ":").map { "\($0)/" }
        return folders.map { $0 + name }.first { access(FileName.bytes($0), X_OK) == 0 }
    }

    /// The VMAF of a coded stream's pictures against the first ones of a video.
    ///
    /// - Parameters:
    ///   - coded: a byte stream.
    ///   - source: the video, and the number of its stream.
    func vmaf(
        of coded: String, against source: (path: String, stream: Int), frames: Int, format: String
    ) throws -> Double {
        let same = "settb=1/30,setpts=N,trim=end_frame=\(frames),format=\(format)"
        let graph =
            "[0:v:0]\(same)[a];[1:\(source.stream)]\(same)[b];[a][b]libvmaf=n_threads=\(sysconf(Int32(_SC_NPROCESSORS_ONLN)))"
        let output = try Self.run(
            path,
            [
                "-nostdin", "-nostats", "-noautorotate", "-i", "file:" + coded, "-noautorotate", "-i",
                "file:" + source.path, "-lavfi", graph, "-f", "null", "-",
            ], interruption)
        let words = output.split(whereSeparator: { $0 == " " || $0 == "\n" })
        guard let place = words.lastIndex(of: "score:"), place + 1 < words.count,
            let score = Double(words[place + 1])
        else { throw CommandFailure(.software, "\(path) printed no VMAF score") }
        return score
    }

    /// Codes the first frames of a video as H.264 at a bit rate, by x264's preset medium.
    func codeH264(
        _ source: (path: String, stream: Int), frames: Int, format: String, rate: Int64, to target: String
    ) throws {
        _ = try Self.run(
            path,
            [
                "-nostdin", "-nostats", "-y", "-noautorotate", "-i", "file:" + source.path, "-map",
                "0:\(source.stream)", "-frames:v", "\(frames)", "-fps_mode", "passthrough", "-pix_fmt", format,
                "-c:v", "libx264", "-preset", "medium", "-b:v", "\(rate)", "-f", "h264", "file:" + target,
            ], interruption)
    }

    /// Runs a program to its successful end; returns what it printed.
    private static func run(_ path: String, _ arguments: [String], _ interruption: Interruption) throws -> String {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw CommandFailure(.software, "no pipe: \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let reading = OwnedFD(ends[0])
        let writing = OwnedFD(ends[1])
        let child = try ChildProcess(
            spawning: path, arguments: arguments,
            files: [.init(writing.rawValue, as: 1), .init(writing.rawValue, as: 2)])
        _ = consume writing
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            if interruption.isSet { break }
            var poller = pollfd(fd: reading.rawValue, events: Int16(POLLIN), revents: 0)
            guard poll(&poller, 1, 100) > 0 else { continue }
            let count = read(reading.rawValue, &buffer, buffer.count)
            if count <= 0 { break }
            text += buffer.prefix(count)
            if text.count > maxOutput { text.removeFirst(text.count - maxOutput) }
        }
        let exit = try end(of: child, interruption)
        let output = String(decoding: text, as: UTF8.self)
        guard exit == .exited(0) else {
            let last = output.split(separator: "\n").last.map { ": " + String($0).printable() } ?? ""
            throw CommandFailure(.software, "\(path) failed\(last)")
        }
        return output
    }

    /// How a program ends that has closed its outputs; one that does not end in time is killed, and so it is after a signal.
    private static func end(
        of child: ChildProcess, _ interruption: Interruption
    ) throws -> ChildProcess.Exit? {
        let deadline = MonotonicTime.now + endTimeout
        while !interruption.isSet, MonotonicTime.now < deadline {
            if let exit = try child.wait(until: MonotonicTime.now + .milliseconds(100)) { return exit }
        }
        try child.kill(SIGKILL)
        let exit = try child.wait(until: MonotonicTime.now + killTimeout)
        if interruption.isSet { throw CommandFailure.interrupted }
        return exit
    }
}
