// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc
internal import HWDModel
internal import HWDWire

/// The sending half of a channel: whole messages, from any thread.
final class MessageSender: @unchecked Sendable {
    /// The time limit for the rest of a message that the kernel accepted only in part.
    static let remainderTimeout = Duration.seconds(1)

    private let lock = Lock()
    private let header = UnsafeMutableRawBufferPointer.allocate(byteCount: MessageHeader.size, alignment: 8)
    private var failure: TransportError?

    deinit { header.deallocate() }

    func send(
        to fd: Int32, opcode: UInt32, sequence: UInt32, payload: UnsafeRawBufferPointer,
        fds: UnsafeBufferPointer<Int32>
    ) throws(TransportError) {
        let prepared: MessageHeader
        do throws(SessionError) {
            prepared = try MessageHeader(
                length: payload.count, opcode: opcode, fdCount: fds.count, sequence: sequence)
        } catch {
            throw TransportError(.protocolViolation, error.reason)
        }
        lock.lock()
        defer { lock.unlock() }
        if let failure { throw failure }
        var span = header.mutableBytes
        prepared.encode(into: &span)
        do throws(SystemError) {
            try write(payload, fds, to: fd)
        } catch {
            if error.errno == EAGAIN {
                throw TransportError(.wouldBlock, "the socket is full: the peer does not read its messages")
            }
            let cause =
                error.errno == ETIMEDOUT
                ? TransportError(.timedOut, "the peer stopped reading in the middle of a message")
                : TransportError(error)
            failure = cause
            throw cause
        }
    }

    /// Sends the header and the payload; `EAGAIN` means that nothing was sent.
    private func write(
        _ payload: UnsafeRawBufferPointer, _ fds: UnsafeBufferPointer<Int32>, to fd: Int32
    ) throws(SystemError) {
        var sent = try syscall("sendmsg") {
            chwd_sendmsg(
                fd, header.baseAddress, header.count, payload.baseAddress, payload.count, fds.baseAddress,
                fds.count)
        }
        let total = header.count + payload.count
        guard sent < total else { return }
        // An early return from here on would leave a truncated message: finish it or refuse further sends.
        let deadline = MonotonicTime.now + Self.remainderTimeout
        while sent < total {
            let count = sendRemainder(to: fd, payload: payload, from: sent)
            if count > 0 { sent += count }
            if count < 0, ![EAGAIN, EINTR].contains(Int32(-count)) {
                throw SystemError(errno: Int32(-count), call: "sendmsg")
            }
            if sent < total, try !wait(fd, for: POLLOUT, until: deadline) {
                throw SystemError(errno: ETIMEDOUT, call: "sendmsg")
            }
        }
    }

    private func sendRemainder(to fd: Int32, payload: UnsafeRawBufferPointer, from sent: Int) -> Int {
        let headSent = min(sent, header.count)
        let bodySent = sent - headSent
        return chwd_sendmsg(
            fd, header.baseAddress.map { $0 + headSent }, header.count - headSent,
            payload.baseAddress.map { $0 + bodySent }, payload.count - bodySent, nil, 0)
    }
}
