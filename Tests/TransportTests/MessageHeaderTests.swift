// SPDX-License-Identifier: MIT
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite struct MessageHeaderTests {
    @Test func encodesLittleEndianFieldsInOrder() throws {
        let header = try MessageHeader(length: 0x0102, opcode: 0x0304_0506, fdCount: 7, sequence: 0x0809_0A0B)
        var bytes = [UInt8](repeating: 0xFF, count: 17)
        var all = bytes.mutableSpan
        var span = all.mutableBytes
        header.encode(into: &span)
        #expect(bytes == [2, 1, 0, 0, 6, 5, 4, 3, 7, 0, 0, 0, 0x0B, 0x0A, 9, 8, 0xFF])
        #expect(try MessageHeader(decoding: bytes.span.bytes) == header)
    }

    @Test(arguments: 0..<16)
    func refusesShortHeaders(_ size: Int) {
        let bytes = [UInt8](repeating: 0, count: size)
        #expect(throws: SessionError.self) { try MessageHeader(decoding: bytes.span.bytes) }
    }

    @Test(arguments: [(65536, 8, true), (65537, 0, false), (0, 9, false), (-1, 0, false), (0, -1, false)])
    func enforcesTheLimits(_ length: Int, _ fdCount: Int, _ fits: Bool) {
        let header = try? MessageHeader(length: length, opcode: 0, fdCount: fdCount, sequence: 0)
        #expect((header != nil) == fits)
    }

    /// The peer is an independent implementation of the framing, written from its description.
    @Test(.enabled(if: access("/usr/bin/python3", X_OK) == 0, "python3 is not installed"))
    func independentImplementationUnderstandsTheFraming() throws {
        let script = """
            import os, socket, struct
            s = socket.socket(fileno=3)
            s.setblocking(True)
            data, fds, _, _ = socket.recv_fds(s, 65536, 8)
            length, opcode, count, sequence = struct.unpack_from('<IIII', data)
            while len(data) < 16 + length:
                data += s.recv(65536)
            text = b''.join(os.pread(fd, 100, 0) for fd in fds)
            reply = data[16:][::-1] + text
            socket.send_fds(s, [struct.pack('<IIII', len(reply), opcode + 1, count, sequence)], fds)
            s.sendall(reply)
            """
        let pair = try UnixSocket.pair()
        let child = try ChildProcess(
            spawning: "/usr/bin/python3", arguments: ["-c", script], files: [.init(pair.second.rawValue, as: 3)])
        let channel = try MessageChannel(pair.first)
        let memory = try SharedMemory(creating: "text", size: 2)
        memory.mutableBytes?.copyBytes(from: [0x68, 0x69])
        try channel.send(
            opcode: 41, sequence: 0xFFFF_FFFE, payload: [1, 2, 3], fds: [memory.file.rawValue])
        let reply = try #require(try channel.nextCopy().copy)
        #expect(reply.payload == [3, 2, 1, 0x68, 0x69])
        #expect(reply.header == (try MessageHeader(length: 5, opcode: 42, fdCount: 1, sequence: 0xFFFF_FFFE)))
        #expect(reply.inodes == [inode(memory.file.rawValue)])
        #expect(try child.waitForExit() == .exited(0))
    }
}
