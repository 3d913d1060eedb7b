// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDEncoderTesting
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// Drivers that report wrongly, fail, crash or hang, and the sessions and the daemon that meet them.
    @Suite struct HardwareFaults {
        /// The descriptors and workers that a daemon must not keep when its sessions have ended.
        struct Footprint {
            let files: Int
            init(_ server: TestDaemon) { files = ProcessEntry.fileCount(of: server.pid) }

            func holds(for server: TestDaemon) -> Bool {
                eventually {
                    server.workers.isEmpty && ProcessEntry.fileCount(of: server.pid) <= files
                }
            }
        }

        /// A clip of ffmpeg's test picture as Y4M.
        static func clip(_ frames: Int, _ size: String = "320x180", in folder: Scratch) throws -> String {
            let path = folder.path("\(size)-\(frames).y4m")
            try Programs.tool(
                "ffmpeg",
                [
                    "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=30", "-frames:v",
                    "\(frames)", "-pix_fmt", "yuv420p", path,
                ])
            return path
        }

        /// Encodes with hardware preferred; the output must be complete and correct in hardware or software.
        static func prefer(_ server: TestDaemon, _ clip: String, frames: Int) throws -> Hardware.Summary {
            let output = server.folder.path("out.mov")
            let run = try Programs.hwctl(["encode", "--json", clip, output], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            let summary = try JSON.decode(Hardware.Summary.self, from: run.output)
            #expect(summary.frames == frames)
            #expect(try Probe(output).frameTimes().count == frames)
            #expect(try Probe(output).decodingMessages() == "")
            #expect(try psnr(["-i", output], ["-i", clip], as: "yuv420p") >= 30)
            return summary
        }

        /// A driver's fault before any session, by personality: the exit code where hardware is required, and the reason.
        static let faults: [(personality: String, status: Int32, words: String)] = [
            ("crash-init", 69, "SIGSEGV"),
            ("hang-init", 69, "timed out"),
            ("fail-init", 69, "vaInitialize: HW busy now"),
            ("busy", 75, "HW busy now"),
            ("busy-maximum", 75, "busy"),
            ("liar", 69, "0 bytes"),
            ("corrupt", 69, "encoding failed"),
            ("nvidia", 69, "no HEVC encoder"),
            ("fail-at-3", 69, "vaEndPicture"),
            ("crash-at-3", 69, "SIGSEGV"),
            ("hang-at-3", 69, "timed out"),
        ]

        @Test(
            "Where a driver cannot be used, software serves and the reason is reported",
            arguments: sampled(faults.indices, oneIn: 3))
        func unusable(index: Int) throws {
            let fault = Self.faults[index]
            let state = try Scratch()
            let hangs = fault.personality.hasPrefix("hang-")
            let server = try TestDaemon(
                "--set", "ProbeTimeout=\(hangs ? 2 : 60)",
                environment: SimulatedDriver.environment(fault.personality, state: state.root))
            let clip = try Self.clip(8, in: server.folder)
            let snapshot = try Hardware.probe(server)
            #expect(snapshot.encoders.map(\.hardware) == [false])
            #expect(snapshot.nodes.first?.reason?.contains(fault.words) == true, "\(snapshot.nodes)")
            if hangs {
                // Each path that hangs is ended by the time limit of its own probe.
                let reasons = snapshot.paths.filter { $0.device == "/dev/null" }.compactMap(\.reason)
                #expect(reasons.allSatisfy { $0.contains(fault.words) }, "\(reasons)")
            }
            let before = Footprint(server)

            let summary = try Self.prefer(server, clip, frames: 8)
            #expect(!summary.usingHardware && summary.encoderID == "org.hwdaemon.encoder.x265")
            #expect(summary.fallbackReason?.contains(fault.words) == true, "\(summary.fallbackReason ?? "")")
            let required = try Programs.hwctl(
                ["encode", "--hardware", "require", clip, server.folder.path("never.mov")], socket: server.socket)
            #expect(required.status == fault.status)
            let complaint = required.complaints.last ?? ""
            #expect(complaint.contains("hardware is required, but") && complaint.contains(fault.words))
            #expect(!FileManager.default.fileExists(atPath: server.folder.path("never.mov")))
            let bench = ["bench", "--only", "hardware", "--frames", "2", clip]
            #expect(try Programs.hwctl(bench, socket: server.socket).status == fault.status)
            #expect(before.holds(for: server))
        }

        @Test("A crash in one path does not affect the others")
        func onePath() throws {
            // Each path's trials send nine pictures: a fault at the tenth picture would hit the next path.
            let snapshot = try Hardware.probe(try Hardware.daemon("8-bit-only"))
            let paths = snapshot.paths.filter { $0.device == "/dev/null" }
            #expect(paths.map(\.verified) == [true, false, true, false])
            #expect(snapshot.encoders.map(\.bitDepths) == [[8], [8, 10]])

            let state = try Scratch()
            let server = try TestDaemon(
                environment: SimulatedDriver.environment("full,crash-at-3", state: state.root))
            let crashing = try Hardware.probe(server)
            let left = crashing.paths.filter { $0.device == "/dev/null" }
            // Trials of decoding encode no pictures.
            #expect(left.map(\.claimed) == [true, true, true, true])
            #expect(left.prefix(2).allSatisfy { $0.reason?.contains("crashed") == true })
            #expect(left.count == 4 && crashing.nodes.map(\.state) == [.ready])
        }

        @Test("Software serves what exceeds the hardware's limits, with that reason")
        func limits() throws {
            let small = try Hardware.daemon("full,size-limited")
            let clip = try Self.clip(2, "1920x1080", in: small.folder)
            let large = try Self.prefer(small, clip, frames: 2)
            #expect(!large.usingHardware)
            let reason = "1920x1080"
            #expect(large.fallbackReason?.contains(reason) == true, "\(large.fallbackReason ?? "")")
            #expect(try Self.prefer(small, Self.clip(2, in: small.folder), frames: 2).usingHardware)

            let shallow = try Hardware.daemon("full,8-bit-only")
            let deep = Clips.fixture("bbb_720p_main10.mp4")
            let run = try Programs.hwctl(
                ["encode", "--json", deep.path, shallow.folder.path("out.mov")], socket: shallow.socket)
            let summary = try JSON.decode(Hardware.Summary.self, from: run.output)
            #expect(summary.fallbackReason?.contains("10-bit") == true)
        }

        @Test(
            "A driver that fails in mid-stream ends its process; the session continues, at last in software",
            arguments: sampled(
                [
                    ("crash-at-20", "SIGSEGV"), ("fail-at-20", "vaEndPicture"),
                    ("hang-at-20", "did not end in time"),
                    ("no-timeouts,hang-at-20", "without progress"),
                    ("full,hang-map-20", "without progress"),
                ], oneIn: 3))
        func inTheMiddle(personality: String, words: String) throws {
            let state = try Scratch()
            let server = try TestDaemon(
                "--set", "HardwareStallTimeout=\(personality.contains("hang-") ? 2 : 60)",
                environment: SimulatedDriver.environment(personality, state: state.root))
            #expect(try Hardware.probe(server).encoders.first?.hardware == true)
            let before = Footprint(server)
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 40, in: server.folder)
            let encoder = try Encoder(
                server.daemon, .yu12, width: 320, height: 180, properties: [.replaysAfterFailure: .bool(false)])
            #expect(encoder.session.created.usingHardware)
            let error = sessionError {
                for frame in raw.frames { try encoder.encode(frame) }
                try encoder.finish()
            }
            #expect(error?.status == .videoEncoderMalfunction && error?.reason.contains(words) == true)
            #expect(!encoder.coded.isEmpty && encoder.coded.count < 40)
            #expect(try server.result(encoder.id).code == Status.videoEncoderMalfunction.rawValue)

            let clip = try Self.clip(40, in: server.folder)
            let summary = try Self.prefer(server, clip, frames: 40)
            #expect(!summary.usingHardware && summary.fallbackReason?.contains(words) == true)
            let required = try Programs.hwctl(
                [
                    "encode", "--hardware", "require", "--property", "ReplaysAfterFailure=false", clip,
                    server.folder.path("never.mov"),
                ], socket: server.socket)
            #expect(required.status == 70 && required.complaints.last?.contains(words) == true)
            #expect(!FileManager.default.fileExists(atPath: server.folder.path("never.mov")))
            #expect(before.holds(for: server))
        }

        @Test(
            "Where a driver crashes or hangs while a session opens it, another worker answers the same call",
            arguments: [
                ("crash-init", "SIGSEGV"),
                ("hang-init", "did not return"),
            ])
        func whileOpening(personality: String, words: String) throws {
            let (state, folder) = (try Scratch(), try Scratch())
            let server = try TestDaemon(
                "--set", "HardwareStallTimeout=\(personality == "hang-init" ? 2 : 60)", "--libexec",
                SimulatedDriver.libexec(probing: "full", in: folder),
                environment: SimulatedDriver.environment(personality, state: state.root))
            #expect(try Hardware.probe(server).encoders.first?.hardware == true)
            let before = Footprint(server)
            let clip = try Self.clip(8, in: server.folder)
            let summary = try Self.prefer(server, clip, frames: 8)
            #expect(!summary.usingHardware)
            #expect(
                summary.fallbackReason?.hasPrefix(Hardware.encoderID) == true
                    && summary.fallbackReason?.contains(words) == true,
                "\(summary.fallbackReason ?? "")")
            // The next session does not open it again.
            let log = server.log
            let required = try Programs.hwctl(
                ["encode", "--hardware", "require", clip, server.folder.path("never.mov")], socket: server.socket)
            #expect(required.status == 69 && required.complaints.last?.contains(words) == true)
            Self.expectNoFault(in: server.log.dropFirst(log.count))
            #expect(before.holds(for: server))
        }

        @Test(
            "Where a driver crashes or hangs while a decoder opens it, software answers the same call",
            arguments: [
                ("crash-init", "SIGSEGV"),
                ("hang-init", "did not return"),
            ])
        func whileOpeningDecoder(personality: String, words: String) throws {
            let (state, folder) = (try Scratch(), try Scratch())
            let server = try TestDaemon(
                "--set", "HardwareStallTimeout=\(personality == "hang-init" ? 2 : 60)", "--libexec",
                SimulatedDriver.libexec(probing: "full", in: folder),
                environment: SimulatedDriver.environment(personality, state: state.root))
            _ = try Hardware.probe(server)
            let before = Footprint(server)
            let stream = try CodedStream(frames: 8, in: server.folder)
            let decoder = try Decoder(server.daemon, stream)
            #expect(!decoder.session.created.usingHardware)
            let reason = decoder.session.created.fallbackReason ?? ""
            #expect(reason.hasPrefix("org.hwdaemon.decoder.vaapi.") && reason.contains(words))
            try decoder.decode(stream)
            #expect(decoder.frames.count == 8 && decoder.reports.isEmpty)
            decoder.session.invalidate()
            // The next session does not open it again.
            let log = server.log
            let refused = sessionError {
                _ = try Decoder(
                    server.daemon, stream, specification: [.requireHardwareDecoder: .bool(true)])
            }
            #expect(refused?.status == .couldNotFindVideoDecoder && refused?.reason.contains(words) == true)
            Self.expectNoFault(in: server.log.dropFirst(log.count))
            #expect(before.holds(for: server))
        }

        /// Expects that a daemon logged neither a process that it killed nor a session that another one continues.
        private static func expectNoFault(in log: Substring) {
            #expect(!log.contains("killing the") && !log.contains("the session restarts"), "\(log)")
        }

        @Test("A session created before verification ends waits a while, then falls back with the reason")
        func early() throws {
            let state = try Scratch()
            let server = try TestDaemon(
                "--set", "ProbeTimeout=60",
                environment: SimulatedDriver.environment("hang-at-3", state: state.root))
            let early = try Encoder(server.daemon, .yu12, width: 64, height: 64, properties: [:])
            #expect(!early.session.created.usingHardware)
            #expect(early.session.created.fallbackReason?.contains("still being verified") == true)
            // One that requires hardware waits longer, and gets it.
            let clip = Clips.fixture("bbb_720p.mp4")
            let fresh = try Scratch()
            let good = try TestDaemon(environment: SimulatedDriver.environment(state: fresh.root))
            let run = try Programs.hwctl(
                [
                    "bench", "--json", "--only", "hardware", "--frames", "2", "--bitrate", "2M", clip.path,
                ], socket: good.socket)
            #expect(run.status == 0, "\(run.errors)")
        }
    }
}
