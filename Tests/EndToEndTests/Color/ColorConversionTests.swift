// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDTransport
import Testing

extension EndToEnd {
    /// `hwctl encode` with another color than the source's.
    @Suite struct ColorConversions {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private func path(_ name: String) -> String { server.folder.path(name) }

        private func hwctl(_ arguments: String...) throws -> Finished {
            try Programs.hwctl(arguments, socket: server.socket)
        }

        /// Encodes with little loss and returns the JSON document.
        private func encode(_ input: String, _ output: String, _ options: [String]) throws -> [String: Any] {
            let run = try Programs.hwctl(
                ["encode", "--json", "--preset", "ultrafast", "--qp", "1"] + options + [input, output],
                socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            return try #require(try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
        }

        private func tags(_ file: String) throws -> [String] {
            try ["color_primaries", "color_transfer", "color_space", "pix_fmt"].map { try Probe(file).field($0) }
        }

        /// Whether any frame carries side data of this name.
        private func has(_ name: String, _ file: String) throws -> Bool {
            try Programs.tool(
                "ffprobe",
                ["-v", "error", "-select_streams", "v:0", "-show_frames", "-show_streams", "-of", "json", file]
            ).text.contains(name)
        }

        typealias Pair = (value: SIMD3<Double>, sdr: SIMD3<Double>)

        private static func gray(_ value: Double, _ sdr: Double) -> Pair {
            (SIMD3(repeating: value), SIMD3(repeating: sdr))
        }

        /// E' of PQ and HLG, and of SDR for them: BT.2390's tone mapping on max(R, G, B) from 1000 to 203 cd/m².
        private static let pqPairs: [Pair] = [
            gray(0.1, 0.06837846534226402), gray(0.25, 0.21640950734349854), gray(0.5, 0.7196208521667193),
            gray(0.5806888810416109, 0.9033161183578814), gray(0.65, 0.9789096486639991),
            gray(0.75, 0.9999998770104223),
            (SIMD3(0.5, 0.45, 0.4), SIMD3(0.7981571599734939, 0.5619509179022628, 0.4447057338803342)),
        ]
        private static let hlgPairs: [Pair] = [
            gray(0.5, 0.5609868672599799), gray(0.75, 0.9034429577151295),
            (SIMD3(0.7, 0.6, 0.5), SIMD3(0.9148064586514545, 0.6586759518288926, 0.5489539279829816)),
        ]

        @Test("HDR to SDR: values, tags and metadata", arguments: [false, true])
        func toSDR(isHLG: Bool) throws {
            let (pairs, color) = isHLG ? (Self.hlgPairs, FlatClip.Color.hlg) : (Self.pqPairs, .pq)
            let metadata =
                "hdr10=1:max-cll=1000,400:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)"
                + "L(10000000,50)"
            try FlatClip.write(
                pairs.map { FlatClip.codes($0.value, color) }, color, to: path("in.mov"), in: server.folder,
                x265: isHLG ? "" : metadata)
            #expect(try has("Mastering", path("in.mov")) == !isHLG)
            for (options, format, depth) in [
                (["--hdr", "sdr"], "yuv420p", 8), (["--hdr", "sdr", "--profile", "main10"], "yuv420p10le", 10),
            ].prefix(isHLG ? 1 : 2) {
                let report = try encode(path("in.mov"), path("out.mov"), options)
                #expect(try tags(path("out.mov")) == ["bt709", "bt709", "bt709", format])
                #expect(try !has("Mastering", path("out.mov")) && !has("Content light", path("out.mov")))
                #expect((report["not_copied"] as? [String])?.count { $0.contains("left out") } == (isHLG ? 0 : 2))
                #expect((report["color_conversion"] as? String)?.contains("BT.709 SDR") == true)
                var target = FlatClip.Color.sdr
                target.depth = depth
                for frame in try FlatClip.read(path("out.mov"), patches: pairs.count, depth: depth) {
                    for (read, pair) in zip(frame, pairs) {
                        let off = (read - FlatClip.unrounded(pair.sdr, target)) / Double(1 << (depth - 8))
                        #expect(max(off.max(), -off.min()) <= 1, "\(pair.value): \(off) codes of 8 bits")
                    }
                }
            }
        }

        @Test("From PQ to HLG, HLG to PQ and SDR to both")
        func betweenKindsOfHDR() throws {
            // The last two: SDR's white has 203 cd/m² in both (BT.2408).
            let cases: [(FlatClip.Color, String, [Pair], [String])] = [
                (
                    .hlg, "pq",
                    [
                        Self.gray(0.25, 0.29653314006622733), Self.gray(0.5, 0.44159845897314537),
                        Self.gray(0.75, 0.5807671908638553), Self.gray(1, 0.7518270997704155),
                    ], ["bt2020", "smpte2084", "bt2020nc"]
                ),
                (
                    .pq, "hlg",
                    [
                        Self.gray(0.29653314006622733, 0.25), Self.gray(0.44159845897314537, 0.5),
                        Self.gray(0.5807671908638553, 0.75), Self.gray(0.7518270997704155, 1),
                    ], ["bt2020", "arib-std-b67", "bt2020nc"]
                ),
                (.sdr, "pq", [Self.gray(1, 0.5806888810416109)], ["bt2020", "smpte2084", "bt2020nc"]),
                (.sdr, "hlg", [Self.gray(1, 0.75)], ["bt2020", "arib-std-b67", "bt2020nc"]),
            ]
            for (color, mode, pairs, wanted) in cases {
                try FlatClip.write(
                    pairs.map { FlatClip.codes($0.value, color) }, color, to: path("in.mov"), in: server.folder)
                _ = try encode(path("in.mov"), path("out.mov"), ["--hdr", mode])
                #expect(try tags(path("out.mov")) == wanted + ["yuv420p10le"])
                for frame in try FlatClip.read(path("out.mov"), patches: pairs.count, depth: 10) {
                    for (read, pair) in zip(frame, pairs) {
                        let off = read - FlatClip.unrounded(pair.sdr, .pq)
                        #expect(
                            max(off.max(), -off.min()) <= 2, "\(mode) of \(pair.value): \(off) codes of 10 bits")
                    }
                }
            }
        }

