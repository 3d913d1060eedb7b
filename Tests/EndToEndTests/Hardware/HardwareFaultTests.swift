// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// Drivers that lie, fail, crash and hang: what becomes of sessions, and of the daemon.
    @Suite(.enabled(if: SimulatedDriver.whyNot == nil, Comment(rawValue: SimulatedDriver.whyNot ?? "")))
    struct HardwareFaults {
        /// What a daemon must not have gathered when its sessions have gone.
        struct Footprint {
            let files: Int
            init(_ server: TestDaemon) { files = ProcessEntry.fileCount(of: server.pid) }

            func holds(for server: TestDaemon) -> Bool {
                eventually(within: 8) {
                    server.workers.isEmpty && ProcessEntry.fileCount(of: server.pid) <= files
                }
            }
        }

        /// A clip as Y4M, and its encoding by hwctl.
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

        /// Encodes with hardware preferred; the output must be whole and right whatever serves it.
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
            ("crash-init", 69, "the probe of this node crashed (signal 11, SIGSEGV)"),
            ("hang-init", 69, "the probe of this node timed out after 1 s"),
            ("fail-init", 69, "the VA-API driver failed: vaInitialize: HW busy now"),
            ("busy", 75, "its encoder is busy: vaCreateContext: HW busy now"),
            ("busy-maximum", 75, "its encoder is busy: "),
            ("liar", 69, "the driver coded a picture to 0 bytes"),
            ("corrupt", 69, "its HEVC encoder is not used: encoding failed: "),
            ("decode-only", 69, "its driver has no HEVC encoder"),
            ("fail-at-3", 69, "vaEndPicture: operation failed"),
            ("crash-at-3", 69, "its HEVC encoder is not used: the probe of this node crashed (signal 11, SIGSEGV)"),
            ("hang-at-3", 69, "its HEVC encoder is not used: the probe of this node timed out after 1 s"),
        ]

        @Test("A driver that cannot be used is told why, and software serves", arguments: faults.indices)
        func unusable(index: Int) throws {
            let fault = Self.faults[index]
            let state = try Scratch()
            let server = try TestDaemon(
                "--set", "ProbeTimeout=1",
                environment: SimulatedDriver.environment(fault.personality, state: state.root))
            let clip = try Self.clip(8, in: server.folder)
            // Bounded: four paths that may hang, a second each.
            let start = MonotonicTime.now
            let snapshot = try Hardware.probe(server)
            #expect(MonotonicTime.now.nanoseconds(since: start) < 15_000_000_000)
            #expect(snapshot.encoders.map(\.hardware) == [false])
            #expect(snapshot.nodes.first?.reason?.contains(fault.words) == true, "\(snapshot.nodes)")
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

        @Test("One path that crashes takes no other with it")
        func onePath() throws {
            // The trials of a path send nine pictures each; a fault at the tenth would be the next path's own first.
            let snapshot = try Hardware.probe(try Hardware.daemon("8-bit-only"))
            let paths = snapshot.paths.filter { $0.device == "/dev/null" }
            #expect(paths.map(\.verified) == [true, false, true, false])
            #expect(snapshot.encoders.map(\.bitDepths) == [[8], [8, 10]])

            let state = try Scratch()
            let server = try TestDaemon(
                environment: SimulatedDriver.environment("full,crash-at-3", state: state.root))
            let crashing = try Hardware.probe(server)
            let left = crashing.paths.filter { $0.device == "/dev/null" }
            // Decoding codes no pictures.
            #expect(left.map(\.claimed) == [true, true, true, true])
            #expect(left.prefix(2).allSatisfy { $0.reason?.contains("crashed") == true })
            #expect(left.count == 4 && crashing.nodes.map(\.state) == [.ready])
        }

        @Test("What the hardware is too small for goes to software with that reason")
        func limits() throws {
            let small = try Hardware.daemon("full,size-limited")
            let clip = try Self.clip(2, "1920x1080", in: small.folder)
            let large = try Self.prefer(small, clip, frames: 2)
            #expect(!large.usingHardware)
            let reason = "no hardware encoder here encodes pictures of 1920x1080"
            #expect(large.fallbackReason?.contains(reason) == true, "\(large.fallbackReason ?? "")")
            #expect(try Self.prefer(small, Self.clip(2, in: small.folder), frames: 2).usingHardware)

            let shallow = try Hardware.daemon("full,8-bit-only")
            guard let deep = Clips.named("bbb_720p_main10.mp4", else: "bbb_720p_main10.mp4") else { return }
            let run = try Programs.hwctl(
                ["encode", "--json", deep.path, shallow.folder.path("out.mov")], socket: shallow.socket)
            let summary = try JSON.decode(Hardware.Summary.self, from: run.output)
            #expect(summary.fallbackReason == "no hardware encoder here encodes 10-bit HEVC")
        }

        @Test(
            "A driver that fails in the middle ends its session with the reason, and hwctl begins anew in software",
            arguments: [
                ("crash-at-20", "killed by signal 11 (SIGSEGV)"), ("fail-at-20", "vaEndPicture: operation failed"),
                ("hang-at-20", "the wait for a picture: it did not end in time"),
                ("no-timeouts,hang-at-20", "stopped after 1 s without progress"),
            ])
        func inTheMiddle(personality: String, words: String) throws {
            let state = try Scratch()
            let server = try TestDaemon(
                "--set", "HardwareStallTimeout=1",
                environment: SimulatedDriver.environment(personality, state: state.root))
            #expect(try Hardware.probe(server).encoders.first?.hardware == true)
            let before = Footprint(server)
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 40, in: server.folder)
            let encoder = try Encoder(server.daemon, .yu12, width: 320, height: 180, properties: [:])
            #expect(encoder.session.created.usingHardware)
            let start = MonotonicTime.now
            let error = sessionError {
                for frame in raw.frames { try encoder.encode(frame) }
                try encoder.finish()
            }
            #expect(error?.status == .videoEncoderMalfunction && error?.reason.contains(words) == true)
            #expect(!encoder.coded.isEmpty && encoder.coded.count < 40)
            #expect(MonotonicTime.now.nanoseconds(since: start) < 6_000_000_000)
            #expect(try server.result(encoder.id).code == Status.videoEncoderMalfunction.rawValue)

            let clip = try Self.clip(40, in: server.folder)
            let summary = try Self.prefer(server, clip, frames: 40)
            #expect(!summary.usingHardware && summary.fallbackReason?.contains(words) == true)
            let required = try Programs.hwctl(
                ["encode", "--hardware", "require", clip, server.folder.path("never.mov")], socket: server.socket)
            #expect(required.status == 70 && required.complaints.last?.contains(words) == true)
            #expect(!FileManager.default.fileExists(atPath: server.folder.path("never.mov")))
            #expect(before.holds(for: server))
        }

        @Test(
            "A driver that crashes or hangs while a session opens it: another worker answers the same call",
            arguments: [
                ("crash-init", "its driver crashed while opening it (signal 11, SIGSEGV)"),
                ("hang-init", "its driver did not return from opening it within 1 s"),
            ])
        func whileOpening(personality: String, words: String) throws {
            let (state, folder) = (try Scratch(), try Scratch())
            let server = try TestDaemon(
                "--set", "HardwareStallTimeout=1", "--libexec",
                SimulatedDriver.libexec(probing: "full", in: folder),
                environment: SimulatedDriver.environment(personality, state: state.root))
            #expect(try Hardware.probe(server).encoders.first?.hardware == true)
            let before = Footprint(server)
            let clip = try Self.clip(8, in: server.folder)
            let summary = try Self.prefer(server, clip, frames: 8)
            #expect(!summary.usingHardware)
            #expect(
                summary.fallbackReason == "\(Hardware.encoderID) failed: \(words)",
                "\(summary.fallbackReason ?? "")")
            // The next session does not wait for the same again.
            let start = MonotonicTime.now
            let required = try Programs.hwctl(
                ["encode", "--hardware", "require", clip, server.folder.path("never.mov")], socket: server.socket)
            #expect(required.status == 69 && required.complaints.last?.contains(words) == true)
            #expect(MonotonicTime.now.nanoseconds(since: start) < 900_000_000)
            #expect(before.holds(for: server))
        }

        @Test(
            "A driver that crashes or hangs while a decoder is opened: software answers the same call",
            arguments: [
                ("crash-init", "its driver crashed while opening it (signal 11, SIGSEGV)"),
                ("hang-init", "its driver did not return from opening it within 1 s"),
            ])
        func whileOpeningDecoder(personality: String, words: String) throws {
            let (state, folder) = (try Scratch(), try Scratch())
            let server = try TestDaemon(
                "--set", "HardwareStallTimeout=1", "--libexec",
                SimulatedDriver.libexec(probing: "full", in: folder),
                environment: SimulatedDriver.environment(personality, state: state.root))
            _ = try Hardware.probe(server)
            let before = Footprint(server)
            let stream = try CodedStream(frames: 8, in: server.folder)
            let decoder = try Decoder(server.daemon, stream)
            #expect(!decoder.session.created.usingHardware)
            let reason = decoder.session.created.fallbackReason ?? ""
            #expect(reason.hasPrefix("org.hwdaemon.decoder.vaapi.") && reason.hasSuffix("failed: \(words)"))
            try decoder.decode(stream)
            #expect(decoder.frames.count == 8 && decoder.reports.isEmpty)
            decoder.session.invalidate()
            // The next session does not wait for the same again.
            let start = MonotonicTime.now
            let refused = sessionError {
                _ = try Decoder(
                    server.daemon, stream, specification: [.requireHardwareDecoder: .bool(true)])
            }
            #expect(refused?.status == .couldNotFindVideoDecoder && refused?.reason.contains(words) == true)
            #expect(MonotonicTime.now.nanoseconds(since: start) < 900_000_000)
            #expect(before.holds(for: server))
        }

        @Test("A session that comes before its hardware is verified waits for a while, and is told")
        func early() throws {
            let state = try Scratch()
            let server = try TestDaemon(
                "--set", "ProbeTimeout=4",
                environment: SimulatedDriver.environment("hang-at-3", state: state.root))
            let start = MonotonicTime.now
            let early = try Encoder(server.daemon, .yu12, width: 64, height: 64, properties: [:])
            let seconds = Double(MonotonicTime.now.nanoseconds(since: start)) / 1e9
            print("a session that came before the verification had ended waited \(seconds) s")
            #expect(seconds < 4)
            #expect(!early.session.created.usingHardware)
            #expect(early.session.created.fallbackReason?.contains("still being verified") == true)
            // One that requires hardware waits longer, and gets it.
            guard let clip = Clips.named("bbb_720p.mp4", else: "bbb_720p.mp4") else { return }
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
