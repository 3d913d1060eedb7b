// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// Clients of decompression sessions that break the rules of packets, pictures and conversation.
    @Suite struct HostileDecoding {
        struct Wrong: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let says: String
            let act: @Sendable (RawSession) throws -> Void

            init(_ name: String, says: String, _ act: @escaping @Sendable (RawSession) throws -> Void) {
                testDescription = name
                self.says = says
                self.act = act
            }
        }

        static func packet(_ change: (inout DecodeFrame) -> Void = { _ in }) -> DecodeFrame {
            var packet = DecodeFrame(frameID: 1, pts: 0, duration: 1, poolID: 1, offset: 0, size: 64)
            change(&packet)
            return packet
        }

        static let misdeeds: [Wrong] = [
            Wrong("a packet in no pool", says: "pool 2") { session in
                try session.addPool()
                try session.send(packet { $0.poolID = 2 })
            },
            Wrong("a packet that ends past its pool", says: "past the pool") { session in
                try session.addPool()
                try session.send(packet { $0.offset = (1 << 20) - 63 })
            },
            Wrong("a packet whose end wraps", says: "past the pool") { session in
                try session.addPool()
                try session.send(packet { $0.offset = .max })
            },
            Wrong("a packet larger than any", says: "more than any picture") { session in
                try session.addPool()
                try session.send(packet { $0.size = .max })
            },
            Wrong("an impossible duration", says: "impossible pts or duration") { session in
                try session.addPool()
                try session.send(packet { $0.duration = -1 })
            },
            Wrong("unknown flags", says: "unknown flags") { session in
                try session.addPool()
                try session.send(packet { $0.flags = DecodeFrame.Flags(rawValue: 64) })
            },
            Wrong("a picture it does not have", says: "not the client's to release") { session in
                try session.send(ReleaseFrame(pictureID: 7))
            },
            Wrong("a frame to encode", says: "for compression sessions") { session in
                try session.send(session.frame())
            },
            Wrong("the worker's own message", says: "worker's to send") { session in
                try session.send(RemoveArena(arenaID: 1))
            },
            Wrong("finish with a payload", says: "bytes too many") { session in
                try session.send(opcode: Opcode.finishDelayedFrames.rawValue, [0])
            },
            Wrong("more packets than credits", says: "in flight") { session in
                try session.addPool()
                for id in 1...2000 { try session.send(packet { $0.frameID = UInt64(id) }) }
            },
        ]

        @Test("What breaks a rule ends the session and nothing else", arguments: misdeeds)
        func misdeed(_ wrong: Wrong) throws {
            let server = try TestDaemon()
            let stream = try CodedStream(frames: 2, in: server.folder)
            let session = try RawSession(server, decoding: stream)
            try? wrong.act(session)
            let result = try server.result(session.id)
            #expect(result.finished)
            #expect(result.code == Status.parameter.rawValue)
            #expect(result.reason.contains(wrong.says), "\(result.reason)")
            #expect(server.hasNoWorkers())
            #expect(!server.log.contains("signal"), "\(server.log)")
        }

        @Test("What is only wrong in a question is answered, and the session goes on")
        func answers() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(frames: 2, in: server.folder)
            let session = try RawSession(server, decoding: stream)
            for opcode in [Opcode.setProperties, .copyProperties, .canAcceptFormat, .changeFormat, .removePool] {
                for payload in [[], [0xFF], [UInt8](repeating: 0x31, count: 60_000)] as [[UInt8]] {
                    let sequence = try session.send(opcode: opcode.rawValue, payload)
                    #expect(try session.reply(to: sequence).status != .ok)
                }
            }
            let sequence = try session.send(opcode: Opcode.finishDelayedFrames.rawValue)
            #expect(try session.reply(to: sequence).status == .ok)
        }

        @Test("A client that changes a packet while it is decoded harms itself alone")
        func changing() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(frames: 2, in: server.folder)
            let session = try RawSession(server, decoding: stream)
            try session.addPool()
            let memory = try #require(session.memory?.mutableBytes)
            var generator = SystemRandomNumberGenerator()
            for id in 1...200 {
                memory.copyBytes(from: stream.units[0].bytes)
                let size = UInt32(stream.units[0].bytes.count)
                let sequence = try session.send(
                    Self.packet {
                        $0.frameID = UInt64(id)
                        $0.size = size
                        $0.flags = [.doNotOutput]
                    })
                for _ in 0..<100 { memory[Int.random(in: 0..<Int(size), using: &generator)] = .random(in: 0...255) }
                _ = try session.reply(to: sequence)
            }
            try session.send(opcode: Opcode.invalidate.rawValue)
            #expect(try server.result(session.id).code == 0)
            #expect(server.hasNoWorkers())
        }
    }
}
