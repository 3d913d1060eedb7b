// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// The client's side of Varlink: whole messages with a deadline over a nonblocking socket that stays the caller's.
public enum VarlinkConnection {
    /// Bytes a reply may have, without its NUL.
    public static let maxReply = 4 << 20

    /// Sends a message (without its NUL, which is added) and waits where the socket is full.
    ///
    /// - Throws: `timedOut` at the deadline (nil: none), `closed`, `system`.
    public static func send(
        _ message: [UInt8], to fd: Int32, deadline: MonotonicTime?
    ) throws(TransportError) {
        var queue = SendQueue()
        queue.append(message)
        do throws(SystemError) {
            while true {
                if try queue.flush(to: fd) { return }
                guard try wait(fd, for: POLLOUT, until: deadline) else { break }
            }
        } catch {
            throw TransportError(error)
        }
        throw TransportError(.timedOut, "the other end did not take the call in time")
    }

    /// Waits for the next message and takes exactly its bytes and its NUL; nil when the other end has closed.
    ///
    /// - Parameter receiver: keeps what has come of a message; one a connection, from `replyReceiver()`.
    /// - Throws: `timedOut` at the deadline (nil: none), and what `CallReceiver.receive` throws.
    public static func receive(
        from fd: Int32, with receiver: inout CallReceiver, deadline: MonotonicTime?
    ) throws(TransportError) -> [UInt8]? {
        while true {
            switch try receiver.receive(from: fd) {
            case .call(let bytes): return bytes
            case .endOfFile: return nil
            case .wouldBlock: break
            }
            do throws(SystemError) {
                guard try wait(fd, for: POLLIN, until: deadline) else {
                    throw SystemError(errno: ETIMEDOUT, call: "poll")
                }
            } catch {
                throw error.errno == ETIMEDOUT
                    ? TransportError(.timedOut, "no reply came in time") : TransportError(error)
            }
        }
    }

    /// A receiver with the limit for replies.
    public static func replyReceiver() -> CallReceiver { CallReceiver(limit: maxReply) }
}

/// Bytes on their way out of a nonblocking socket: the broker's replies.
public struct SendQueue: Sendable {
    private var bytes: [UInt8] = []
    private var sent = 0

    /// Starts empty.
    public init() {}

    /// Bytes not sent yet; the caller bounds them.
    public var pendingCount: Int { bytes.count - sent }

    /// Adds a message and its NUL.
    public mutating func append(_ message: [UInt8]) {
        bytes.append(contentsOf: message)
        bytes.append(0)
    }

    /// Sends what the socket takes; true when nothing is left.
    ///
    /// - Throws: `EPIPE` or `ECONNRESET` when the other end has closed.
    public mutating func flush(to fd: Int32) throws(SystemError) -> Bool {
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                hwd_sendmsg(fd, all.baseAddress.map { $0 + sent }, all.count - sent, nil, 0, nil, 0)
            }
            if count == -Int(EAGAIN) { return false }
            if count == -Int(EINTR) { continue }
            if count < 0 { throw SystemError(errno: Int32(-count), call: "sendmsg") }
            sent += count
        }
        bytes = []
        sent = 0
        return true
    }
}
