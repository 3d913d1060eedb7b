// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc
internal import HWDModel
internal import HWDWire

/// The result of reading the next message.
public enum Received<Value: ~Copyable>: ~Copyable {
    /// The value that the caller decoded from a message.
    case message(Value)
    /// No complete message has arrived.
    case wouldBlock
    /// The peer has closed or died, possibly in the middle of a message.
    case endOfFile
}

extension Received: Copyable where Value: Copyable {}
extension Received: Sendable where Value: Sendable & ~Copyable {}

/// The receiving half of a channel: one reusable buffer, and one FIFO of descriptors that the headers' counts pop.
///
/// The kernel delivers a message's descriptors with its first byte and never merges two sets in one read, so after each
/// read, descriptors can only belong to messages whose first byte is in the buffer. A wrong count is therefore detected
/// once the messages of that read are consumed; a peer that swaps descriptors between messages of one read only
/// confuses its own session.
final class MessageReceiver {
    private static let capacity = 2 * (MessageHeader.size + MessageHeader.maxLength)

    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
    private let arrived = UnsafeMutablePointer<Int32>.allocate(capacity: Int(CHWD_MAX_FDS))
    private var start = 0
    private var end = 0
    private var fds: [Int32] = []
    private var failure: TransportError?

    deinit {
        closeFDs()
        buffer.deallocate()
        arrived.deallocate()
    }

    func next<Value: ~Copyable>(
        from fd: Int32, _ body: (MessageHeader, RawSpan, inout FDQueue) throws -> Value
    ) throws -> Received<Value> {
        while true {
            if let failure { throw failure }
            if let header = try parse(), end - start >= MessageHeader.size + header.length {
                let payload = UnsafeRawBufferPointer(
                    rebasing: buffer[(start + MessageHeader.size)..<(start + MessageHeader.size + header.length)])
                start += MessageHeader.size + header.length
                var taken = FDQueue(fds.prefix(header.fdCount))
                fds.removeFirst(header.fdCount)
                if start == end, !fds.isEmpty {
                    throw fail("\(fds.count) file descriptors came that no message announces")
                }
                return .message(try body(header, payload.bytes, &taken))
            }
            switch try fill(from: fd) {
            case .some(0): return .endOfFile
            case .none: return .wouldBlock
            default: continue
            }
        }
    }

    /// Whether `next` returns a message, or throws, without reading from the socket.
    var hasMessage: Bool {
        guard failure == nil else { return true }
        guard end - start >= MessageHeader.size else { return false }
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[start..<end]).bytes
        guard let header = try? MessageHeader(decoding: bytes) else { return true }
        return end - start >= MessageHeader.size + header.length
    }

    /// The header at the front once it is complete; the descriptors that it announces have arrived by then.
    private func parse() throws(TransportError) -> MessageHeader? {
        guard end - start >= MessageHeader.size else {
            let most = end == start ? 0 : MessageHeader.maxFDCount
            if fds.count > most { throw fail("\(fds.count) file descriptors came with one message") }
            return nil
        }
        let header: MessageHeader
        do throws(SessionError) {
            header = try MessageHeader(decoding: UnsafeRawBufferPointer(rebasing: buffer[start..<end]).bytes)
        } catch {
            throw fail(error.reason)
        }
        guard fds.count >= header.fdCount else {
            throw fail("a message announces \(header.fdCount) file descriptors, \(fds.count) came")
        }
        if end - start < MessageHeader.size + header.length, fds.count > header.fdCount {
            throw fail("a message announces \(header.fdCount) file descriptors, \(fds.count) came")
        }
        return header
    }

    /// Reads once: the number of bytes (0 at the end of the stream), or nil if there are none.
    private func fill(from fd: Int32) throws(TransportError) -> Int? {
        if start > 0 {
            if end > start, let base = buffer.baseAddress {
                memmove(base, base + start, end - start)
            }
            end -= start
            start = 0
        }
        var count: Int32 = 0
        var truncated: Int32 = 0
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer[end...])
        let read: Int
        do throws(SystemError) {
            read = try syscall("recvmsg") {
                chwd_recvmsg(fd, room.baseAddress, room.count, arrived, &count, &truncated)
            }
        } catch {
            switch error.errno {
            case EAGAIN: return nil
            case ECONNRESET: return 0
            default:
                let known = TransportError(error)
                failure = known
                throw known
            }
        }
        fds.append(contentsOf: UnsafeBufferPointer(start: arrived, count: Int(count)))
        // The kernel drops what does not fit, and what this process cannot open.
        guard truncated == 0 else {
            throw count < CHWD_MAX_FDS
                ? fail("file descriptors were lost: this process is at its limit of open files", .system)
                : fail("more than \(CHWD_MAX_FDS) file descriptors came at once")
        }
        end += read
        return read
    }

    private func fail(_ reason: String, _ code: TransportError.Code = .protocolViolation) -> TransportError {
        let error = TransportError(code, reason)
        failure = error
        closeFDs()
        return error
    }

    private func closeFDs() {
        for number in fds { _ = OwnedFD(number) }
        fds = []
    }
}
