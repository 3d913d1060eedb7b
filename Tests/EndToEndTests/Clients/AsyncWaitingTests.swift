// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import HWDTransport
import HWDWire
import Testing

@testable import HWClient

extension AsyncCompressionSession {
    /// Whether the session keeps frames in buffers, without copies.
    fileprivate var keepsBuffers: Bool { session.replay.pools.contains { $0.spared > 0 } }
}

extension EndToEnd {
    /// How HWClient's sessions for tasks wait, and how waits end.
    @Suite struct AsyncWaiting {
        typealias Sessions = EndToEnd.AsyncSessions

        @Test("Errors have VideoToolbox's numbers")
        func statuses() async throws {
            let server = try TestDaemon()
            let timeBase = try #require(Rational(1, 30))
            #expect(try await hardwareSession(on: server.daemon, timeBase: timeBase) == nil)
            func created(_ width: Int, _ properties: [PropertyKey: PropertyValue] = [:]) async -> Status? {
                await Sessions.status {
                    _ = try await AsyncCompressionSession(
                        server.daemon,
                        CreateCompressionSession.Parameters(
                            width: width, height: 48, pixelFormat: .nv12, timeBase: timeBase, properties: properties
                        ))
                }
            }
            #expect(await created(0)?.rawValue == -12902)
            #expect(await created(64, [PropertyKey(rawValue: "NoSuchProperty"): .int(1)])?.rawValue == -12900)
            let session = try await Sessions.compression(server)
            let fixed = [PropertyKey.encoderID: PropertyValue.string("other")]
            #expect(await Sessions.status { try await session.setProperties(fixed) }?.rawValue == -12901)
            #expect(try await limit(session, to: 400_000) == .int(400_000))
            let small = try await smallBuffer(server)
            #expect(await Sessions.status { try await session.encode(small, at: 0) }?.rawValue == -12902)
            await session.invalidate()
            #expect(await Sessions.status { _ = try await collect(session.packets) }?.rawValue == -12903)
            #expect(await Sessions.status { try await session.encode(at: 0) { _ in } }?.rawValue == -12903)
            let record = CreateDecompressionSession.Parameters(formatDescription: [1, 2], timeBase: timeBase)
            let decoder = await Sessions.status { _ = try await AsyncDecompressionSession(server.daemon, record) }
            #expect(decoder?.rawValue == -12909)
            let nobody = Daemon(address: server.folder.path("nobody"))
            let absent = await Sessions.status { _ = try await nobody.call(ListEncoders.self, Empty()) }
            #expect(absent?.rawValue == -12907)
            #expect(Status.parameter.constantName == "kVTParameterErr")
        }

        /// A buffer of another session's size.
        private func smallBuffer(_ server: TestDaemon) async throws -> PixelBuffer {
            try await AsyncTransferSession(
                server.daemon,
                CreateTransferSession.Parameters(
                    width: 64, height: 48, source: .init(pixelFormat: "NV12"), target: .init(pixelFormat: "AB24"))
            ).makePixelBuffer()
        }

        @Test("A worker that dies ends the packets with its status")
        func deadWorker() async throws {
            let server = try TestDaemon()
            let session = try await Sessions.compression(
                server, properties: [.replaysAfterFailure: .bool(false)])
            try await session.prepare()
            let packets = Task { try await collect(session.packets) }
            let result = kill(pid_t(try server.session(session.created.session).pid), SIGKILL)
            try #require(result == 0)
            #expect(await Sessions.status { _ = try await packets.value } == .videoEncoderMalfunction)
        }

