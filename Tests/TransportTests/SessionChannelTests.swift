// SPDX-License-Identifier: MIT
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite struct SessionChannelTests {
    private func channels() throws -> (SessionChannel, MessageChannel) {
        let pair = try UnixSocket.pair()
        let first = try pair.first.duplicate()
        let second = try pair.second.duplicate()
        return (SessionChannel(try MessageChannel(first)), try MessageChannel(second))
    }

    private func next(_ channel: MessageChannel) throws -> MessageHeader? {
        let received = try channel.next { header, _, _ in header }
        if case .message(let header) = received { return header }
        return nil
    }

    @Test func countsMessagesFromOne() throws {
        let (sender, receiver) = try channels()
        #expect(try sender.send(RemovePool(poolID: 1)) == 1)
        #expect(try sender.send(.prepare) == 2)
        #expect(try next(receiver)?.sequence == 1)
        #expect(try next(receiver)?.sequence == 2)
    }

    @Test func doesNotCountRefusedMessages() throws {
        let (sender, receiver) = try channels()
        try sender.send(.prepare)
        let tooLarge = [UInt8](repeating: 0x20, count: MessageHeader.maxLength + 1)
        #expect(throws: TransportError.self) { try sender.send(.setProperties, bytes: tooLarge) }
        try sender.send(End(status: .parameter, reason: "why"))
        #expect(try next(receiver)?.sequence == 1)
        let end = try next(receiver)
        #expect(end?.sequence == 2 && end?.opcode == Opcode.end.rawValue)
    }

    @Test(arguments: [(2, 5), (0, 5), (1, 16), (1, 63), (1, 79), (1, UInt32.max)] as [(UInt32, UInt32)])
    func refusesMessagesOutOfSequenceAndUnknownOpcodes(sequence: UInt32, opcode: UInt32) throws {
        let (receiver, sender) = try channels()
        try sender.send(opcode: opcode, sequence: sequence)
        #expect(throws: TransportError.self) { try receiver.next { _, _, _, _ in true } }
    }
}
