// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults.Failover {
    /// NVIDIA's decoder, which Tests/HWSim plays: pictures are those of software, whatever becomes of its process.
    @Suite struct Card {
        static let id = "org.hwdaemon.decoder.nvdec.nvidia0"
        private static let count = 48
        /// Pictures at which the card fails: the first ones, about a key frame (every twelfth), and the last ones.
        private static let positions = [1, 2, 3, 11, 12, 13, 14, 24, 25, 36, 47, 48]

        private static func stream(_ format: PixelFormat, in folder: Scratch) throws -> CodedStream {
            try CodedStream(
                format, width: 320, height: 192, frames: count, interval: 12,
                options: ":open-gop=1:bframes=3:b-pyramid=1", in: folder)
        }

        /// What ffmpeg decodes in software, in the interleaved form that hardware has.
        private static func reference(_ format: PixelFormat, in folder: Scratch) throws -> [UInt8] {
            let path = try #require(folder.contents.first { $0.hasPrefix("coded-\(format.rawValue)") })
            return try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", folder.path(path), "-f", "rawvideo", "-fps_mode", "passthrough",
                    "-pix_fmt",
                    format == .yu12 ? "nv12" : "p010le", "-",
                ]
            ).output
        }

        private static func probed(
            _ personality: String = "full", state: Scratch, _ more: [String: String] = [:], stall: Int = 60
        ) throws -> (server: TestDaemon, found: ProbeSnapshot) {
            let server = try TestDaemon(
                "--set", "HardwareStallTimeout=\(stall)",
                environment: SimulatedDriver.card(personality, state: state).merging(more) { $1 })
            return (server, try EndToEnd.Hardware.probe(server))
        }

        private static func check(_ decoder: Decoder, _ reference: [UInt8], _ name: Comment) {
            #expect(decoder.frames.count == count && decoder.reports.isEmpty, name)
            let isSame = decoder.frames.flatMap(\.samples) == reference
            #expect(isSame, name)
        }

        @Test(
            "Both depths are verified, and sessions have the pictures of software",
            arguments: [PixelFormat.yu12, .i010])
        func decodes(_ format: PixelFormat) throws {
            let state = try Scratch()
            let (server, found) = try Self.probed(state: state)
            let paths = found.paths.filter { $0.device != nil && $0.codec == "hevc" && $0.operation == .decode }
            #expect(paths.map(\.bitDepth) == [8, 10] && paths.allSatisfy(\.verified), "\(paths)")
            #expect(found.nodes.map(\.state) == [.ready] && found.nodes.first?.reason == nil)
            let stream = try Self.stream(format, in: server.folder)
            let decoder = try Decoder(
                server.daemon, stream, specification: [.requireHardwareDecoder: .bool(true)])
            #expect(decoder.session.created.decoderID == Self.id && decoder.session.created.usingHardware)
            try decoder.decode(stream)
            Self.check(decoder, try Self.reference(format, in: server.folder), "\(format)")
            #expect(decoder.frames.allSatisfy { $0.description.flags.contains(.hardware) })
        }

        @Test("kill -9: the card continues with the same pictures")
        func killed() throws {
            let state = try Scratch()
            let (server, _) = try Self.probed(state: state)
            let stream = try Self.stream(.yu12, in: server.folder)
            let reference = try Self.reference(.yu12, in: server.folder)
            for position in [2, 13, 47] {
                let decoder = try Decoding.decode(server, stream, killingAt: [position])
                Self.check(decoder, reference, "killed after \(position)")
                #expect(decoder.session.created.decoderID == Self.id)
            }
        }

        @Test(
            "Every picture is right where the card crashes, hangs or fails", arguments: ["crash", "hang", "fail"])
        func faults(_ kind: String) throws {
            let state = try Scratch()
            let folder = state.path("plan")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let plan = "\(folder)/faults"
            try "".write(toFile: plan, atomically: false, encoding: .utf8)
            let (server, _) = try Self.probed(
                state: state, ["HWSIM_FAULTS": plan, "HWDAEMON_SANDBOX_PATHS": folder],
                stall: kind == "hang" ? 2 : 60)
            let stream = try Self.stream(.yu12, in: server.folder)
            let reference = try Self.reference(.yu12, in: server.folder)
            for position in kind == "hang" ? [1, 13, 48] : Self.positions {
                try "decode-\(kind) \(position)\n".write(toFile: plan, atomically: false, encoding: .utf8)
                let decoder = try Decoder(server.daemon, stream)
                try #require(decoder.session.created.usingHardware)
                try decoder.decode(stream)
                Self.check(decoder, reference, "\(kind) at \(position)")
                let left = try String(contentsOfFile: plan, encoding: .utf8).filter { !$0.isWhitespace }
                #expect(left.isEmpty, "the card did not reach \(left)")
                // A failed call is no death: software continues within the process.
                let reason = try decoder.session.copyProperties([.fallbackReason])[.fallbackReason] ?? .null
                #expect((decoder.session.restartCount == 1) == (kind != "fail"), "\(kind) at \(position)")
                #expect((reason != .null) == (kind == "fail"), "\(kind) at \(position): \(reason)")
            }
        }

        @Test(
            "A card that cannot be used says why",
            arguments: [
                ("no-device", "CUDA finds no device"), ("gpu-memory-1", "the GPU has no memory left"),
                ("fail-init", "CUDA_ERROR_UNKNOWN"), ("wrong-samples", "differs from what software decodes"),
                ("decode-wrong-at-1", "came back wrong"),
            ])
        func reasons(_ personality: String, _ words: String) throws {
            let state = try Scratch()
            let (server, found) = try Self.probed(personality, state: state)
            let path = try #require(found.paths.last { $0.device != nil && $0.codec == "hevc" })
            #expect(path.claimed && !path.verified && path.reason?.contains(words) == true, "\(path)")
            let refused = sessionError {
                _ = try Decoder(
                    server.daemon, try Self.stream(.i010, in: server.folder),
                    specification: [.requireHardwareDecoder: .bool(true)])
            }
            #expect(refused?.reason.contains(words) == true, "\(refused?.reason ?? "")")
        }

        @Test("A card that lacks a decoder does not claim it, and does the rest")
        func lacks() throws {
            let state = try Scratch()
            let (server, found) = try Self.probed("8-bit-only", state: state)
            let paths = found.paths.filter { $0.device != nil && $0.codec == "hevc" && $0.operation == .decode }
            #expect(paths.map(\.claimed) == [true, false] && paths.map(\.verified) == [true, false], "\(paths)")
            #expect(
                paths.last?.reason?.contains("this GPU has no such decoder") == true
                    && found.nodes.first?.reason == nil)
            let decoder = try Decoder(server.daemon, try Self.stream(.i010, in: server.folder))
            #expect(!decoder.session.created.usingHardware)
        }

        /// Whether the dynamic linker finds NVIDIA's library without the simulated one's folder.
        private static let hasLibrary = dlopen("libcuda.so.1", RTLD_LAZY) != nil

        @Test(
            "Without NVIDIA's libraries the node says so, and CUDA is not asked",
            .enabled(if: !hasLibrary, "NVIDIA's driver is installed"))
        func noLibraries() throws {
            let state = try Scratch()
            let (_, found) = try Self.probed(state: state, ["LD_LIBRARY_PATH": ""])
            let node = try #require(found.nodes.first)
            #expect(node.state == .driverFailed && node.cause == .nvidiaDecoder)
            #expect(node.reason?.contains("libcuda.so.1 cannot be loaded") == true, "\(node)")
            #expect(found.paths.allSatisfy { $0.device == nil })
        }
    }
}

