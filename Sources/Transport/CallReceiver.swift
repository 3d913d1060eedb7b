// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// Collects NUL-terminated Varlink messages from a nonblocking socket and never takes a byte past the NUL.
///
/// The bytes after an upgrade call belong to the worker, so each step looks (MSG_PEEK) before it takes; bytes without
/// a NUL are taken as well, otherwise the socket would stay readable and epoll would spin.
public struct CallReceiver: Sendable {
    /// What a step found.
    public enum Step: Hashable, Sendable {
        /// A whole message, without its NUL.
        case call([UInt8])
        /// Nothing more to read now.
        case wouldBlock
        /// The other end closed; `pendingCount` tells whether in the middle of a message.
        case endOfFile
    }

    /// Bytes a call may have, without its NUL.
    public static let maxCall = 65536

    private let limit: Int
    private var buffer: [UInt8] = []

    /// Starts with nothing; `limit` is the most bytes a message may have, without its NUL.
    public init(limit: Int = maxCall) { self.limit = limit }

    /// Bytes of a message that has no NUL yet.
    public var pendingCount: Int { buffer.count }

    /// Reads on until a message is whole or nothing is left to read.
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
            let seen = hwd_peek(fd, scratch.baseAddress, scratch.count)
            if seen == 0 { return .success(.endOfFile) }
            if seen < 0 { return Self.outcome(seen, "recv") }
            let end = scratch[..<seen].firstIndex(of: 0)
            guard buffer.count + (end ?? seen) <= limit else {
                return .failure(
                    TransportError(.protocolViolation, "a message has more than \(limit) bytes before its NUL"))
            }
            var fds: Int32 = 0
            var truncated: Int32 = 0
            let taken = hwd_recv_without_fds(fd, scratch.baseAddress, end.map { $0 + 1 } ?? seen, &fds, &truncated)
            if taken < 0 { return Self.outcome(taken, "recvmsg") }
            guard fds == 0, truncated == 0 else {
                return .failure(
                    TransportError(.protocolViolation, "file descriptors came before the connection was upgraded"))
            }
            // A read may stop short of what the look ahead saw.
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
