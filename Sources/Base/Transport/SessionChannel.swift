// SPDX-License-Identifier: MIT
public import HWDWire
internal import Synchronization

/// Typed session messages over a message channel, with the sequence numbers of both directions.
///
/// Each side counts its messages from 1 without gaps; a message out of sequence ends the session, so that a lost or
/// repeated message is detected. Any thread may send; one thread at a time may receive.
public final class SessionChannel: @unchecked Sendable {
    private struct Sending {
        var writer = ByteWriter()
        var sequence: UInt32 = 0
    }

    /// The underlying channel.
    public let channel: MessageChannel
    private let sending = Mutex(Sending())
    private var received: UInt32 = 0

    /// Starts both counts at 1; no message may have been sent on the channel before.
    public init(_ channel: MessageChannel) { self.channel = channel }

    /// Sends a message; the caller keeps the descriptors.
    ///
    /// - Returns: its sequence number, which its reply carries.
    /// - Throws: as `MessageChannel.send`.
    @discardableResult
    public func send(_ payload: some SessionPayload, fds: [Int32] = []) throws(TransportError) -> UInt32 {
        try sending.withLock { sending throws(TransportError) in
            sending.writer.clear()
            payload.encode(into: &sending.writer)
            try channel.send(
                opcode: type(of: payload).opcode.rawValue, sequence: sending.sequence &+ 1,
                payload: sending.writer.bytes, fds: fds)
            // Only messages that were sent count, so that the next one after a refusal is in sequence.
            sending.sequence &+= 1
            return sending.sequence
        }
    }

    /// Sends a message with an unstructured payload, which may be empty.
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

    /// Passes the next message to `body`: its opcode, sequence number, payload and descriptors.
    ///
    /// - Throws: `protocolViolation` for an unknown opcode or a message out of sequence, and as `MessageChannel.next`.
    public func next<Value: ~Copyable>(
        _ body: (Opcode, UInt32, RawSpan, inout FDQueue) throws -> Value
    ) throws -> Received<Value> {
        try channel.next { header, payload, fds in
            received &+= 1
            guard header.sequence == received else {
                throw TransportError(
                    .protocolViolation, "message \(header.sequence) came instead of message \(received)")
            }
            guard let opcode = Opcode(rawValue: header.opcode) else {
                throw TransportError(.protocolViolation, "opcode \(header.opcode) is unknown")
            }
            return try body(opcode, header.sequence, payload, &fds)
        }
    }
}
