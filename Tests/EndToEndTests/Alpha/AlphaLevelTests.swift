// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import HWDWire
import Testing

extension EndToEnd {
    /// Files with alpha and temporal levels: dropping levels leaves the others intact in both layers.
    @Suite struct AlphaLevels {
        private static let frames = 17
        private static let size = (width: 128, height: 96)

        private struct Track {
            var rates: [String?]
            var layers: Int?
            var followsProfile: Bool?
            var faults: [String]?

            init(_ path: String) throws {
                let run = try Programs.hwctl(["info", "--json", "--no-measure", path])
                try #require(run.status == 0, "\(run.errors)")
                let object = try #require(
                    try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
                let video = try #require((object["video"] as? [[String: Any]])?.first)
                rates = (video["temporal_levels"] as? [[String: Any]] ?? []).map { $0["frame_rate"] as? String }
                layers = video["temporal_layers"] as? Int
                followsProfile = video["follows_alpha_profile"] as? Bool
                faults = video["annotation_faults"] as? [String]
            }
        }

        private func decode(_ server: TestDaemon, _ arguments: [String]) throws -> [UInt8] {
            let output = server.folder.path("out.yuv")
            let run = try Programs.hwctl(
                ["decode", "--format", "yuva"] + arguments + [output], socket: server.socket)
            try #require(run.status == 0 && !run.errors.contains("warning"), "\(run.errors)")
            return Array(try Data(contentsOf: URL(fileURLWithPath: output)))
        }

        /// Encodes a clip and drops its levels.
        private func check(_ server: TestDaemon, _ options: [String], _ ending: String) throws {
            let (width, height) = Self.size
            let (color, frame) = (width * height * 3 / 2, width * height * 5 / 2)
            let clip = try Alpha.clip(
                server.folder, "source.mov", ["-c:v", "qtrle", "-pix_fmt", "argb"], size: "\(width)x\(height)",
                rate: 240, frames: Self.frames)
            let path = server.folder.path("whole.\(ending)")
            let run = try Programs.hwctl(
                ["encode", "--base-layer-frame-rate", "30", "--expected-frame-rate", "240"] + options
                    + [clip, path], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            let track = try Track(path)
            #expect(track.rates == ["30/1", "60/1", "120/1", "240/1"])
            #expect(track.followsProfile == true && track.faults == nil)
            let whole = try decode(server, [path])
            try #require(whole.count == Self.frames * frame)

            for limit in [0, 2] {
                let left = (0..<Self.frames).filter { $0 % (8 >> limit) == 0 }
                let expected = left.flatMap { whole[($0 * frame)..<(($0 + 1) * frame)] }
                let base = left.flatMap { whole[($0 * frame)..<($0 * frame + color)] }
                let dropped = try decode(server, ["--max-level", "\(limit)", path]) == expected
                #expect(dropped, "decoding levels 0 to \(limit)")
                let cut = server.folder.path("cut.\(ending)")
                let copy = try Programs.hwctl(["encode", "--copy", "--max-level", "\(limit)", path, cut])
                try #require(copy.status == 0 && !copy.errors.contains("warning"), "\(copy.errors)")
                let copied = try decode(server, [cut]) == expected
                #expect(copied, "a copy of levels 0 to \(limit)")
                // Decoders without support for layers decode the base layer.
                #expect(try Probe(cut).samples("yuv420p") == base)
                #expect(try Probe(cut).decodingMessages() == "")
                let (stream, output) = (server.folder.path("base.hevc"), server.folder.path("libde265.yuv"))
                try Data(try Alpha.Layers(cut).stream(0)).write(to: URL(fileURLWithPath: stream))
                try Programs.tool("libde265-dec265", ["-q", "-o", output, stream])
                let isSame = try Data(contentsOf: URL(fileURLWithPath: output)).elementsEqual(base)
                #expect(isSame, "libde265 and levels 0 to \(limit)")
                let track = try Track(cut)
                #expect(track.layers == limit + 1 && track.followsProfile == true && track.faults == nil)
            }
        }

        @Test(
            "In software every cut keeps color and alpha",
            arguments: [("mov", "straight"), ("mp4", "premultiplied")])
        func software(ending: String, mode: String) throws {
            let server = try TestDaemon()
            try check(server, ["--alpha", mode, "--hardware", "off", "--preset", "ultrafast"], ending)
            // A session's level limit drops pictures in both layers and leaves the others intact.
            let stream = try CodedStream(server.folder.path("whole.\(ending)"))
            let whole = try Decoder(server.daemon, stream, pixelFormat: .yuva)
            try whole.decode(stream)
            let part = try Decoder(
                server.daemon, stream, pixelFormat: .yuva, properties: [.maxTemporalLevel: .int(1)])
            try part.decode(stream)
            #expect(whole.frames.count == Self.frames && part.frames.count == 5 && part.reports.count == 12)
            #expect(part.frames.allSatisfy { $0.description.flags.contains(.alpha) })
            let isSame = zip(part.frames, stride(from: 0, to: Self.frames, by: 4)).allSatisfy {
                $0.samples == whole.frames[$1].samples
            }
            #expect(isSame)
        }

        @Test(
            "Hardware serves where the driver takes packed headers, else software with the reason")
        func hardware() throws {
            try check(try Hardware.daemon("intel-lp"), ["--alpha", "straight", "--hardware", "require"], "mov")
            let server = try Hardware.daemon("mesa22")
            let clip = try Alpha.clip(
                server.folder, "source.mov", ["-c:v", "qtrle", "-pix_fmt", "argb"], size: "64x64", rate: 240)
            let run = try Programs.hwctl(
                [
                    "encode", "--alpha", "straight", "--base-layer-frame-rate", "60", "--expected-frame-rate",
                    "240", "--json", clip, server.folder.path("out.mov"),
                ], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            #expect(run.text.contains("slice headers"), "\(run.text)")
        }
    }
}
