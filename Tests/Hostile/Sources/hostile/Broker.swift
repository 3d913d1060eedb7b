// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient
import HWDSystem
import HWDTransport
import HWDWire

/// A failure found by a campaign.
struct Finding: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// A private broker, observed from outside.
final class Broker: Sendable {
    /// The path of its socket.
    let address: String
    let process: ChildProcess
    let daemon: Daemon
    private let folder: String

    var pid: Int32 { process.pid }

    /// Starts `$HOSTILE_DAEMON` and waits until it replies.
    ///
    /// - Parameters:
    ///   - fileLimit: its RLIMIT_NOFILE.
    ///   - isShared: whether other users may connect.
    ///   - address: that of a broker that was killed; nil for a new one.
    ///   - user: whom it runs as.
    init(
        _ arguments: [String] = [], fileLimit: Int? = nil, isShared: Bool = false, address old: String? = nil,
        user: UInt32 = geteuid()
    ) throws {
        guard let program = Environment.value("HOSTILE_DAEMON") else {
            throw Finding("HOSTILE_DAEMON must name the hwdaemon to attack; scripts/check-hostile sets it")
        }
        // Clients trust another user's daemon only where nobody else can replace its folder.
        let parent = user == geteuid() ? "/tmp" : "/run"
        var template = Array("\(parent)/hwd-hostile-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Finding("no directory for the socket: errno \(errno)") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        address = old ?? "\(folder)/socket"
        if user != geteuid() { chown(folder, user, user) }
        if isShared { chmod(folder, 0o755) }
        var command = ["--socket", address, "--log-level", Environment.value("HOSTILE_LOG_LEVEL") ?? "error"]
        // Without spare workers, any worker that outlives its session is a leak.
        command += ["--set", "SpareWorkers=0"]
        command += Environment.value("HOSTILE_LIBEXEC").map { ["--libexec", $0] } ?? []
        command += arguments
        // A small quarantine, so that resident memory shows the process's own allocations.
        let settings = ["ASAN_OPTIONS": "abort_on_error=1:detect_leaks=0:quarantine_size_mb=8"]
        if let fileLimit {
            process = try ChildProcess(
                spawning: "/bin/sh",
                arguments: ["-c", "ulimit -n \(fileLimit); exec \"$0\" \"$@\"", program] + command,
                environment: settings)
        } else if user != geteuid() {
            process = try ChildProcess(
                spawning: "/usr/bin/setpriv",
                arguments: ["--reuid=\(user)", "--regid=\(user)", "--clear-groups", program] + command,
                environment: settings)
        } else {
            process = try ChildProcess(spawning: program, arguments: command, environment: settings)
        }
        daemon = Daemon(address: address)
        let deadline = MonotonicTime.now + .seconds(hang)
        while (try? daemon.call(ListEncoders.self, Empty())) == nil {
            try expectAlive()
            guard MonotonicTime.now < deadline else { throw Finding("the broker does not answer at its start") }
            usleep(20_000)
        }
        if isShared { chmod(address, 0o666) }
    }

    /// The sessions that it lists.
    func sessions() throws -> [SessionInfo] { try daemon.call(ListSessions.self, Empty()).sessions }

    deinit {
        try? process.kill(SIGKILL)
        _ = try? process.wait(until: MonotonicTime.now + .seconds(hang))
        unlink(address)
        rmdir(folder)
    }

    /// - Throws: a finding if the process has ended.
    func expectAlive() throws {
        if let exit = try process.tryReap() { throw Finding("the broker \(exit)") }
    }

    /// Ends the broker with SIGTERM.
    ///
    /// - Throws: a finding if it does not end, or not with status 0.
    func stop() throws {
        try expectAlive()
        try process.kill(SIGTERM)
        guard let exit = try process.wait(until: MonotonicTime.now + .seconds(hang)) else {
            throw Finding("the broker did not end within \(hang) s of SIGTERM")
        }
        guard exit == .exited(0) else { throw Finding("the broker \(exit) at SIGTERM") }
    }

    /// The number of the process's open descriptors.
    var openFiles: Int { (try? Directory.names(in: "/proc/\(pid)/fd"))?.count ?? 0 }

    /// The number of open descriptors, once it is down to `wanted`, or has not come down.
    func openFiles(settlingTo wanted: Int) -> Int {
        let deadline = MonotonicTime.now + .seconds(hang)
        while openFiles > wanted, MonotonicTime.now < deadline { usleep(20_000) }
        return openFiles
    }

    /// The process's resident memory in KiB.
    var residentKiB: Int {
        let line = text("/proc/\(pid)/status").split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }

    /// The process's children, including zombies.
    var children: [Int32] {
        ((try? Directory.names(in: "/proc/\(pid)/task")) ?? []).flatMap {
            text("/proc/\(self.pid)/task/\($0)/children").split(separator: " ").compactMap { Int32($0) }
        }
    }

    /// Whether all children end.
    func hasNoChildren() -> Bool {
        let deadline = MonotonicTime.now + .seconds(hang)
        while !children.isEmpty {
            guard MonotonicTime.now < deadline else { return false }
            usleep(10_000)
        }
        return true
    }

    /// The result of a session.
    ///
    /// - Throws: a finding if it does not end or its process died.
    @discardableResult
    func expectOrderlyEnd(_ session: String) throws -> GetSessionResult.Reply {
        let result = try daemon.call(
            GetSessionResult.self, GetSessionResult.Parameters(session: session, timeoutMs: 60_000))
        guard result.finished else { throw Finding("session \(session) does not end") }
        if result.reason.contains("signal") || result.reason.contains("gave no reason") {
            throw Finding("a worker died: \(result.reason)")
        }
        return result
    }
}

/// The text of a file of /proc, up to 16 KiB.
func text(_ path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 16384)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes.prefix(count), as: UTF8.self)
}
