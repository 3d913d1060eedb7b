// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDWire
import Testing

extension EndToEnd {
    /// Alpha layers through sessions and hwctl.
    @Suite struct AlphaDecoding {
        /// MD5 of the clip's concatenated pictures: Y, Cb, Cr and A of each, rows without gaps.
        ///
        /// Computed with FFmpeg 8.1's two-layer decoder, through PyAV, as yuva420p in presentation order.
        static let digest = "3df31192943e3ae8f393dd344b8170fc"

        static func clip() throws -> String {
            Clips.fixture("bbb_alpha.mov").path
        }

        static func digest(_ path: String) throws -> String {
            String(try Programs.tool("md5sum", [path]).text.prefix(32))
        }

        @Test("A session decodes alpha on request and reports its mode")
        func session() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(try Self.clip())
            let decoder = try Decoder(server.daemon, stream, pixelFormat: .yuva)
            #expect(decoder.session.created.pixelFormat == "YUVA")
            let properties = try decoder.session.copyProperties()
            #expect(properties[.containsAlphaChannel] == .bool(true))
            #expect(properties[.alphaChannelMode] == .string("straight"))
            try decoder.decode(stream)
            let path = server.folder.path("session.yuva")
            try Data(decoder.frames.flatMap(\.samples)).write(to: URL(fileURLWithPath: path))
            #expect(try Self.digest(path) == Self.digest)
            #expect(
                decoder.frames.allSatisfy {
                    $0.description.flags.isDisjoint(with: [.alphaMissing, .premultiplied])
                })
            #expect(decoder.frames.allSatisfy { $0.description.flags.contains(.alpha) })
            #expect(decoder.reports.isEmpty)

