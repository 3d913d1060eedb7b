// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc
public import HWDWire

/// The binary half of a session's connection: messages of a header, a payload of up to 64 KiB and up to 8 descriptors.
///
/// Any thread may send; one thread at a time may receive. A send never waits for a peer that does not read: a full
/// socket is an error, because credits bound what can be in flight. Only when the kernel took a part of a message is
/// up to one second spent on the rest; after that the channel can send no more.
public final class MessageChannel: @unchecked Sendable {
    private let fd: OwnedFD
    private let sender = MessageSender()
    private let receiver = MessageReceiver()

    /// Takes over a connected stream socket, makes it nonblocking and asks for a large send buffer.
    ///
    /// - Parameter sendBuffer: bytes; the kernel may grant less (`net.core.wmem_max`).
    public init(_ socket: consuming OwnedFD, sendBuffer: Int32 = 1 << 20) throws(SystemError) {
        try socket.setNonblocking(true)
        let number = socket.rawValue
        try syscall("setsockopt(SO_SNDBUF)") { hwd_set_send_buffer(number, sendBuffer) }
        fd = socket
    }

    /// The socket's number, for epoll; valid as long as the channel lives, which the number alone does not ensure.
    public var fileDescriptor: Int32 { fd.rawValue }

    /// Sends one message; the descriptors stay the caller's.
    ///
    /// - Throws: `wouldBlock` if the socket is full (nothing was sent), `timedOut` if it stayed full in the middle of
    ///   the message, `closed`, `system`, `protocolViolation` for more than 64 KiB or 8 descriptors.
    public func send(
        opcode: UInt32, sequence: UInt32, payload: UnsafeRawBufferPointer, fds: UnsafeBufferPointer<Int32>
    ) throws(TransportError) {
        try sender.send(to: fd.rawValue, opcode: opcode, sequence: sequence, payload: payload, fds: fds)
    }

    /// Sends one message whose payload is an array; the descriptors stay the caller's.
    ///
    /// - Throws: as `send(opcode:sequence:payload:fds:)` with buffers does.
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

    /// Sends one message with one descriptor, which stays the caller's and is kept open until it was sent.
    ///
    /// Safer than a bare number for a file that lives in an object, such as `SharedMemory.file`.
    /// - Throws: as `send(opcode:sequence:payload:fds:)` does.
    public func send(
        opcode: UInt32, sequence: UInt32 = 0, payload: [UInt8] = [], file: borrowing OwnedFD
    ) throws(TransportError) {
        try send(opcode: opcode, sequence: sequence, payload: payload, fds: [file.rawValue])
    }

    /// Gives the next message to `body`: its header, its payload (during the call only) and its descriptors.
    ///
    /// Reads as much as the socket has, then answers from its buffer: call it until it says `wouldBlock`, since epoll
    /// knows nothing of buffered messages. Descriptors that `body` does not take are closed.
    /// - Throws: `TransportError`, after which every call throws it again, or what `body` throws.
    public func next<Value: ~Copyable>(
        _ body: (MessageHeader, RawSpan, inout FDQueue) throws -> Value
    ) throws -> Received<Value> {
        try receiver.next(from: fd.rawValue, body)
    }

    /// Waits until there is something to read, or the other end is gone; false at the deadline (nil: none).
    public func waitReadable(until deadline: MonotonicTime?) throws(TransportError) -> Bool {
        do throws(SystemError) {
            return try wait(fd.rawValue, for: POLLIN, until: deadline)
        } catch {
            throw TransportError(error)
        }
    }

    /// Ends the connection for both sides, so that a thread waiting in epoll or poll sees its end.
    public func shutdown() { _ = Glibc.shutdown(fd.rawValue, Int32(SHUT_RDWR)) }
}