        /// Light of a BT.2020 picture of PQ in cd/m² (BT.2100 table 4), by a formula of this test's own.
        private static func light(_ codes: SIMD3<Double>) -> SIMD3<Double> {
            let value = FlatClip.value(codes, .pq)
            func eotf(_ value: Double) -> Double {
                let p = pow(max(value, 0), 32.0 / 2523)
                return 10000 * pow(max(p - 107.0 / 128, 0) / (2413.0 / 128 - 2392.0 / 128 * p), 16384.0 / 2610)
            }
            return SIMD3(eotf(value.x), eotf(value.y), eotf(value.z))
        }

        /// Light of BT.709 SDR on a display with white at 203 cd/m², in BT.2020's primaries (BT.2087, 10 digits).
        private static func lightOfSDR(_ value: SIMD3<Double>) -> SIMD3<Double> {
            let linear = SIMD3(pow(value.x, 2.4), pow(value.y, 2.4), pow(value.z, 2.4)) * 203
            return SIMD3(
                (SIMD3(0.6274038959, 0.3292830384, 0.0433130657) * linear).sum(),
                (SIMD3(0.0690972894, 0.9195403951, 0.0113623156) * linear).sum(),
                (SIMD3(0.0163914389, 0.0880133079, 0.8955952532) * linear).sum())
        }

