// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDLinux
import Foundation
import HWDModel
import HWDTransport
import HWDWire
import Testing

/// A session's connection for a client that breaks the protocol's rules.
final class RawSession {
    static let width = 64
    static let height = 64

    /// The session's id.
    let id: String
    /// The connection; nil once the client has closed it.
    private(set) var channel: MessageChannel?
    /// The pool that `addPool` registered.
    private(set) var memory: SharedMemory?
    let format: PixelFormat
    private var sequence: UInt32 = 0

    /// Creates a session as any client would.
    init(
        _ server: TestDaemon, _ format: PixelFormat = .yu12, width: Int = width, height: Int = height,
        properties: [PropertyKey: PropertyValue] = [.x265Preset: .string("ultrafast")]
    ) throws {
        self.format = format
        let connection = try UnixSocket.connect(to: server.socket)
        let parameters = CreateCompressionSession.Parameters(
            width: width, height: height, pixelFormat: format, timeBase: try #require(Rational(1, 30)),
            properties: properties)
        let call = try VarlinkCall.encode(
            method: CreateCompressionSession.method, parameters: parameters, upgrade: true)
        let deadline = MonotonicTime.now + hangLimit
        try VarlinkConnection.send(call, to: connection.rawValue, deadline: deadline)
        var receiver = VarlinkConnection.replyReceiver()
        let reply = try VarlinkConnection.receive(from: connection.rawValue, with: &receiver, deadline: deadline)
        id = try VarlinkReply.decode(CreateCompressionSession.Reply.self, from: try #require(reply)).session
        channel = try MessageChannel(connection)
    }

    /// Creates a decompression session.
    init(_ server: TestDaemon, decoding stream: CodedStream, pixelFormat: PixelFormat? = nil) throws {
        format = .yu12
        let connection = try UnixSocket.connect(to: server.socket)
        let parameters = CreateDecompressionSession.Parameters(
            formatDescription: stream.description, timeBase: stream.timeBase, pixelFormat: pixelFormat)
        let call = try VarlinkCall.encode(
            method: CreateDecompressionSession.method, parameters: parameters, upgrade: true)
        let deadline = MonotonicTime.now + hangLimit
        try VarlinkConnection.send(call, to: connection.rawValue, deadline: deadline)
        var receiver = VarlinkConnection.replyReceiver()
        let reply = try VarlinkConnection.receive(from: connection.rawValue, with: &receiver, deadline: deadline)
        id = try VarlinkReply.decode(CreateDecompressionSession.Reply.self, from: try #require(reply)).session
        channel = try MessageChannel(connection)
    }

    /// Creates a pixel-transfer session.
    convenience init(
        _ server: TestDaemon, transferring source: CreateTransferSession.Image,
        to target: CreateTransferSession.Image,
        width: Int = width, height: Int = height
    ) throws {
        try self.init(
            server,
            transferring: CreateTransferSession.Parameters(
                width: width, height: height, source: source, target: target, device: "cpu"))
    }

    /// Creates a pixel-transfer session.
    init(_ server: TestDaemon, transferring parameters: CreateTransferSession.Parameters) throws {
        format = .yu12
        let connection = try UnixSocket.connect(to: server.socket)
        let call = try VarlinkCall.encode(
            method: CreateTransferSession.method, parameters: parameters, upgrade: true)
        let deadline = MonotonicTime.now + hangLimit
        try VarlinkConnection.send(call, to: connection.rawValue, deadline: deadline)
        var receiver = VarlinkConnection.replyReceiver()
        let reply = try VarlinkConnection.receive(from: connection.rawValue, with: &receiver, deadline: deadline)
        id = try VarlinkReply.decode(CreateTransferSession.Reply.self, from: try #require(reply)).session
        channel = try MessageChannel(connection)
    }

    /// Registers a pool and sends a frame to convert.
    func transfer(_ frame: TransferFrame) throws {
        try addPool()
        try send(frame)
    }

    /// Sends a message in turn, or with any other sequence number.
    @discardableResult
    func send(
        opcode: UInt32, _ payload: [UInt8] = [], fds: [Int32] = [], sequence given: UInt32? = nil
    ) throws -> UInt32 {
        sequence += 1
        try channel?.send(opcode: opcode, sequence: given ?? sequence, payload: payload, fds: fds)
        return sequence
    }

    /// Sends a well-formed message.
    @discardableResult
    func send<P: SessionPayload>(_ payload: P, fds: [Int32] = []) throws -> UInt32 {
        var writer = ByteWriter()
        payload.encode(into: &writer)
        return try send(opcode: P.opcode.rawValue, writer.bytes, fds: fds)
    }

    /// Sends bytes as they are.
    func sendRaw(_ bytes: [UInt8], fds: [Int32] = []) throws {
        let number = try #require(channel).fileDescriptor
        let deadline = MonotonicTime.now + hangLimit
        var left = bytes[...]
        var files = fds
        while !left.isEmpty {
            let count = left.withUnsafeBytes {
                chwd_sendmsg(number, $0.baseAddress, $0.count, nil, 0, files, files.count)
            }
            if count == -Int(EAGAIN) {
                try #require(MonotonicTime.now < deadline, "the worker reads nothing for \(hangLimit)")
                usleep(1000)
                continue
            }
            // The worker may have ended the session before it read everything.
            if count == -Int(EPIPE) || count == -Int(ECONNRESET) { return }
            try #require(count > 0)
            files = []
            left = left.dropFirst(count)
        }
    }

    /// A header with any values.
    static func header(length: UInt32, opcode: UInt32, fdCount: UInt32 = 0, sequence: UInt32 = 1) -> [UInt8] {
        [length, opcode, fdCount, sequence].flatMap { word in
            (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
        }
    }

    /// Registers a valid pool with the number 1.
    func addPool(size: Int = 1 << 20) throws {
        let memory = try SharedMemory(creating: "test-frames", size: size)
        self.memory = memory
        let sequence = try send(AddPool(poolID: 1, size: UInt64(size)), fds: [memory.file.rawValue])
        try #require(try reply(to: sequence).status == .ok)
    }

    /// A valid frame, except for what the caller changes.
    func frame(_ number: Int = 0, _ change: (inout EncodeFrame) -> Void = { _ in }) -> EncodeFrame {
        var frame = EncodeFrame(
            frameID: UInt64(number), pts: Int64(number), duration: 1, poolID: 1,
            layout: FrameLayout.packed(format, width: Self.width, height: Self.height).layout)
        change(&frame)
        return frame
    }

    /// Requests all properties repeatedly without reading a reply, until the socket takes no more.
    func askUntilFull() {
        for _ in 0..<20_000 where (try? send(opcode: Opcode.copyProperties.rawValue, Array("[]".utf8))) == nil {
            return
        }
    }

    /// Closes the connection without a message.
    func close() { channel = nil }

    /// The reply to a message; other messages are skipped.
    func reply(to sequence: UInt32) throws -> Reply {
        while let (opcode, payload) = try nextMessage() {
            guard opcode == Opcode.reply.rawValue else { continue }
            let reply = try Reply(decoding: payload.span.bytes)
            if reply.sequence == sequence { return reply }
        }
        throw SessionError(.invalidSession, "no reply came to message \(sequence)")
    }

    /// The `end` message, or nil when the connection ended without one.
    func end() throws -> End? {
        while let (opcode, payload) = try nextMessage() {
            if opcode == Opcode.end.rawValue { return try End(decoding: payload.span.bytes) }
        }
        return nil
    }

    /// The next message; nil at the connection's end.
    func nextMessage() throws -> (opcode: UInt32, payload: [UInt8])? {
        guard let channel else { return nil }
        let deadline = MonotonicTime.now + hangLimit
        while true {
            let received = try channel.next { header, payload, _ in
                (header.opcode, payload.withUnsafeBytes { Array($0) })
            }
            switch received {
            case .message(let message): return message
            case .endOfFile: return nil
            case .wouldBlock:
                let isReadable = try channel.waitReadable(until: deadline)
                try #require(isReadable, "nothing came for \(hangLimit)")
            }
        }
    }
}

/// A memfd without seals.
func unsealedMemory(_ size: Int) throws -> OwnedFD {
    let number = chwd_memfd_create("test")
    try #require(number >= 0)
    let file = OwnedFD(number)
    try #require(ftruncate(file.rawValue, size) == 0)
    return file
}

/// A memfd of any size, sealed but not mapped here.
func sealedMemory(_ size: Int) throws -> OwnedFD {
    let file = try unsealedMemory(size)
    try #require(chwd_add_seals(file.rawValue, Int32(CHWD_SEAL_SHRINK)) == 0)
    return file
}
