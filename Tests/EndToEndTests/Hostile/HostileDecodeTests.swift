// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// Clients of decompression sessions that break the rules of packets, pictures and messages.
    @Suite struct HostileDecoding {
        struct Case: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let reason: String
            let act: @Sendable (RawSession) throws -> Void

            init(_ name: String, reason: String, _ act: @escaping @Sendable (RawSession) throws -> Void) {
                testDescription = name
                self.reason = reason
                self.act = act
            }
        }

        static func packet(_ change: (inout DecodeFrame) -> Void = { _ in }) -> DecodeFrame {
            var packet = DecodeFrame(frameID: 1, pts: 0, duration: 1, poolID: 1, offset: 0, size: 64)
            change(&packet)
            return packet
        }

        static let violations: [Case] = [
            Case("a packet in no pool", reason: "pool 2") { session in
                try session.addPool()
                try session.send(packet { $0.poolID = 2 })
            },
            Case("a packet that ends past its pool", reason: "past the pool") { session in
                try session.addPool()
                try session.send(packet { $0.offset = (1 << 20) - 63 })
            },
            Case("a packet whose end wraps", reason: "past the pool") { session in
                try session.addPool()
                try session.send(packet { $0.offset = .max })
            },
            Case("a packet larger than any", reason: "more than any picture") { session in
                try session.addPool()
                try session.send(packet { $0.size = .max })
            },
            Case("an impossible duration", reason: "impossible pts or duration") { session in
                try session.addPool()
                try session.send(packet { $0.duration = -1 })
            },
            Case("a pts of 2⁵⁶", reason: "impossible pts or duration") { session in
                try session.addPool()
                try session.send(packet { $0.pts = 1 << 56 })
            },
            Case("a reserved field of a pool", reason: "reserved field at byte 4") { session in
                let memory = try SharedMemory(creating: "test", size: 4096)
                var writer = ByteWriter()
                AddPool(poolID: 1, size: 4096).encode(into: &writer)
                var bytes = writer.bytes
                bytes[4] = 1
                try session.send(opcode: Opcode.addPool.rawValue, bytes, fds: [memory.file.rawValue])
            },
            Case("unknown flags", reason: "unknown flags") { session in
                try session.addPool()
                try session.send(packet { $0.flags = DecodeFrame.Flags(rawValue: 64) })
            },
            Case("a picture it does not have", reason: "not the client's to release") { session in
                try session.send(ReleaseFrame(pictureID: 7))
            },
            Case("a frame to encode", reason: "for compression sessions") { session in
                try session.send(session.frame())
            },
            Case("the worker's own message", reason: "worker's to send") { session in
                try session.send(RemoveArena(arenaID: 1))
            },
            Case("finish with a payload", reason: "bytes too many") { session in
                try session.send(opcode: Opcode.finishDelayedFrames.rawValue, [0])
            },
            Case("more packets than credits", reason: "in flight") { session in
                try session.addPool()
                for id in 1...2000 { try session.send(packet { $0.frameID = UInt64(id) }) }
            },
        ]

        @Test("A broken rule ends the session and nothing else", arguments: violations)
        func violation(_ violation: Case) throws {
            let server = try TestDaemon()
            let stream = try CodedStream(frames: 2, in: server.folder)
            let session = try RawSession(server, decoding: stream)
            try? violation.act(session)
            let result = try server.result(session.id)
            #expect(result.finished)
            #expect(result.code == Status.parameter.rawValue)
            #expect(result.reason.contains(violation.reason), "\(result.reason)")
            #expect(server.hasNoWorkers())
            #expect(!server.log.contains("signal"), "\(server.log)")
        }

        @Test("A request with a malformed payload is answered, and the session continues")
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

        @Test("A client that changes a packet while it is decoded harms only itself")
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
