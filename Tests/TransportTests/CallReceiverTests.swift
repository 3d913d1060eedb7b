// SPDX-License-Identifier: MIT
import CHWDLinux
import Glibc
import HWDTransport
import Testing

@Suite struct CallReceiverTests {
    private func isReadable(_ fd: Int32) -> Bool {
        var entry = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 1
    }

    @Test func reassemblesACallFromManySends() throws {
        let pair = try UnixSocket.pair()
        var receiver = CallReceiver()
        let call = Array(#"{"method":"org.varlink.service.GetInfo"}"#.utf8)
        for byte in call {
            rawSend([byte], to: pair.first.rawValue)
            #expect(try receiver.receive(from: pair.second.rawValue) == .wouldBlock)
            // Bytes without a NUL are read too; otherwise epoll would spin.
            #expect(!isReadable(pair.second.rawValue))
        }
        #expect(receiver.pendingCount == call.count)
        rawSend([0], to: pair.first.rawValue)
        #expect(try receiver.receive(from: pair.second.rawValue) == .call(call))
        #expect(receiver.pendingCount == 0)
    }

    @Test func readsPipelinedCallsButNoByteAfterTheNUL() throws {
        let pair = try UnixSocket.pair()
        var receiver = CallReceiver()
        rawSend(Array("one\0two\0\0rest".utf8), to: pair.first.rawValue)
        #expect(try receiver.receive(from: pair.second.rawValue) == .call(Array("one".utf8)))
        #expect(try receiver.receive(from: pair.second.rawValue) == .call(Array("two".utf8)))
        #expect(try receiver.receive(from: pair.second.rawValue) == .call([]))
        var rest = [UInt8](repeating: 0, count: 16)
        let count = read(pair.second.rawValue, &rest, rest.count)
        #expect(Array(rest.prefix(max(0, count))) == Array("rest".utf8))
    }

    @Test(arguments: [0, 1, 4095, 4096, 4097, 65535, 65536])
    func acceptsCallsUpToTheLimit(_ size: Int) throws {
        let pair = try UnixSocket.pair()
        var receiver = CallReceiver()
        let call = [UInt8](repeating: 0x20, count: size)
        try VarlinkConnection.send(call, to: pair.first.rawValue, deadline: .now + hangLimit)
        #expect(try receiver.receive(from: pair.second.rawValue) == .call(call))
    }

    @Test(arguments: [[], [UInt8(0)]])
    func refusesCallsOverTheLimit(_ ending: [UInt8]) throws {
        let pair = try UnixSocket.pair()
        var receiver = CallReceiver()
        rawSend([UInt8](repeating: 0x20, count: 65537) + ending, to: pair.first.rawValue)
        #expect { try receiver.receive(from: pair.second.rawValue) } throws: {
            ($0 as? TransportError)?.code == .protocolViolation
        }
        #expect(receiver.pendingCount <= CallReceiver.maxCall)
    }

