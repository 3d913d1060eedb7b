// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDEncoderTesting
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// Hardware sessions from end to end, on a driver that really encodes and decodes.
    @Suite struct Hardware {
        static let encoderID = "org.hwdaemon.encoder.vaapi.null"

        /// What these tests read of `hwctl encode --json`.
        struct Summary: Decodable {
            var encoderID: String
            var usingHardware: Bool
            var fallbackReason: String?
            var frames: Int

            enum CodingKeys: String, CodingKey {
                case frames
                case encoderID = "EncoderID"
                case usingHardware = "UsingHardwareAcceleratedVideoEncoder"
                case fallbackReason = "FallbackReason"
            }
        }

        /// A daemon with the driver, after it has verified what the driver claims.
        static func daemon(_ personality: String = "full", devices: String = "/dev/null") throws -> TestDaemon {
            let state = try Scratch()
            let server = try TestDaemon(
                environment: SimulatedDriver.environment(personality, devices: devices, state: state.root))
            let nodes = devices.split(separator: ":").count
            let isVerified = try eventually {
                let encoders = try server.daemon.call(ListEncoders.self, Empty()).encoders
                return encoders.count(where: \.hardware) == nodes
            }
            try #require(isVerified, "\(server.log)")
            return server
        }

        @Test("Notices name what the driver does not do, BaseFrameQP from the first frame that has one on")
        func notices() throws {
            let folder = try Scratch()
            let quirk =
                #"{"schema":1,"quirks":[{"id":"qp","driver":"HWSim *","paths":["*-encode"],"#
                + #""adjust":{"frame_qp":["CQP"]},"why":"a test"}]}"#
            try quirk.write(toFile: folder.path("qp.json"), atomically: false, encoding: .utf8)
            let server = try SimulatedDriver.verifiedDaemon(
                state: try Scratch(), ["HWDAEMON_CAPABILITIES_DIR": folder.root])
            let frame = [UInt8](repeating: 90, count: 128 * 128 * 3 / 2)
            for (rate, isIgnored) in [(PropertyKey.averageBitRate, true), (.qp, false)] {
                let encoder = try Encoder(
                    server.daemon, .nv12, width: 128, height: 128,
                    properties: [
                        rate: .int(rate == .qp ? 30 : 400_000), .calculateMeanSquaredError: .bool(true),
                        .realTime: .bool(true),
                    ])
                #expect(encoder.session.created.usingHardware)
                func notices() throws -> String {
                    try encoder.session.copyProperties([.notices])[.notices]?.description ?? ""
                }
                try encoder.encode(frame)
                while encoder.released.isEmpty { try #require(try encoder.pump()) }
                let before = try notices()
                #expect(before.contains("CalculateMeanSquaredError") && !before.contains("BaseFrameQP"))
                try encoder.encode(frame, qp: 40)
                while encoder.released.count < 2 { try #require(try encoder.pump()) }
                let after = try notices()
                #expect(after.contains("BaseFrameQP") == isIgnored, "\(after)")
                try encoder.finish()
                #expect(encoder.coded.count == 2 && encoder.coded.allSatisfy { $0.meanSquaredError == nil })
            }
        }

        static func probe(_ server: TestDaemon, _ arguments: String...) throws -> ProbeSnapshot {
            let run = try Programs.hwctl(["probe", "--json"] + arguments, socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            return try JSON.decode(ProbeSnapshot.self, from: run.output)
        }

        @Test(
            "Every kind of driver is verified in Main and Main10, both ways",
            arguments: sampled(["full", "ihd-icl", "radeonsi-22", "ihd-tgl", "radeonsi-25"], oneIn: 2))
        func probe(personality: String) throws {
            let snapshot = try Self.probe(try Self.daemon(personality))
            let paths = snapshot.paths.filter { $0.device == "/dev/null" }
            #expect(
                paths.filter { $0.codec == "hevc" }.map(\.id) == [
                    "hevc-main-encode", "hevc-main10-encode", "hevc-main-decode", "hevc-main10-decode",
                ])
            #expect(paths.allSatisfy { $0.claimed && $0.verified && $0.reason == nil }, "\(paths)")
            #expect(snapshot.nodes.map(\.state) == [.ready] && snapshot.nodes.map(\.reason) == [nil])
            let encoder = try #require(snapshot.encoders.first)
            #expect(encoder.id == Self.encoderID && encoder.hardware && encoder.bitDepths == [8, 10])
            #expect(encoder.device == "/dev/null" && encoder.version.contains("HWSim"))
        }

        @Test("Verification results are remembered for their driver only")
        func memory() throws {
            let state = try Scratch()
            let first = try TestDaemon(environment: SimulatedDriver.environment(state: state.root))
            _ = try Self.probe(first)
            // Known without a trial, and already at the start.
            let second = try TestDaemon(environment: SimulatedDriver.environment(state: state.root))
            let encoders = try second.daemon.call(ListEncoders.self, Empty()).encoders
            #expect(encoders.map(\.hardware) == [true, false])
            let listed = try Self.probe(second, "--no-verify").paths
            #expect(listed.filter(\.verified).count == 8)
            let again = try Self.probe(second).paths
            #expect(again.filter(\.verified).count == 8)

            let other = try TestDaemon(environment: SimulatedDriver.environment("radeonsi-25", state: state.root))
            let unknown = try Self.probe(other, "--no-verify", "--device", "/dev/null").paths
            // Background verification may have ended by now; results of the first driver must not appear.
            #expect(unknown.allSatisfy { $0.device == nil || $0.driver.contains("25.0.7") })
            let verified = try Self.probe(other).paths
            #expect(verified.filter { $0.verified && $0.codec == "hevc" }.count == 8)
        }

        @Test(
            "A clip encoded in required hardware is complete, hvc1, and decodes without a message",
            arguments: [
                ("bbb_720p.mp4", "Main", "yuv420p"), ("bbb_720p_main10.mp4", "Main 10", "yuv420p10le"),
            ])
        func encode(name: String, profile: String, format: String) throws {
            let clip = Clips.fixture(name)
            let server = try Self.daemon()
            let output = server.folder.path("hw.mov")
            let run = try Programs.hwctl(
                ["encode", "--hardware", "require", "--json", clip.path, output], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            let summary = try JSON.decode(Summary.self, from: run.output)
            #expect(summary.usingHardware && summary.encoderID == Self.encoderID && summary.fallbackReason == nil)
            let (coded, source) = (Probe(output), Probe(clip.path))
            let expected = try source.frameTimes()
            #expect(summary.frames == expected.count)
            #expect(Encoding.agree(try coded.frameTimes(), expected))
            #expect(try coded.field("codec_tag_string") == "hvc1" && coded.field("profile") == profile)
            #expect(try coded.field("pix_fmt") == format)
            #expect(try coded.decodingMessages() == "")
            let quality = try psnr(["-i", output], ["-i", clip.path], as: format)
            print("\(name) in hardware, default quality: \(quality) dB")
            #expect(quality >= 35)
            #expect(server.hasNoWorkers())
            #expect(server.log.contains("hardware=true"))
        }

        @Test("The session reports its hardware encoder and honours its properties")
        func session() throws {
            let server = try Self.daemon()
            let raw = try RawFrames(.nv12, width: 322, height: 182, count: 12, in: server.folder)
            let encoder = try Encoder(
                server.daemon, .nv12, width: 322, height: 182, properties: [.qp: .int(30)])
            #expect(encoder.session.created.usingHardware && encoder.session.created.fallbackReason == nil)
            let properties = try encoder.session.copyProperties()
            #expect(properties[.usingHardware] == .bool(true) && properties[.encoderID] == .string(Self.encoderID))
            #expect(properties[.usingGPURegistryID] == .string("/dev/null"))
            #expect(properties[.x265Preset] == nil)
            let refused = sessionError { try encoder.session.setProperties([.x265Preset: .string("fast")]) }
            #expect(refused?.status == .propertyNotSupported)
            // Changed between Create and Prepare: the encoder is opened again.
            try encoder.session.setProperties([.qp: .int(22), .maxKeyFrameInterval: .int(4)])
            for frame in raw.frames { try encoder.encode(frame) }
            try encoder.finish()
            #expect(encoder.coded.count == 12)
            #expect(encoder.coded.filter { $0.description.flags.contains(.sync) }.count == 3)
            let file = server.folder.path("out.mov")
            try encoder.write(to: file)
            #expect(try Probe(file).size == (322, 182))
            #expect(try psnr(["-i", file], raw.ffmpegInput, as: "yuv420p") >= 35)
        }

        @Test("Properties that only software supports choose software, unless hardware is required")
        func softwareProperties() throws {
            let clip = Clips.fixture("bbb_720p.mp4")
            let server = try Self.daemon()
            let options = ["encode", "--json", "--preset", "ultrafast", clip.path, server.folder.path("out.mov")]
            let run = try Programs.hwctl(options, socket: server.socket)
            let summary = try JSON.decode(Summary.self, from: run.output)
            #expect(!summary.usingHardware && summary.fallbackReason?.contains("X265Preset") == true)
            let required = try Programs.hwctl(options + ["--hardware", "require"], socket: server.socket)
            #expect(required.status == 64 && required.complaints.count == 1, "\(required.errors)")
            #expect(required.errors.contains("--preset is for software: with --hardware require leave it out"))
            #expect(required.errors.contains("--speed works for both"))
            let plain = try Programs.hwctl(
                ["encode", "-y", "--preset", "ultrafast", clip.path, server.folder.path("out.mov")],
                socket: server.socket)
            let line = "the GPU is not used because --preset was given; --speed works for both"
            #expect(plain.status == 0 && plain.errors.contains(line), "\(plain.errors)")
            let verified = try Programs.hwctl(
                ["encode", "-y", clip.path, server.folder.path("out.mov")], socket: server.socket)
            let first = try #require(verified.errorLines.first)
            #expect(
                first.hasPrefix("hwctl: encoding in hardware: HWSim 1.0 full") && first.hasSuffix(", verified"),
                "\(verified.errors)")
        }

        @Test("A GPU is chosen by its node")
        func device() throws {
            let clip = Clips.fixture("bbb_720p.mp4")
            let server = try Self.daemon(devices: "/dev/null:/dev/zero")
            let encoders = try Self.probe(server).encoders
            #expect(
                encoders.map(\.id) == [
                    Self.encoderID, "org.hwdaemon.encoder.vaapi.zero", "org.hwdaemon.encoder.x265",
                ])
            let bench = [
                "bench", "--json", "--only", "hardware", "--frames", "2", "--bitrate", "2M", "--device",
                "/dev/zero",
                clip.path,
            ]
            let run = try Programs.hwctl(bench, socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            #expect(run.text.contains("org.hwdaemon.encoder.vaapi.zero"))
            let missing = try Programs.hwctl(
                ["encode", "--hardware", "require", "--device", "/dev/full", clip.path, "/tmp/never.mov"],
                socket: server.socket)
            #expect(missing.status == 69)
            #expect(missing.complaints.last?.contains("/dev/full") == true)
        }

        @Test("bench measures both and draws both")
        func bench() throws {
            let clip = Clips.fixture("bbb_720p.mp4")
            let server = try Self.daemon()
            let plot = server.folder.path("plot.svg")
            let run = try Programs.hwctl(
                [
                    "bench", "--json", "--frames", "5", "--preset", "ultrafast", "--bitrate", "2M,8M", "--plot",
                    plot, clip.path,
                ], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            let document = try JSON.decode(Bench.Document.self, from: run.output)
            #expect(document.hardware?.available == true && document.hardware?.reason == nil)
            #expect(document.runs.map(\.usingHardware) == [true, true, false, false])
            #expect(document.runs.allSatisfy { $0.psnr > 25 && $0.ssim > 0.7 && $0.workerPeak > 1 << 20 })
            let text = try String(contentsOfFile: plot, encoding: .utf8)
            #expect(text.contains("class=\"hardware c") && text.contains("class=\"software c"))
        }
    }
}
