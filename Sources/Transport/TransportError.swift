// SPDX-License-Identifier: MIT
internal import Glibc

/// Why a connection cannot go on.
public struct TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The kind's name.
        public let rawValue: String
        /// Wraps a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The other end broke the rules: a malformed, oversized or unannounced part.
        public static let protocolViolation = Code(rawValue: "protocolViolation")
        /// The other end has closed or died.
        public static let closed = Code(rawValue: "closed")
        /// A send found the socket full: the other end does not read.
        public static let wouldBlock = Code(rawValue: "wouldBlock")
        /// The deadline passed.
        public static let timedOut = Code(rawValue: "timedOut")
        /// A system call failed for another reason.
        public static let system = Code(rawValue: "system")
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

    /// The failure of a system call; a peer that is gone becomes `closed`.
    public init(_ error: SystemError) {
        let gone = [EPIPE, ECONNRESET, ENOTCONN].contains(error.errno)
        self.init(gone ? .closed : .system, gone ? "the other end closed the connection" : error.description)
    }

    /// The sentence.
    public var description: String { reason }
}
