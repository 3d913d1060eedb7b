// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import HWDSystem
import HWDTransport
import HWDWire
import Testing

/// A rule that a client breaks, and the end of its session.
struct Violation: Sendable, CustomTestStringConvertible {
    let name: String
    /// The status of the end; nil for a regular end.
    let status: Status?
    /// Part of the reason.
    let reason: String
    /// Whether the client still receives the `end` message.
    let receivesEnd: Bool
    let act: @Sendable (RawSession) throws -> Void

    init(
        _ name: String, _ status: Status? = .parameter, reason: String, receivesEnd: Bool = true,
        _ act: @escaping @Sendable (RawSession) throws -> Void
    ) {
        self.name = name
        self.status = status
        self.reason = reason
        self.receivesEnd = receivesEnd
        self.act = act
    }

    var testDescription: String { name }

    /// Breaks the rule; expects the session to end with the reason, the daemon to continue, and no process to be left.
    func check(_ server: TestDaemon, _ format: PixelFormat = .yu12) throws {
        let session = try RawSession(server, format)
        try act(session)
        if receivesEnd {
            let end = try session.end()
            #expect(end?.status == status ?? .ok)
            #expect(end?.reason.contains(reason) == true, "\(end?.reason ?? "no end message")")
        }
        let result = try server.result(session.id)
        #expect(result.finished)
        #expect(result.code == (status ?? .ok).rawValue)
        #expect(result.reason.contains(reason), "\(result.reason)")
        #expect(try server.sessions().isEmpty)
        #expect(server.hasNoWorkers())
        #expect(!server.log.contains("signal"), "\(server.log)")
    }
}

extension EndToEndFaults {
    /// Clients that break the rules of framing, pools and messages.
    @Suite struct HostileClients {
        static let framing: [Violation] = [
            Violation("half a header", nil, reason: "closed", receivesEnd: false) {
                try $0.sendRaw(Array(RawSession.header(length: 0, opcode: 5).prefix(7)))
                $0.close()
            },
            Violation("half a payload", nil, reason: "closed", receivesEnd: false) {
                try $0.sendRaw(RawSession.header(length: 100, opcode: 6) + [1, 2, 3])
                $0.close()
            },
            Violation("a length over 64 KiB", reason: "65537") {
                try $0.sendRaw(RawSession.header(length: 65537, opcode: 1))
            },
            Violation("a length of 4 GiB", reason: "4294967295") {
                try $0.sendRaw(RawSession.header(length: .max, opcode: 6))
            },
            Violation("nothing but ones", reason: "protocol") {
                try $0.sendRaw([UInt8](repeating: 0xFF, count: 200_000))
            },
            Violation("nothing but zeros", reason: "protocol") {
                try $0.sendRaw([UInt8](repeating: 0, count: 4096))
            },
            Violation("a first message numbered 2", reason: "message 2 came instead of message 1") {
                try $0.send(opcode: Opcode.prepare.rawValue, sequence: 2)
            },
            Violation("a message repeated", reason: "message 1 came instead of message 2") {
                try $0.send(opcode: Opcode.prepare.rawValue)
                try $0.send(opcode: Opcode.prepare.rawValue, sequence: 1)
            },
            Violation("more descriptors than a message may have", reason: "9") {
                try $0.sendRaw(RawSession.header(length: 16, opcode: 3, fdCount: 9))
            },
            Violation("descriptors announced and not sent", reason: "announces 1 file descriptors, 0 came") {
                try $0.sendRaw(
                    RawSession.header(length: 16, opcode: 3, fdCount: 1) + [UInt8](repeating: 0, count: 16))
            },
            Violation("descriptors sent and not announced", reason: "file descriptors") {
                try $0.sendRaw(RawSession.header(length: 0, opcode: 5), fds: [0, 0])
            },
        ]

        static let unknownOpcodes = ([0, 16, 63, 79, .max] as [UInt32]).map { opcode in
            Violation("opcode \(opcode)", reason: "opcode \(opcode)") { try $0.send(opcode: opcode) }
        }

        static let workersOpcodes = Opcode.allCases.filter { $0.rawValue >= 64 }.map { opcode in
            Violation("\(opcode), which is the worker's", reason: "worker's to send") {
                try $0.send(opcode: opcode.rawValue, [UInt8](repeating: 0, count: 16))
            }
        }

