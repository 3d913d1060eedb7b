// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// A frame's credit returns to a client when it fetches the event, not when the event arrives.
    @Suite struct Credits {
        /// Whether an error says that no credit is left.
        private func isOutOfCredits(_ error: ClientError) -> Bool {
            error.code == .session(.parameter) && error.reason.contains("in flight")
        }

        @Test("A compression client that fetches no events runs out of credits, and its session continues")
        func compression() throws {
            let server = try TestDaemon()
            let session = try CompressionSession(
                server.daemon,
                CreateCompressionSession.Parameters(
                    width: 64, height: 64, pixelFormat: .yu12, timeBase: try #require(Rational(1, 30)),
                    properties: [
                        .x265Preset: .string("ultrafast"), .x265Params: .string("rc-lookahead=0:bframes=0"),
                    ]))
            let pool = try FramePool(slotSize: FrameLayout.packed(.yu12, width: 64, height: 64).size, slotCount: 1)
            try session.addPool(pool, id: 1)
            var accepted: UInt64 = 0
            for _ in 0..<400 {
                do throws(ClientError) {
                    try session.encode(
                        EncodeFrame(
                            frameID: accepted, pts: Int64(accepted), duration: 1, poolID: 1,
                            layout: FrameLayout.packed(.yu12, width: 64, height: 64).layout))
                    accepted += 1
                } catch {
                    try #require(isOutOfCredits(error), "\(error)")
                }
                // Receives the events that have arrived.
                _ = try session.copyProperties([])
            }
            #expect(accepted == UInt64(session.created.maxFramesInFlight))
            #expect(session.framesInFlight == session.created.maxFramesInFlight)

            var released: [UInt64] = []
            var packets = 0
            var isCompleted = false
            try session.complete()
            while !isCompleted, let event = try session.nextEvent(timeout: hangLimit) {
                switch event {
                case .frameReleased(let frame): released.append(frame)
                case .packet(let packet):
                    packets += 1
                    try session.release(packet)
                case .completed: isCompleted = true
                case .formatDescription: break
                }
            }
            #expect(isCompleted && packets == Int(accepted))
            #expect(released == Array(0..<accepted))
            #expect(session.framesInFlight == 0)
        }

        @Test("An app may call complete any number of times before it fetches the events")
        func manyCompletions() throws {
            let server = try TestDaemon()
            let session = try CompressionSession(
                server.daemon,
                CreateCompressionSession.Parameters(
                    width: 64, height: 64, pixelFormat: .yu12, timeBase: try #require(Rational(1, 30)),
                    properties: [.x265Preset: .string("ultrafast")]))
            for _ in 0..<50 {
                for _ in 0..<10 { try session.complete() }
                // Receives the replies that are there; the codec thread, which gives them, may be busy.
                _ = try session.copyProperties([])
            }
            try session.prepare()
            var completed = 0
            var descriptions = 0
            while completed < 500 || descriptions == 0, let event = try session.nextEvent(timeout: hangLimit) {
                switch event {
                case .completed: completed += 1
                case .formatDescription: descriptions += 1
                default: Issue.record("\(event)")
                }
            }
            #expect(completed == 500 && descriptions == 1)
        }

        @Test("A decompression client that fetches no events is refused further packets, and its session continues")
        func decompression() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(frames: 2, in: server.folder)
            let session = try DecompressionSession(
                server.daemon,
                CreateDecompressionSession.Parameters(
                    formatDescription: stream.description, timeBase: stream.timeBase))
            // Each of these packets is reported as damaged.
            let garbage: [UInt8] = [0, 0, 0, 4, 2, 1, 0xff, 0xff]
            var accepted = 0
            var refusals = 0
            for _ in 0..<5000 {
                do {
                    try garbage.withUnsafeBytes { bytes -> Void in try session.decode(bytes, pts: nil) }
                    accepted += 1
                } catch let error as ClientError {
                    try #require(
                        error.code == .session(.parameter) && error.reason.contains("fetch events"), "\(error)")
                    refusals += 1
                }
                if refusals == 0, accepted % 16 == 0 { _ = try session.copyProperties([]) }
            }
            #expect(refusals > 0)
            try session.finishDelayedFrames()
            var reports = 0
            while let event = try session.nextEvent(timeout: hangLimit) {
                guard case .report = event else { break }
                reports += 1
            }
            #expect(reports == accepted)
        }

        @Test("A transfer client that fetches no events runs out of credits, and its session continues")
        func transfer() throws {
            let server = try TestDaemon()
            let session = try TransferSession(
                server.daemon,
                CreateTransferSession.Parameters(
                    width: 64, height: 64, source: .init(pixelFormat: "YU12"), target: .init(pixelFormat: "NV12"),
                    device: "cpu"))
            let layout = FrameLayout.packed(.yu12, width: 64, height: 64)
            let pool = try FramePool(slotSize: layout.size, slotCount: 2)
            try session.addPool(pool, id: 1)
            var accepted: UInt64 = 0
            for _ in 0..<200 {
                do throws(ClientError) {
                    try session.transfer(
                        TransferFrame(
                            frameID: accepted, source: .init(poolID: 1, layout: layout.layout),
                            target: .init(
                                poolID: 1,
                                layout: FrameLayout.packed(.nv12, width: 64, height: 64, base: layout.size).layout))
                    )
                    accepted += 1
                } catch {
                    try #require(isOutOfCredits(error), "\(error)")
                }
                _ = try session.copyProperties([])
            }
            #expect(accepted == UInt64(session.created.maxFramesInFlight))
            try session.finishFrames()
            var converted: [UInt64] = []
            while let event = try session.nextEvent(timeout: hangLimit) {
                guard case .frame(let frame) = event else { break }
                converted.append(frame.frameID)
            }
            #expect(converted == Array(0..<accepted))
            #expect(session.framesInFlight == 0)
        }
    }
}