extension EndToEndFaults.Failover {
    /// NVIDIA's encoder, which Tests/HWSim plays: no frame is lost, whatever becomes of its process.
    @Suite struct CardEncoding {
        private static let id = "org.hwdaemon.encoder.nvenc.nvidia0"
        /// Pictures at which the card fails; unlike with VA-API none is coded when an encoder opens.
        static let positions = [1, 2, 3, 5, 6, 9, 16, 17, 33, 47, 59, 60]

        private static func probed(
            _ personality: String = "full", state: Scratch, _ more: [String: String] = [:]
        ) throws -> (server: TestDaemon, found: ProbeSnapshot) {
            let server = try TestDaemon(
                environment: SimulatedDriver.card(personality, state: state).merging(more) { $1 })
            return (server, try EndToEnd.Hardware.probe(server))
        }

        @Test(
            "Both depths are verified, and sessions encode in a program of their own",
            arguments: [PixelFormat.nv12, .p010])
        func encodes(_ format: PixelFormat) throws {
            let state = try Scratch()
            let (server, found) = try Self.probed(state: state)
            let encoder = try #require(found.encoders.first)
            #expect(encoder.id == Self.id && encoder.hardware && encoder.bitDepths == [8, 10], "\(encoder)")
            let paths = found.paths.filter { $0.device != nil && $0.operation == .encode }
            #expect(paths.allSatisfy { $0.verified && $0.features == [.bFrames] }, "\(paths)")
            let raw = try RawFrames(format, width: 192, height: 128, count: 60, in: state)
            for structure in Structure.allCases {
                let session = try Encoder(
                    server.daemon, format, width: 192, height: 128, codec: "hevc",
                    specification: [.requireHardware: .bool(true)], properties: structure.properties)
                #expect(session.session.created.encoderID == Self.id && session.session.created.usingHardware)
                let process = try server.session(session.id).pid
                let command = try String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
                #expect(command.contains("/hwdaemon-encoder-nv"), "\(command)")
                for frame in raw.frames { try session.encode(frame) }
                try session.finish()
                // Of 10 bits the decoders are compared by ConformanceTests.
                #expect(session.coded.count == 60)
                guard format == .nv12 else { continue }
                try EndToEnd.EncodedRun(encoder: session, raw: raw).check("\(format) \(structure)")
            }
        }