        @Test("A worker that dies costs no frame: buffers are the session's until their packets come")
        func survivedDeath() async throws {
            let server = try TestDaemon()
            let raw = try Sessions.pictures(60, in: server)
            let session = try await Sessions.compression(server, properties: [.quality: .double(0.9)])
            let packets = Task { try await collect(session.packets) }
            for (index, frame) in raw.frames.enumerated() {
                if index == 40 { kill(pid_t(try server.session(session.created.session).pid), SIGKILL) }
                try await session.encode(at: Int64(index), duration: 1) { planes in
                    var samples = frame[...]
                    for plane in planes {
                        for row in 0..<plane.rowCount {
                            plane[row].copyBytes(from: samples.prefix(plane.rowBytes))
                            samples = samples.dropFirst(plane.rowBytes)
                        }
                    }
                }
            }
            try await session.finish()
            let coded = try await packets.value
            #expect(await session.keepsBuffers)
            #expect(coded.map(\.pts).sorted() == Array(0..<60))
            let times = coded.map(\.dts)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
            let path = server.folder.path("out.hevc")
            try Data(try coded.flatMap { try $0.byteStream }).write(to: URL(fileURLWithPath: path))
            #expect(try Probe(path).frameTimes().count == 60 && Probe(path).decodingMessages() == "")
            #expect(try psnr(["-i", path], raw.ffmpegInput, as: "yuv420p") >= 35)
        }

        @Test("A frame that cannot be sent ends the session for the task that reads packets too")
        func failedSend() async throws {
            let server = try TestDaemon()
            let session = try await Sessions.compression(server)
            try await session.prepare()
            let packets = Task { try await collect(session.packets) }
            // The worker is stopped, so that nothing comes on the socket that would resume the reader.
            let worker = pid_t(try server.session(session.created.session).pid)
            try #require(kill(worker, SIGSTOP) == 0)
            defer { kill(worker, SIGCONT) }
            let sockets = connections(to: server.socket)
            try #require(!sockets.isEmpty)
            for socket in sockets { shutdown(socket, Int32(SHUT_WR)) }
            let status = await Sessions.status { try await session.encode(at: 0) { _ in } }
            #expect(status != nil)
            #expect(await Sessions.status { _ = try await packets.value } == status)
        }

