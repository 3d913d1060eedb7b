// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport

/// How a session ended: VideoToolbox's number, the sentence, and how far it came.
struct SessionEnd: Hashable, Sendable {
    var status: Status
    var reason: String
    var framesIn: UInt64
    var framesOut: UInt64
    var cause = Cause.closed
    /// The signal that killed the process, if one did.
    var signal: Int32?

    /// What ended a session, as a label of the metrics.
    enum Cause: String {
        /// The client, in order.
        case closed
        /// The worker, which said why.
        case failed
        /// The broker, for want of progress.
        case stalled
        /// A signal.
        case killed
        /// The process, without a word.
        case vanished

        /// By the same precedence as the sentence.
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
            || [.stalled, .killed, .vanished].contains(cause)
    }

    /// Bytes of a worker's sentence that are kept.
    static let maxReason = 1024

    /// What a worker's death comes to: its own report where it made one, else what the broker did to it, else the signal.
    ///
    /// - Parameters:
    ///   - reported: the worker's own account, untrusted.
    ///   - stopped: why the broker killed it, if it did.
    static func cause(
        reported: SessionError?, stopped: SessionError?, exit: ChildProcess.Exit,
        _ kind: SessionKind = .compression
    ) -> SessionError {
        if let reported { return SessionError(reported.status, oneLine(reported.reason)) }
        if let stopped { return stopped }
        switch exit {
        case .signaled(let signal):
            return SessionError(
                kind.malfunction,
                "the \(kind.noun) process was killed by signal \(signal) (\(signalName(signal)))")
        case .exited(let status):
            return SessionError(
                kind.malfunction, "the \(kind.noun) process ended with status \(status) and gave no reason")
        }
    }

    /// A hang's sentence.
    static func stall(after limit: Duration) -> SessionError {
        SessionError(
            .videoEncoderMalfunction, "stopped after \(seconds(limit)) s without progress in one codec call")
    }

    /// A duration's number of seconds.
    static func seconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        return attoseconds == 0 ? "\(seconds)" : "\(Double(seconds) + Double(attoseconds) / 1e18)"
    }

    /// Untrusted text as one line of bounded length.
    static func oneLine(_ text: String, maximum: Int = maxReason) -> String {
        var line = ""
        var bytes = 0
        for scalar in text.unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            bytes += isControl ? 1 : String(scalar).utf8.count
            if bytes > maximum { return line + "…" }
            line.unicodeScalars.append(isControl ? " " : scalar)
        }
        return line
    }

    /// A signal's name (`SIGKILL`), for those a process dies of.
    static func signalName(_ number: Int32) -> String {
        let names: [Int32: String] = [
            SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGILL: "SIGILL", SIGTRAP: "SIGTRAP",
            SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGSEGV: "SIGSEGV",
            SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM", SIGTERM: "SIGTERM", SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ",
            SIGSYS: "SIGSYS",
        ]
        return names[number] ?? "an unusual one"
    }
}
