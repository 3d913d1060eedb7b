// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// Clients of pixel-transfer sessions that break the rules of images, pools and messages.
    @Suite struct HostileTransfers {
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

        static let violations: [Case] = [
            Case("a source in no pool", reason: "pool 2") { try $0.transfer(frame { $0.source.poolID = 2 }) },
            Case("a target in no pool", reason: "pool 9") { try $0.transfer(frame { $0.target.poolID = 9 }) },
            Case("a target that ends past its pool", reason: "past the pool") { session in
                try session.transfer(frame { $0.target.layout = plane((1 << 20) - 64, 512) })
            },
            Case("a target whose end wraps", reason: "past the pool") { session in
                try session.transfer(frame { $0.target.layout = plane(.max - 1, 512) })
            },
            Case("a stride of nothing", reason: "cannot hold a row") { session in
                try session.transfer(frame { $0.target.layout = plane(0, 0) })
            },
            Case("a stride that is odd", reason: "not aligned") { session in
                try session.transfer(frame { $0.target.layout = plane(1 << 18, 513) })
            },
            Case("a plane too few", reason: "has 2 planes") { session in
                try session.transfer(frame { $0.source.layout = plane(0, 128) })
            },
            Case("a frame over itself", reason: "overwrite itself") { session in
                try session.transfer(frame { $0.target.layout = plane(64, 512) })
            },
            Case("a target that is sealed", reason: "sealed against writing") { session in
                try session.addPool()
                let memory = try SharedMemory(creating: "test", size: 1 << 20, readOnlyToOthers: true)
                let sequence = try session.send(AddPool(poolID: 2, size: 1 << 20), fds: [memory.file.rawValue])
                try #require(try session.reply(to: sequence).status == .ok)
                try session.send(frame { $0.target.poolID = 2 })
            },
            Case("a number twice", reason: "in flight") { session in
                try session.addPool()
                for _ in 0..<40 { try session.send(frame()) }
            },
            Case("unknown flags", reason: "unknown flags") { session in
                try session.addPool()
                var writer = ByteWriter()
                frame().encode(into: &writer)
                var bytes = writer.bytes
                bytes[16] = 7
                try session.send(opcode: Opcode.transferFrame.rawValue, bytes)
            },
            Case("a frame to encode", reason: "for compression sessions") { try $0.send($0.frame()) },
            Case("the worker's own message", reason: "worker's to send") {
                try $0.send(FrameTransferred(frameID: 1))
            },
            Case("finish with a payload", reason: "bytes too many") { session in
                try session.send(opcode: Opcode.finishFrames.rawValue, [0])
            },
        ]

        @Test("A broken rule ends the session and nothing else", arguments: violations)
        func violation(_ violation: Case) throws {
            let server = try TestDaemon()
            let session = try RawSession(server, transferring: Transfers.pq, to: Transfers.halves)
            try? violation.act(session)
            let result = try server.result(session.id)
            #expect(result.finished && result.code == Status.parameter.rawValue)
            #expect(result.reason.contains(violation.reason), "\(result.reason)")
            #expect(server.hasNoWorkers())
            #expect(!server.log.contains("signal"), "\(server.log)")
        }

        @Test("A client that changes a frame during its conversion harms only itself")
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

        @Test("Unknown names and impossible sizes are refused at Create")
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
