// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// Collects NUL-terminated Varlink messages from a nonblocking socket and never reads a byte past the NUL.
///
/// The bytes after an upgrade call belong to the worker, so each step peeks (MSG_PEEK) before it reads. Bytes without a
/// NUL are read as well, because epoll would spin on a socket that stays readable.
public struct CallReceiver: Sendable {
    /// The result of `receive`.
    public enum Step: Hashable, Sendable {
        /// A whole message, without its NUL.
        case call([UInt8])
        /// The socket has no more bytes now.
        case wouldBlock
        /// The peer closed; a `pendingCount` above 0 means in the middle of a message.
        case endOfFile
    }

    /// The most bytes of a call, without its NUL.
    public static let maxCall = 65536

    private let limit: Int
    private var buffer: [UInt8] = []

    /// Creates an empty receiver; `limit` is the most bytes of a message, without its NUL.
    public init(limit: Int = maxCall) { self.limit = limit }

    /// Bytes received of a message whose NUL has not come yet.
    public var pendingCount: Int { buffer.count }

    /// Reads until a message is complete or the socket is empty.
    ///
    /// - Throws: `protocolViolation` for a message over the limit or a file descriptor (which is closed), `closed`,
    ///   `system`.
    public mutating func receive(from fd: Int32) throws(TransportError) -> Step {
        while true {
            switch step(from: fd) {
            case .success(let step?): return step
            case .success(nil): continue
            case .failure(let error): throw error
            }
        }
    }

    private mutating func step(from fd: Int32) -> Result<Step?, TransportError> {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { scratch in
            let seen = chwd_peek(fd, scratch.baseAddress, scratch.count)
            if seen == 0 { return .success(.endOfFile) }
            if seen < 0 { return Self.outcome(seen, "recv") }
            let end = scratch[..<seen].firstIndex(of: 0)
            guard buffer.count + (end ?? seen) <= limit else {
                return .failure(
                    TransportError(.protocolViolation, "a message has more than \(limit) bytes before its NUL"))
            }
            var fds: Int32 = 0
            var truncated: Int32 = 0
            let taken = chwd_recv_without_fds(fd, scratch.baseAddress, end.map { $0 + 1 } ?? seen, &fds, &truncated)
            if taken < 0 { return Self.outcome(taken, "recvmsg") }
            guard fds == 0, truncated == 0 else {
                return .failure(
                    TransportError(.protocolViolation, "file descriptors came before the connection was upgraded"))
            }
            // A read may return fewer bytes than the peek.
            guard taken > 0, scratch[taken - 1] == 0 else {
                buffer.append(contentsOf: scratch[..<taken])
                return .success(nil)
            }
            buffer.append(contentsOf: scratch[..<(taken - 1)])
            defer { buffer = [] }
            return .success(.call(buffer))
        }
    }

    private static func outcome(_ result: Int, _ call: String) -> Result<Step?, TransportError> {
        switch Int32(-result) {
        case EINTR: .success(nil)
        case EAGAIN: .success(.wouldBlock)
        case ECONNRESET: .success(.endOfFile)
        case let errno: .failure(TransportError(SystemError(errno: errno, call: call)))
        }
    }
}
