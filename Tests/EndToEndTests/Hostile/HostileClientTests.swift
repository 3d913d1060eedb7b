// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import HWDSystem
import HWDTransport
import HWDWire
import Testing

/// Something a client does that it may not do, and how its session ends for it.
struct Misdeed: Sendable, CustomTestStringConvertible {
    let name: String
    /// The status of the end; nil where it is an end in order.
    let status: Status?
    /// Words of the reason.
    let says: String
    /// Whether the client is there to hear the end.
    let hears: Bool
    let act: @Sendable (RawSession) throws -> Void

    init(
        _ name: String, _ status: Status? = .parameter, says: String, hears: Bool = true,
        _ act: @escaping @Sendable (RawSession) throws -> Void
    ) {
        self.name = name
        self.status = status
        self.says = says
        self.hears = hears
        self.act = act
    }

    var testDescription: String { name }

    /// Does it, and expects the session's end with its reason, a daemon that serves on, and no process left.
    func check(_ server: TestDaemon, _ format: PixelFormat = .yu12) throws {
        let session = try RawSession(server, format)
        try act(session)
        if hears {
            let end = try session.end()
            #expect(end?.status == status ?? .ok)
            #expect(end?.reason.contains(says) == true, "\(end?.reason ?? "no end message")")
        }
        let result = try server.result(session.id)
        #expect(result.finished)
        #expect(result.code == (status ?? .ok).rawValue)
        #expect(result.reason.contains(says), "\(result.reason)")
        #expect(try server.sessions().isEmpty)
        #expect(server.hasNoWorkers())
        #expect(!server.log.contains("signal"), "\(server.log)")
    }
}

extension EndToEnd {
    /// Clients that break the rules of framing, of pools and of conversation.
    @Suite struct HostileClients {
        static let framing: [Misdeed] = [
            Misdeed("half a header", nil, says: "closed", hears: false) {
                try $0.sendRaw(Array(RawSession.header(length: 0, opcode: 5).prefix(7)))
                $0.close()
            },
            Misdeed("half a payload", nil, says: "closed", hears: false) {
                try $0.sendRaw(RawSession.header(length: 100, opcode: 6) + [1, 2, 3])
                $0.close()
            },
            Misdeed("a length over 64 KiB", says: "65537") {
                try $0.sendRaw(RawSession.header(length: 65537, opcode: 1))
            },
            Misdeed("a length of 4 GiB", says: "4294967295") {
                try $0.sendRaw(RawSession.header(length: .max, opcode: 6))
            },
            Misdeed("nothing but ones", says: "protocol") {
                try $0.sendRaw([UInt8](repeating: 0xFF, count: 200_000))
            },
            Misdeed("nothing but zeros", says: "protocol") { try $0.sendRaw([UInt8](repeating: 0, count: 4096)) },
            Misdeed("a first message numbered 2", says: "message 2 came instead of message 1") {
                try $0.send(opcode: Opcode.prepare.rawValue, sequence: 2)
            },
            Misdeed("a message repeated", says: "message 1 came instead of message 2") {
                try $0.send(opcode: Opcode.prepare.rawValue)
                try $0.send(opcode: Opcode.prepare.rawValue, sequence: 1)
            },
            Misdeed("more descriptors than a message may have", says: "9") {
                try $0.sendRaw(RawSession.header(length: 16, opcode: 3, fdCount: 9))
            },
            Misdeed("descriptors announced and not sent", says: "announces 1 file descriptors, 0 came") {
                try $0.sendRaw(
                    RawSession.header(length: 16, opcode: 3, fdCount: 1) + [UInt8](repeating: 0, count: 16))
            },
            Misdeed("descriptors sent and not announced", says: "file descriptors") {
                try $0.sendRaw(RawSession.header(length: 0, opcode: 5), fds: [0, 0])
            },
        ]

        static let unknownOpcodes = ([0, 15, 63, 73, .max] as [UInt32]).map { opcode in
            Misdeed("opcode \(opcode)", says: "opcode \(opcode)") { try $0.send(opcode: opcode) }
        }

        static let workersOpcodes = Opcode.allCases.filter { $0.rawValue >= 64 }.map { opcode in
            Misdeed("\(opcode), which is the worker's", says: "worker's to send") {
                try $0.send(opcode: opcode.rawValue, [UInt8](repeating: 0, count: 16))
            }
        }

        static let descriptors = Opcode.allCases.filter { $0.rawValue < 64 && $0 != .addPool }.map { opcode in
            Misdeed("\(opcode) with a descriptor", says: "came with 1 file descriptors") {
                try $0.send(opcode: opcode.rawValue, [UInt8](repeating: 0, count: 8), fds: [0])
            }
        }

