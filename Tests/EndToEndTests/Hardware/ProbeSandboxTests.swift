// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDEncoderTesting
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// What a driver cannot do in the processes that probe and verify it, and what becomes of it.
    @Suite struct ProbeSandboxes {
        private static let node = "/dev/null"
        private static let start = "tried to start a program (execve), which its sandbox forbids"
        private static let network = "tried to open a socket (socket), which its sandbox forbids"

        private static func hevc(_ snapshot: ProbeSnapshot) -> [CodecPath] {
            snapshot.paths.filter { $0.device == node && $0.codec == "hevc" }
        }

        /// A session of the same daemon in software, as long as no driver serves it.
        private static func encodesInSoftware(_ server: TestDaemon) throws {
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 5, in: server.folder)
            let encoder = try Encoder(server.daemon, .yu12, width: 320, height: 180)
            #expect(!encoder.session.created.usingHardware)
            for frame in raw.frames { try encoder.encode(frame) }
            try encoder.finish()
            #expect(encoder.coded.count == 5)
        }

        @Test("A driver that starts a program when it starts is not offered, and the probe names what it tried")
        func atStart() throws {
            let state = try Scratch()
            let server = try Sandboxes.daemon("exec-at-0", state: state)
            let snapshot = try Hardware.probe(server)
            let node = try #require(snapshot.nodes.first)
            #expect(node.state == .crashed && node.reason?.contains(Self.start) == true, "\(node)")
            #expect(!snapshot.encoders.contains { $0.hardware } && Self.hevc(snapshot).isEmpty)
            #expect(
                snapshot.warnings.contains("the driver of /dev/null \(Self.start), while it was probed"),
                "\(snapshot.warnings)")
            #expect(try Sandboxes.metrics(server).contains(#"violations_total{kind="probe",call="execve"}"#))
            #expect(server.log.contains("the sandbox forbade system calls") && server.log.contains("call=execve"))
            try Self.encodesInSoftware(server)
        }

        @Test("A driver that starts a program while it is verified loses the path on which it does")
        func whileVerified() throws {
            let state = try Scratch()
            let server = try Sandboxes.daemon("exec-at-1", state: state)
            let snapshot = try Hardware.probe(server)
            let encoders = Self.hevc(snapshot).filter { $0.operation == .encode }
            #expect(encoders.count == 2)
            for path in encoders {
                #expect(!path.verified && path.reason?.contains(Self.start) == true, "\(path)")
            }
            // What it decodes is not affected.
            #expect(Self.hevc(snapshot).filter { $0.operation == .decode }.allSatisfy { $0.verified })
            #expect(!snapshot.encoders.contains { $0.hardware })
            try Self.encodesInSoftware(server)
        }

        @Test(
            "A driver that tries in vain to reach the network is offered, named, and verified again by the next daemon",
            arguments: [0, 1])
        func refused(picture: Int) throws {
            let state = try Scratch()
            let warning = "the driver of /dev/null \(Self.network), while it was probed"
            for _ in 0..<2 {
                let server = try Sandboxes.daemon("socket-at-\(picture)", state: state)
                let snapshot = try Hardware.probe(server)
                #expect(snapshot.encoders.first?.hardware == true && Self.hevc(snapshot).allSatisfy { $0.verified })
                #expect(snapshot.warnings.contains(warning), "\(snapshot.warnings)")
                // What is known is not tried again, and still named.
                #expect(try Hardware.probe(server).warnings.contains(warning))
                #expect(try Sandboxes.metrics(server).contains(#"violations_total{kind="probe",call="socket"}"#))
            }
            let cache = try String(contentsOfFile: state.path("probe-cache.json"), encoding: .utf8)
            #expect(!cache.contains("/dev/null"), "\(cache)")
        }

        @Test(
            "Neither the probe's cache nor another file is in reach of a driver that is verified",
            arguments: sampled(["cache", "empty", "other-user", "home", "other-node", "tmp"], oneIn: 2))
        func files(attempt: String) throws {
            defer { try? FileManager.default.removeItem(atPath: "/tmp/hwsim-was-here") }
            for isConfined in [true, false] {
                let state = try Scratch()
                // The driver's own folder, which it may write, is in that of the probe's cache, as with a private daemon.
                let server = try Sandboxes.daemon(
                    "\(attempt)-at-1", sandbox: isConfined ? "enforce" : "off", state: state,
                    ["CACHE_DIRECTORY": state.root])
                let encoders = Self.hevc(try Hardware.probe(server)).filter { $0.operation == .encode }
                #expect(encoders.count == 2 && encoders.allSatisfy { $0.verified == isConfined }, "\(encoders)")
                if !isConfined { #expect(encoders.allSatisfy { $0.reason?.contains("signal 12") == true }) }
                if attempt == "cache" { #expect(state.contents.contains("hwsim-was-here") == !isConfined) }
                #expect(state.contents.contains("probe-cache.json"))
                #expect(FileManager.default.fileExists(atPath: state.path("drivers/probe")))
            }
        }

        @Test(
            "A quirk loosens the sandbox of one driver's processes, and probe, log and Notices say why",
            arguments: ["off", "report"])
        func quirk(mode: String) throws {
            let (state, overrides) = (try Scratch(), try Scratch())
            let text = """
                {"schema": 1, "quirks": [{"id": "loose", "driver": "HWSim {version} *", "sandbox": "\(mode)",
                "versions": {"from": "1.0", "before": "1.1"}, "why": "the test lets it out"}]}
                """
            try text.write(toFile: overrides.path("loose.json"), atomically: false, encoding: .utf8)
            let server = try Sandboxes.daemon(
                "socket", state: state, ["HWDAEMON_CAPABILITIES_DIR": overrides.root])
            let effect = mode == "off" ? "is off" : "only reports"
            let notice = "the sandbox of its driver \(effect), by the quirk loose: the test lets it out"
            let snapshot = try Hardware.probe(server)
            #expect(snapshot.warnings.contains("/dev/null: \(notice)"), "\(snapshot.warnings)")
            #expect(Self.hevc(snapshot).allSatisfy { $0.quirks.contains("loose") && $0.verified })
            let encoder = try Encoder(
                server.daemon, .yu12, width: 320, height: 180, properties: [.replaysAfterFailure: .bool(false)])
            #expect(encoder.session.created.usingHardware)
            let notices = try encoder.session.copyProperties([.notices])[.notices]
            #expect(notices == .string(notice), "\(String(describing: notices))")
            #expect(server.log.contains(notice))
            let stream = try CodedStream(frames: 2, in: server.folder)
            let decoder = try Decoder(server.daemon, stream)
            #expect(try decoder.session.copyProperties([.notices])[.notices] == .string(notice))
            decoder.session.invalidate()
            try Self.expectConfinedWithoutHardware(server, stream)
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 30, in: server.folder)
            let error = sessionError {
                for frame in raw.frames { try encoder.encode(frame) }
                try encoder.finish()
            }
            // Its driver reached the network.
            #expect(error != nil)
            #expect(try server.result(encoder.id).reason.contains("signal 12"))
        }

        /// A quirk does not reach a session that excludes hardware: it has a codec's sandbox from its start on, which is
        /// the second of its process's filters.
        private static func expectConfinedWithoutHardware(_ server: TestDaemon, _ stream: CodedStream) throws {
            let name = "hwdaemon-decode"
            #expect(eventually { !server.workers.contains { $0.name == name } })
            let decoder = try Decoder(
                server.daemon, stream, specification: [.enableHardwareDecoder: .bool(false)])
            #expect(!decoder.session.created.usingHardware)
            #expect(try decoder.session.copyProperties([.notices])[.notices]?.description ?? "null" == "null")
            try Sandboxes.expectConfined(server, name)
            let worker = try #require(server.workers.first { $0.name == name })
            let status = try String(contentsOfFile: "/proc/\(worker.pid)/status", encoding: .utf8)
            #expect(status.contains("Seccomp_filters:\t2\n"), "\(status)")
            decoder.session.invalidate()
        }

        @Test("Processes that probe and verify are confined before a driver is loaded")
        func confined() throws {
            for (personality, name) in [("hang-init", "hwdaemon-probe"), ("hang-at-1", "hwdaemon-verify")] {
                let state = try Scratch()
                // A hung driver also delays the daemon's first answer, by this timeout.
                let server = try TestDaemon(
                    "--set", "ProbeTimeout=5",
                    environment: SimulatedDriver.environment("full,\(personality)", state: state.root))
                // Probes hang again and again until one of their processes is found.
                let (daemon, isOver) = (server.daemon, Guarded(false))
                let asking = try HWDTransport.Thread.spawn(name: "asking") {
                    let everything = HWDWire.Probe.Parameters(verify: true)
                    while !isOver.value {
                        _ = try? daemon.call(HWDWire.Probe.self, everything, timeout: hangLimit)
                    }
                }
                defer {
                    isOver.change { $0 = true }
                    asking.join()
                }
                // Others of the name may have ended or be about to start.
                let confined = Guarded<String?>(nil)
                let found = eventually {
                    let statuses = server.workers.filter { $0.name == name }.compactMap {
                        try? String(contentsOfFile: "/proc/\($0.pid)/status", encoding: .utf8)
                    }
                    let status = statuses.first { $0.contains("Seccomp_filters:\t2") }
                    confined.change { $0 = status }
                    return status != nil
                }
                #expect(found, "\(server.workers)")
                if let status = confined.value { Sandboxes.expectConfined(status) }
            }
        }
    }
}
