// SPDX-License-Identifier: MIT
import CHWDLinux
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite struct MessageChannelTests {
    private func channels(sendBuffer: Int32 = 1 << 20) throws -> (MessageChannel, MessageChannel) {
        let pair = try UnixSocket.pair()
        return (try MessageChannel(pair.first, sendBuffer: sendBuffer), try MessageChannel(pair.second))
    }

    @Test func deliversMessagesAndDescriptorsInOrder() throws {
        let (a, b) = try channels()
        let files = try (0..<3).map { _ in try memfd().take() }
        defer { for file in files { close(file) } }
        try a.send(opcode: 1, sequence: 10, payload: [1, 2, 3], fds: [files[0], files[1]])
        try a.send(opcode: 2, sequence: 11)
        try a.send(opcode: 3, sequence: 12, payload: [4], fds: [files[2]])
        let expected = [
            Copied(
                header: try MessageHeader(length: 3, opcode: 1, fdCount: 2, sequence: 10), payload: [1, 2, 3],
                inodes: [inode(files[0]), inode(files[1])]),
            Copied(header: try MessageHeader(length: 0, opcode: 2, fdCount: 0, sequence: 11), payload: []),
            Copied(
                header: try MessageHeader(length: 1, opcode: 3, fdCount: 1, sequence: 12), payload: [4],
                inodes: [inode(files[2])]),
        ]
        for message in expected { #expect(try b.nextCopy().copy == message) }
        let last = try b.next { _, _, _ in 0 }
        guard case .wouldBlock = last else {
            Issue.record("there is an extra message")
            return
        }
    }

    @Test("A message that was read together with another is known without reading from the socket")
    func bufferedMessages() throws {
        let (a, b) = try channels()
        #expect(!b.hasMessage)
        for sequence in 1...3 as ClosedRange<UInt32> { try a.send(opcode: 1, sequence: sequence, payload: [7]) }
        #expect(!b.hasMessage)
        for isAnotherThere in [true, true, false] {
            #expect(try b.nextCopy().copy?.payload == [7])
            #expect(b.hasMessage == isAnotherThere)
            #expect(try !b.waitReadable(until: MonotonicTime.now))
        }
    }

    @Test func reassemblesAMessageFromSingleBytes() throws {
        let pair = try UnixSocket.pair()
        let raw = pair.first
        let channel = try MessageChannel(pair.second)
        let file = try memfd()
        let bytes = rawHeader(length: 5, fdCount: 1, sequence: 3) + [9, 8, 7, 6, 5]
        for (index, byte) in bytes.enumerated() {
            #expect(rawSend([byte], fds: index == 0 ? [file.rawValue] : [], to: raw.rawValue) == 1)
            if index + 1 < bytes.count {
                let early = try channel.next { _, _, _ in 0 }
                guard case .wouldBlock = early else {
                    Issue.record("a message after \(index + 1) of \(bytes.count) bytes")
                    return
                }
            }
        }
        let message = try channel.nextCopy().copy
        #expect(message?.payload == [9, 8, 7, 6, 5])
        #expect(message?.inodes == [inode(file.rawValue)])
    }

    @Test func partialSendsDeliverBytesAndDescriptorsOnce() throws {
        // The kernel's smallest send buffer: 64 KiB do not fit, so each message is sent in parts.
        let (a, b) = try channels(sendBuffer: 1)
        let files = try (0..<8).map { _ in try memfd().take() }
        defer { for file in files { close(file) } }
        let rounds = 20
        let writer = try Thread.spawn(name: "writer") {
            for round in 0..<rounds {
                let payload = [UInt8](repeating: UInt8(round), count: MessageHeader.maxLength)
                while true {
                    do throws(TransportError) {
                        try a.send(opcode: 1, sequence: UInt32(round), payload: payload, fds: files)
                        break
                    } catch {
                        guard error.code == .wouldBlock else {
                            Issue.record(error)
                            return
                        }
                        usleep(200)
                    }
                }
            }
        }
        let inodes = files.map(inode)
        for round in 0..<rounds {
            let message = try #require(try b.nextCopy().copy)
            #expect(message.header.sequence == UInt32(round))
            #expect(message.payload == [UInt8](repeating: UInt8(round), count: MessageHeader.maxLength))
            #expect(message.inodes == inodes)
        }
        writer.join()
    }

    @Test func concurrentSendsDoNotInterleave() throws {
        let (a, b) = try channels(sendBuffer: 1)
        let rounds: UInt32 = 60
        let writers = try (0..<2).map { writer in
            try Thread.spawn(name: "writer\(writer)") {
                for round in 0..<rounds {
                    let payload = [UInt8](repeating: UInt8(writer + 1), count: 1000 + Int(round) * 700)
                    while true {
                        do throws(TransportError) {
                            try a.send(opcode: UInt32(writer), sequence: round, payload: payload)
                            break
                        } catch {
                            guard error.code == .wouldBlock else {
                                Issue.record(error)
                                return
                            }
                            usleep(200)
                        }
                    }
                }
            }
        }
        var next: [UInt32] = [0, 0]
        for _ in 0..<(2 * rounds) {
            let message = try #require(try b.nextCopy().copy)
            let writer = Int(message.header.opcode)
            #expect(message.header.sequence == next[writer])
            #expect(
                message.payload
                    == [UInt8](repeating: UInt8(writer + 1), count: 1000 + Int(next[writer]) * 700))
            next[writer] += 1
        }
        #expect(next == [rounds, rounds])
        for writer in writers { writer.join() }
    }

    @Test func fullSocketIsAnErrorWithoutATornMessage() throws {
        let (a, b) = try channels()
        var sent: UInt32 = 0
        var refusal: TransportError?
        while refusal == nil, sent < 100_000 {
            do throws(TransportError) {
                try a.send(opcode: 1, sequence: sent, payload: [1, 2, 3, 4])
                sent += 1
            } catch {
                refusal = error
            }
        }
        #expect(refusal?.code == .wouldBlock)
        for sequence in 0..<sent { #expect(try b.nextCopy().copy?.header.sequence == sequence) }
        try a.send(opcode: 2, sequence: 0)
        #expect(try b.nextCopy().copy?.header.opcode == 2)
    }

    @Test func sendFailsIfThePeerStopsInsideAMessage() throws {
        let (a, b) = try channels(sendBuffer: 1)
        let payload = [UInt8](repeating: 0, count: MessageHeader.maxLength)
        let start = MonotonicTime.now
        #expect { try a.send(opcode: 1, payload: payload) } throws: { ($0 as? TransportError)?.code == .timedOut }
        let waited = MonotonicTime.now.nanoseconds(since: start)
        #expect(waited >= 1_000_000_000)
        #expect { try a.send(opcode: 2) } throws: { ($0 as? TransportError)?.code == .timedOut }
        withExtendedLifetime(b) {}
    }

    @Test func refusesToSendOversizedMessages() throws {
        let (a, b) = try channels()
        let tooLong = [UInt8](repeating: 0, count: MessageHeader.maxLength + 1)
        #expect { try a.send(opcode: 1, payload: tooLong) } throws: {
            ($0 as? TransportError)?.code == .protocolViolation
        }
        #expect { try a.send(opcode: 1, fds: [Int32](repeating: 0, count: 9)) } throws: {
            ($0 as? TransportError)?.code == .protocolViolation
        }
        try a.send(opcode: 5)
        #expect(try b.nextCopy().copy?.header.opcode == 5)
    }

    /// The messages of a hostile peer: bytes, and the number of descriptors sent with the first of them.
    struct Forgery: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let parts: [(bytes: [UInt8], fds: Int)]
    }

    static let forgeries = [
        Forgery(testDescription: "a payload of 64 KiB + 1", parts: [(rawHeader(length: 65537), 0)]),
        Forgery(testDescription: "a payload of 4 GiB − 1", parts: [(rawHeader(length: .max), 0)]),
        Forgery(testDescription: "nine descriptors announced", parts: [(rawHeader(length: 0, fdCount: 9), 0)]),
        Forgery(testDescription: "nine descriptors sent", parts: [(rawHeader(length: 0, fdCount: 9), 9)]),
        Forgery(testDescription: "4 G descriptors", parts: [(rawHeader(length: 0, fdCount: .max), 1)]),
        Forgery(testDescription: "one announced, none sent", parts: [(rawHeader(length: 0, fdCount: 1), 0)]),
        Forgery(testDescription: "two announced, one sent", parts: [(rawHeader(length: 4, fdCount: 2), 1)]),
        Forgery(testDescription: "none announced, one sent", parts: [(rawHeader(length: 0), 1)]),
        Forgery(testDescription: "one announced, two sent", parts: [(rawHeader(length: 1, fdCount: 1) + [0], 2)]),
        Forgery(testDescription: "too many for half a message", parts: [(rawHeader(length: 9, fdCount: 1), 2)]),
        Forgery(testDescription: "253 with the first byte", parts: [([0], 253)]),
        Forgery(
            testDescription: "sent with a later byte than the first",
            parts: [(Array(rawHeader(length: 2, fdCount: 1).prefix(16)), 0), ([1, 2], 1)]),
        Forgery(
            testDescription: "moved from the second message to the first",
            parts: [(rawHeader(length: 0), 1), (rawHeader(length: 0, fdCount: 1), 0)]),
        Forgery(
            testDescription: "moved from the first message to the second",
            parts: [(rawHeader(length: 0, fdCount: 1), 0), (rawHeader(length: 0), 1)]),
    ]

    @Test(arguments: forgeries)
    func forgedCountsEndTheChannelWithoutLeakingDescriptors(_ forgery: Forgery) throws {
        let pair = try UnixSocket.pair()
        let raw = pair.first
        let channel = try MessageChannel(pair.second)
        let witness = try Witness()
        var failure: TransportError?
        for part in forgery.parts {
            let fds = [Int32](repeating: witness.writeNumber, count: part.fds)
            #expect(rawSend(part.bytes, fds: fds, to: raw.rawValue) == part.bytes.count)
            do {
                _ = try channel.next { _, _, _ in 0 }
            } catch {
                failure = failure ?? error as? TransportError
            }
        }
        witness.closeWriteEnd()
        #expect(failure?.code == .protocolViolation)
        #expect { try channel.next { _, _, _ in 0 } } throws: { ($0 as? TransportError) == failure }
        // Closing the channel discards what is left in the socket.
        _ = consume channel
        #expect(witness.isClosedEverywhere)
    }

    @Test func kernelRefuses300Descriptors() throws {
        let pair = try UnixSocket.pair()
        let file = try memfd()
        let fds = [Int32](repeating: file.rawValue, count: 300)
        #expect(rawSend([1], fds: fds, to: pair.first.rawValue) == -Int(EINVAL))
    }

    @Test func lostDescriptorsAreFatal() async {
        await #expect(processExitsWith: .success) {
            let pair = try UnixSocket.pair()
            let raw = pair.first
            let channel = try MessageChannel(pair.second)
            let witness = try Witness()
            let fds = [Int32](repeating: witness.writeNumber, count: 8)
            #expect(rawSend(rawHeader(length: 0, fdCount: 8), fds: fds, to: raw.rawValue) == 16)
            witness.closeWriteEnd()
            // Room for three of the eight: the kernel sets MSG_CTRUNC.
            let highest = try OwnedFD.duplicate(0).take()
            try ProcessControl.limit(.openFiles, soft: UInt64(highest) + 3, hard: 1024)
            close(highest)
            #expect { try channel.next { _, _, _ in 0 } } throws: {
                ($0 as? TransportError)?.reason.contains("lost") == true
            }
            #expect(witness.isClosedEverywhere)
        }
    }

    @Test func closesDescriptorsThatAreNotTaken() throws {
        let (a, b) = try channels()
        let witness = try Witness()
        try a.send(opcode: 1, fds: [witness.writeNumber, witness.writeNumber])
        witness.closeWriteEnd()
        _ = try b.next { _, _, fds in fds.popFirst()?.rawValue }
        #expect(witness.isClosedEverywhere)
    }

    @Test func reportsTheEndAfterTheLastMessage() throws {
        let (a, b) = try channels()
        try a.send(opcode: 1, payload: [1])
        _ = consume a
        #expect(try b.nextCopy().copy?.payload == [1])
        #expect(try b.nextCopy().isEndOfFile)
        #expect { try b.send(opcode: 1) } throws: { ($0 as? TransportError)?.code == .closed }
    }

    @Test func reportsTheEndInsideAMessage() throws {
        let pair = try UnixSocket.pair()
        let raw = pair.first
        let channel = try MessageChannel(pair.second)
        rawSend(rawHeader(length: 100) + [1, 2], to: raw.rawValue)
        _ = consume raw
        #expect(try channel.nextCopy().isEndOfFile)
    }

    @Test func throwingBodyConsumesItsMessage() throws {
        let (a, b) = try channels()
        try a.send(opcode: 1)
        try a.send(opcode: 2)
        #expect(throws: SessionError.self) {
            try b.next { _, _, _ throws -> Int in throw SessionError(.parameter, "no") }
        }
        #expect(try b.nextCopy().copy?.header.opcode == 2)
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func randomStreamsNeverTrap(_ seed: UInt64) throws {
        var random = Xorshift(state: seed &* 0x9E37_79B9_7F4A_7C15)
        let file = try memfd()
        var delivered = 0
        var refused = 0
        for _ in 0..<400 {
            let pair = try UnixSocket.pair()
            let raw = pair.first
            let channel = try MessageChannel(pair.second)
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let length = UInt32.random(in: 0...(Bool.random(using: &random) ? 12 : .max), using: &random)
                let count = UInt32.random(in: 0...2, using: &random)
                var bytes = rawHeader(length: length, fdCount: count)
                bytes += (0..<Int(min(length, 40))).map { _ in UInt8.random(in: 0...255, using: &random) }
                if Int.random(in: 0..<8, using: &random) == 0 { bytes.removeLast() }
                let isTrue = Int.random(in: 0..<4, using: &random) != 0
                let sent = isTrue ? count : UInt32.random(in: 0...10, using: &random)
                rawSend(bytes, fds: [Int32](repeating: file.rawValue, count: Int(sent)), to: raw.rawValue)
            }
            reading: for _ in 0..<10 {
                do {
                    guard case .message = try channel.next({ _, _, _ in 0 }) else { break reading }
                    delivered += 1
                } catch {
                    #expect((error as? TransportError)?.code == .protocolViolation)
                    refused += 1
                    break reading
                }
            }
        }
        #expect(delivered > 100 && refused > 100)
    }
}
