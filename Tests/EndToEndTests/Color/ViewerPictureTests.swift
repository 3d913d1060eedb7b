// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDEncoderTesting
import HWDTransport
import Testing

extension EndToEnd {
    /// `hwctl decode` to PNG for viewers: tone-mapped to sRGB, and upright.
    @Suite struct ViewerPictures {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private func path(_ name: String) -> String { server.folder.path(name) }

        private func decode(_ input: String, _ output: String, _ options: String...) throws {
            let run = try Programs.hwctl(["decode"] + options + [input, path(output)], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
        }

        /// The pixels of a picture, as ffmpeg reads them.
        private func pixels(_ name: String, as format: String = "rgb24") throws -> [UInt8] {
            try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", path(name), "-f", "rawvideo", "-pix_fmt", format, "-"]
            ).output
        }

        @Test("HDR is tone-mapped to sRGB", arguments: [false, true])
        func toneMapped(isHLG: Bool) throws {
            // E', and that of SDR on a BT.1886 display: BT.2390 from 1000 to 203 cd/m².
            let points =
                isHLG
                ? [(0.5, 0.5609868672599799), (0.75, 0.9034429577151295)]
                : [
                    (0.25, 0.21640950734349854), (0.5, 0.7196208521667193),
                    (0.5806888810416109, 0.9033161183578814),
                    (0.75, 0.9999998770104223),
                ]
            let color = isHLG ? FlatClip.Color.hlg : .pq
            try FlatClip.write(
                points.map { FlatClip.codes(SIMD3(repeating: $0.0), color) }, color, to: path("in.mov"),
                in: server.folder)
            try decode(path("in.mov"), "viewer.png")
            try decode(path("in.mov"), "raw.png", "--raw-color")
            #expect(try Probe(path("viewer.png")).field("pix_fmt") == "rgb24")
            #expect(try Probe(path("raw.png")).field("pix_fmt") == "rgb48be")
            let (viewer, raw) = (try pixels("viewer.png"), try pixels("raw.png"))
            let width = FlatClip.side * points.count
            for (number, point) in points.enumerated() {
                let pixel = 3 * (32 * width + number * FlatClip.side + 32)
                let light = pow(point.1, 2.4)
                let sRGB = light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055
                for component in 0..<3 {
                    #expect(abs(Double(viewer[pixel + component]) - 255 * sRGB) <= 1.5)
                    #expect(abs(Double(raw[pixel + component]) - 255 * point.0) <= 1)
                }
            }
        }

        /// a, b, c and d of a display matrix (ISO/IEC 14496-12 8.3.2), and ffmpeg's filter for it.
        @Test(
            "Pictures are upright",
            arguments: sampled(
                [
                    ([0, 1, -1, 0], "transpose=clock"), ([1, 0, 0, -1], "vflip"),
                    ([0, -1, 1, 0], "transpose=cclock"), ([0, 1, 1, 0], "transpose=cclock_flip"),
                ], oneIn: 2))
        func upright(_ matrix: [Int32], filter: String) throws {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25", "-frames:v", "2", "-c:v",
                    "libx265",
                    "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-x265-params", "log-level=none", "-tag:v",
                    "hvc1",
                    path("plain.mov"),
                ])
            var movie = try Data(contentsOf: URL(fileURLWithPath: path("plain.mov")))
            let header = try #require(movie.range(of: Data("tkhd".utf8)))
            // Version 0: the matrix follows 40 bytes of other fields; a, b and u, then c, d and v.
            for (index, value) in zip([0, 1, 3, 4], matrix) {
                let at = header.upperBound + 40 + 4 * index
                movie.replaceSubrange(
                    at..<at + 4, with: withUnsafeBytes(of: (value * 65536).bigEndian) { Data($0) })
            }
            try movie.write(to: URL(fileURLWithPath: path("in.mov")))
            try decode(path("in.mov"), "upright.png")
            try decode(path("in.mov"), "stored.png", "--raw-color")
            try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", path("stored.png"), "-vf", filter, path("judge.png")])
            #expect(try Probe(path("upright.png")).size == (matrix[0] == 0 ? (64, 96) : (96, 64)))
            #expect(try Probe(path("stored.png")).size == (96, 64))
            #expect(try pixels("upright.png") == pixels("judge.png"))
        }

        @Test("An iPhone's clip is upright and tone-mapped, a picture with alpha is not")
        func otherPictures() throws {
            try decode(Clips.fixture("dolby_vision_84.mov").path, "phone.png")
            #expect(try Probe(path("phone.png")).size == (720, 1280))
            #expect(try Probe(path("phone.png")).field("pix_fmt") == "rgb24")
            try decode(Clips.fixture("dolby_vision_84.mov").path, "stored.png", "--raw-color")
            #expect(try Probe(path("stored.png")).size == (1280, 720))
            try decode(Clips.fixture("bbb_alpha.mov").path, "alpha.png", "--format", "yuva")
            #expect(try Probe(path("alpha.png")).field("pix_fmt") == "rgba")
            let refused = try Programs.hwctl(
                ["decode", "--raw-color", Clips.fixture("pq.mov").path, path("o.y4m")], socket: server.socket)
            #expect(refused.status == 64)
        }
    }
}