        static let payloads: [Misdeed] =
            [.addPool, .encodeFrame, .completeFrames, .releasePacket].flatMap { (opcode: Opcode) in
                [
                    Misdeed("\(opcode) cut short", says: "too short") {
                        try $0.send(
                            opcode: opcode.rawValue, [UInt8](repeating: 0, count: 7),
                            fds: opcode == .addPool ? [0] : [])
                    },
                    Misdeed("\(opcode) too long", says: "too many") {
                        try $0.send(
                            opcode: opcode.rawValue, [UInt8](repeating: 0, count: 200),
                            fds: opcode == .addPool ? [0] : [])
                    },
                ]
            }
            + [Opcode.prepare, .invalidate].map { (opcode: Opcode) in
                Misdeed("\(opcode) with a payload", says: "too many") {
                    try $0.send(opcode: opcode.rawValue, [1, 2, 3])
                }
            }

        @Test(
            "A broken rule of framing ends the session",
            arguments: framing + unknownOpcodes + workersOpcodes + descriptors + payloads)
        func breaksFraming(_ misdeed: Misdeed) throws { try misdeed.check(TestDaemon()) }

        static let pools: [Misdeed] = [
            Misdeed("a pool without memory", says: "0 file descriptors") {
                try $0.send(AddPool(poolID: 1, size: 4096))
            },
            Misdeed("a pool with two descriptors", says: "2 file descriptors") {
                let memory = try sealedMemory(4096)
                try $0.send(AddPool(poolID: 1, size: 4096), fds: [memory.rawValue, memory.rawValue])
            },
            Misdeed("an unsealed memfd", says: "not sealed") {
                let memory = try unsealedMemory(4096)
                try $0.send(AddPool(poolID: 1, size: 4096), fds: [memory.rawValue])
            },
            Misdeed("a memfd smaller than the pool", says: "4096 bytes, 8192 are needed") {
                let memory = try sealedMemory(4096)
                try $0.send(AddPool(poolID: 1, size: 8192), fds: [memory.rawValue])
            },
            Misdeed("a pipe", says: "not a memfd") {
                let ends = try PipeEnds()
                try $0.send(AddPool(poolID: 1, size: 4096), fds: [ends.readNumber])
            },
            Misdeed("a file of the disk", says: "not a memfd") {
                let file = OwnedFD(open(Program.path, O_RDONLY))
                try $0.send(AddPool(poolID: 1, size: 4096), fds: [file.rawValue])
            },
            Misdeed("a pool of no size", says: "0 bytes") {
                let memory = try sealedMemory(4096)
                try $0.send(AddPool(poolID: 1, size: 0), fds: [memory.rawValue])
            },
            Misdeed("a pool of 2⁶⁴−1 bytes", says: "18446744073709551615") {
                let memory = try sealedMemory(4096)
                try $0.send(AddPool(poolID: 1, size: .max), fds: [memory.rawValue])
            },
            Misdeed("a pool of 3 GiB", says: "at most") {
                let memory = try sealedMemory(3 << 30)
                try $0.send(AddPool(poolID: 1, size: 3 << 30), fds: [memory.rawValue])
            },
            Misdeed("two pools of one number", says: "exists already") {
                try $0.addPool()
                let memory = try sealedMemory(4096)
                try $0.send(AddPool(poolID: 1, size: 4096), fds: [memory.rawValue])
            },
            Misdeed("seventeen pools", says: "at most 16 pools") {
                let memory = try sealedMemory(4096)
                for number in 0..<17 {
                    try $0.send(AddPool(poolID: UInt32(number), size: 4096), fds: [memory.rawValue])
                }
            },
        ]

        @Test("Memory that cannot be trusted ends the session", arguments: pools)
        func badPool(_ misdeed: Misdeed) throws { try misdeed.check(TestDaemon()) }

        @Test("Refused property messages are answered and the session goes on")
        func refusedMessages() throws {
            let server = try TestDaemon()
            let session = try RawSession(server)
            try session.addPool()
            let texts = [
                "", "{", "[]", "nonsense", "{\"Quality\": {}}", "{\"Quality\": 1e999}", "{\"\": 1}",
                String(repeating: "[", count: 60_000), "{\"Quality\":" + String(repeating: "[", count: 30_000),
                "{\"Quality\": \"\u{0}\"}",
            ]
            for text in texts {
                for opcode in [Opcode.setProperties, .copyProperties] where text != "[]" || opcode == .setProperties
                {
                    let sequence = try session.send(opcode: opcode.rawValue, Array(text.utf8))
                    #expect(try session.reply(to: sequence).status != .ok, "\(opcode) \(text.prefix(20))")
                }
            }
            let invalidUTF8 = try session.send(opcode: Opcode.setProperties.rawValue, [0x7B, 0x22, 0xFF, 0xFE])
            #expect(try session.reply(to: invalidUTF8).status == .parameter)
            #expect(try session.reply(to: session.send(RemovePool(poolID: 9))).status == .parameter)
            #expect(
                try session.reply(to: session.send(opcode: Opcode.removePool.rawValue, [1])).status == .parameter)

            try session.send(session.frame())
            #expect(try session.reply(to: session.send(CompleteFrames())).status == .ok)
            #expect(try session.reply(to: session.send(RemovePool(poolID: 1))).status == .ok)
            try session.send(opcode: Opcode.invalidate.rawValue)
            #expect(try session.end() == End(status: .ok, reason: "invalidated by the client"))
        }
    }
}
