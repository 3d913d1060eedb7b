// SPDX-License-Identifier: MIT
public import HWDModel
internal import HWDTransport

/// Why a client could not reach the daemon, or what the daemon or a session answered.
public struct ClientError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs.
    public enum Code: Hashable, Sendable {
        /// Nobody listens on the socket.
        case notRunning
        /// The caller may not use the socket.
        case permissionDenied
        /// The daemon could not be started, or the connection to it broke or went silent.
        case connectionFailed
        /// The session's own error.
        case session(Status)
    }

    /// The kind of failure.
    public let code: Code
    /// One sentence for people.
    public let reason: String

    /// Names a failure.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// A session's error.
    public init(_ error: SessionError) { self.init(.session(error.status), error.reason) }

    init(_ error: TransportError, whileDoing what: String) {
        self.init(.connectionFailed, "\(what): \(error.reason)")
    }

    init(_ error: SystemError, whileDoing what: String) {
        self.init(.connectionFailed, "\(what): \(error)")
    }

    /// The sentence.
    public var description: String { reason }

    /// The exit code of a program that ends because of this.
    public var exitStatus: ExitStatus {
        switch code {
        case .notRunning, .connectionFailed: .unavailable
        case .permissionDenied: .noPermission
        case .session(let status): ExitStatus(status)
        }
    }
}
