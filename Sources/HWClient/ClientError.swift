// SPDX-License-Identifier: MIT
public import HWDModel
internal import HWDTransport

/// Why a client cannot reach the daemon, or an error of the daemon or of a session.
public struct ClientError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for control flow.
    public enum Code: Hashable, Sendable {
        /// No daemon listens on the socket.
        case notRunning
        /// The caller may not use the socket.
        case permissionDenied
        /// The daemon cannot be started, or the connection to it broke or timed out.
        case connectionFailed
        /// The session's own error.
        case session(Status)
    }

    /// The kind of failure.
    public let code: Code
    /// One sentence for the user.
    public let reason: String

    /// Describes a failure.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// A session's error.
    public init(_ error: SessionError) { self.init(.session(error.status), error.reason) }

    init(_ error: TransportError, whileDoing task: String) {
        self.init(.connectionFailed, "\(task): \(error.reason)")
    }

    init(_ error: SystemError, whileDoing task: String) {
        self.init(.connectionFailed, "\(task): \(error)")
    }

    /// VideoToolbox's `OSStatus`: the session's, `CouldNotCreateInstance` if no daemon can be used, or `InvalidSession` if
    /// the connection to it broke or timed out.
    public var status: Status {
        switch code {
        case .session(let status): status
        case .notRunning, .permissionDenied: .couldNotCreateInstance
        case .connectionFailed: .invalidSession
        }
    }

    /// The sentence.
    public var description: String { reason }

    /// The exit code of a program that ends because of this error.
    public var exitStatus: ExitStatus {
        switch code {
        case .notRunning, .connectionFailed: .unavailable
        case .permissionDenied: .noPermission
        case .session(let status): ExitStatus(status)
        }
    }
}
