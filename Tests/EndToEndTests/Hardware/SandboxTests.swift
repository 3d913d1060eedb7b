// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDEncoderTesting
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// What a driver or a codec cannot do in the process of a session; each attempt succeeds without the sandbox.
    @Suite struct Sandboxes {
        /// Attempts of a driver that end its process: the words with which its session ends.
        static let ending = [
            ("exec", "tried to start a program (execve), which its sandbox forbids"),
            ("ptrace", "tried to read another process (ptrace), which its sandbox forbids"),
            ("unseen", "tried to make an unusual system call, which its sandbox forbids"),
        ]
        /// Attempts that fail: the call that the log and the metrics name; nil for files, which the kernel refuses
        /// without telling the process's observer, and for calls that the libraries try themselves.
        static let failing: [(String, String?)] =
            [("fork", "clone"), ("socket", "socket"), ("kill-broker", "kill"), ("unix", nil), ("memory", nil)]
            + files.map { ($0, nil) }
        /// Attempts on files.
        static let files = ["passwd", "home", "tmp", "cache", "other-node", "other-user", "empty"]

        /// What a session in hardware, whose driver tries something at its 20th picture of 30, came to.
        struct Outcome {
            /// The client's error; nil if all pictures came.
            var error: SessionError?
            var result: GetSessionResult.Reply
            var metrics: String
        }

        /// A daemon's session in hardware.
        static func session(_ server: TestDaemon) throws -> Outcome {
            #expect(try Hardware.probe(server).encoders.first?.hardware == true)
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 30, in: server.folder)
            let encoder = try Encoder(
                server.daemon, .yu12, width: 320, height: 180, properties: [.replaysAfterFailure: .bool(false)])
            #expect(encoder.session.created.usingHardware)
            let error = sessionError {
                for frame in raw.frames { try encoder.encode(frame) }
                try encoder.finish()
            }
            if error == nil { #expect(encoder.coded.count == 30) }
            encoder.session.invalidate()
            return Outcome(error: error, result: try server.result(encoder.id), metrics: try metrics(server))
        }

        /// A daemon whose driver tries something, with a file that the attempts on files name.
        static func daemon(
            _ attempt: String, sandbox: String = "enforce", state: Scratch, preloading library: String? = nil,
            _ more: [String: String] = [:]
        ) throws -> TestDaemon {
            // Beside drivers, where it may be read; only "other-user" must not even do that.
            let readable = state.path("drivers")
            try FileManager.default.createDirectory(atPath: readable, withIntermediateDirectories: true)
            let file = attempt.hasPrefix("empty") ? "\(readable)/file" : state.path("file")
            try "theirs".write(toFile: file, atomically: false, encoding: .utf8)
            // Of no user, where the tests may give it away.
            if !attempt.hasPrefix("empty") { chown(file, 65534, 65534) }
            var environment = try SimulatedDriver.environment("full,evil-\(attempt)", state: state.root)
            environment["LIBVA_DRIVERS_PATH", default: ""] += ":\(readable)"
            environment["HWSIM_FILE"] = file
            if let library { environment["LD_PRELOAD", default: ""] += ":\(library)" }
            return try TestDaemon("--set", "Sandbox=\(sandbox)", environment: environment.merging(more) { $1 })
        }

        @Test(
            "A driver that reaches outside ends its own session, which says what it tried",
            arguments: ending.indices)
        func ends(index: Int) throws {
            let (attempt, words) = Self.ending[index]
            let (state, neighbor) = (try Scratch(), try Scratch())
            let server = try Self.daemon(attempt, state: state)
            // A session of the same daemon, at the same time, in software.
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 30, in: neighbor)
            let other = try Encoder(server.daemon, .yu12, width: 320, height: 180)
            #expect(!other.session.created.usingHardware)
            for frame in raw.frames.prefix(10) { try other.encode(frame) }
            let outcome = try Self.session(server)
            #expect(outcome.error?.status == .videoEncoderMalfunction)
            let reason = outcome.result.reason
            #expect(reason.contains("SIGSYS") && reason.contains(words), "\(reason)")
            #expect(outcome.metrics.contains("hwdaemon_sandbox_violations_total{kind=\"compression\""))
            for frame in raw.frames.dropFirst(10) { try other.encode(frame) }
            try other.finish()
            #expect(other.coded.count == 30)
        }

        @Test(
            "What a driver tries in vain costs its session nothing, and the log names it",
            arguments: sampled(failing.indices, oneIn: 2))
        func fails(index: Int) throws {
            let (attempt, call) = Self.failing[index]
            let state = try Scratch()
            let server = try Self.daemon(attempt, state: state)
            let outcome = try Self.session(server)
            #expect(outcome.error == nil)
            #expect(outcome.result.code == 0, "\(outcome.result.reason)")
            let label = call.map { "call=\"\($0)\"" }
            #expect(outcome.metrics.contains("call=") == (call != nil))
            if let label { #expect(outcome.metrics.contains(label), "\(outcome.metrics)") }
            #expect(outcome.result.reason.contains("sandbox") == (call != nil), "\(outcome.result.reason)")
            #expect(try String(contentsOfFile: Self.file(attempt, state), encoding: .utf8) == "theirs")
        }

        @Test(
            "On Debian 12's kernel, with version 2 of Landlock, the same attempts on files fail",
            arguments: sampled(files, oneIn: 2))
        func olderKernel(attempt: String) throws {
            let state = try Scratch()
            let library = "\(Programs.folder)/hwsim-for-daemons/landlock2.so"
            let server = try Self.daemon(attempt, state: state, preloading: library)
            let version =
                "import ctypes; print(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint(1)))"
            let asked = try Running(
                Programs.required("python3"), ["-c", version], environment: ["LD_PRELOAD": library]
            ).wait()
            #expect(asked.text == "2\n", "the kernel is not an older one: \(asked.text)\(asked.errors)")
            let outcome = try Self.session(server)
            #expect(outcome.error == nil && outcome.result.code == 0, "\(outcome.result.reason)")
            #expect(try String(contentsOfFile: Self.file(attempt, state), encoding: .utf8) == "theirs")
        }

        @Test(
            "Without the sandbox the same attempts succeed",
            arguments: sampled(
                (ending.map(\.0) + failing.map(\.0)).filter {
                    // Those are tried elsewhere, and bounded by something else.
                    !["kill-broker", "memory"].contains($0) && mayTrace($0)
                }, oneIn: 4))
        func withoutSandbox(attempt: String) throws {
            let state = try Scratch()
            defer { try? FileManager.default.removeItem(atPath: "/tmp/hwsim-was-here") }
            let server = try Self.daemon(attempt, sandbox: "off", state: state)
            let outcome = try Self.session(server)
            #expect(outcome.error != nil)
            let reason = outcome.result.reason
            // The program that it became ended without a word.
            let words = attempt == "exec" ? "ended with status 0 and reported no reason" : "signal 12"
            #expect(reason.contains(words), "\(reason)")
        }

        @Test(
            "Escapes from the process of a session fail, and succeed without the sandbox",
            arguments: sampled(["kill-broker", "other-user", "cache", "socket", "exec"], oneIn: 2))
        func escape(attempt: String) throws {
            for isConfined in [true, false] {
                let state = try Scratch()
                let server = try Self.daemon(attempt, sandbox: isConfined ? "enforce" : "off", state: state)
                let broker = try #require(ProcessEntry(server.pid))
                // The client of a daemon that is killed has no answer; one that answers after the attempt lives.
                let outcome = try? Self.session(server)
                let escaped =
                    switch attempt {
                    case "kill-broker":
                        isConfined ? outcome == nil || !broker.isRunning : eventually { !broker.isRunning }
                    case "cache": state.contents.contains("hwsim-was-here")
                    case "exec": outcome?.result.reason.contains("SIGSYS") == false
                    default: outcome?.result.reason.contains("signal 12") != false
                    }
                #expect(escaped != isConfined, "\(attempt): \(outcome?.result.reason ?? "no answer")")
            }
        }

        @Test("The process of each kind of session is confined from its start packet on")
        func confined() throws {
            let server = try TestDaemon()
            let encoder = try Encoder(server.daemon, .yu12, width: 320, height: 180, properties: [:])
            try Self.expectConfined(server, "hwdaemon-encode")
            encoder.session.invalidate()
            let transferer = try Transferer(
                server.daemon, CreateTransferSession.Image(pixelFormat: PixelFormat.nv12.rawValue),
                CreateTransferSession.Image(pixelFormat: PixelFormat.rgba16f.rawValue), width: 320, height: 180)
            try Self.expectConfined(server, "hwdaemon-transf")
            transferer.session.invalidate()
            let decoder = try Decoder(server.daemon, try CodedStream(frames: 2, in: server.folder))
            try Self.expectConfined(server, "hwdaemon-decode")
            decoder.session.invalidate()
        }

        /// Checks that a daemon's only process of a name has the filter of its start and that of its work, and gains no
        /// privileges (proc_pid_status(5)).
        static func expectConfined(_ server: TestDaemon, _ name: String) throws {
            let worker = try #require(server.workers.first { $0.name == name }, "\(server.workers)")
            try expectConfined(String(contentsOfFile: "/proc/\(worker.pid)/status", encoding: .utf8))
        }

        /// Checks the same of the text of a process's status.
        static func expectConfined(_ status: String) {
            #expect(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "\(status)")
            let line = status.split(separator: "\n").first { $0.hasPrefix("Seccomp_filters:\t") }
            // A session that gave up its driver has a third one.
            #expect(["2", "3"].contains(line?.split(separator: "\t").last), "\(status)")
        }

        static func metrics(_ server: TestDaemon) throws -> String {
            try server.daemon.call(GetMetrics.self, Empty()).metrics
        }

        /// Whether an attempt would succeed: daemons are not dumpable, so only root may trace them.
        static func mayTrace(_ attempt: String) -> Bool { attempt != "ptrace" || geteuid() == 0 }

        /// The file that the attempts on files name.
        private static func file(_ attempt: String, _ state: Scratch) -> String {
            attempt == "empty" ? state.path("drivers/file") : state.path("file")
        }
    }
}
