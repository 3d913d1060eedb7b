// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport

/// How a session ended: VideoToolbox's status, the reason, and the frames it processed.
struct SessionEnd: Hashable, Sendable {
    var status: Status
    var reason: String
    var framesIn: UInt64
    var framesOut: UInt64
    var cause = Cause.closed
    /// The signal that killed the process, if one did.
    var signal: Int32?
    /// What the sandbox forbade the process, if anything.
    var forbiddenCalls: ForbiddenCalls?
    /// Whether the client had closed its connection before the process was killed.
    var isAbandoned = false
    /// Whether the process has answered the Create call.
    var isAnswered = true

    /// The private memory of a session's process, in bytes.
    struct Memory {
        /// The most that it reported.
        var used: UInt64
        var bound: UInt64

        /// Whether a large allocation may have exceeded the bound.
        var isNearBound: Bool { used >= bound / 2 }

        var text: String {
            "it had \(SessionMemory.text(used)) of private memory, of the \(SessionMemory.text(bound)) that its session may "
                + "use"
        }
    }

    /// What ended a session, as a label of the metrics.
    enum Cause: String, Codable {
        /// The client closed it.
        case closed
        /// The worker reported an error.
        case failed
        /// The broker killed the worker because it made no progress, did not respond or did not end.
        case stalled
        /// The broker killed the worker because its encoder's pictures were wrong.
        case wrongPictures = "wrong_pictures"
        /// A signal from elsewhere killed the worker.
        case killed
        /// The process exited without a report.
        case vanished

        /// Uses the same precedence as `SessionEnd.error(reported:stopped:exit:_:)`.
        init(reported: SessionError?, stopped: SessionError?, exit: ChildProcess.Exit) {
            switch (reported, stopped, exit) {
            case (let reported?, _, _): self = reported.status == .ok ? .closed : .failed
            case (nil, .some, _): self = .stalled
            case (nil, nil, .signaled): self = .killed
            case (nil, nil, .exited): self = .vanished
            }
        }
    }

    /// Whether the codec or its process failed, as opposed to the client or the stream.
    var isMalfunction: Bool {
        status == .videoEncoderMalfunction || status == .videoDecoderMalfunction
            || [.stalled, .killed, .vanished, .wrongPictures].contains(cause)
    }

    /// Whether another process may continue the session.
    var isResumable: Bool {
        guard !isAbandoned else { return false }
        return switch cause {
        case .closed: false
        case .failed: status == .videoEncoderMalfunction || status == .videoDecoderMalfunction
        case .stalled, .killed, .vanished, .wrongPictures: true
        }
    }

    /// The status and reason of a worker's end: the worker's report if there is one, else why the broker killed it,
    /// else how the process exited.
    ///
    /// - Parameters:
    ///   - reported: the worker's own report, which is untrusted.
    ///   - stopped: why the broker killed the worker, if it did.
    ///   - forbidden: what its sandbox forbade; the reason names it.
    ///   - memory: its private memory; the reason of a process that was killed from elsewhere names it where it was near the
    ///     bound: code that cannot cope with a failed allocation aborts, and so does the kernel without memory.
    static func error(
        reported: SessionError?, stopped: SessionError?, exit: ChildProcess.Exit, _ kind: SessionKind,
        _ forbidden: ForbiddenCalls? = nil, memory: Memory? = nil
    ) -> SessionError {
        var error = error(reported, stopped, exit, kind)
        if reported == nil, stopped == nil, let memory, memory.isNearBound {
            error = SessionError(error.status, "\(error.reason); \(memory.text)")
        }
        guard let forbidden else { return error }
        return SessionError(
            error.status, "\(error.reason); the process \(forbidden.sentence)")
    }

    private static func error(
        _ reported: SessionError?, _ stopped: SessionError?, _ exit: ChildProcess.Exit, _ kind: SessionKind
    ) -> SessionError {
        if let reported { return SessionError(reported.status, reported.reason.printable()) }
        if let stopped { return stopped }
        switch exit {
        case .signaled(let signal):
            return SessionError(
                kind.malfunction,
                "the \(kind.noun) process was killed by signal \(signal) (\(signalName(signal)))")
        case .exited(let status):
            return SessionError(
                kind.malfunction, "the \(kind.noun) process ended with status \(status) and reported no reason")
        }
    }

    /// The status and reason of a session whose worker made no progress for `limit`.
    static func stall(after limit: Duration, _ kind: SessionKind) -> SessionError {
        SessionError(kind.malfunction, "stopped after \(seconds(limit)) s without progress in one codec call")
    }

    /// The status and reason of a session whose worker was silent for `limit`, before or after its Create call's answer.
    static func silence(for limit: Duration, isCreated: Bool, _ kind: SessionKind) -> SessionError {
        isCreated
            ? SessionError(kind.malfunction, "the \(kind.noun) process did not respond for \(seconds(limit)) s")
            : SessionError(
                kind.notAvailableNow,
                "the \(kind.noun) process did not answer the Create call within \(seconds(limit)) s")
    }

    /// The status and reason of a session whose worker did not end after its client had hung up.
    static func hangUp(after limit: Duration, _ kind: SessionKind) -> SessionError {
        SessionError(
            kind.malfunction,
            "the client closed the connection, and the \(kind.noun) process did not end within \(seconds(limit)) s")
    }

    /// A duration in seconds, without a unit.
    static func seconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        return attoseconds == 0 ? "\(seconds)" : "\(Double(seconds) + Double(attoseconds) / 1e18)"
    }

    /// The name (`SIGKILL`) of a signal that can end a process.
    static func signalName(_ number: Int32) -> String {
        let names: [Int32: String] = [
            SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL", SIGTRAP: "SIGTRAP",
            SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGSEGV: "SIGSEGV",
            SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM", SIGTERM: "SIGTERM", SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ",
            SIGSYS: "SIGSYS",
        ]
        return names[number] ?? "no common signal"
    }
}