        @Test(
            "Every frame is coded where the card crashes, hangs, fails or lies",
            arguments: ["crash", "hang", "fail", "corrupt"])
        func faults(_ kind: String) throws {
            let faulty = try Faulty(hangs: kind == "hang", usesCard: true)
            let properties: [PropertyKey: PropertyValue] =
                kind == "corrupt" ? [.verifyOutput: .string("all")] : [:]
            for position in kind == "hang" ? [1, 17, 60] : Self.positions {
                let run = try faulty.encode(["\(kind) \(position)"], .pyramid, more: properties)
                let session = run.encoder.session
                #expect(session.created.encoderID == Self.id && session.restartCount == 1, "\(kind) \(position)")
                try run.check("\(kind) \(position)")
            }
        }

        @Test("Two crashes: software continues")
        func software() throws {
            let faulty = try Faulty(usesCard: true)
            let run = try faulty.encode(["crash 21", "crash 2"], .pyramid)
            #expect(!run.encoder.session.created.usingHardware && run.encoder.session.restartCount == 2)
            #expect(run.encoder.session.created.fallbackReason?.contains("SIGSEGV") == true)
            try run.check("crash 21, crash 2")
        }

        @Test(
            "A card that does not encode says why",
            arguments: [
                ("no-nvenc", "this GPU has no encoder (NVENC)", false),
                ("old-driver", "too old for libavcodec", true), ("liar", "0 bytes", true),
                ("wrong-at-1", "came back wrong", true),
                ("fail-at-1", "asked to fail", true), ("busy", "the GPU's encoder is busy", true),
            ])
        func reasons(_ personality: String, _ words: String, _ isClaimed: Bool) throws {
            let state = try Scratch()
            let (server, found) = try Self.probed(personality, state: state)
            let path = try #require(found.paths.first { $0.device != nil && $0.operation == .encode })
            #expect(path.claimed == isClaimed && !path.verified, "\(path)")
            #expect(path.reason?.contains(words) == true, "\(path)")
            let refused = sessionError {
                _ = try Encoder(
                    server.daemon, .nv12, width: 192, height: 128, specification: [.requireHardware: .bool(true)])
            }
            #expect(refused?.reason.contains(words) == true, "\(refused?.reason ?? "")")
            #expect(
                refused?.status
                    == (personality == "busy" ? .videoEncoderNotAvailableNow : .couldNotFindVideoEncoder))
            let software = try Encoder(server.daemon, .nv12, width: 192, height: 128)
            #expect(!software.session.created.usingHardware)
            #expect(software.session.created.fallbackReason?.contains(words) == true)
        }

        @Test("Temporal levels and alpha are coded in software, with the reason")
        func limits() throws {
            let state = try Scratch()
            let (server, _) = try Self.probed(state: state)
            let levels = try Encoder(
                server.daemon, .nv12, width: 192, height: 128,
                properties: [.baseLayerFrameRate: .double(15), .expectedFrameRate: .double(30)])
            #expect(levels.session.created.fallbackReason?.contains("no temporal levels") == true)
            let alpha = try Encoder(
                server.daemon, .yuva, width: 192, height: 128, codec: "hevc-with-alpha", properties: [:])
            #expect(alpha.session.created.fallbackReason?.contains("alpha layer") == true)
        }

        @Test("A rate changes in the running session")
        func rate() throws {
            let state = try Scratch()
            let (server, _) = try Self.probed(state: state)
            let raw = try RawFrames(.nv12, width: 192, height: 128, count: 60, in: state)
            let session = try Encoder(
                server.daemon, .nv12, width: 192, height: 128,
                properties: [.averageBitRate: .int(2_000_000)])
            try #require(session.session.created.encoderID == Self.id)
            for (index, frame) in raw.frames.enumerated() {
                if index == 30 { try session.session.setProperties([.averageBitRate: .int(1_500_000)]) }
                try session.encode(frame)
            }
            try session.finish()
            let keys = session.coded.map(\.description).filter { $0.flags.contains(.sync) }
            #expect(keys.map(\.pts) == [0, 30])
            try EndToEnd.EncodedRun(encoder: session, raw: raw).check("a change of the rate")
        }
    }
}
