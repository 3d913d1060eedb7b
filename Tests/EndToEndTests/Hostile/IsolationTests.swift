// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// The end of a worker is an error of its own session only.
    @Suite struct Isolation {
        /// Constant quality: the bytes depend on the frames only.
        static let properties: [PropertyKey: PropertyValue] = [
            .x265Preset: .string("medium"), .quality: .double(0.4),
        ]

        /// A session that is about to lose its worker.
        struct Victim: Sendable {
            var id: String?
            var packets = 0
            var error: SessionError?
        }

        static func encode(_ daemon: Daemon, _ raw: RawFrames) throws -> [Coded] {
            let encoder = try Encoder(
                daemon, raw.format, width: raw.width, height: raw.height, properties: properties)
            for frame in raw.frames { try encoder.encode(frame) }
            try encoder.finish()
            return encoder.coded
        }

        /// Encodes the same frames repeatedly until the session ends.
        static func encodeUntilTheEnd(
            _ daemon: Daemon, _ raw: RawFrames, properties: [PropertyKey: PropertyValue] = properties,
            _ victim: Guarded<Victim>
        ) throws {
            let encoder = try Encoder(
                daemon, raw.format, width: raw.width, height: raw.height,
                properties: properties.merging([.replaysAfterFailure: .bool(false)]) { $1 })
            victim.change { $0.id = encoder.id }
            let error = sessionError {
                for _ in 0..<1000 {
                    for frame in raw.frames {
                        try encoder.encode(frame)
                        victim.change { $0.packets = encoder.coded.count }
                    }
                }
            }
            victim.change { $0.error = error }
        }

        /// The worker of a victim, once it has frames in progress.
        static func worker(
            of victim: Guarded<Victim>, in server: TestDaemon, packets: Int
        ) throws -> SessionInfo {
            var found: SessionInfo?
            _ = try eventually {
                guard let id = victim.value.id, victim.value.packets >= packets else { return false }
                found = try server.session(id)
                return found.map { $0.pendingFrames > 0 } ?? false
            }
            return try #require(found, "the session does not get to its packets")
        }

        @Test(
            "A worker at its limit of descriptors reports a failure of the system, not of its client",
            .enabled(if: access("/usr/bin/prlimit", X_OK) == 0, "prlimit is not installed"))
        func descriptorLimit() throws {
            let server = try TestDaemon()
            let session = try RawSession(server)
            let worker = try #require(server.workers.first)
            try Programs.tool("prlimit", ["--pid", "\(worker.pid)", "--nofile=3"])
            let memory = try sealedMemory(4096)
            try session.send(AddPool(poolID: 1, size: 4096), fds: [memory.rawValue])
            let end = try #require(try session.end())
            #expect(end.status == .allocationFailed)
            #expect(end.reason.contains("descriptors were lost"))
        }

        @Test("kill -9 of the daemon: a session's output is bit-identical, its worker ends, the next daemon serves")
        func daemonKilled() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 12, in: server.folder)
            let undisturbed = try Self.encode(server.daemon, raw)

            let encoder = try Encoder(server.daemon, .yu12, width: 320, height: 180, properties: Self.properties)
            let worker = try #require(ProcessEntry(try server.session(encoder.id).pid))
            for frame in raw.frames.prefix(6) { try encoder.encode(frame) }
            try server.kill()
            for frame in raw.frames.dropFirst(6) { try encoder.encode(frame) }
            try encoder.finish()
            #expect(encoder.coded == undisturbed)
            #expect(worker.isRunning)
            encoder.session.invalidate()
            #expect(eventually { !worker.isRunning })

            let next = try TestDaemon(at: server.socket)
            #expect(try next.sessions().isEmpty)
            #expect(try Self.encode(next.daemon, raw) == undisturbed)
        }

        @Test("kill -9 in mid-frame: one error, four other sessions bit-identical")
        func killed() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 40, noise: true, in: server.folder)
            let daemon = server.daemon
            let undisturbed = try Self.encode(daemon, raw)
            #expect(undisturbed.count == 40)

            let victim = Guarded(Victim())
            let started = Guarded(0)
            let thread = try HWDTransport.Thread.spawn(name: "victim") {
                do { try Self.encodeUntilTheEnd(daemon, raw, victim) } catch { Issue.record(error) }
            }
            let others = try HWDTransport.Thread.spawn(name: "killer") {
                do {
                    // Waits until the others run.
                    _ = eventually { started.value == 4 }
                    let worker = try Self.worker(of: victim, in: server, packets: 5)
                    kill(worker.pid, SIGKILL)
                } catch { Issue.record(error) }
            }
            let results = try concurrently(4) { _ in
                started.change { $0 += 1 }
                return try Self.encode(daemon, raw)
            }
            others.join()
            thread.join()

            let error = try #require(victim.value.error)
            #expect(error.status == .videoEncoderMalfunction)
            #expect(error.reason.contains("signal 9"))
            for result in results {
                let same = try result.get() == undisturbed
                #expect(same, "a session was disturbed")
            }
            let id = try #require(victim.value.id)
            #expect(try server.result(id).code == Status.videoEncoderMalfunction.rawValue)
            #expect(server.log.contains(id))
            #expect(server.hasNoWorkers())
        }

        @Test("The error of a worker's death names the signal, whichever it is")
        func signals() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 10, noise: true, in: server.folder)
            let daemon = server.daemon
            for signal in [SIGKILL, SIGSEGV, SIGABRT, SIGKILL, SIGBUS] {
                let victim = Guarded(Victim())
                let thread = try HWDTransport.Thread.spawn(name: "victim") {
                    do { try Self.encodeUntilTheEnd(daemon, raw, victim) } catch { Issue.record(error) }
                }
                let worker = try Self.worker(of: victim, in: server, packets: 3)
                kill(worker.pid, signal)
                thread.join()
                #expect(victim.value.error?.status == .videoEncoderMalfunction)
                #expect(victim.value.error?.reason.contains("signal \(signal)") == true)
            }
            #expect(server.hasNoWorkers())
        }

        @Test("A worker that hangs in a codec call is killed with the reason")
        func stalled() throws {
            let server = try TestDaemon("--stall-timeout", "20")
            let raw = try RawFrames(.yu12, width: 640, height: 360, count: 10, noise: true, in: server.folder)
            let daemon = server.daemon
            let victim = Guarded(Victim())
            let slow: [PropertyKey: PropertyValue] = [.x265Preset: .string("medium"), .realTime: .bool(true)]
            let thread = try HWDTransport.Thread.spawn(name: "victim") {
                do { try Self.encodeUntilTheEnd(daemon, raw, properties: slow, victim) } catch {
                    Issue.record(error)
                }
            }
            let worker = try Self.worker(of: victim, in: server, packets: 3)
            let isStopped = try server.stop(worker)
            let ended = eventually { victim.value.error != nil }
            if !ended { kill(worker.pid, SIGKILL) }
            thread.join()

            #expect(isStopped && ended)
            let error = try #require(victim.value.error)
            #expect(error.status == .videoEncoderMalfunction)
            #expect(TestDaemon.namesStop(error.reason), "\(error.reason)")
            #expect(server.hasNoWorkers())
        }

        @Test("The end of the daemon ends its sessions with a reason and leaves no process or socket")
        func shutdown() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 10, noise: true, in: server.folder)
            let daemon = server.daemon
            let victim = Guarded(Victim())
            let thread = try HWDTransport.Thread.spawn(name: "victim") {
                do { try Self.encodeUntilTheEnd(daemon, raw, victim) } catch { Issue.record(error) }
            }
            let worker = try #require(ProcessEntry(try Self.worker(of: victim, in: server, packets: 3).pid))
            kill(server.pid, SIGTERM)
            thread.join()
            #expect(victim.value.error?.status == .videoEncoderNotAvailableNow)
            #expect(victim.value.error?.reason.contains("shutting down") == true)
            #expect(eventually { !worker.isRunning && !FileManager.default.fileExists(atPath: server.socket) })
        }
    }
}
