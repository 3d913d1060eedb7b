// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDWire
import Testing

/// The libva driver of Tests/HWSim, built when a test first needs it.
enum SimulatedHardware {
    /// The folder that holds it; nil, with the reason printed, where it cannot be built.
    static let folder: String? = {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("HWSim").path
        let output = Programs.folder + "/hwsim-decode"
        guard let make = Programs.find("make"), Programs.find("cc") != nil,
            let run = try? Running(make, ["-s", "-C", source, "OUT=\(output)", "all"]).wait(seconds: 300),
            run.status == 0
        else {
            print("SKIPPED: the simulated driver cannot be built (make, cc, libva-dev, libavcodec-dev)")
            return nil
        }
        return output
    }()

    /// A daemon that finds it as its only device.
    static func daemon(
        _ personality: String = "full", cache: Scratch, _ more: [String: String] = [:]
    ) throws -> TestDaemon? {
        guard let folder else { return nil }
        let server = try TestDaemon(
            environment: [
                "LD_PRELOAD": "\(folder)/nodes.so", "LIBVA_DRIVERS_PATH": folder, "LIBVA_DRIVER_NAME": "hwsim",
                "LIBVA_MESSAGING_LEVEL": "0", "HWDAEMON_DEVICES": "/dev/null", "HWSIM_PERSONALITY": personality,
                "STATE_DIRECTORY": cache.root,
            ].merging(more) { $1 })
        // A session that only prefers hardware does not wait long for its verification; a test does.
        _ = try server.daemon.call(HWDWire.Probe.self, HWDWire.Probe.Parameters(), timeout: .seconds(60))
        return server
    }
}

extension EndToEnd {
    /// Decoding on VA-API surfaces, with a driver that decodes in software behind stock libva.
    @Suite struct HardwareDecoding {
        static let require: [PropertyKey: PropertyValue] = [.requireHardwareDecoder: .bool(true)]

        @Test(
            "Hardware gives the samples that software gives, and says that it was hardware",
            arguments: [PixelFormat.yu12, .i010])
        func same(_ format: PixelFormat) throws {
            let cache = try Scratch()
            guard let server = try SimulatedHardware.daemon(cache: cache) else { return }
            // 130x98 is coded as 136x104: the window cuts.
            let stream = try CodedStream(format, width: 130, height: 98, frames: 30, in: server.folder)
            let software = try Decoder(
                server.daemon, stream, pixelFormat: format, specification: [.enableHardwareDecoder: .bool(false)])
            try software.decode(stream)
            let hardware = try Decoder(server.daemon, stream, pixelFormat: format, specification: Self.require)
            #expect(hardware.session.created.usingHardware)
            #expect(hardware.session.created.fallbackReason == nil)
            try hardware.decode(stream)
            let isSame = hardware.frames == software.frames
            #expect(isSame)
            #expect(hardware.frames.count == 30)
            #expect(hardware.frames.allSatisfy { $0.description.flags.contains(.hardware) })
            #expect(software.frames.allSatisfy { !$0.description.flags.contains(.hardware) })
            let native = try Decoder(server.daemon, stream)
            #expect(native.session.created.pixelFormat == (format == .i010 ? "P010" : "NV12"))
            let properties = try native.session.copyProperties()
            #expect(properties[.usingHardwareDecoder] == .bool(true))
        }

        @Test("A driver that fails in the middle is replaced, and no picture is lost")
        func failure() throws {
            let cache = try Scratch()
            guard let server = try SimulatedHardware.daemon("decode-fail-at-20", cache: cache) else { return }
            let stream = try CodedStream(frames: 40, in: server.folder)
            let software = try Decoder(
                server.daemon, stream, pixelFormat: .nv12, specification: [.enableHardwareDecoder: .bool(false)])
            try software.decode(stream)
            let hardware = try Decoder(server.daemon, stream, pixelFormat: .nv12)
            try hardware.decode(stream)
            let isSame = hardware.frames == software.frames
            #expect(isSame)
            #expect(hardware.reports.isEmpty)
            let kinds = hardware.frames.map { $0.description.flags.contains(.hardware) }
            #expect(kinds.first == true && kinds.last == false)
            let properties = try hardware.session.copyProperties()
            #expect(properties[.usingHardwareDecoder] == .bool(false))
            #expect(properties[.fallbackReason]?.description.contains("Failed to end picture") ?? false)
            #expect(try server.session(hardware.id).usingHardware == false)
            let required = try Decoder(server.daemon, stream, specification: Self.require)
            #expect(sessionError { try required.decode(stream) }?.status == .videoDecoderMalfunction)
        }

