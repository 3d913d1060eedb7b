// SPDX-License-Identifier: MIT
public import HWDModel
internal import HWDTransport

/// Why a client cannot reach the daemon, or an error of the daemon or of a session.
public struct ClientError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for control flow.
    public enum Code: Hashable, Sendable {
        /// No daemon listens on the socket.
        case notRunning
        /// The caller may not use the socket, or does not trust the user who listens on it.
        case permissionDenied
        /// The daemon cannot be started, or the connection to it broke or timed out.
        case connectionFailed
        /// The daemon or a session's process sent what the protocol does not allow.
        case protocolViolation
        /// A wait for a session took longer than its limit; the session continues.
        case timedOut
        /// The session's own error.
        case session(Status)
    }

    /// What may help if the work that ended with an error is begun again (`SessionPolicy.run`).
    package enum Remedy: Hashable, Sendable {
        /// Waiting: the daemon had no slot for another session of a program that has some.
        case slots
        /// Software, because hardware failed in a session of this kind.
        case software(SessionKind)
    }

    /// The kind of failure.
    public let code: Code
    /// One sentence for the user.
    public let reason: String
    /// Nil where beginning again would not help.
    package private(set) var remedy: Remedy?

    /// Describes a failure.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    func with(_ remedy: Remedy) -> ClientError {
        var error = self
        error.remedy = remedy
        return error
    }

    /// Whether kind and sentence are the same; what may help is for `SessionPolicy` alone.
    public static func == (first: ClientError, second: ClientError) -> Bool {
        first.code == second.code && first.reason == second.reason
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(reason)
    }

    /// A session's error.
    public init(_ error: SessionError) { self.init(.session(error.status), error.reason) }

    /// The connection was closed instead of a reply.
    static func noReply(to method: String) -> ClientError {
        ClientError(.connectionFailed, "the daemon closed the connection without a reply to \(method)")
    }

    init(_ error: TransportError, whileDoing task: String) {
        let code: Code = error.code == .protocolViolation ? .protocolViolation : .connectionFailed
        self.init(code, "\(task): \(error.reason)")
    }

    init(_ error: SystemError, whileDoing task: String) {
        self.init(.connectionFailed, "\(task): \(error)")
    }

    /// VideoToolbox's `OSStatus`: the session's, `CouldNotCreateInstance` if no daemon can be used, or `InvalidSession` if
    /// the connection to it broke, it broke the protocol or a wait timed out.
    public var status: Status {
        switch code {
        case .session(let status): status
        case .notRunning, .permissionDenied: .couldNotCreateInstance
        case .connectionFailed, .protocolViolation, .timedOut: .invalidSession
        }
    }

    /// The sentence.
    public var description: String { reason }

    /// The exit code of a program that ends because of this error.
    public var exitStatus: ExitStatus {
        switch code {
        case .notRunning, .connectionFailed, .timedOut: .unavailable
        case .permissionDenied: .noPermission
        case .protocolViolation: .protocolError
        case .session(let status): ExitStatus(status)
        }
    }
}

extension Duration {
    /// The duration for an error's sentence: "30 s", or "500 ms" where it is not a number of seconds.
    var inSeconds: String {
        let (seconds, attoseconds) = components
        return attoseconds == 0 ? "\(seconds) s" : "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000) ms"
    }
}
