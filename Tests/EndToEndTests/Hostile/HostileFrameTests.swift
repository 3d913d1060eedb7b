// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// Clients whose frames or packets are invalid, or that stop answering.
    @Suite struct HostileFrames {
        /// Sends a valid frame, then a changed one.
        private static func frame(
            _ name: String, reason: String, _ change: @escaping @Sendable (inout EncodeFrame) -> Void
        ) -> Violation {
            Violation(name, reason: reason) {
                try $0.addPool()
                try $0.send($0.frame(0))
                try $0.send($0.frame(1, change))
            }
        }

        private static func planes(_ places: (UInt64, UInt32)...) -> FrameLayout {
            FrameLayout(planes: places.map { FrameLayout.Plane(offset: $0.0, stride: $0.1) })
        }

        /// The pool has 2²⁰ bytes, the picture 64x64 samples.
        static let frames: [Violation] = [
            frame("a pool that is not there", reason: "pool 7") { $0.poolID = 7 },
            frame("an offset past the pool", reason: "plane 0 ends past") {
                $0.layout = planes((1 << 20, 64), (4096, 32), (5120, 32))
            },
            frame("a last row past the pool", reason: "plane 2 ends past") {
                $0.layout = planes((0, 64), (4096, 32), ((1 << 20) - 32 * 32 + 1, 32))
            },
            frame("an offset that wraps around", reason: "plane 0 ends past") {
                $0.layout = planes((.max - 100, 64), (4096, 32), (5120, 32))
            },
            frame("a stride past the pool", reason: "plane 0 ends past") {
                $0.layout = planes((0, 1 << 30), (4096, 32), (5120, 32))
            },
            frame("a stride past what an integer of 32 bits holds", reason: "is not possible") {
                $0.layout = planes((0, .max), (4096, 32), (5120, 32))
            },
            frame("a stride below the row", reason: "plane 1: a stride of 31") {
                $0.layout = planes((0, 64), (4096, 31), (5120, 32))
            },
            frame("a stride of nothing", reason: "plane 0: a stride of 0") {
                $0.layout = planes((0, 0), (4096, 32), (5120, 32))
            },
            frame("two planes instead of three", reason: "3 planes") { $0.layout = planes((0, 64), (4096, 64)) },
            frame("no planes", reason: "3 planes") { $0.layout = planes() },
            frame("five planes", reason: "5 planes") {
                $0.layout = planes((0, 64), (0, 64), (0, 64), (0, 64), (0, 64))
            },
            frame("a pts that goes back", reason: "not after the 0") { $0.pts = -1 },
            frame("a pts that stands still", reason: "not after the 0") { $0.pts = 0 },
            frame("a pts of 2⁶³−1", reason: "impossible pts") { $0.pts = .max },
            frame("a negative duration", reason: "duration") { $0.duration = -1 },
            frame("a duration of 2⁶³−1", reason: "duration") { $0.duration = .max },
            frame("unknown flags", reason: "unknown flags") { $0.flags = .init(rawValue: 0x8000_0000) },
            frame("a BaseFrameQP of 52", reason: "BaseFrameQP 52") { $0.baseFrameQP = 52 },
            frame("a BaseFrameQP of −2³¹", reason: "BaseFrameQP") { $0.baseFrameQP = .min },
            Violation("a first pts of −2⁶³", reason: "impossible pts") {
                try $0.addPool()
                try $0.send($0.frame { $0.pts = .min })
            },
            Violation("a frame before any pool", reason: "does not exist") { try $0.send($0.frame()) },
            Violation("a frame in a pool that was removed", reason: "does not exist") {
                try $0.addPool()
                try #require(try $0.reply(to: $0.send(RemovePool(poolID: 1))).status == .ok)
                try $0.send($0.frame())
            },
            Violation("a release of a packet that never was", reason: "packet 99") {
                try $0.send(ReleasePacket(packetID: 99))
            },
            Violation("a packet released twice", reason: "packet 1 ") {
                try $0.addPool()
                try $0.send($0.frame())
                try #require(try $0.reply(to: $0.send(CompleteFrames())).status == .ok)
                try $0.send(ReleasePacket(packetID: 1))
                try $0.send(ReleasePacket(packetID: 1))
            },
            Violation("a client that vanishes in the middle of a stream", nil, reason: "closed", receivesEnd: false)
            {
                try $0.addPool()
                for number in 0..<30 { try $0.send($0.frame(number)) }
                $0.close()
            },
            Violation("a client that vanishes at once", nil, reason: "closed", receivesEnd: false) { $0.close() },
            Violation("a client that shuts down its receiving side", nil, reason: "closed", receivesEnd: false) {
                try $0.addPool()
                shutdown(try #require($0.channel).fileDescriptor, Int32(SHUT_RD))
                for number in 0..<30 { try $0.send($0.frame(number)) }
                try $0.send(CompleteFrames())
            },
            Violation(
                "a client that sends requests without reading replies", reason: "does not read", receivesEnd: false
            ) {
                $0.askUntilFull()
            },
        ]

        @Test("An invalid frame or packet ends the session", arguments: frames)
        func badFrame(_ violation: Violation) throws { try violation.check(TestDaemon()) }

        static let deepFrames: [Violation] = [
            frame("an odd offset", reason: "not aligned") {
                $0.layout = planes((1, 128), (8192, 64), (10240, 64))
            },
            frame("an odd stride", reason: "not aligned") {
                $0.layout = planes((0, 129), (8320, 64), (10400, 64))
            },
            frame("rows of 8-bit samples", reason: "a stride of 64 cannot hold") {
                $0.layout = planes((0, 64), (4096, 32), (5120, 32))
            },
        ]

        @Test("10-bit samples are 16-bit words", arguments: deepFrames)
        func badDeepFrame(_ violation: Violation) throws { try violation.check(TestDaemon(), .i010) }

        /// A session with a slow encoder and memory for its frames.
        private func slow(_ server: TestDaemon) throws -> (session: RawSession, layout: FrameLayout) {
            let session = try RawSession(
                server, .yu12, width: 640, height: 360, properties: [.x265Preset: .string("slower")])
            try session.addPool()
            return (session, FrameLayout.packed(.yu12, width: 640, height: 360).layout)
        }

        /// Stops a session's worker while messages are sent, so that it finds all of them at once.
        private func atOnce<Value>(
            _ session: RawSession, _ server: TestDaemon, send: () throws -> Value
        ) throws -> Value {
            let worker = try server.session(session.id).pid
            kill(worker, SIGSTOP)
            defer { kill(worker, SIGCONT) }
            return try send()
        }

        @Test("One frame over the credits ends the session")
        func credits() throws {
            let server = try TestDaemon()
            let (session, layout) = try slow(server)
            try atOnce(session, server) {
                for number in 0..<60 { try session.send(session.frame(number) { $0.layout = layout }) }
            }
            let end = try #require(try session.end())
            #expect(end.status == .parameter && end.reason.contains("32 frames"))
            #expect(try server.result(session.id).code == Status.parameter.rawValue)
            #expect(server.hasNoWorkers())
        }

        @Test("A frame number is unique while the frame is in flight")
        func frameNumber() throws {
            let server = try TestDaemon()
            let (session, layout) = try slow(server)
            try atOnce(session, server) {
                for number in 0..<8 {
                    try session.send(
                        session.frame(number) {
                            $0.layout = layout
                            $0.frameID = UInt64(number % 7)
                        })
                }
            }
            let end = try #require(try session.end())
            #expect(end.status == .parameter && end.reason.contains("in flight already"))
        }

        @Test("A pool with frames in flight cannot be removed")
        func poolInUse() throws {
            let server = try TestDaemon()
            let (session, layout) = try slow(server)
            let removal = try atOnce(session, server) {
                for number in 0..<8 { try session.send(session.frame(number) { $0.layout = layout }) }
                return try session.send(RemovePool(poolID: 1))
            }
            let reply = try session.reply(to: removal)
            #expect(reply.status == .parameter)
            #expect(String(decoding: reply.body, as: UTF8.self).contains("in flight"))
            try session.send(opcode: Opcode.invalidate.rawValue)
            #expect(try session.end()?.status == .ok)
        }

        @Test("Any number of requests may wait for the encoder, and each is answered in its turn")
        func waitingRequests() throws {
            let server = try TestDaemon()
            let (session, layout) = try slow(server)
            let requests = try atOnce(session, server) {
                for number in 0..<20 { try session.send(session.frame(number) { $0.layout = layout }) }
                return try (0..<120).map { index in
                    guard index % 2 == 0 else { return try session.send(CompleteFrames()) }
                    return try session.send(opcode: Opcode.prepare.rawValue)
                }
            }
            var (answered, packets): ([UInt32], Int) = ([], 0)
            while answered.last != requests.last, let (opcode, payload) = try session.nextMessage() {
                switch Opcode(rawValue: opcode) {
                case .reply: answered.append(try Reply(decoding: payload.span.bytes).sequence)
                case .packet:
                    packets += 1
                    try session.send(ReleasePacket(packetID: try Packet(decoding: payload.span.bytes).packetID))
                default: break
                }
            }
            #expect(answered.suffix(requests.count) == requests[...] && packets == 20, "\(packets) packets")
            try session.send(opcode: Opcode.invalidate.rawValue)
            #expect(try session.end()?.status == .ok)
        }

        @Test("An invalidated session ends before the encoder has done its work")
        func invalidated() throws {
            let server = try TestDaemon()
            let (session, layout) = try slow(server)
            // The encoder has to code all of the frames when the session ends.
            try atOnce(session, server) {
                for number in 0..<20 { try session.send(session.frame(number) { $0.layout = layout }) }
                try session.send(CompleteFrames())
                try session.send(opcode: Opcode.invalidate.rawValue)
            }
            var packets = 0
            var end: End?
            while end == nil, let (opcode, payload) = try session.nextMessage() {
                if opcode == Opcode.packet.rawValue { packets += 1 }
                if opcode == Opcode.end.rawValue { end = try End(decoding: payload.span.bytes) }
            }
            #expect(end?.status == .ok && packets < 20, "\(packets) packets")
            #expect(server.hasNoWorkers())
        }
    }
}
