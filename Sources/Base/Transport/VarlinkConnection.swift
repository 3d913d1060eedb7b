// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// The client's side of Varlink: messages with a deadline over a nonblocking socket that the caller owns.
public enum VarlinkConnection {
    /// The most bytes of a reply, without its NUL.
    public static let maxReply = 4 << 20

    /// Sends a message, to which it adds the NUL, and waits while the socket is full.
    ///
    /// - Throws: `timedOut` at the deadline (nil waits forever), `closed`, `system`.
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
        throw TransportError(.timedOut, "the peer did not read the call in time")
    }

    /// Waits for the next message and reads exactly its bytes and its NUL; nil when the peer has closed.
    ///
    /// - Parameter receiver: buffers incomplete messages; one for each connection, from `replyReceiver()`.
    /// - Throws: `timedOut` at the deadline (nil waits forever), and as `CallReceiver.receive`.
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

    /// A receiver with the size limit of replies.
    public static func replyReceiver() -> CallReceiver { CallReceiver(limit: maxReply) }
}

/// Messages waiting to be sent on a nonblocking socket: the broker's replies.
public struct SendQueue: Sendable {
    private var bytes: [UInt8] = []
    private var sent = 0

    /// Creates an empty queue.
    public init() {}

    /// Bytes not sent yet; the caller limits them.
    public var pendingCount: Int { bytes.count - sent }

    /// Adds a message and its NUL.
    public mutating func append(_ message: [UInt8]) {
        bytes.append(contentsOf: message)
        bytes.append(0)
    }

    /// Sends as much as the socket accepts; true when the queue is empty.
    ///
    /// - Throws: `EPIPE` or `ECONNRESET` when the peer has closed.
    public mutating func flush(to fd: Int32) throws(SystemError) -> Bool {
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                chwd_sendmsg(fd, all.baseAddress.map { $0 + sent }, all.count - sent, nil, 0, nil, 0)
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
