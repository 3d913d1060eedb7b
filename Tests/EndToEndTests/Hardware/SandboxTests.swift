// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// What a driver or a codec cannot do in the process of a session.
    @Suite struct Sandboxes {
        /// Attempts of a driver that end its process: the words with which its session ends.
        static let ending = [
            ("exec", "tried to start a program (execve), which its sandbox forbids"),
            ("ptrace", "tried to read another process (ptrace), which its sandbox forbids"),
        ]
        /// Attempts that fail: the call that the log and the metrics name; nil for files, which the kernel refuses
        /// without telling the process's observer.
        static let failing: [(String, String?)] = [
            ("fork", "clone"), ("socket", "socket"), ("kill-broker", "kill"), ("unix", nil), ("passwd", nil),
            ("home", nil), ("tmp", nil), ("cache", nil), ("other-node", nil),
            ("memory", nil),
        ]

        @Test(
            "A driver that reaches outside ends its own session, which says what it tried",
            arguments: ending.indices)
        func ends(index: Int) throws {
            let (attempt, words) = Self.ending[index]
            let (state, neighbor) = (try Scratch(), try Scratch())
            let server = try TestDaemon(
                environment: SimulatedDriver.environment("full,evil-\(attempt)", state: state.root))
            #expect(try Hardware.probe(server).encoders.first?.hardware == true)
            // A session of the same daemon, at the same time, in software.
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 30, in: neighbor)
            let other = try Encoder(server.daemon, .yu12, width: 320, height: 180)
            #expect(!other.session.created.usingHardware)
            for frame in raw.frames.prefix(10) { try other.encode(frame) }
            let encoder = try Encoder(server.daemon, .yu12, width: 320, height: 180, properties: [:])
            #expect(encoder.session.created.usingHardware)
            let error = sessionError {
                for frame in raw.frames { try encoder.encode(frame) }
                try encoder.finish()
            }
            #expect(error?.status == .videoEncoderMalfunction)
            let result = try server.result(encoder.id)
            #expect(result.reason.contains("SIGSYS") && result.reason.contains(words), "\(result.reason)")
            #expect(try Self.metrics(server).contains("hwdaemon_sandbox_violations_total"))
            for frame in raw.frames.dropFirst(10) { try other.encode(frame) }
            try other.finish()
            #expect(other.coded.count == 30)
        }

        @Test(
            "What a driver tries in vain costs its session nothing, and the log names it",
            arguments: failing.indices)
        func fails(index: Int) throws {
            let (attempt, call) = Self.failing[index]
            let state = try Scratch()
            let server = try TestDaemon(
                environment: SimulatedDriver.environment("full,evil-\(attempt)", state: state.root))
            #expect(try Hardware.probe(server).encoders.first?.hardware == true)
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 30, in: server.folder)
            let encoder = try Encoder(server.daemon, .yu12, width: 320, height: 180, properties: [:])
            #expect(encoder.session.created.usingHardware)
            for frame in raw.frames { try encoder.encode(frame) }
            try encoder.finish()
            #expect(encoder.coded.count == 30)
            encoder.session.invalidate()
            let result = try server.result(encoder.id)
            #expect(result.code == 0, "\(result.reason)")
            let metrics = try Self.metrics(server)
            let label = call.map { "call=\"\($0)\"" }
            #expect(metrics.contains("call=") == (call != nil) && label.map(metrics.contains) != false)
            #expect(result.reason.contains("sandbox") == (call != nil), "\(result.reason)")
        }

        @Test("Without the sandbox the same attempts succeed", arguments: ["socket", "passwd", "fork"])
        func withoutSandbox(attempt: String) throws {
            let state = try Scratch()
            let server = try TestDaemon(
                "--set", "Sandbox=off",
                environment: SimulatedDriver.environment("full,evil-\(attempt)", state: state.root))
            #expect(try Hardware.probe(server).encoders.first?.hardware == true)
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 30, in: server.folder)
            let encoder = try Encoder(server.daemon, .yu12, width: 320, height: 180, properties: [:])
            let error = sessionError {
                for frame in raw.frames { try encoder.encode(frame) }
                try encoder.finish()
            }
            #expect(error != nil)
            #expect(try server.result(encoder.id).reason.contains("signal 12"))
        }

        @Test("Every session's process is confined from its start packet on")
        func confined() throws {
            let server = try TestDaemon()
            let encoder = try Encoder(server.daemon, .yu12, width: 320, height: 180, properties: [:])
            let worker = try #require(server.workers.first)
            let status = try String(contentsOfFile: "/proc/\(worker.pid)/status", encoding: .utf8)
            #expect(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "\(status)")
            #expect(status.contains("Seccomp_filters:\t2"), "\(status)")
            encoder.session.invalidate()
        }

        private static func metrics(_ server: TestDaemon) throws -> String {
            try server.daemon.call(GetMetrics.self, Empty()).metrics
        }
    }
}