            let base = try Decoder(server.daemon, stream, pixelFormat: .yu12)
            try base.decode(stream)
            let isSame = zip(base.frames, decoder.frames).allSatisfy { base, both in
                base.samples == Array(both.samples.prefix(base.samples.count))
            }
            #expect(isSame && base.frames.count == 12)
            #expect(base.frames.allSatisfy { !$0.description.flags.contains(.alpha) })
        }

        @Test("RGB without tags comes back with the same colors, because the stream is tagged as sRGB")
        func untaggedRGB() throws {
            let server = try TestDaemon()
            let (source, coded) = (server.folder.path("gradient.mov"), server.folder.path("coded.mov"))
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi", "-i", "gradients=size=160x96:duration=0.12:seed=7,format=argb"]
                    + ["-vf", "colorchannelmixer=aa=0.7", "-c:v", "qtrle", source])
            let raw = try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", source, "-pix_fmt", "rgba", "-f", "rawvideo", "-"])
            let encode = try Programs.hwctl(
                ["encode", "--quality", "1", "--alpha", "straight", source, coded], socket: server.socket)
            try #require(encode.status == 0, "\(encode.errors)")
            let tags = try Programs.tool(
                "ffprobe",
                ["-v", "error", "-select_streams", "v", "-show_entries", "stream=color_primaries,color_transfer"]
                    + ["-of", "default=nokey=1:noprint_wrappers=1", coded])
            #expect(tags.text.split(separator: "\n") == ["iec61966-2-1", "bt709"])
            for format in ["rgba8", "bgra8"] {
                let output = server.folder.path("out.raw")
                let decode = try Programs.hwctl(
                    ["decode", "--format", format, coded, output], socket: server.socket)
                try #require(decode.status == 0, "\(decode.errors)")
                let pixels = try [UInt8](Data(contentsOf: URL(fileURLWithPath: output)))
                try #require(pixels.count == raw.output.count && !pixels.isEmpty)
                // Green is the second byte in both formats.
                let differences = stride(from: 1, to: pixels.count, by: 4).map {
                    Int(pixels[$0]) - Int(raw.output[$0])
                }
                let mean = Double(differences.reduce(0, +)) / Double(differences.count)
                #expect(mean.magnitude < 1.5, "\(format): \(mean)")
            }
        }

        @Test("Effects on pictures with alpha are refused, because the alpha layer would be lost")
        func effects() throws {
            let server = try TestDaemon()
            let (coded, output) = (server.folder.path("coded.mov"), server.folder.path("out.raw"))
            let encode = try Programs.hwctl(
                ["encode", "--alpha", "straight", Clips.fixture("alpha_prores4444.mov").path, coded],
                socket: server.socket)
            try #require(encode.status == 0, "\(encode.errors)")
            let arguments = ["decode", "--effect", "exposure:ev=1"]
            let refused = try Programs.hwctl(
                arguments + ["--format", "rgba8", coded, output], socket: server.socket)
            #expect(refused.status != 0, "\(refused.errors)")
            #expect(refused.errors.contains("--effect is not possible for frames with alpha"), "\(refused.errors)")
            #expect(!FileManager.default.fileExists(atPath: output))
            let opaque = try Programs.hwctl(arguments + [coded, output], socket: server.socket)
            #expect(opaque.status == 0, "\(opaque.errors)")
        }

        @Test("Pictures in RGB carry the stream's alpha, straight or premultiplied")
        func rgb() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(try Self.clip())
            func decode(_ format: PixelFormat, _ mode: String? = nil) throws -> Decoder {
                let decoder = try Decoder(
                    server.daemon, stream, pixelFormat: format,
                    properties: mode.map { [.destinationAlphaMode: .string($0)] } ?? [:])
                for unit in stream.units.prefix(1) { try decoder.decode(unit) }
                try decoder.finish()
                return decoder
            }
            let alpha = try #require(try decode(.yuva).frames.first).samples.suffix(640 * 360)
            let (straight, multiplied) = (try decode(.rgba8), try decode(.rgba8, "premultiplied"))
            let (plain, bytes) = (try #require(straight.frames.first), try #require(multiplied.frames.first))
            #expect(plain.description.flags.intersection([.alpha, .premultiplied]) == .alpha)
            #expect(bytes.description.flags.isSuperset(of: [.alpha, .premultiplied]))
            let swapped = try #require(try decode(.bgra8).frames.first).samples
            let halves = try #require(try decode(.rgba16f).frames.first).samples
            var (wrong, worst) = (0, 0)
            for (index, value) in alpha.enumerated() where index % 7 == 0 {
                let at = 4 * index
                let half = Float16(
                    bitPattern: UInt16(halves[2 * at + 6]) | UInt16(halves[2 * at + 7]) << 8)
                if plain.samples[at + 3] != value || bytes.samples[at + 3] != value || swapped[at + 3] != value
                    || abs(Float(half) - Float(value) / 255) > 0.001
                {
                    wrong += 1
                }
                let expected = (Int(plain.samples[at + 1]) * Int(value) + 127) / 255
                worst = max(worst, abs(Int(bytes.samples[at + 1]) - expected))
            }
            #expect(wrong == 0 && worst <= 1)
        }

        @Test("A stream without alpha is opaque")
        func opaque() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(width: 66, height: 50, frames: 5, in: server.folder)
            let decoder = try Decoder(server.daemon, stream, pixelFormat: .yuva)
            #expect(try decoder.session.copyProperties()[.containsAlphaChannel] == .bool(false))
            try decoder.decode(stream)
            #expect(decoder.frames.count == 5 && decoder.reports.isEmpty)
            for frame in decoder.frames {
                #expect(frame.samples.suffix(66 * 50).allSatisfy { $0 == 255 })
                #expect(frame.description.flags.isDisjoint(with: [.alpha, .alphaMissing]))
            }
        }

        @Test("Each packet without its alpha slice is reported once, and its picture is decoded")
        func lost() throws {
            let server = try TestDaemon()
            var stream = try CodedStream(try Self.clip())
            for index in [3, 5] {
                // The alpha layer's slice is the second NAL unit.
                let bytes = stream.units[index].bytes
                let length = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
                stream.units[index].bytes = Array(bytes.prefix(4 + length))
            }
            let decoder = try Decoder(server.daemon, stream, pixelFormat: .yuva)
            try decoder.decode(stream)
            #expect(decoder.frames.count == 12)
            #expect(decoder.frames.count { $0.description.flags.contains(.alphaMissing) } == 2)
            #expect(decoder.reports.map(\.flags) == [.alpha, .alpha])
            #expect(decoder.reports.allSatisfy { $0.reason.contains("alpha layer") })
        }

        @Test("Hardware decodes both layers to the same samples as software")
        func hardware() throws {
            let cache = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon(state: cache)
            let stream = try CodedStream(try Self.clip())
            let decoder = try Decoder(
                server.daemon, stream, pixelFormat: .yuva, specification: HardwareDecoding.require)
            #expect(decoder.session.created.usingHardware)
            try decoder.decode(stream)
            #expect(decoder.frames.allSatisfy { $0.description.flags.isSuperset(of: [.hardware, .alpha]) })
            let path = server.folder.path("hardware.yuva")
            try Data(decoder.frames.flatMap(\.samples)).write(to: URL(fileURLWithPath: path))
            #expect(try Self.digest(path) == Self.digest)
        }

        @Test("hwctl writes alpha to raw files and PNG, composites it over a color, and reports it")
        func hwctl() throws {
            let server = try TestDaemon()
            let clip = try Self.clip()
            func decode(_ arguments: [String], _ output: String) throws -> Finished {
                let run = try Programs.hwctl(
                    ["decode"] + arguments + [clip, server.folder.path(output)], socket: server.socket)
                #expect(run.status == 0, "\(run.errors)")
                return run
            }
            _ = try decode(["--format", "yuva"], "a.yuv")
            #expect(try Self.digest(server.folder.path("a.yuv")) == Self.digest)

            _ = try decode(["--format", "yuva"], "a.png")
            #expect(try Probe(server.folder.path("a.png")).field("pix_fmt") == "rgba")
            let raw = try Data(contentsOf: URL(fileURLWithPath: server.folder.path("a.yuv"))).prefix(
                640 * 360 * 5 / 2)
            let arguments = [
                "-v", "error", "-i", server.folder.path("a.png"), "-vf", "alphaextract", "-f", "rawvideo",
            ]
            let alpha = try Programs.tool("ffmpeg", arguments + ["-pix_fmt", "gray", "-"]).output
            #expect(alpha == Array(raw.suffix(640 * 360)))

            // The transparent corner shows the background, red in BT.601.
            _ = try decode(["--background", "ff0000"], "red.yuv")
            let red = try Data(contentsOf: URL(fileURLWithPath: server.folder.path("red.yuv")))
            #expect(red.count == 12 * 640 * 360 * 3 / 2)
            #expect([red[0], red[640 * 360], red[640 * 360 * 5 / 4]] == [81, 90, 240])

            let base = try decode([], "b.y4m")
            #expect(base.errors.contains("alpha layer"))
            let y4m = try Programs.hwctl(["decode", "--format", "yuva", clip, "c.y4m"], socket: server.socket)
            #expect(y4m.status == 64)

            let info = try Programs.hwctl(["info", "--no-measure", "--json", clip], socket: server.socket)
            let document = try JSON.decode(Info.self, from: info.output)
            #expect(document.containsAlpha && document.video.first?.alphaMode == "straight")
            #expect(document.video.first?.followsAlphaProfile == false)
            #expect(document.video.first?.alphaDeviations?.count == 3)
        }

        @Test(
            "Transparent and opaque pixels of RGBA stay so through a file",
            arguments: ["premultiplied", "straight"])
        func roundTrip(_ mode: String) throws {
            let server = try TestDaemon()
            func file(_ name: String) -> String { server.folder.path(name) }
            // Left transparent, right opaque, a ramp between.
            let graph =
                "testsrc2=size=160x96:rate=25,format=rgba,"
                + "geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='clip((X-48)*4,0,255)'"
            try Programs.tool(
                "ffmpeg", ["-v", "error", "-f", "lavfi", "-i", graph, "-frames:v", "4", file("in-%d.png")])
            func hwctl(_ arguments: [String]) throws {
                let run = try Programs.hwctl(arguments, socket: server.socket)
                try #require(run.status == 0, "\(run.errors)")
            }
            try hwctl(
                [
                    "encode", "--alpha", mode, "--alpha-quality", "0.9", "--quality", "0.95", "--preset",
                    "ultrafast",
                    file("in-%d.png"), file("clip.mov"),
                ])
            try hwctl(["decode", "--format", "yuva", file("clip.mov"), file("out-%d.png")])
            // A byte stream is split into its layers, which are joined again.
            try hwctl(["encode", "--alpha", mode, "--preset", "ultrafast", file("clip.mov"), file("raw.hevc")])
            let raw = try Programs.hwctl(
                ["decode", "--json", "--format", "yuva", file("raw.hevc"), file("raw.yuv")], socket: server.socket)
            let summary = try JSON.decode(Summary.self, from: raw.output)
            #expect(summary == Summary(alphaMode: mode, missing: 0, dropped: 0, frames: 4))
            for number in 1...4 { try Self.compare(file("in-\(number).png"), file("out-\(number).png")) }
            // Without --alpha the file has only the base layer; with it an HEVC input keeps its alpha.
            try hwctl(["encode", file("clip.mov"), file("base.mov")])
            let base = try Programs.hwctl(
                ["info", "--no-measure", "--json", file("base.mov")], socket: server.socket)
            #expect(try JSON.decode(Info.self, from: base.output).containsAlpha == false)
            try hwctl(["encode", "--alpha", mode, "--preset", "ultrafast", file("clip.mov"), file("again.mov")])
            let again = try Programs.hwctl(
                ["info", "--no-measure", "--json", file("again.mov")], socket: server.socket)
            let document = try JSON.decode(Info.self, from: again.output)
            #expect(document.video.first?.alphaMode == mode && document.video.first?.followsAlphaProfile == true)
        }

        /// Compares two pictures of 160x96: alpha where it was 0 or 255, and green where it was opaque.
        private static func compare(_ first: String, _ second: String) throws {
            func pixels(_ path: String) throws -> [UInt8] {
                try Programs.tool(
                    "ffmpeg", ["-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgba", "-"]
                ).output
            }
            let (before, after) = (try pixels(first), try pixels(second))
            try #require(before.count == after.count && before.count == 160 * 96 * 4)
            var (worst, error, opaque) = (0, 0, 0)
            for pixel in stride(from: 0, to: before.count, by: 4) {
                let alpha = before[pixel + 3]
                if alpha == 0 || alpha == 255 { worst = max(worst, abs(Int(alpha) - Int(after[pixel + 3]))) }
                guard alpha == 255 else { continue }
                opaque += 1
                error += abs(Int(before[pixel + 1]) - Int(after[pixel + 1]))
            }
            // 4:2:0 blurs chroma, so only the mean error of green is bounded.
            #expect(worst <= 3 && opaque > 0 && error / opaque < 12, "\(worst), \(error / max(1, opaque))")
        }

        struct Summary: Decodable, Equatable {
            var alphaMode: String?
            var missing: Int
            var dropped: Int
            var frames: Int

            enum CodingKeys: String, CodingKey {
                case alphaMode = "alpha_mode"
                case missing = "alpha_missing_frames"
                case dropped = "dropped_frames"
                case frames
            }
        }

        struct Info: Decodable {
            struct Track: Decodable {
                var alphaMode: String?
                var followsAlphaProfile: Bool?
                var alphaDeviations: [String]?

                enum CodingKeys: String, CodingKey {
                    case alphaMode = "alpha_mode"
                    case followsAlphaProfile = "follows_alpha_profile"
                    case alphaDeviations = "alpha_profile_deviations"
                }
            }

            var containsAlpha: Bool
            var video: [Track]

            enum CodingKeys: String, CodingKey {
                case containsAlpha = "contains_alpha"
                case video
            }
        }
    }
}