    @Test func refusesAndClosesDescriptorsBeforeTheUpgrade() throws {
        let pair = try UnixSocket.pair()
        var receiver = CallReceiver()
        let witness = try Witness()
        rawSend(Array("{}\0".utf8), fds: [witness.writeNumber], to: pair.first.rawValue)
        witness.closeWriteEnd()
        #expect { try receiver.receive(from: pair.second.rawValue) } throws: {
            ($0 as? TransportError)?.code == .protocolViolation
        }
        #expect(witness.isClosedEverywhere)
    }

    @Test func leavesDescriptorsAfterTheCallInTheSocket() throws {
        let pair = try UnixSocket.pair()
        var receiver = CallReceiver()
        let file = try memfd()
        rawSend(Array("{}\0".utf8), to: pair.first.rawValue)
        rawSend(rawHeader(length: 0, fdCount: 1), fds: [file.rawValue], to: pair.first.rawValue)
        #expect(try receiver.receive(from: pair.second.rawValue) == .call(Array("{}".utf8)))
        let channel = try MessageChannel(pair.second)
        #expect(try channel.nextCopy().copy?.inodes == [inode(file.rawValue)])
    }

    @Test func reportsTheEndInsideACall() throws {
        let pair = try UnixSocket.pair()
        let writer = pair.first
        let reader = pair.second
        var receiver = CallReceiver()
        rawSend(Array("{".utf8), to: writer.rawValue)
        _ = consume writer
        #expect(try receiver.receive(from: reader.rawValue) == .endOfFile)
        #expect(receiver.pendingCount == 1)
    }

    @Test func waitsForAReplyUntilTheDeadline() throws {
        let pair = try UnixSocket.pair()
        var receiver = VarlinkConnection.replyReceiver()
        let reader = pair.second.rawValue
        let start = MonotonicTime.now
        #expect {
            try VarlinkConnection.receive(from: reader, with: &receiver, deadline: .now + .milliseconds(50))
        } throws: {
            ($0 as? TransportError)?.code == .timedOut
        }
        #expect(MonotonicTime.now.nanoseconds(since: start) >= 50_000_000)
        let writer = pair.first.rawValue
        let receiving = currentThread()
        let thread = try Thread.spawn(name: "replier") {
            waitUntilAsleep(receiving)
            rawSend(Array("{\"parameters\"".utf8), to: writer)
            // The receiver may or may not read the first part alone.
            waitUntilAsleep(receiving)
            rawSend(Array(":{}}\0\u{1}".utf8), to: writer)
        }
        let reply = try VarlinkConnection.receive(from: reader, with: &receiver, deadline: .now + hangLimit)
        thread.join()
        #expect(reply == Array("{\"parameters\":{}}".utf8))
        #expect(isReadable(reader))
    }

    @Test func sendTimesOutIfThePeerDoesNotRead() throws {
        let pair = try UnixSocket.pair()
        let large = [UInt8](repeating: 1, count: 8 << 20)
        let writer = pair.first.rawValue
        #expect { try VarlinkConnection.send(large, to: writer, deadline: .now + .milliseconds(50)) } throws: {
            ($0 as? TransportError)?.code == .timedOut
        }
    }

    @Test func queuesRepliesUntilTheSocketHasRoom() throws {
        let pair = try UnixSocket.pair()
        var queue = SendQueue()
        let reply = [UInt8](repeating: 7, count: 1 << 20)
        queue.append(reply)
        #expect(try !queue.flush(to: pair.first.rawValue))
        #expect(queue.pendingCount > 0)
        var receiver = VarlinkConnection.replyReceiver()
        var step = try receiver.receive(from: pair.second.rawValue)
        for _ in 0..<10_000 where step == .wouldBlock {
            _ = try queue.flush(to: pair.first.rawValue)
            step = try receiver.receive(from: pair.second.rawValue)
        }
        #expect(step == .call(reply))
        #expect(queue.pendingCount == 0)
    }
}

@Suite struct PacketSocketTests {
    @Test(arguments: [1, 100, 65536, PacketSocket.maxPacket])
    func preservesPacketBoundaries(_ size: Int) throws {
        let pair = try UnixSocket.packetPair()
        let packet = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        try PacketSocket.send(packet, to: pair.first.rawValue)
        #expect(
            try PacketSocket.receive(from: pair.second.rawValue, deadline: .now + hangLimit) == .bytes(packet))
        #expect(try PacketSocket.receive(from: pair.second.rawValue) == .wouldBlock)
    }

    @Test func refusesInvalidSizesAndDescriptors() throws {
        let pair = try UnixSocket.packetPair()
        let (writer, reader) = (pair.first.rawValue, pair.second.rawValue)
        for size in [0, PacketSocket.maxPacket + 1] {
            #expect(throws: TransportError.self) {
                try PacketSocket.send([UInt8](repeating: 0, count: size), to: writer)
            }
        }
        let witness = try Witness()
        rawSend([1], fds: [witness.writeNumber], to: writer)
        witness.closeWriteEnd()
        #expect(throws: TransportError.self) { try PacketSocket.receive(from: reader) }
        #expect(witness.isClosedEverywhere)
    }

    @Test func reportsTheEnd() throws {
        let pair = try UnixSocket.packetPair()
        let writer = pair.first
        let reader = pair.second
        try PacketSocket.send([1], to: writer.rawValue)
        _ = consume writer
        #expect(try PacketSocket.receive(from: reader.rawValue) == .bytes([1]))
        #expect(try PacketSocket.receive(from: reader.rawValue) == .endOfFile)
        #expect { try PacketSocket.send([1], to: reader.rawValue) } throws: {
            ($0 as? TransportError)?.code == .closed
        }
    }
}