        /// This process's sockets that are connected to an address.
        private func connections(to path: String) -> [Int32] {
            (0..<1024).filter { number in
                var address = sockaddr_un()
                var length = socklen_t(MemoryLayout<sockaddr_un>.size)
                let result = withUnsafeMutablePointer(to: &address) { address in
                    address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(number, $0, &length) }
                }
                guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return false }
                return withUnsafeBytes(of: &address.sun_path) { bytes in
                    bytes.prefix { $0 != 0 }.elementsEqual(path.utf8)
                }
            }
        }

        @Test("A canceled task waits no longer, and the session continues")
        func cancellation() async throws {
            let server = try TestDaemon()
            let raw = try Sessions.pictures(4, in: server)
            let session = try await Sessions.compression(server)
            let reader = Task { try await collect(session.packets) }
            let count = Guarded(0)
            let buffers = Task {
                // A session has few buffers, and this task keeps them.
                var kept: [PixelBuffer] = []
                for _ in 0..<100 {
                    kept.append(try await session.makePixelBuffer())
                    count.change { $0 += 1 }
                }
            }
            // Of pictures as small as these a session makes eight.
            let deadline = MonotonicTime.now + hangLimit
            while count.value < 8, MonotonicTime.now < deadline { try await Task.sleep(for: .milliseconds(5)) }
            try #require(count.value == 8)
            reader.cancel()
            buffers.cancel()
            await #expect(throws: CancellationError.self) { _ = try await reader.value }
            await #expect(throws: CancellationError.self) { try await buffers.value }
            #expect(try await encode(raw.frames, to: session).count == 4)
        }

        @Test("Without a reader of packets the encoder is sent a bounded number of frames")
        func backPressure() async throws {
            let server = try TestDaemon()
            // Below the 30 s after which the daemon ends a session whose client takes no packet.
            let session = try await Sessions.compression(
                server, properties: [.realTime: .bool(true)], timeout: .seconds(10))
            var sent: Int64 = 0
            let status = await Sessions.status {
                while sent < 2000 {
                    try await session.encode(at: sent) { planes in for plane in planes { plane.fill(with: 128) } }
                    sent += 1
                }
            }
            #expect(status == .invalidSession)
            let limit = session.created.maxFramesInFlight + session.created.maxPacketsInFlight
            #expect(sent > 0 && sent <= 2 * Int64(limit), "\(sent) frames")
            async let packets = collect(session.packets)
            try await session.encode(at: sent) { planes in for plane in planes { plane.fill(with: 128) } }
            try await session.finish()
            #expect(try await packets.count == Int(sent) + 1)
            #expect(await Sessions.status { try await session.encode(at: sent + 1) { _ in } } == .invalidSession)
        }

        @Test("Frames may follow when the encoder is flushed")
        func flushing() async throws {
            let server = try TestDaemon()
            let session = try await Sessions.compression(server)
            async let packets = collect(session.packets)
            for pts in [0, 1, 2, 3, 4, 5] as [Int64] {
                try await session.encode(at: pts) { planes in for plane in planes { plane.fill(with: 90) } }
                if pts == 2 { try await session.complete() }
            }
            try await session.finish()
            #expect(try await packets.map(\.pts).sorted() == [0, 1, 2, 3, 4, 5])
        }

        @Test("Two sessions of a task group")
        func twoSessions() async throws {
            let server = try TestDaemon()
            let raw = try Sessions.pictures(20, in: server)
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        try await encode(raw.frames, to: try await Sessions.compression(server)).count
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts == [20, 20])
        }

        @Test("More sessions wait for their workers than there are threads, and other tasks run")
        func blocksNoThread() async throws {
            let server = try TestDaemon()
            let count = ProcessInfo.processInfo.activeProcessorCount + 2
            let sessions = try await withThrowingTaskGroup(of: AsyncCompressionSession.self) { group in
                for _ in 0..<count { group.addTask { try await Sessions.compression(server) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let workers = server.workers
            try #require(workers.count == count)
            for worker in workers { kill(worker.pid, SIGSTOP) }
            // If the waits blocked the pool, nothing below would run: the watchdog would be the one that continues them.
            let isOver = Guarded(false)
            let watchdog = try HWDTransport.Thread.spawn(name: "watchdog") {
                if !eventually({ isOver.value }) {
                    Issue.record("the tasks that wait for sessions stop all other tasks")
                }
                for worker in workers { kill(worker.pid, SIGCONT) }
            }
            let answered = Guarded(0)
            let requests = sessions.map { session in
                Task {
                    _ = try await session.copyProperties()
                    answered.change { $0 += 1 }
                }
            }
            let readers = sessions.map { session in Task { try await collect(session.packets).count } }
            var sum = 0
            for number in 0..<100 { sum += await Task { number }.value }
            #expect(sum == 4950)
            #expect(answered.value == 0)
            isOver.change { $0 = true }
            for request in requests { try await request.value }
            for session in sessions { try await session.finish() }
            for reader in readers { #expect(try await reader.value == 0) }
            watchdog.join()
        }

        @Test("The last reference ends the session's process and its thread")
        func lifetime() async throws {
            let server = try TestDaemon()
            // Those of earlier tests may be about to end.
            let before = Self.threads
            let own: Set<String>
            do {
                let session = try await Sessions.compression(server)
                try await session.encode(at: 0) { planes in for plane in planes { plane.fill(with: 90) } }
                own = Self.threads.subtracting(before)
                #expect(own.count == 1)
                #expect(server.workers.count == 1)
            }
            #expect(server.hasNoWorkers())
            #expect(eventually { Self.threads.isDisjoint(with: own) })
        }

        /// Threads of this process that serve sessions.
        private static var threads: Set<String> {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            return Set(
                names.filter { name in
                    FileManager.default.contents(atPath: "/proc/self/task/\(name)/comm") == Data("hwclient\n".utf8)
                })
        }
    }
}
