// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

extension VulkanTests {
    /// Flat patches compared with ffmpeg's zscale (libzimg), an independent implementation.
    ///
    /// libzimg filters chroma differently at edges, which leaves the middle of patches the same. Sources are planar, because
    /// ffmpeg passes P010 to zscale as 16-bit words, 0.1 % too low at full range.
    @Suite(.enabled(if: access("/usr/bin/ffmpeg", X_OK) == 0, "ffmpeg is not installed"))
    struct Judge {
        /// 8 by 4 patches of 16x16 with codes of the nominal range.
        func patches(_ seed: UInt64) -> Picture {
            let colors = Picture.noise(.i010, 16, 8, seed: seed)
            var picture = Picture(.i010, width: 128, height: 64)
            for y in 0..<64 {
                for x in 0..<128 { picture[0, x, y] = 200 + colors[0, x / 16, y / 16] / 2 }
            }
            for component in 1...2 {
                for y in 0..<32 {
                    for x in 0..<64 {
                        picture[component, x, y] = 448 + colors[component, x / 8, y / 8] / 8
                    }
                }
            }
            return picture
        }

        /// zscale's picture: planes G, B, R of floats.
        func zscale(_ picture: Picture, _ options: String) throws -> [Float] {
            let folder = TestDevice.cacheFolder
            let (input, output) = ("\(folder)/judge.i010", "\(folder)/judge.gbrpf32le")
            let file = try #require(fopen(input, "w"))
            for plane in picture.planes { #expect(fwrite(plane, 1, plane.count, file) == plane.count) }
            fclose(file)
            let command = """
                ffmpeg -v error -y -f rawvideo -pix_fmt yuv420p10le -s \(picture.width)x\(picture.height) -i '\(input)' \
                -vf 'zscale=f=bilinear:\(options),format=gbrpf32le' -f rawvideo '\(output)' </dev/null
                """
            #expect(system(command) == 0)
            let result = try #require(fopen(output, "r"))
            defer { fclose(result) }
            var values = [Float](repeating: 0, count: 3 * picture.width * picture.height)
            #expect(fread(&values, 4, values.count, result) == values.count)
            return values
        }

        static let cases: [(SignalDescription, Primaries, String)] = [
            (
                SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020), .displayP3,
                "pin=bt2020:tin=smpte2084:min=bt2020nc:rin=tv:t=linear:p=smpte432:m=gbr:npl=203"
            ),
            (
                SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020, isFullRange: true), .bt709,
                "pin=bt2020:tin=smpte2084:min=bt2020nc:rin=pc:t=linear:p=bt709:m=gbr:npl=203"
            ),
            (
                SignalDescription(transfer: .sRGB), .bt2020,
                "pin=bt709:tin=iec61966-2-1:min=bt709:rin=tv:t=linear:p=bt2020:m=gbr"
            ),
            (
                SignalDescription(primaries: .bt601_525, transfer: .bt1886, matrix: .bt601), .bt709,
                "pin=smpte170m:tin=bt709:min=smpte170m:rin=tv:t=linear:p=bt709:m=gbr"
            ),
        ]

        @Test("zscale agrees", arguments: 0..<cases.count)
        func agrees(index: Int) throws {
            let (signal, primaries, options) = Self.cases[index]
            let picture = patches(UInt64(index + 5))
            let theirs = try zscale(picture, options)
            let conversion = Conversion(
                source: ImageDescription(format: .i010, width: 128, height: 64, signal: signal),
                target: ImageDescription(
                    format: .rgba16f, width: 128, height: 64, signal: SignalDescription(primaries: primaries)))
            let plan = try ConversionPlan(conversion)
            let converters: [any PixelConverter] = [
                try VulkanConverter(plan, on: TestDevice.get()), try CPUConverter(conversion, threads: 1),
            ]
            for converter in converters {
                let ours = try convert(picture, with: converter, to: .rgba16f)
                var compared = 0
                for y in stride(from: 8, to: 64, by: 16) {
                    for x in stride(from: 8, to: 128, by: 16) {
                        // Where a channel left 0…1 before it became light, libzimg does not clamp and we do.
                        let value = plan.decode(plan.codes(of: picture, x, y))
                        guard value.min() >= 0, value.max() <= 1 else { continue }
                        compared += 1
                        let place = y * 128 + x
                        let their = [2, 0, 1].map { Double(theirs[$0 * 128 * 64 + place]) }
                        let largest = their.map(abs).max() ?? 0
                        for component in 0..<3 {
                            let mine = Half.value(UInt16(ours[component, x, y]))
                            #expect(
                                abs(mine - their[component]) <= largest * 1e-3,
                                "\(converter.device): \(mine), zscale \(their[component]) at \(x),\(y)")
                        }
                    }
                }
                #expect(compared >= 8)
            }
        }
    }
}

extension ConversionPlan {
    /// A pixel's codes with the nearest chroma sample, which is exact within a patch.
    fileprivate func codes(of picture: Picture, _ x: Int, _ y: Int) -> Triple {
        [Double(picture[0, x, y]), Double(picture[1, x / 2, y / 2]), Double(picture[2, x / 2, y / 2])]
    }
}
