// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// Compression sessions whose process fails at a chosen picture: no frame is lost, and ffmpeg and libde265 decode the
    /// stream without a message.
    @Suite struct Failover {
        static let count = 60
        static let (width, height) = (192, 128)

        /// A daemon whose driver has a plan of faults (Tests/HWSim/README.md).
        final class Faulty {
            let state: Scratch
            let server: TestDaemon
            let raw: RawFrames
            private let plan: String

            /// What a daemon found of each driver, which the next ones need not verify.
            private static let found = Guarded<[String: Data]>([:])

            /// - Parameters:
            ///   - hangs: whether the driver hangs according to the plan, so that the daemon has to notice it soon.
            ///   - usesCard: whether it is NVIDIA's, and not a libva driver.
            init(
                _ personality: String = "full", _ format: PixelFormat = .nv12, hangs: Bool = false,
                usesCard: Bool = false
            ) throws {
                state = try Scratch()
                plan = state.path("plan/faults")
                try FileManager.default.createDirectory(
                    atPath: state.path("plan"), withIntermediateDirectories: false)
                try "".write(toFile: plan, atomically: false, encoding: .utf8)
                var environment =
                    usesCard
                    ? try SimulatedDriver.card(personality, state: state)
                    : try SimulatedDriver.environment(personality, state: state.root)
                environment["HWSIM_FAULTS"] = plan
                environment["HWDAEMON_SANDBOX_PATHS"] = state.path("plan")
                let found = URL(fileURLWithPath: state.path("probe-cache.json"))
                // A card's node has another path in each folder, and so another record.
                if !usesCard { try Faulty.found.value[personality]?.write(to: found) }
                server = try TestDaemon(
                    "--set", "HardwareStallTimeout=\(hangs ? 2 : 60)", environment: environment)
                try #require(try Hardware.probe(server).encoders.first?.hardware == true)
                if !usesCard, let cache = try? Data(contentsOf: found) {
                    Faulty.found.change { $0[personality] = cache }
                }
                raw = try RawFrames(
                    format, width: Failover.width, height: Failover.height, count: Failover.count, in: state)
            }

            /// Makes a plan of faults.
            func fail(_ faults: [String]) throws {
                try faults.map { $0 + "\n" }.joined().write(toFile: plan, atomically: false, encoding: .utf8)
            }

            /// Encodes all frames while the driver fails as planned.
            ///
            /// - Parameter send: sends a frame, whose number it is given.
            func encode(
                _ faults: [String], _ structure: Structure, specification: [PropertyKey: PropertyValue] = [:],
                more: [PropertyKey: PropertyValue] = [:], completingAfter completed: Int? = nil, spared: Int = 0,
                slots: Int = 8,
                send: (Encoder, Int, [UInt8]) throws -> Void = { encoder, _, frame in try encoder.encode(frame) }
            ) throws -> EndToEnd.EncodedRun {
                try fail(faults)
                let encoder = try Encoder(
                    server.daemon, raw.format, width: Failover.width, height: Failover.height, slots: slots,
                    codec: raw.format.hasAlpha ? "hevc-with-alpha" : "hevc", specification: specification,
                    spared: spared,
                    properties: structure.properties.merging(more) { $1 })
                try #require(encoder.session.created.usingHardware)
                for (index, frame) in raw.frames.enumerated() {
                    try send(encoder, index, frame)
                    if index == completed { try encoder.session.complete(until: Int64(index)) }
                }
                try encoder.finish()
                let left = try String(contentsOfFile: plan, encoding: .utf8)
                #expect(left.filter { !$0.isWhitespace }.isEmpty, "the driver did not reach \(left)")
                return EndToEnd.EncodedRun(encoder: encoder, raw: raw)
            }
        }

        /// What the encoder refers to.
        enum Structure: String, CaseIterable {
            case chain, pyramid

            var properties: [PropertyKey: PropertyValue] {
                [.allowFrameReordering: .bool(self == .pyramid), .quality: .double(0.7)]
            }
        }

        /// Numbers of pictures at the beginning, in the middle and at the end of the stream; a process codes its first picture
        /// when it opens the encoder.
        static let positions = [2, 21, 61]

        @Test("A crash: the same hardware continues", arguments: Structure.allCases)
        func crash(_ structure: Structure) throws {
            let faulty = try Faulty()
            for position in Self.positions {
                let encoding = try faulty.encode(["crash \(position)"], structure)
                #expect(
                    encoding.encoder.session.created.usingHardware && encoding.encoder.session.restartCount == 1)
                try encoding.check("crash \(position) \(structure)")
            }
            let metrics = try faulty.server.daemon.call(GetMetrics.self, Empty()).metrics
            let line = #"hwdaemon_session_restarts_total{cause="killed",to="same"} \#(Self.positions.count)"#
            #expect(metrics.contains(line), "\(metrics)")
            #expect(faulty.server.log.contains("session continues in another process"))
        }

        @Test("Two crashes: software continues", arguments: Structure.allCases)
        func software(_ structure: Structure) throws {
            let faulty = try Faulty()
            for position in Self.positions {
                let encoding = try faulty.encode(["crash \(position)", "crash 2"], structure)
                let session = encoding.encoder.session
                #expect(!session.created.usingHardware && session.restartCount == 2)
                #expect(session.created.fallbackReason?.contains("SIGSEGV") == true)
                let notices = try session.copyProperties([.notices])[.notices]?.description ?? ""
                #expect(notices.contains("continued in another process"), "\(notices)")
                #expect(notices.contains("SIGSEGV"), "\(notices)")
                try encoding.check("crash \(position), crash 2 \(structure)")
            }
        }

        @Test("A failure and a hang: the same hardware continues", arguments: Structure.allCases)
        func others(_ structure: Structure) throws {
            for (fault, hangs) in [("fail 33", false), ("hang 40", true)] {
                let faulty = try Faulty(hangs: hangs)
                let encoding = try faulty.encode([fault], structure)
                #expect(
                    encoding.encoder.session.created.usingHardware && encoding.encoder.session.restartCount == 1)
                try encoding.check("\(fault) \(structure)")
            }
        }

        @Test("Frames may stay in the app's memory until their packets come")
        func inPlace() throws {
            let faulty = try Faulty()
            for faults in [[], ["crash 20"], ["crash 7", "fail 3"]] {
                let encoding = try faulty.encode(faults, .pyramid, spared: 14, slots: 22)
                #expect(encoding.encoder.released.sorted() == (0..<UInt64(Self.count)).map { $0 })
                try encoding.check("\(faults) in place")
            }
        }

        @Test("Where hardware is required, only hardware continues, three times")
        func required() throws {
            let faulty = try Faulty()
            let specification: [PropertyKey: PropertyValue] = [.requireHardware: .bool(true)]
            let encoding = try faulty.encode(
                ["crash 5", "crash 5", "fail 5"], .pyramid, specification: specification)
            #expect(encoding.encoder.session.created.usingHardware && encoding.encoder.session.restartCount == 3)
            try encoding.check("required")

            let error = sessionError {
                _ = try faulty.encode(
                    ["crash 5", "crash 5", "fail 5", "crash 5"], .chain, specification: specification)
            }
            #expect(error?.status == .videoEncoderMalfunction && error?.reason.contains("SIGSEGV") == true)
        }

        @Test("Software without delay, which returns packets before it releases frames, continues after hardware")
        func immediate() throws {
            let faulty = try Faulty()
            let encoding = try faulty.encode(
                ["crash 20", "crash 3"], .chain, more: [.maxFrameDelayCount: .int(1)])
            #expect(!encoding.encoder.session.created.usingHardware && encoding.encoder.session.restartCount == 2)
            #expect(encoding.encoder.released.sorted() == (0..<UInt64(Self.count)).map { $0 })
            try encoding.check("immediate")
        }

        @Test("A request whose packets were lost with their process is answered after them")
        func completion() throws {
            try Self.checkCompletion([10, 12])
        }

        /// Encodes while a request for the first eight packets is answered, and the process fails at a picture.
        static func checkCompletion(_ positions: [Int]) throws {
            let faulty = try Faulty()
            for position in positions {
                let encoding = try faulty.encode(["crash \(position)"], .pyramid, completingAfter: 7)
                try encoding.check("completion, crash \(position)")
            }
        }

        @Test("x265's process dies: another one continues", arguments: ["ultrafast", "medium"])
        func killed(preset: String) throws {
            let server = try TestDaemon()
            let folder = try Scratch()
            let raw = try RawFrames(.nv12, width: Self.width, height: Self.height, count: Self.count, in: folder)
            for position in [1, 59] {
                let encoder = try Encoder(
                    server.daemon, .nv12, width: Self.width, height: Self.height,
                    properties: [.x265Preset: .string(preset), .quality: .double(0.7)])
                for (index, frame) in raw.frames.enumerated() {
                    if index == position { kill(try server.session(encoder.id).pid, SIGKILL) }
                    try encoder.encode(frame)
                }
                try encoder.finish()
                #expect(encoder.session.restartCount == 1)
                try EndToEnd.EncodedRun(encoder: encoder, raw: raw).check("killed at \(position), \(preset)")
            }
        }

        @Test("A pool whose frames are kept is the app's again when it is removed")
        func removedPool() throws {
            let faulty = try Faulty()
            let encoder = try Encoder(
                faulty.server.daemon, .nv12, width: Self.width, height: Self.height, slots: 22, spared: 14,
                properties: [.x265Preset: .string("medium"), .quality: .double(0.7)])
            for frame in faulty.raw.frames.prefix(12) { try encoder.encode(frame) }
            // The worker has read all frames when it answers; x265 holds them.
            #expect(
                try eventually {
                    _ = try encoder.pump(within: .milliseconds(50))
                    return encoder.session.framesInFlight == 0
                })
            try encoder.session.removePool(id: 1)
            kill(try faulty.server.session(encoder.id).pid, SIGKILL)
            try encoder.finish()
            #expect(encoder.coded.count == 12 && encoder.session.restartCount == 1)
            #expect(encoder.released.sorted() == (0..<12).map { $0 })
        }

        @Test("With ReplaysAfterFailure false a failure ends the session")
        func refused() throws {
            let faulty = try Faulty()
            try #require(try Hardware.probe(faulty.server).encoders.first?.hardware == true)
            let encoder = try Encoder(
                faulty.server.daemon, .nv12, width: Self.width, height: Self.height,
                properties: [.replaysAfterFailure: .bool(false)])
            try encoder.encode(faulty.raw.frames[0])
            kill(try faulty.server.session(encoder.id).pid, SIGKILL)
            let error = sessionError { try encoder.finish() }
            #expect(error?.status == .videoEncoderMalfunction && error?.reason.contains("SIGKILL") == true)
        }

        @Test("hwctl encode continues, and the file has every frame")
        func file() throws {
            let faulty = try Faulty()
            let clip = try HardwareFaults.clip(40, in: faulty.server.folder)
            try "crash 20\ncrash 3\n".write(
                toFile: faulty.state.path("plan/faults"), atomically: false, encoding: .utf8)
            let output = faulty.server.folder.path("out.mov")
            let run = try Programs.hwctl(["encode", "--json", clip, output], socket: faulty.server.socket)
            try #require(run.status == 0, "\(run.errors)")
            let summary = try JSON.decode(Hardware.Summary.self, from: run.output)
            #expect(!summary.usingHardware && summary.fallbackReason?.contains("SIGSEGV") == true)
            #expect(run.errors.contains("continued in another process"), "\(run.errors)")
            #expect(try Probe(output).frameTimes().count == 40)
            #expect(try Probe(output).decodingMessages() == "")
            #expect(try psnr(["-i", output], ["-i", clip], as: "yuv420p") >= 30)
            // x265's parameter sets are not the driver's: another sample entry, which our own reader follows.
            let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: output)), as: UTF8.self)
            #expect(text.components(separatedBy: "hvcC").count - 1 == 2)
            let decoded = faulty.server.folder.path("out.y4m")
            let back = try Programs.hwctl(["decode", output, decoded], socket: faulty.server.socket)
            #expect(back.status == 0, "\(back.errors)")
            #expect(try psnr(["-i", decoded], ["-i", output], as: "yuv420p") == .infinity)
            #expect(try Probe(decoded).frameTimes().count == 40)
        }

        @Test("Where frames are not kept, hwctl encode begins again in software")
        func again() throws {
            let faulty = try Faulty()
            let clip = try HardwareFaults.clip(40, in: faulty.server.folder)
            try "crash 20\n".write(toFile: faulty.state.path("plan/faults"), atomically: false, encoding: .utf8)
            let output = faulty.server.folder.path("out.mov")
            let run = try Programs.hwctl(
                ["encode", "--property", "ReplaysAfterFailure=false", clip, output], socket: faulty.server.socket)
            #expect(run.status == 0 && run.errors.contains("encoding again in software"), "\(run.errors)")
            #expect(try Probe(output).frameTimes().count == 40 && Probe(output).decodingMessages() == "")
        }
    }
}
