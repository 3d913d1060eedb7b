// SPDX-License-Identifier: MIT
internal import Glibc

/// The failure of a connection.
public struct TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for control flow.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the kind.
        public let rawValue: String
        /// Wraps a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The peer sent something malformed, oversized or unannounced.
        public static let protocolViolation = Code(rawValue: "protocolViolation")
        /// The peer has closed or died.
        public static let closed = Code(rawValue: "closed")
        /// The socket was full: the peer does not read.
        public static let wouldBlock = Code(rawValue: "wouldBlock")
        /// The deadline passed.
        public static let timedOut = Code(rawValue: "timedOut")
        /// A system call failed for another reason.
        public static let system = Code(rawValue: "system")
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

    /// The failure of a system call; `EPIPE`, `ECONNRESET` and `ENOTCONN` become `closed`.
    public init(_ error: SystemError) {
        let gone = [EPIPE, ECONNRESET, ENOTCONN].contains(error.errno)
        self.init(gone ? .closed : .system, gone ? "the peer closed the connection" : error.description)
    }

    /// The sentence.
    public var description: String { reason }
}
