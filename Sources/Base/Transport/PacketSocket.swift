// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// Packets over a `SOCK_SEQPACKET` socket, between the broker and its workers.
public enum PacketSocket {
    /// The result of a read.
    public enum Packet: Hashable, Sendable {
        /// One packet's bytes.
        case bytes([UInt8])
        /// There is no packet.
        case wouldBlock
        /// The peer has closed.
        case endOfFile
    }

    /// The most bytes of a packet: a call of 64 KiB with every character escaped, and 64 KiB that the broker adds.
    ///
    /// The kernel's own limit is the default send buffer, 208 KiB.
    public static let maxPacket = 192 << 10

    /// Sends one packet of 1 to `maxPacket` bytes, whole or not at all.
    ///
    /// - Throws: `wouldBlock` if the socket is full, `closed`, `system`, `protocolViolation` for a size out of range.
    public static func send(_ bytes: [UInt8], to fd: Int32) throws(TransportError) {
        try send(bytes, files: [], to: fd)
    }

    /// Sends one packet with a file descriptor, which the caller keeps.
    ///
    /// - Throws: as `send(_:to:)`.
    public static func send(_ bytes: [UInt8], file: Int32, to fd: Int32) throws(TransportError) {
        try send(bytes, files: [file], to: fd)
    }

    private static func send(_ bytes: [UInt8], files: [Int32], to fd: Int32) throws(TransportError) {
        guard 1...maxPacket ~= bytes.count else {
            throw TransportError(
                .protocolViolation, "a packet has 1 to \(maxPacket) bytes, not \(bytes.count)")
        }
        do throws(SystemError) {
            try syscall("sendmsg") {
                bytes.withUnsafeBytes {
                    chwd_sendmsg(fd, $0.baseAddress, $0.count, nil, 0, files, files.count)
                }
            }
        } catch {
            throw error.errno == EAGAIN
                ? TransportError(.wouldBlock, "the peer does not read its packets")
                : TransportError(error)
        }
    }

    /// Reads the next packet of a nonblocking socket.
    ///
    /// - Throws: `protocolViolation` for an oversized packet or one with file descriptors (which are closed), `system`.
    public static func receive(from fd: Int32) throws(TransportError) -> Packet {
        var buffer: [UInt8] = []
        var fds: Int32 = 0
        var truncated: Int32 = 0
        var count = 0
        do throws(SystemError) {
            // Peeks first, so that an empty socket costs no buffer.
            var byte: UInt8 = 0
            if try syscall("recv", nil, { chwd_peek(fd, &byte, 1) }) == 0 { return .endOfFile }
            buffer = [UInt8](repeating: 0, count: maxPacket)
            count = try syscall("recvmsg") { chwd_recv_without_fds(fd, &buffer, buffer.count, &fds, &truncated) }
        } catch {
            switch error.errno {
            case EAGAIN: return .wouldBlock
            case ECONNRESET: return .endOfFile
            default: throw TransportError(error)
            }
        }
        guard fds == 0, truncated == 0 else {
            throw TransportError(.protocolViolation, "a packet is oversized or carries file descriptors")
        }
        // The end of the stream; `send` refuses empty packets.
        if count == 0 { return .endOfFile }
        buffer.removeSubrange(count...)
        return .bytes(buffer)
    }

    /// Reads the next packet of a nonblocking socket, which may carry one file descriptor.
    ///
    /// - Parameter file: receives the descriptor; nil where the packet carries none.
    /// - Throws: `protocolViolation` for an oversized packet or more descriptors (which are closed), `system`.
    public static func receive(from fd: Int32, file: inout OwnedFD?) throws(TransportError) -> Packet {
        file = nil
        var buffer = [UInt8](repeating: 0, count: maxPacket)
        var files = [Int32](repeating: -1, count: Int(CHWD_MAX_FDS))
        var (fileCount, truncated): (Int32, Int32) = (0, 0)
        var count = 0
        do throws(SystemError) {
            count = try syscall("recvmsg") {
                chwd_recvmsg(fd, &buffer, buffer.count, &files, &fileCount, &truncated)
            }
        } catch {
            switch error.errno {
            case EAGAIN: return .wouldBlock
            case ECONNRESET: return .endOfFile
            default: throw TransportError(error)
            }
        }
        var queue = FDQueue(files.prefix(Int(fileCount)))
        guard truncated == 0, fileCount <= 1 else {
            throw TransportError(.protocolViolation, "a packet is oversized or carries several file descriptors")
        }
        file = queue.popFirst()
        return count == 0 ? .endOfFile : .bytes(Array(buffer.prefix(count)))
    }

    /// Waits for the next packet until the deadline; nil waits forever.
    ///
    /// - Throws: `timedOut`, and what `receive(from:)` throws.
    public static func receive(from fd: Int32, deadline: MonotonicTime?) throws(TransportError) -> Packet {
        while true {
            let packet = try receive(from: fd)
            if packet != .wouldBlock { return packet }
            var ready = false
            do throws(SystemError) { ready = try wait(fd, for: POLLIN, until: deadline) } catch {
                throw TransportError(error)
            }
            if !ready { throw TransportError(.timedOut, "no packet came in time") }
        }
    }

    /// Waits for a packet with exactly one file descriptor until the deadline; nil waits forever.
    ///
    /// - Parameter bytes: receives the packet.
    /// - Returns: the descriptor; nil when the peer has closed.
    /// - Throws: `protocolViolation` for an oversized packet or another number of descriptors, `timedOut`, `system`.
    public static func receiveWithFile(
        from fd: Int32, into bytes: inout [UInt8], deadline: MonotonicTime?
    ) throws(TransportError) -> OwnedFD? {
        var buffer = [UInt8](repeating: 0, count: maxPacket)
        var files = [Int32](repeating: -1, count: Int(CHWD_MAX_FDS))
        var fileCount: Int32 = 0
        var truncated: Int32 = 0
        var count = 0
        var isReady = false
        do throws(SystemError) {
            isReady = try wait(fd, for: POLLIN, until: deadline)
            if isReady {
                count = try syscall("recvmsg") {
                    chwd_recvmsg(fd, &buffer, buffer.count, &files, &fileCount, &truncated)
                }
            }
        } catch {
            if error.errno == ECONNRESET { return nil }
            throw TransportError(error)
        }
        guard isReady else { throw TransportError(.timedOut, "no packet came in time") }
        var queue = FDQueue(files.prefix(Int(fileCount)))
        if count == 0 { return nil }
        guard truncated == 0, fileCount == 1, let file = queue.popFirst() else {
            throw TransportError(
                .protocolViolation, "a packet came with \(fileCount) file descriptors instead of one")
        }
        buffer.removeSubrange(count...)
        bytes = buffer
        return file
    }
}