        static let descriptors = Opcode.allCases
            .filter { $0.rawValue < 64 && ![.addPool, .addTable, .addPicture, .addFence].contains($0) }
            .map { opcode in
                Violation("\(opcode) with a descriptor", reason: "came with 1 file descriptors") {
                    try $0.send(opcode: opcode.rawValue, [UInt8](repeating: 0, count: 8), fds: [0])
                }
            }

        static let pictures = [0, 5].map { count in
            Violation("addPicture with \(count) descriptors", reason: "came with \(count) file descriptors") {
                try $0.send(
                    opcode: Opcode.addPicture.rawValue, [UInt8](repeating: 0, count: 32),
                    fds: [Int32](repeating: 0, count: count))
            }
        }

        static let payloads: [Violation] =
            [.addPool, .encodeFrame, .encodeFrameWithMetadata, .completeFrames, .releasePacket].flatMap {
                (opcode: Opcode) in
                [
                    Violation("\(opcode) cut short", reason: "too short") {
                        try $0.send(
                            opcode: opcode.rawValue, [UInt8](repeating: 0, count: 7),
                            fds: opcode == .addPool ? [0] : [])
                    },
                    Violation("\(opcode) too long", reason: "too many") {
                        try $0.send(
                            opcode: opcode.rawValue, [UInt8](repeating: 0, count: 200),
                            fds: opcode == .addPool ? [0] : [])
                    },
                ]
            }
            + [Opcode.prepare, .invalidate].map { (opcode: Opcode) in
                Violation("\(opcode) with a payload", reason: "too many") {
                    try $0.send(opcode: opcode.rawValue, [1, 2, 3])
                }
            }

        @Test(
            "A broken rule of framing ends the session",
            arguments: framing + unknownOpcodes + workersOpcodes + descriptors + pictures + payloads)
        func breaksFraming(_ violation: Violation) throws { try violation.check(TestDaemon()) }

        static let pools: [Violation] = [
            Violation("a pool without memory", reason: "0 file descriptors") {
                try $0.send(AddPool(poolID: 1, size: 4096))
            },
            Violation("a pool with two descriptors", reason: "2 file descriptors") {
                let memory = try sealedMemory(4096)
                try $0.send(AddPool(poolID: 1, size: 4096), fds: [memory.rawValue, memory.rawValue])
            },
            Violation("an unsealed memfd", reason: "not sealed") {
                let memory = try unsealedMemory(4096)
                try $0.send(AddPool(poolID: 1, size: 4096), fds: [memory.rawValue])
            },
            Violation("a memfd smaller than the pool", reason: "4096 bytes, 8192 are needed") {
                let memory = try sealedMemory(4096)
                try $0.send(AddPool(poolID: 1, size: 8192), fds: [memory.rawValue])
            },
            Violation("a pipe", reason: "not a memfd") {
                let ends = try PipeEnds()
                try $0.send(AddPool(poolID: 1, size: 4096), fds: [ends.readNumber])
            },
            Violation("a file of the disk", reason: "not a memfd") {
                let file = OwnedFD(open(Program.path, O_RDONLY))
                try $0.send(AddPool(poolID: 1, size: 4096), fds: [file.rawValue])
            },
            Violation("a pool of no size", reason: "0 bytes") {
                let memory = try sealedMemory(4096)
                try $0.send(AddPool(poolID: 1, size: 0), fds: [memory.rawValue])
            },
            Violation("a pool of 2⁶⁴−1 bytes", reason: "18446744073709551615") {
                let memory = try sealedMemory(4096)
                try $0.send(AddPool(poolID: 1, size: .max), fds: [memory.rawValue])
            },
            Violation("a pool of 3 GiB", reason: "at most") {
                let memory = try sealedMemory(3 << 30)
                try $0.send(AddPool(poolID: 1, size: 3 << 30), fds: [memory.rawValue])
            },
            Violation("two pools of one number", reason: "exists already") {
                try $0.addPool()
                let memory = try sealedMemory(4096)
                try $0.send(AddPool(poolID: 1, size: 4096), fds: [memory.rawValue])
            },
            Violation("seventeen pools", reason: "at most 16 pools") {
                let memory = try sealedMemory(4096)
                for number in 0..<17 {
                    try $0.send(AddPool(poolID: UInt32(number), size: 4096), fds: [memory.rawValue])
                }
            },
        ]

        @Test("An unsafe pool ends the session", arguments: pools)
        func badPool(_ violation: Violation) throws { try violation.check(TestDaemon()) }

        @Test("Refused property messages are answered, and the session continues")
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
