// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDColor
import HWDModel
import HWDConversion
import Testing

/// Scaled pictures compared with ffmpeg's zscale (libzimg), an independent implementation.
///
/// libzimg takes no odd sizes in 4:2:0; planes of grey and of RGB stand for those.
@Suite(.serialized, .enabled(if: access("/usr/bin/ffmpeg", X_OK) == 0, "ffmpeg is not installed"))
struct ScalingJudgeTests {
    /// What zscale makes of a picture's bytes.
    private func zscale(
        _ bytes: [UInt8], _ format: String, from: (Int, Int), to: (Int, Int), _ options: String = "filter=lanczos"
    ) throws -> [UInt8] {
        var template = Array("/tmp/hwdaemon-scaling-XXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { _ = system("rm -r '\(folder)'") }
        let input = try #require(fopen("\(folder)/in", "w"))
        #expect(fwrite(bytes, 1, bytes.count, input) == bytes.count)
        fclose(input)
        let command = """
            ffmpeg -v error -y -filter_threads 1 -f rawvideo -pix_fmt \(format) -s \(from.0)x\(from.1) -i '\(folder)/in' \
            -vf 'zscale=\(to.0):\(to.1):\(options)' -f rawvideo -pix_fmt \(format) '\(folder)/out' </dev/null
            """
        #expect(system(command) == 0)
        let output = try #require(fopen("\(folder)/out", "r"))
        defer { fclose(output) }
        var result = [UInt8](repeating: 0, count: 1 << 24)
        let count = fread(&result, 1, result.count, output)
        return Array(result.prefix(count))
    }

    /// Waves of all directions and frequencies with some noise.
    private func pattern(_ image: ImageDescription, seed: UInt64) -> Picture {
        var picture = Picture(image.format, width: image.width, height: image.height)
        var numbers = Numbers(seed)
        let top = Double(1 << image.format.bitDepth) - 1
        for component in 0..<(image.format.hasAlpha ? 4 : 3) {
            let isChroma = image.format.isYCbCr && (component == 1 || component == 2)
            for y in 0..<(isChroma ? picture.chromaHeight : picture.height) {
                for x in 0..<(isChroma ? picture.chromaWidth : picture.width) {
                    let (u, v) = (Double(x), Double(y) + Double(component) * 5)
                    let wave = sin(u * u / 160) * cos(v * v / 130) * 0.35 + sin((u + 2 * v) / 9) * 0.1 + 0.5
                    let value = wave + Double.random(in: -0.03...0.03, using: &numbers)
                    picture[component, x, y] = Int((min(max(value, 0), 1) * top).rounded())
                }
            }
        }
        return picture
    }

    private func psnr(_ a: [Int], _ b: [Int], top: Double) throws -> Double {
        try #require(a.count == b.count && !a.isEmpty)
        let sum = zip(a, b).reduce(0.0) { $0 + Double(($1.0 - $1.1) * ($1.0 - $1.1)) }
        return sum == 0 ? .infinity : 10 * log10(top * top * Double(a.count) / sum)
    }

    /// Checks a group's PSNR, and prints the least.
    private func judge(_ group: String, _ qualities: [(name: String, quality: Double)]) throws {
        let least = try #require(qualities.min { $0.quality < $1.quality })
        print("scaling beside zscale, \(group): at least \(least.quality) dB in \(qualities.count) comparisons")
        #expect(least.quality >= 60, "\(least.name)")
    }

    /// Samples of raw bytes.
    private func samples(_ bytes: [UInt8], isWide: Bool) -> [Int] {
        guard isWide else { return bytes.map { Int($0) } }
        return stride(from: 0, to: bytes.count - 1, by: 2).map { Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8 }
    }

    private func scaled(_ picture: Picture, _ conversion: Conversion) throws -> Picture {
        try picture.converted(by: ConverterChoice.onCPU(conversion), to: conversion.target)
    }

    private static let sizes = [((192, 128), (96, 64)), ((160, 120), (250, 202)), ((240, 136), (62, 40))]

    @Test("4:2:0 of 8 and 10 bits with every siting", arguments: ChromaSiting.allCases)
    func sitings(_ siting: ChromaSiting) throws {
        var qualities: [(String, Double)] = []
        for (index, (from, to)) in Self.sizes.enumerated() {
            for format in [PixelFormat.yu12, .i010] {
                let signal = SignalDescription(siting: siting)
                let conversion = Conversion(
                    source: ScalingCases.image(format, from.0, from.1, signal),
                    target: ScalingCases.image(format, to.0, to.1, signal))
                let picture = pattern(conversion.source, seed: UInt64(index + 1))
                let isWide = format == .i010
                let theirs = try zscale(
                    picture.planes.flatMap { $0 }, isWide ? "yuv420p10le" : "yuv420p", from: from, to: to,
                    "filter=lanczos:chromalin=\(siting.rawValue):chromal=\(siting.rawValue)")
                let ours = try scaled(picture, conversion)
                var place = 0
                for plane in ours.planes {
                    let part = Array(theirs[place..<place + plane.count])
                    let quality = try psnr(
                        samples(plane, isWide: isWide), samples(part, isWide: isWide), top: isWide ? 1023 : 255)
                    qualities.append(("\(format) \(from) to \(to)", quality))
                    place += plane.count
                }
            }
        }
        try judge("4:2:0, \(siting)", qualities)
    }

    @Test("another siting, and the bilinear filter")
    func changes() throws {
        let (from, to) = ((128, 96), (70, 120))
        for (filter, name) in [(ScalingOptions.Filter.lanczos, "lanczos"), (.bilinear, "bilinear")] {
            let conversion = Conversion(
                source: ScalingCases.image(.yu12, from.0, from.1, SignalDescription(siting: .topLeft)),
                target: ScalingCases.image(.yu12, to.0, to.1, SignalDescription(siting: .center)),
                options: ConversionOptions(scaling: ScalingOptions(filter: filter)))
            let picture = pattern(conversion.source, seed: 6)
            let theirs = try zscale(
                picture.planes.flatMap { $0 }, "yuv420p", from: from, to: to,
                "filter=\(name):chromalin=topleft:chromal=center")
            let ours = try scaled(picture, conversion).planes.flatMap { $0 }
            let quality = try psnr(ours.map { Int($0) }, theirs.map { Int($0) }, top: 255)
            try judge("another siting, \(name)", [(name, quality)])
        }
    }

    @Test("odd sizes: luma of 8 and 10 bits", arguments: [(PixelFormat.yu12, "gray"), (.i010, "gray10le")])
    func oddLuma(_ format: PixelFormat, _ name: String) throws {
        // libzimg 3.0.4 departs from its own formula where a width shrinks by a little more than half.
        var qualities: [(String, Double)] = []
        for (from, to) in [((107, 61), (51, 30)), ((61, 45), (127, 99)), ((97, 33), (33, 97))] {
            let conversion = Conversion(
                source: ScalingCases.image(format, from.0, from.1), target: ScalingCases.image(format, to.0, to.1))
            let picture = pattern(conversion.source, seed: 9)
            let theirs = try zscale(picture.planes[0], name, from: from, to: to)
            let ours = try scaled(picture, conversion)
            let isWide = format == .i010
            let quality = try psnr(
                samples(ours.planes[0], isWide: isWide), samples(theirs, isWide: isWide), top: isWide ? 1023 : 255)
            qualities.append(("\(from) to \(to)", quality))
        }
        try judge("odd sizes, \(name)", qualities)
    }

    /// Planes of zscale's RGB formats: G, B, R, alpha.
    private static let planeOrder = [1, 2, 0, 3]

    @Test("premultiplied alpha, odd sizes")
    func premultiplied() throws {
        let (from, to) = ((107, 61), (75, 93))
        let conversion = Conversion(
            source: ScalingCases.image(.rgba8, from.0, from.1), target: ScalingCases.image(.rgba8, to.0, to.1))
        var picture = pattern(conversion.source, seed: 12)
        for y in 0..<from.1 {
            for x in 0..<from.0 {
                for component in 0..<3 {
                    picture[component, x, y] = picture[component, x, y] * picture[3, x, y] / 255
                }
            }
        }
        let ours = try scaled(picture, conversion)
        let planes = Self.planeOrder.flatMap { component in
            (0..<from.0 * from.1).map { UInt8(picture[component, $0 % from.0, $0 / from.0]) }
        }
        let theirs = try zscale(planes, "gbrap", from: from, to: to)
        let own = Self.planeOrder.flatMap { component in
            (0..<to.0 * to.1).map { ours[component, $0 % to.0, $0 / to.0] }
        }
        let quality = try psnr(own, theirs.map { Int($0) }, top: 255)
        try judge("premultiplied alpha", [("", quality)])
    }

    @Test("straight alpha is multiplied before the filter and divided after it")
    func straight() throws {
        let (from, to) = ((106, 62), (53, 41))
        let conversion = Conversion(
            source: ScalingCases.image(.rgba8, from.0, from.1, nil, .straight),
            target: ScalingCases.image(.rgba8, to.0, to.1, nil, .straight))
        let picture = pattern(conversion.source, seed: 13)
        let ours = try scaled(picture, conversion)
        // zscale filters each plane on its own: the products are made and divided here, in 16 bits.
        let words = Self.planeOrder.flatMap { component in
            (0..<from.0 * from.1).flatMap { index -> [UInt8] in
                let (x, y) = (index % from.0, index / from.0)
                let alpha = Double(picture[3, x, y]) / 255
                let value = component == 3 ? alpha : alpha * Double(picture[component, x, y]) / 255
                let word = Int((value * 65535).rounded())
                return [UInt8(word & 255), UInt8(word >> 8)]
            }
        }
        let theirs = samples(try zscale(words, "gbrap16le", from: from, to: to), isWide: true)
        let count = to.0 * to.1
        try #require(theirs.count == 4 * count)
        var (own, other): ([Int], [Int]) = ([], [])
        for (plane, component) in Self.planeOrder.enumerated() {
            for index in 0..<count {
                let alpha = Double(theirs[3 * count + index])
                let value = Double(theirs[plane * count + index])
                let code = component == 3 ? value / 257 : alpha > 0 ? min(value / alpha, 1) * 255 : 0
                other.append(Int(code.rounded()))
                own.append(ours[component, index % to.0, index / to.0])
            }
        }
        let quality = try psnr(own, other, top: 255)
        try judge("straight alpha", [("", quality)])
    }
}