        @Test(
            "A driver that crashes or hangs costs its session an error and nobody else anything",
            arguments: ["decode-crash-at-20", "decode-hang-at-20"])
        func death(_ personality: String) throws {
            let cache = try Scratch()
            guard let server = try SimulatedHardware.daemon(personality, cache: cache) else { return }
            let stream = try CodedStream(frames: 40, in: server.folder)
            let victim = try Decoder(server.daemon, stream)
            try #require(victim.session.created.usingHardware)
            #expect(sessionError { try victim.decode(stream) }?.status == .videoDecoderMalfunction)
            let other = try Decoder(
                server.daemon, stream, specification: [.enableHardwareDecoder: .bool(false)])
            try other.decode(stream)
            #expect(other.frames.count == 40)
        }

        @Test(
            "hwctl begins again in software when the driver takes the decoder with it, unless hardware is required",
            arguments: ["decode-crash-at-20", "decode-hang-at-20"])
        func again(_ personality: String) throws {
            let cache = try Scratch()
            guard let server = try SimulatedHardware.daemon(personality, cache: cache) else { return }
            let clip = server.folder.path("clip.mp4")
            try Programs.tool(
                "ffmpeg",
                [
                    "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=192x128:rate=25", "-frames:v", "40",
                    "-pix_fmt", "yuv420p", "-c:v", "libx265", "-x265-params", "log-level=none", clip,
                ])
            func hwctl(_ command: String, _ hardware: String, _ output: String) throws -> Finished {
                try Programs.hwctl(
                    [command, "--hardware", hardware, clip, server.folder.path(output)], socket: server.socket)
            }
            let decoded = try hwctl("decode", "prefer", "a.y4m")
            #expect(decoded.status == 0 && decoded.errors.contains("decoding again in software"))
            let software = try hwctl("decode", "off", "b.y4m")
            #expect(software.status == 0)
            let (first, second) = (server.folder.path("a.y4m"), server.folder.path("b.y4m"))
            #expect(FileManager.default.contentsEqual(atPath: first, andPath: second))
            let coded = try hwctl("encode", "prefer", "c.mov")
            #expect(coded.status == 0 && coded.errors.contains("software decoder"))
            #expect(try Probe(server.folder.path("c.mov")).frameTimes().count == 40)
            #expect(try hwctl("decode", "require", "d.y4m").status == 70)
            #expect(!server.folder.contents.contains("d.y4m"))
        }

        @Test("A context that does not open is software with the reason, or -12913 where hardware is required")
        func busy() throws {
            let cache = try Scratch()
            // Verified while it was not busy.
            guard let before = try SimulatedHardware.daemon(cache: cache) else { return }
            let stream = try CodedStream(frames: 10, in: cache)
            try #require(try Decoder(before.daemon, stream).session.created.usingHardware)
            guard let server = try SimulatedHardware.daemon("full,busy", cache: cache) else { return }
            let decoder = try Decoder(server.daemon, stream)
            try decoder.decode(stream)
            #expect(decoder.frames.count == 10)
            #expect(decoder.reports.isEmpty)
            let properties = try decoder.session.copyProperties()
            #expect(properties[.fallbackReason]?.description.contains("busy") ?? false)
            let required = try Decoder(server.daemon, stream, specification: Self.require)
            #expect(sessionError { try required.decode(stream) }?.status == .videoDecoderNotAvailableNow)
        }
    }
}
