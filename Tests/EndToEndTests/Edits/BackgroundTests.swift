// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// `--background`, checked by ffmpeg's overlay and by the formulas of colors.
    @Suite struct Background: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private static let lossless = ["--preset", "ultrafast", "--property", "X265Params=lossless=1"]

        /// Encodes without loss over a color.
        @discardableResult
        private func flatten(_ input: String, _ background: String, _ options: [String] = []) throws -> Finished {
            let run = try Programs.hwctl(
                ["encode", "-y", "--background", background] + Self.lossless + options + [input, path("out.mov")],
                socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            return run
        }

        /// The lowest PSNR of a component and frame against ffmpeg's overlay on a color.
        private func psnr(_ input: String, over color: String) throws -> Double {
            let graph =
                "[0:v]settb=1/25,setpts=N,format=yuv420p[own];[1:v]settb=1/25,setpts=N,split[a][s];"
                + "[s]format=yuv420p,drawbox=c=0x\(color):t=fill,setparams=color_primaries=unknown[b];"
                + "[b][a]overlay=format=yuv420:alpha=straight,format=yuv420p[theirs];[own][theirs]psnr=stats_file=-"
            let run = try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-i", path("out.mov"), "-i", input, "-lavfi", graph, "-f", "null", "-"])
            let values = run.text.split(whereSeparator: { $0 == " " || $0 == "\n" }).compactMap { word -> Double? in
                let pair = word.split(separator: ":")
                guard pair.count == 2, ["psnr_y", "psnr_u", "psnr_v"].contains(pair[0]) else { return nil }
                return pair[1] == "inf" ? 100 : Double(pair[1])
            }
            return try #require(values.min(), "\(run.text) \(run.errors)")
        }

        /// The mean Y', Cb and Cr of the first picture.
        private func codes(_ name: String) throws -> [Double] {
            let bytes = try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-i", path(name), "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"]
            ).output
            let luma = bytes.count * 2 / 3
            func mean(_ part: ArraySlice<UInt8>) -> Double {
                Double(part.reduce(0) { $0 + Int($1) }) / Double(max(1, part.count))
            }
            return [
                mean(bytes[..<luma]), mean(bytes[luma..<luma * 5 / 4]), mean(bytes[(luma * 5 / 4)...]),
            ]
        }

        @Test("Straight alpha over a color is ffmpeg's overlay", arguments: ["000000", "ff8000", "ffffff"])
        func straight(_ color: String) throws {
            let input = Clips.fixture("alpha_prores4444.mov").path
            let run = try flatten(input, color)
            let decibels = try psnr(input, over: color)
            print("\(color): \(decibels) dB; \(run.errors)")
            #expect(decibels > 50)
            #expect(try Probe(path("out.mov")).field("pix_fmt") == "yuv420p")
        }

        @Test("Premultiplied alpha gives the same pictures")
        func premultiplied() throws {
            let input = Clips.fixture("alpha_prores4444.mov").path
            let scaled = "alpha(X,Y)/255"
            let planes =
                "format=yuva444p,geq=lum='16+(lum(X,Y)-16)*\(scaled)':cb='128+(cb(X,Y)-128)*\(scaled)'"
                + ":cr='128+(cr(X,Y)-128)*\(scaled)':a='alpha(X,Y)'"
            try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", input, "-vf", planes, "-c:v", "ffv1", path("in.mkv")])
            try flatten(path("in.mkv"), "2060c0", ["--property", "SourceAlphaMode=premultiplied"])
            let decibels = try psnr(input, over: "2060c0")
            print("premultiplied: \(decibels) dB")
            #expect(decibels > 45)
        }

        @Test("An HEVC alpha layer is flattened, in a smaller size")
        func layer() throws {
            let input = Clips.fixture("alpha_prores4444.mov").path
            try hwctl("encode", "--alpha", "premultiplied", "--quality", "0.9", input, path("layer.mov"))
            try flatten(path("layer.mov"), "ff8000")
            let decibels = try psnr(input, over: "ff8000")
            print("layer: \(decibels) dB")
            #expect(decibels > 30)
            let size = try Probe(input).size
            try flatten(path("layer.mov"), "ff8000", ["--size", "\(size.width / 4 * 2)x-2"])
            #expect(try Probe(path("out.mov")).size.width == size.width / 4 * 2)
        }

        @Test("Where nothing covers it, the color is the one that was named, in sRGB and in Display P3")
        func color() throws {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i",
                    "color=red@0:s=64x48:r=25:d=0.2,format=yuva444p", "-c:v", "ffv1", "-color_primaries", "bt709",
                    "-color_trc", "bt709", "-colorspace", "bt709", "-color_range", "tv", path("clear.mkv"),
                ])
            for (text, isP3) in [("80a060", false), ("80a060@p3", true), ("c05040@p3", true)] {
                try flatten(path("clear.mkv"), text)
                let expected = Self.codes(text, isP3: isP3)
                for (own, other) in zip(try codes("out.mov"), expected) {
                    #expect(abs(own - other) <= 0.5001, "\(text): \(own), \(other)")
                }
            }
        }

        /// BT.709 codes of a color; Display P3 is converted in linear light (gamma 2.4, BT.1886).
        private static func codes(_ text: String, isP3: Bool) -> [Double] {
            let number = UInt32(text.prefix(6), radix: 16) ?? 0
            var rgb = [16, 8, 0].map { Double(number >> UInt32($0) & 255) / 255 }
            if isP3 {
                let light = rgb.map { pow($0, 2.4) }
                // P3-D65 to BT.709.
                let rows = [
                    [1.2249401763, -0.2249401763, 0], [-0.0420569547, 1.0420569547, 0],
                    [-0.0196375546, -0.0786360456, 1.0982736001],
                ]
                rgb = rows.map { row in
                    pow(min(max(zip(row, light).reduce(0) { $0 + $1.0 * $1.1 }, 0), 1), 1 / 2.4)
                }
            }
            let luma = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]
            return [
                16 + 219 * luma, 128 + 224 * (rgb[2] - luma) / 1.8556, 128 + 224 * (rgb[0] - luma) / 1.5748,
            ]
        }

        @Test("An input without alpha stays as it is, with a note")
        func opaque() throws {
            let run = try flatten(Clips.fixture("bbb_720p.mp4").path, "ff0000", ["--duration", "0.2"])
            #expect(run.errors.contains("no alpha, so --background has no effect"), "\(run.errors)")
        }

        @Test(
            "Colors that are none, and alpha that is kept, are refused",
            arguments: [
                ["--background", "red"], ["--background", "12345"], ["--background", "123456@2020"],
                ["--background", "ff0000", "--alpha", "straight"], ["--background", "ff0000", "--copy"],
            ])
        func refused(_ options: [String]) throws {
            let run = try Programs.hwctl(
                ["encode"] + options + [Clips.fixture("alpha_prores4444.mov").path, path("out.mov")],
                socket: server.socket)
            #expect(run.status == 64 && run.errors.contains("--background"), "\(run.errors)")
            #expect(!server.folder.contents.contains("out.mov"))
        }
    }
}
