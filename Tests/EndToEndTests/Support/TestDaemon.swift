// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

/// An `hwdaemon` with its own directory; it stops when this object goes.
final class TestDaemon: Sendable {
    /// A scratch directory that goes with the daemon.
    let folder: Scratch
    /// The socket's path.
    let socket: String
    /// The client's view of it.
    let daemon: Daemon
    private let process: Running

    /// Starts one and waits until it answers.
    ///
    /// - Parameter socket: where it listens; nil for a socket in its own directory.
    init(_ arguments: String..., at socket: String? = nil, environment: [String: String] = [:]) throws {
        folder = try Scratch()
        self.socket = socket ?? folder.path("socket")
        daemon = Daemon(address: self.socket)
        // Tests count workers, and a spare one would be among them. A probe takes long on a busy machine.
        process = try Running(
            Programs.path("hwdaemon"),
            [
                "--socket", self.socket, "--set", "SpareWorkers=0", "--set", "ProbeTimeout=60", "--config",
                Programs.noConfiguration,
            ] + arguments,
            environment: environment)
        let daemon = daemon
        let answers = eventually { (try? daemon.call(ListEncoders.self, Empty())) != nil }
        try #require(answers, "hwdaemon does not answer: \(process.errorsSoFar)")
    }

    deinit {
        try? process.child.kill(SIGTERM)
        _ = try? process.child.wait(until: MonotonicTime.now + hangLimit)
    }

    /// Kills it and leaves its workers alone.
    func kill() throws {
        try process.child.kill(SIGKILL)
        let exit = try process.child.wait(until: MonotonicTime.now + hangLimit)
        try #require(exit == .signaled(SIGKILL))
    }

    var pid: Int32 { process.child.pid }
    /// What it has logged.
    var log: String { process.errorsSoFar }

    /// The sessions that it lists.
    func sessions() throws -> [SessionInfo] { try daemon.call(ListSessions.self, Empty()).sessions }

    /// A session's entry, once it is there.
    func session(_ id: String) throws -> SessionInfo {
        try #require(try sessions().first { $0.session == id })
    }

    /// How a session ended, waiting for it.
    func result(_ id: String) throws -> GetSessionResult.Reply {
        let deadline = MonotonicTime.now + hangLimit
        // The daemon lets a caller wait for ten seconds at most.
        let question = GetSessionResult.Parameters(session: id, timeoutMs: 10_000)
        var result = try daemon.call(GetSessionResult.self, question)
        while !result.finished, MonotonicTime.now < deadline {
            result = try daemon.call(GetSessionResult.self, question)
        }
        return result
    }

    /// Stops a session's process with SIGSTOP while it has frames in progress; false if it has none in time.
    func stop(_ session: SessionInfo) throws -> Bool {
        try eventually {
            Glibc.kill(session.pid, SIGSTOP)
            if try self.session(session.session).pendingFrames > 0 { return true }
            Glibc.kill(session.pid, SIGCONT)
            return false
        }
    }

    /// Whether a text has the reason of a session whose process was stopped: between two codec calls, its silence is noticed.
    static func namesStop(_ text: String) -> Bool {
        ["s without progress in one codec call", "process did not respond for"].contains(where: text.contains)
    }

    /// Its workers, zombies included.
    var workers: [ProcessEntry] { ProcessEntry.children(of: pid).filter { $0.name.hasPrefix("hwdaemon-") } }

    /// Whether every worker has ended, or ends in time.
    func hasNoWorkers(within limit: Duration = hangLimit) -> Bool { eventually(within: limit) { workers.isEmpty } }
}

/// A directory that is removed when this object goes.
final class Scratch: Sendable {
    let root: String

    init() throws {
        var template = Array("/tmp/hwd-XXXXXX".utf8CString)
        let made = mkdtemp(&template) != nil
        try #require(made)
        root = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    /// A name in it.
    func path(_ name: String) -> String { "\(root)/\(name)" }

    /// Everything in it, hidden files too.
    var contents: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).sorted() }
}
