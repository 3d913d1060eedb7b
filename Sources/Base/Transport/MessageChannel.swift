// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc
public import HWDWire

/// Binary messages on a session's connection: a header, a payload of up to 64 KiB and up to 8 descriptors.
///
/// Any thread may send; one thread at a time may receive. A send does not wait for a peer that does not read: a full
/// socket is an error, because credits bound what can be in flight. If the kernel accepted only part of a message, the
/// rest may take up to one second; after that the channel refuses further sends.
public final class MessageChannel: @unchecked Sendable {
    private let fd: OwnedFD
    private let sender = MessageSender()
    private let receiver = MessageReceiver()

    /// Takes ownership of a connected stream socket, makes it nonblocking and requests a large send buffer.
    ///
    /// - Parameter sendBuffer: bytes; the kernel may grant less (`net.core.wmem_max`).
    public init(_ socket: consuming OwnedFD, sendBuffer: Int32 = 1 << 20) throws(SystemError) {
        try socket.setNonblocking(true)
        let number = socket.rawValue
        try syscall("setsockopt(SO_SNDBUF)") { chwd_set_send_buffer(number, sendBuffer) }
        fd = socket
    }

    /// The socket's number, for epoll; valid as long as the channel exists.
    public var fileDescriptor: Int32 { fd.rawValue }

    /// Sends one message; the caller keeps the descriptors.
    ///
    /// - Throws: `wouldBlock` if the socket is full (nothing was sent), `timedOut` if it stayed full in the middle of
    ///   the message, `closed`, `system`, `protocolViolation` for more than 64 KiB or 8 descriptors.
    public func send(
        opcode: UInt32, sequence: UInt32, payload: UnsafeRawBufferPointer, fds: UnsafeBufferPointer<Int32>
    ) throws(TransportError) {
        try sender.send(to: fd.rawValue, opcode: opcode, sequence: sequence, payload: payload, fds: fds)
    }

    /// Sends one message whose payload is an array; the caller keeps the descriptors.
    ///
    /// - Throws: as `send(opcode:sequence:payload:fds:)` with buffers.
    public func send(
        opcode: UInt32, sequence: UInt32 = 0, payload: [UInt8] = [], fds: [Int32] = []
    ) throws(TransportError) {
        let result: Result<Void, TransportError> = payload.withUnsafeBytes { bytes in
            fds.withUnsafeBufferPointer { numbers in
                do throws(TransportError) {
                    return .success(
                        try send(opcode: opcode, sequence: sequence, payload: bytes, fds: numbers))
                } catch {
                    return .failure(error)
                }
            }
        }
        try result.get()
    }

    /// Passes the next message to `body`: its header, its payload (valid during the call) and its descriptors.
    ///
    /// Reads all that the socket has and buffers it: call this until it returns `wouldBlock`, because epoll does not see
    /// buffered messages. Descriptors that `body` does not take are closed.
    /// - Throws: `TransportError`, which every later call throws again, or the error of `body`.
    public func next<Value: ~Copyable>(
        _ body: (MessageHeader, RawSpan, inout FDQueue) throws -> Value
    ) throws -> Received<Value> {
        try receiver.next(from: fd.rawValue, body)
    }

    /// Whether `next` returns a message that was read with another, or throws, without reading from the socket.
    public var hasMessage: Bool { receiver.hasMessage }

    /// Waits until there is data to read or the peer has closed.
    ///
    /// - Returns: false at the deadline; a nil deadline waits forever.
    public func waitReadable(until deadline: MonotonicTime?) throws(TransportError) -> Bool {
        do throws(SystemError) {
            return try wait(fd.rawValue, for: POLLIN, until: deadline)
        } catch {
            throw TransportError(error)
        }
    }

    /// Shuts down both directions, which wakes a thread that waits in epoll or poll.
    public func shutdown() { _ = Glibc.shutdown(fd.rawValue, Int32(SHUT_RDWR)) }
}