        @Test("A PQ clip and an SDR clip joined: PQ throughout, and SDR's white has 203 cd/m²")
        func joined() throws {
            let pq = [0.2, 0.4, 0.58, 0.7].map { FlatClip.codes(SIMD3(repeating: $0), .pq) }
            let colors = [SIMD3(1.0, 1, 1), SIMD3(0.5, 0.5, 0.5), SIMD3(0.8, 0.4, 0.3), SIMD3(0.2, 0.3, 0.7)]
            let sdr = colors.map { FlatClip.codes($0, .sdr) }
            try FlatClip.write(pq, .pq, to: path("pq.hevc"), in: server.folder)
            try FlatClip.write(sdr, .sdr, frames: 4, to: path("sdr.hevc"), in: server.folder)
            let both = try ["pq.hevc", "sdr.hevc"].map { try Data(contentsOf: URL(fileURLWithPath: path($0))) }
            try (both[0] + both[1]).write(to: URL(fileURLWithPath: path("joined.hevc")))

            let report = try encode(path("joined.hevc"), path("out.mov"), [])
            #expect(try tags(path("out.mov")) == ["bt2020", "smpte2084", "bt2020nc", "yuv420p10le"])
            #expect(report["color_changed_frames"] as? Int == 4)
            #expect(
                (report["warnings"] as? [String])?.contains { $0.contains("4 frames") && $0.contains("frame 3") }
                    == true)
            let frames = try FlatClip.read(path("out.mov"), patches: 4, depth: 10)
            try #require(frames.count == 7)
            for frame in frames[..<3] {
                for (read, codes) in zip(frame, pq) {
                    let off = read - SIMD3(Double(codes.x), Double(codes.y), Double(codes.z))
                    #expect(max(off.max(), -off.min()) <= 1)
                }
            }
            for frame in frames[3...] {
                #expect(abs(Self.light(frame[0]).x - 203) < 2)
                for (read, codes) in zip(frame, sdr) {
                    let source = SIMD3(Double(codes.x), Double(codes.y), Double(codes.z))
                    let wanted = Self.lightOfSDR(FlatClip.value(source, .sdr))
                    let off = (Self.light(read) - wanted) / (wanted + 1)
                    // A code of 10 bits is 1 to 2 % of the light here.
                    #expect(max(off.max(), -off.min()) < 0.04, "\(read): \(Self.light(read)), not \(wanted)")
                }
            }

