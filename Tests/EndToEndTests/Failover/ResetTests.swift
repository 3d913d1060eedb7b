// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDWire
import Testing

private typealias Failover = EndToEndFaults.Failover

extension EndToEndFaults.Failover {
    /// A GPU that is reset: every session on it fails at once.
    @Suite struct Reset {
        private static func stream(keyFrameInterval: Int, in folder: Scratch) throws -> CodedStream {
            let clip = folder.path("clip.mp4")
            try Programs.tool(
                "ffmpeg",
                [
                    "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=192x128:rate=30", "-frames:v", "60",
                    "-pix_fmt", "yuv420p", "-c:v", "libx265", "-x265-params",
                    "log-level=none:keyint=\(keyFrameInterval):min-keyint=\(keyFrameInterval)", clip,
                ])
            return try CodedStream(clip)
        }

        @Test("A decoder whose hardware fails beside a key frame continues in software with every picture")
        func besideKeyFrames() throws { try Self.checkBesideKeyFrames([12, 13, 25]) }

        /// Decodes while hardware fails at a picture; key frames are 12 pictures apart.
        static func checkBesideKeyFrames(_ positions: [Int]) throws {
            let faulty = try Faulty()
            let stream = try Self.stream(keyFrameInterval: 12, in: faulty.server.folder)
            let software = try Decoder(
                faulty.server.daemon, stream, pixelFormat: .nv12,
                specification: [.enableHardwareDecoder: .bool(false)])
            try software.decode(stream)
            for position in positions {
                try faulty.fail(["decode-fail \(position)"])
                let decoder = try Decoder(faulty.server.daemon, stream)
                try #require(decoder.session.created.usingHardware)
                try decoder.decode(stream)
                let properties = try decoder.session.copyProperties()
                #expect(properties[.usingHardwareDecoder] == .bool(false), "\(position)")
                let isSame = decoder.frames == software.frames
                #expect(isSame && decoder.frames.count == 60, "\(position)")
            }
        }

        @Test("All sessions of a GPU that is reset continue, each after a delay of its own")
        func reset() throws {
            let faulty = try Faulty()
            let stream = try Self.stream(keyFrameInterval: 60, in: faulty.server.folder)
            let (server, raw) = (faulty.server, faulty.raw)
            try "gpu-reset 30\n".write(
                toFile: faulty.state.path("plan/faults"), atomically: false, encoding: .utf8)
            let decoder = try Decoder(server.daemon, stream)
            try #require(decoder.session.created.usingHardware)
            let encoders = try (0..<4).map { _ in
                let encoder = try Encoder(
                    server.daemon, .nv12, width: Failover.width, height: Failover.height,
                    properties: Structure.pyramid.properties)
                try #require(encoder.session.created.usingHardware)
                return encoder
            }
            for (index, frame) in raw.frames.enumerated() {
                for encoder in encoders { try encoder.encode(frame) }
                try decoder.decode(stream.units[index])
            }
            for encoder in encoders { try encoder.finish() }
            try decoder.finish()
            for (index, encoder) in encoders.enumerated() {
                #expect(encoder.session.created.usingHardware && encoder.session.restartCount == 1)
                try EndToEnd.EncodedRun(encoder: encoder, raw: raw).check("session \(index)")
            }
            // A decoder whose hardware fails continues in software in the same process.
            let properties = try decoder.session.copyProperties()
            #expect(properties[.usingHardwareDecoder] == .bool(false) && decoder.session.restartCount == 0)
            let software = try Decoder(
                server.daemon, stream, pixelFormat: .nv12, specification: [.enableHardwareDecoder: .bool(false)])
            try software.decode(stream)
            let isSame = decoder.frames == software.frames
            #expect(isSame && decoder.frames.count == 60)

            let delays = server.log.split(separator: "\n").filter {
                $0.contains("session continues in another process")
            }
            .compactMap { $0.firstMatch(of: /delay_ms[=:] ?"?([0-9]+)/).flatMap { Int($0.1) } }
            #expect(delays.count == 4 && delays.allSatisfy { (0...500).contains($0) }, "\(delays)")
            #expect(Set(delays).count > 1, "\(delays)")
        }
    }
}
