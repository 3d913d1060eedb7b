// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDEncoderTesting
import HWDModel
import HWDWire
import Testing

extension EndToEnd {
    /// Decoding on VA-API surfaces, with a driver that decodes in software behind stock libva.
    @Suite struct HardwareDecoding {
        static let require: [PropertyKey: PropertyValue] = [.requireHardwareDecoder: .bool(true)]

        @Test(
            "Hardware decodes to the same samples as software and is reported as hardware",
            arguments: [PixelFormat.yu12, .i010])
        func same(_ format: PixelFormat) throws {
            let cache = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon(state: cache)
            // 130x98 is coded as 136x104, so the conformance window matters.
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

        @Test("Software replaces a driver that fails in mid-stream, and no picture is lost")
        func failure() throws {
            let cache = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon("decode-fail-at-20", state: cache)
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
            let required = try Decoder(
                server.daemon, stream, specification: Self.require, properties: [.replaysAfterFailure: .bool(false)]
            )
            #expect(sessionError { try required.decode(stream) }?.status == .videoDecoderMalfunction)
        }

        @Test(
            "A driver that crashes or hangs ends its own session and no other",
            arguments: ["decode-crash-at-20", "decode-hang-at-20"])
        func death(_ personality: String) throws {
            let cache = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon(personality, state: cache)
            let stream = try CodedStream(frames: 40, in: server.folder)
            let victim = try Decoder(server.daemon, stream, properties: [.replaysAfterFailure: .bool(false)])
            try #require(victim.session.created.usingHardware)
            #expect(sessionError { try victim.decode(stream) }?.status == .videoDecoderMalfunction)
            let other = try Decoder(
                server.daemon, stream, specification: [.enableHardwareDecoder: .bool(false)])
            try other.decode(stream)
            #expect(other.frames.count == 40)
        }

        @Test(
            "hwctl continues in software when the driver ends the decoder twice, unless hardware is required",
            arguments: sampled(["decode-crash-at-20", "decode-hang-at-20"], oneIn: 2))
        func again(_ personality: String) throws {
            let cache = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon(personality, state: cache)
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
            #expect(
                decoded.status == 0 && decoded.errors.contains("continued in another process"), "\(decoded.errors)")
            #expect(decoded.errors.contains("(software: "))
            let software = try hwctl("decode", "off", "b.y4m")
            #expect(software.status == 0)
            let (first, second) = (server.folder.path("a.y4m"), server.folder.path("b.y4m"))
            #expect(FileManager.default.contentsEqual(atPath: first, andPath: second))
            let coded = try hwctl("encode", "prefer", "c.mov")
            #expect(
                coded.status == 0 && coded.errors.contains("decoder: the session continued"), "\(coded.errors)")
            #expect(try Probe(server.folder.path("c.mov")).frameTimes().count == 40)
            #expect(try hwctl("decode", "require", "d.y4m").status == 70)
            #expect(!server.folder.contents.contains("d.y4m"))
        }

        @Test("An encoder that fails after the decoder has been replaced is replaced too")
        func encoderAfterDecoder() throws {
            let cache = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon("decode-crash-at-20,crash-at-30", state: cache)
            let clip = server.folder.path("clip.mp4")
            try Programs.tool(
                "ffmpeg",
                [
                    "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=192x128:rate=25", "-frames:v", "60",
                    "-pix_fmt", "yuv420p", "-c:v", "libx265", "-x265-params", "log-level=none", clip,
                ])
            let output = server.folder.path("out.mov")
            let run = try Programs.hwctl(["encode", clip, output], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            #expect(run.errors.contains("note: decoder: the session continued in another process"), "\(run.errors)")
            #expect(
                run.errors.contains("note: the session continued in another process with a key frame"),
                "\(run.errors)")
            #expect(try Probe(output).frameTimes().count == 60)
        }

        @Test("Where a context does not open, software serves with the reason; -12913 where hardware is required")
        func busy() throws {
            let cache = try Scratch()
            // Verification happens while the driver is not busy.
            let before = try SimulatedDriver.verifiedDaemon(state: cache)
            let stream = try CodedStream(frames: 10, in: cache)
            try #require(try Decoder(before.daemon, stream).session.created.usingHardware)
            let server = try SimulatedDriver.verifiedDaemon("full,busy", state: cache)
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