            // The other order: HDR is tone-mapped to the first segment's SDR. --hdr decides otherwise.
            try (both[1] + both[0]).write(to: URL(fileURLWithPath: path("other.hevc")))
            _ = try encode(path("other.hevc"), path("other.mov"), [])
            #expect(try tags(path("other.mov")) == ["bt709", "bt709", "bt709", "yuv420p"])
            let mapped = try FlatClip.read(path("other.mov"), patches: 4, depth: 8)
            #expect(mapped.count == 7 && abs(mapped[6][2].x - (16 + 219 * 0.9023)) < 2)
            _ = try encode(path("other.hevc"), path("hdr.mov"), ["--hdr", "pq"])
            #expect(try tags(path("hdr.mov")) == ["bt2020", "smpte2084", "bt2020nc", "yuv420p10le"])
            let hdr = try FlatClip.read(path("hdr.mov"), patches: 4, depth: 10)
            #expect(
                hdr.count == 7 && abs(Self.light(hdr[0][0]).x - 203) < 2 && abs(hdr[6][2].x - Double(pq[2].x)) <= 1)
        }

        @Test("A change of color in a stream that this process decodes")
        func joinedLocally() throws {
            for (name, transfer, primaries, matrix) in [
                ("a", "smpte2084", "bt2020", "bt2020nc"), ("b", "bt709", "bt709", "bt709"),
            ] {
                try Programs.tool(
                    "ffmpeg",
                    [
                        "-v", "error", "-f", "lavfi", "-i", "color=white:s=128x64:r=25,format=yuv420p", "-frames:v",
                        "3", "-c:v", "libx264", "-qp", "0", "-x264-params",
                        "colorprim=\(primaries):transfer=\(transfer):colormatrix=\(matrix)", "-f", "h264",
                        path("\(name).h264"),
                    ])
            }
            let both = try ["a", "b"].map { try Data(contentsOf: URL(fileURLWithPath: path("\($0).h264"))) }
            try (both[0] + both[1]).write(to: URL(fileURLWithPath: path("joined.h264")))
            let report = try encode(path("joined.h264"), path("out.mov"), [])
            #expect(try tags(path("out.mov")) == ["bt2020", "smpte2084", "bt2020nc", "yuv420p"])
            #expect(report["color_changed_frames"] as? Int == 3)
            let frames = try FlatClip.read(path("out.mov"), patches: 2, depth: 8)
            #expect(frames.count == 6 && frames[0][0].x == 235)
            #expect(abs(frames[5][0].x - (16 + 219 * 0.5806888810416109)) <= 1)
        }

        @Test("Properties of color convert; --retag changes the description alone")
        func properties() throws {
            let color = FlatClip.Color.pq
            let metadata = "hdr10=1:max-cll=1000,400"
            try FlatClip.write(
                [FlatClip.codes(SIMD3(repeating: 0.5), color)], color, to: path("in.mov"), in: server.folder,
                x265: metadata)
            let asked = [
                "--property", "TransferFunction=ITU_R_709_2", "--property", "ColorPrimaries=1", "--property",
                "YCbCrMatrix=1",
            ]
            var report = try encode(path("in.mov"), path("converted.mov"), asked)
            #expect(try tags(path("converted.mov")) == ["bt709", "bt709", "bt709", "yuv420p10le"])
            #expect(report["color_conversion"] != nil && report["PixelTransferDevice"] != nil)
            let converted = try FlatClip.read(path("converted.mov"), patches: 1, depth: 10)[0][0]
            #expect(abs(converted.x - (64 + 876 * 0.7196208521667193)) < 3)

            report = try encode(path("in.mov"), path("retagged.mov"), asked + ["--retag"])
            #expect(try tags(path("retagged.mov")) == ["bt709", "bt709", "bt709", "yuv420p10le"])
            #expect(report["PixelTransferDevice"] == nil)
            #expect(try !has("Content light", path("retagged.mov")) && has("Content light", path("in.mov")))
            let retagged = try FlatClip.read(path("retagged.mov"), patches: 1, depth: 10)[0][0]
            #expect(abs(retagged.x - 502) <= 1)

            // What a source leaves unspecified is described, not converted.
            let raw = path("plain.y4m")
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "color=gray:s=64x64:r=25,format=yuv420p", "-frames:v", "2",
                    raw,
                ])
            report = try encode(raw, path("described.mov"), asked)
            #expect(report["PixelTransferDevice"] == nil)
            #expect(try tags(path("described.mov")) == ["bt709", "bt709", "bt709", "yuv420p"])
            #expect(try abs(FlatClip.read(path("described.mov"), patches: 1, depth: 8)[0][0].x - 126) <= 1)
        }

        @Test("HDR to SDR leaves out Dolby Vision, and --hdr hlg of HLG does not")
        func dolbyVision() throws {
            let clip = Clips.fixture("dolby_vision_84.mov").path
            _ = try encode(clip, path("hlg.mov"), ["--hdr", "hlg"])
            #expect(try has("DOVI", path("hlg.mov")))
            let report = try encode(clip, path("sdr.mov"), ["--hdr", "sdr"])
            #expect(try !has("DOVI", path("sdr.mov")) && !has("Dolby", path("sdr.mov")))
            let movie = try Data(contentsOf: URL(fileURLWithPath: path("sdr.mov")))
            #expect(movie.range(of: Data("dvvC".utf8)) == nil && movie.range(of: Data("amve".utf8)) == nil)
            #expect((report["not_copied"] as? [String])?.contains { $0.contains("Dolby Vision") } == true)
            #expect((report["warnings"] as? [String])?.contains { $0.contains("dynamic HDR metadata") } == true)
        }

        @Test func refusals() throws {
            try FlatClip.write([FlatClip.Codes(502, 512, 512)], .pq, to: path("in.mov"), in: server.folder)
            #expect(try hwctl("encode", "--retag", path("in.mov"), path("o.mov")).status == 64)
            #expect(
                try hwctl(
                    "encode", "--retag", "--hdr", "sdr", "--property", "YCbCrMatrix=1", path("in.mov"),
                    path("o.mov")
                ).status == 64)
            let film = try hwctl("encode", "--property", "ColorPrimaries=8", path("in.mov"), path("o.mov"))
            #expect(film.status == 65 && film.complaints.count == 1 && film.errors.contains("film"))
            let alpha = try hwctl(
                "encode", "--alpha", "straight", "--hdr", "pq", Clips.fixture("alpha_prores4444.mov").path,
                path("o.mov"))
            #expect(alpha.status == 65 && alpha.complaints.count == 1 && alpha.errors.contains("alpha"))
            #expect(!FileManager.default.fileExists(atPath: path("o.mov")))
        }
    }
}
