// SPDX-License-Identifier: GPL-2.0-or-later
import CHostile
import Glibc
import HWDModel
import HWDTransport
import HWDWire

/// A session's connection for a client that violates the protocol.
final class Session {
    /// A message from the worker.
    struct Message {
        var opcode: UInt32
        var payload: [UInt8]
        /// The first descriptor of the message; the session closes it.
        var file: Int32?
    }

    let id: String
    let width: Int
    let height: Int
    private let channel: MessageChannel
    private var sequence: UInt32 = 0
    private var files: [Int32] = []

    /// Creates a session of YU12 frames with a valid call.
    init(
        _ address: String, width: Int = 64, height: Int = 64,
        properties: [PropertyKey: PropertyValue] = [
            .x265Preset: .string("ultrafast"), .x265Params: .string("pools=1:frame-threads=1"),
        ]
    ) throws {
        (self.width, self.height) = (width, height)
        guard let timeBase = Rational(1, 30) else { throw Finding("1/30 is a ratio") }
        let connection = try UnixSocket.connect(to: address)
        let call = try VarlinkCall.encode(
            method: CreateCompressionSession.method,
            parameters: CreateCompressionSession.Parameters(
                width: width, height: height, pixelFormat: .yu12, timeBase: timeBase, properties: properties),
            upgrade: true)
        let deadline = MonotonicTime.now + .seconds(hang)
        try VarlinkConnection.send(call, to: connection.rawValue, deadline: deadline)
        var receiver = VarlinkConnection.replyReceiver()
        guard
            let reply = try VarlinkConnection.receive(
                from: connection.rawValue, with: &receiver, deadline: deadline)
        else { throw ClosedUnanswered() }
        id = try VarlinkReply.decode(CreateCompressionSession.Reply.self, from: reply).session
        channel = try MessageChannel(connection)
    }

    deinit { for file in files { close(file) } }

    /// The connection was closed before the reply to Create.
    struct ClosedUnanswered: Error {}

    /// The valid sequence number of the next message.
    func nextSequence() -> UInt32 {
        sequence += 1
        return sequence
    }

    /// Sends a message with the next sequence number, which it returns; nil if the session has ended.
    @discardableResult
    func send(_ opcode: Opcode, _ payload: [UInt8] = [], fds: [Int32] = []) -> UInt32? {
        let number = nextSequence()
        let sent: Void? = try? channel.send(opcode: opcode.rawValue, sequence: number, payload: payload, fds: fds)
        return sent == nil ? nil : number
    }

    /// Sends a well-formed message.
    @discardableResult
    func send<P: SessionPayload>(_ payload: P, fds: [Int32] = []) -> UInt32? {
        send(P.opcode, Self.bytes(payload), fds: fds)
    }

    static func bytes(_ payload: some SessionPayload) -> [UInt8] {
        var writer = ByteWriter()
        payload.encode(into: &writer)
        return writer.bytes
    }

    /// Sends bytes without a header; false if the worker does not read them.
    @discardableResult
    func sendRaw(_ bytes: [UInt8], fds: [Int32] = []) -> Bool {
        var left = bytes[...]
        var files = fds
        let deadline = MonotonicTime.now + .seconds(5)
        while !left.isEmpty, MonotonicTime.now < deadline {
            let count = left.withUnsafeBytes {
                hostile_send(channel.fileDescriptor, $0.baseAddress, $0.count, files, files.count)
            }
            if count == -Int(EAGAIN) {
                usleep(500)
            } else if count <= 0 {
                return false
            } else {
                files = []
                left = left.dropFirst(count)
            }
        }
        return left.isEmpty
    }

    /// Registers a valid pool with the number 1.
    func addPool(_ memory: SharedMemory) -> UInt32? {
        send(AddPool(poolID: 1, size: UInt64(memory.size)), fds: [memory.file.rawValue])
    }

    /// A frame at the start of pool 1.
    func frame(_ number: Int) -> EncodeFrame {
        EncodeFrame(
            frameID: UInt64(number), pts: Int64(number), duration: 1, poolID: 1,
            layout: FrameLayout.packed(.yu12, width: width, height: height).layout)
    }

    /// The next message; nil at the end of the connection.
    ///
    /// - Throws: a finding if none comes.
    func next() throws -> Message? {
        let deadline = MonotonicTime.now + .seconds(hang)
        while true {
            let received = try channel.next { header, payload, fds in
                let file: Int32? = if let first = fds.popFirst() { first.take() } else { nil }
                return Message(
                    opcode: header.opcode, payload: payload.withUnsafeBytes { Array($0) }, file: file)
            }
            switch received {
            case .message(let message):
                if let file = message.file { files.append(file) }
                return message
            case .endOfFile: return nil
            case .wouldBlock:
                guard try channel.waitReadable(until: deadline) else {
                    throw Finding("session \(id): nothing came for \(hang) s")
                }
            }
        }
    }

    /// Reads until the reply to a message; nil if the session ended before.
    func reply(to sequence: UInt32?) throws -> Reply? {
        while let sequence, let message = try next() {
            guard message.opcode == Opcode.reply.rawValue else { continue }
            let reply = try Reply(decoding: message.payload.span.bytes)
            if reply.sequence == sequence { return reply }
        }
        return nil
    }

    /// Closes the sending direction and reads to the end of the connection; returns the `end` message, if any.
    @discardableResult
    func finish() throws -> End? {
        shutdown(channel.fileDescriptor, Int32(SHUT_WR))
        var end: End?
        while let message = try next() {
            if message.opcode == Opcode.end.rawValue { end = try End(decoding: message.payload.span.bytes) }
        }
        return end
    }
}
