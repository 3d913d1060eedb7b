// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// Clients of pixel-transfer sessions that break the rules of places, pools and conversation.
    @Suite struct HostileTransfers {
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

        static let layouts = (
            FrameLayout.packed(.p010, width: RawSession.width, height: RawSession.height).layout,
            FrameLayout.packed(.rgba16f, width: RawSession.width, height: RawSession.height, base: 1 << 18).layout
        )

        static func frame(_ change: (inout TransferFrame) -> Void = { _ in }) -> TransferFrame {
            var frame = TransferFrame(
                frameID: 1, source: TransferFrame.Place(poolID: 1, layout: layouts.0),
                target: TransferFrame.Place(poolID: 1, layout: layouts.1))
            change(&frame)
            return frame
        }

        static func plane(_ offset: UInt64, _ stride: UInt32) -> FrameLayout {
            FrameLayout(planes: [FrameLayout.Plane(offset: offset, stride: stride)])
        }

        static let misdeeds: [Wrong] = [
            Wrong("a source in no pool", says: "pool 2") { try $0.transfer(frame { $0.source.poolID = 2 }) },
            Wrong("a target in no pool", says: "pool 9") { try $0.transfer(frame { $0.target.poolID = 9 }) },
            Wrong("a target that ends past its pool", says: "past the pool") { session in
                try session.transfer(frame { $0.target.layout = plane((1 << 20) - 64, 512) })
            },
            Wrong("a target whose end wraps", says: "past the pool") { session in
                try session.transfer(frame { $0.target.layout = plane(.max - 1, 512) })
            },
            Wrong("a stride of nothing", says: "cannot hold a row") { session in
                try session.transfer(frame { $0.target.layout = plane(0, 0) })
            },
            Wrong("a stride that is odd", says: "not aligned") { session in
                try session.transfer(frame { $0.target.layout = plane(1 << 18, 513) })
            },
            Wrong("a plane too few", says: "has 2 planes") { session in
                try session.transfer(frame { $0.source.layout = plane(0, 128) })
            },
            Wrong("a frame over itself", says: "overwrite itself") { session in
                try session.transfer(frame { $0.target.layout = plane(64, 512) })
            },
            Wrong("a target that is sealed", says: "sealed against writing") { session in
                try session.addPool()
                let memory = try SharedMemory(creating: "test", size: 1 << 20, readOnlyToOthers: true)
                let sequence = try session.send(AddPool(poolID: 2, size: 1 << 20), fds: [memory.file.rawValue])
                try #require(try session.reply(to: sequence).status == .ok)
                try session.send(frame { $0.target.poolID = 2 })
            },
            Wrong("a number twice", says: "in flight") { session in
                try session.addPool()
                for _ in 0..<40 { try session.send(frame()) }
            },
            Wrong("unknown flags", says: "unknown flags") { session in
                try session.addPool()
                var writer = ByteWriter()
                frame().encode(into: &writer)
                var bytes = writer.bytes
                bytes[16] = 7
                try session.send(opcode: Opcode.transferFrame.rawValue, bytes)
            },
            Wrong("a frame to encode", says: "for compression sessions") { try $0.send($0.frame()) },
            Wrong("the worker's own message", says: "worker's to send") {
                try $0.send(FrameTransferred(frameID: 1))
            },
            Wrong("finish with a payload", says: "bytes too many") { session in
                try session.send(opcode: Opcode.finishFrames.rawValue, [0])
            },
        ]

        @Test("What breaks a rule ends the session and nothing else", arguments: misdeeds)
        func misdeed(_ wrong: Wrong) throws {
            let server = try TestDaemon()
            let session = try RawSession(server, transferring: Transfers.pq, to: Transfers.halves)
            try? wrong.act(session)
            let result = try server.result(session.id)
            #expect(result.finished && result.code == Status.parameter.rawValue)
            #expect(result.reason.contains(wrong.says), "\(result.reason)")
            #expect(server.hasNoWorkers())
            #expect(!server.log.contains("signal"), "\(server.log)")
        }

        @Test("A client that changes a frame while it is converted harms itself alone")
        func changing() throws {
            let server = try TestDaemon()
            let session = try RawSession(server, transferring: Transfers.pq, to: Transfers.halves)
            try session.addPool()
            let memory = try #require(session.memory?.mutableBytes)
            var generator = SystemRandomNumberGenerator()
            for id in 1...50 {
                try session.send(Self.frame { $0.frameID = UInt64(id) })
                for _ in 0..<200 { memory[Int.random(in: 0..<1 << 18, using: &generator)] = .random(in: 0...255) }
                let sequence = try session.send(opcode: Opcode.finishFrames.rawValue)
                #expect(try session.reply(to: sequence).status == .ok)
            }
        }

        @Test("Sizes and words without a meaning are refused at Create, by name")
        func refused() throws {
            let server = try TestDaemon()
            for (width, height, matrix, words) in [
                (0, 64, "2020", "0x64"), (64, -1, "2020", "64x-1"), (1 << 20, 64, "2020", "not possible"),
                (64, 64, "ictcp", "ictcp"),
            ] {
                var source = Transfers.pq
                source.matrix = matrix
                #expect {
                    _ = try RawSession(
                        server, transferring: source, to: Transfers.halves, width: width, height: height)
                } throws: { error in
                    guard let error = error as? SessionError else { return false }
                    return error.status == .parameter && error.reason.contains(words)
                }
            }
            #expect(server.hasNoWorkers())
        }
    }
}
