// SPDX-License-Identifier: MIT
public import HWDWire
internal import Synchronization

/// A session's conversation over a message channel: typed payloads, and the sequence numbers of both directions.
///
/// Each side counts its messages from 1 without a gap; a message out of turn ends the session, so that a lost or
/// repeated one cannot be taken for another. Any thread may send; one thread at a time may receive.
public final class SessionChannel: @unchecked Sendable {
    private struct Sending {
        var writer = ByteWriter()
        var sequence: UInt32 = 0
    }

    /// The messages' carrier.
    public let channel: MessageChannel
    private let sending = Mutex(Sending())
    private var received: UInt32 = 0

    /// Starts the conversation; nothing may have been sent on the channel before.
    public init(_ channel: MessageChannel) { self.channel = channel }

    /// Sends a message; the descriptors stay the caller's.
    ///
    /// - Returns: its sequence number, which its reply will name.
    /// - Throws: as `MessageChannel.send`.
    @discardableResult
    public func send(_ payload: some SessionPayload, fds: [Int32] = []) throws(TransportError) -> UInt32 {
        try sending.withLock { sending throws(TransportError) in
            sending.writer.clear()
            payload.encode(into: &sending.writer)
            try channel.send(
                opcode: type(of: payload).opcode.rawValue, sequence: sending.sequence &+ 1,
                payload: sending.writer.bytes, fds: fds)
            // Only what was sent is counted: the message after one that was refused is not out of turn.
            sending.sequence &+= 1
            return sending.sequence
        }
    }

    /// Sends a message whose payload is bytes of no fixed form, or nothing.
    ///
    /// - Returns: its sequence number.
    /// - Throws: as `MessageChannel.send`.
    @discardableResult
    public func send(_ opcode: Opcode, bytes: [UInt8] = []) throws(TransportError) -> UInt32 {
        try sending.withLock { sending throws(TransportError) in
            try channel.send(opcode: opcode.rawValue, sequence: sending.sequence &+ 1, payload: bytes)
            sending.sequence &+= 1
            return sending.sequence
        }
    }

    /// Gives the next message to `body`: its opcode, its sequence number, its payload and its descriptors.
    ///
    /// - Throws: `protocolViolation` for an unknown opcode or a message out of turn, and as `MessageChannel.next`.
    public func next<Value: ~Copyable>(
        _ body: (Opcode, UInt32, RawSpan, inout FDQueue) throws -> Value
    ) throws -> Received<Value> {
        try channel.next { header, payload, fds in
            received &+= 1
            guard header.sequence == received else {
                throw TransportError(
                    .protocolViolation, "message \(header.sequence) came where \(received) was due")
            }
            guard let opcode = Opcode(rawValue: header.opcode) else {
                throw TransportError(.protocolViolation, "there is no message with opcode \(header.opcode)")
            }
            return try body(opcode, header.sequence, payload, &fds)
        }
    }
}
