// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDPixels
import Glibc
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

/// Formats with 10 bits of R, G and B in a word.
enum Words {
    static let formats: [PixelFormat] = [.bgra10, .rgba10, .bgrx10, .rgbx10]
    static let signals = [
        SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020, siting: .topLeft),
        SignalDescription(primaries: .bt2020, transfer: .hlg, matrix: .bt2020),
        SignalDescription(transfer: .sRGB),
    ]
    private static let light = SignalDescription(primaries: .displayP3, transfer: .linear)

    /// Every format and transfer function from and to half floats, video, bytes and words, with each kind of alpha.
    static func conversions(_ signal: SignalDescription) -> [Conversion] {
        let others: [(PixelFormat, SignalDescription)] = [
            (.rgba16f, light), (.rgba16f, SignalDescription(primaries: signal.primaries)),
            (.p010, signal), (.nv12, SignalDescription()), (.bgra8, SignalDescription(transfer: .sRGB)),
            (.rgba8, signal), (.bgrx10, SignalDescription(transfer: .sRGB)), (.rgba10, signal),
        ]
        let modes: [(AlphaMode, AlphaMode)] = [
            (.straight, .straight), (.premultiplied, .straight), (.straight, .premultiplied),
            (.premultiplied, .premultiplied),
        ]
        var found: [Conversion] = []
        for (number, format) in formats.enumerated() {
            for (index, (other, its)) in others.enumerated() {
                let alpha = modes[(number + index) % modes.count]
                found.append(CPUConverterTests.conversion(format, signal, other, its, alpha: alpha))
                // Half floats divided by alpha may exceed what the gain of HLG's OOTF is tabulated for.
                let isBounded = signal.transfer != .hlg || other != .rgba16f
                found.append(
                    CPUConverterTests.conversion(
                        other, its, format, signal, alpha: isBounded ? alpha : (.straight, alpha.1)))
            }
        }
        return found
    }

    /// Words with every code in each channel in turn, then in all three.
    static func ramps(_ format: PixelFormat) -> Picture {
        var picture = Picture(format, width: 1024, height: 4)
        for code in 0..<1024 {
            for channel in 0..<4 {
                for component in 0..<3 {
                    picture[component, code, channel] = component == channel || channel == 3 ? code : 400
                }
                picture[3, code, channel] = 3
            }
        }
        return picture
    }

    /// To half floats of the same primaries, and back.
    static func roundTrip(_ format: PixelFormat, _ signal: SignalDescription) -> (Conversion, Conversion) {
        let halves = SignalDescription(primaries: signal.primaries, transfer: .linear)
        func conversion(_ from: PixelFormat, _ to: PixelFormat) -> Conversion {
            CPUConverterTests.conversion(
                from, from == .rgba16f ? halves : signal, to, to == .rgba16f ? halves : signal, width: 1024,
                height: 4)
        }
        return (conversion(format, .rgba16f), conversion(.rgba16f, format))
    }

    /// Lists that are a matrix, loops with tables, and last a key, which multiplies what rounding leaves of a component that is 0:
    /// it is for half floats.
    static let lists = [
        ["exposure:ev=.5", "saturation:s=1.2", "vignette"], ["sepia:amount=.6"], ["lut:table=0,space=pq"],
        ["curve:points=0/0/.18/.12/.5/.55/1/1/4/3", "cdl:slope=1.05,sat=1.2,space=pq"],
        ["key:color=1acc33,similarity=.12,blend=.1", "despill", "background:color=204060@p3"],
    ]

    static func effects(_ list: [String]) throws -> ConversionOptions {
        var options = ConversionOptions()
        options.effects = Effects(list: try EffectList(texts: list, .call), tables: try EffectLoopTests.tables())
        return options
    }
}

@Suite(.serialized) struct WordTests {
    /// drm_fourcc.h: "[31:0] A:R:G:B 2:10:10:10 little endian", and so on.
    @Test(
        "places of the components",
        arguments: [
            (PixelFormat.bgra10, 0x7FF0_0C03), (.rgba10, 0x4030_0FFF), (.bgrx10, 0xFFF0_0C03),
            (.rgbx10, 0xC030_0FFF),
        ] as [(PixelFormat, UInt32)])
    func places(format: PixelFormat, word: UInt32) throws {
        let sRGB = SignalDescription(transfer: .sRGB)
        var picture = Picture(.rgba16f, width: 1, height: 1)
        // The light of R 1023, G 3, B 3, and a third of alpha.
        let dark = Half.bits(3.0 / 1023 / 12.92)
        for (component, bits) in [0x3C00, dark, dark, Half.bits(1.0 / 3)].enumerated() {
            picture[component, 0, 0] = Int(bits)
        }
        let light = SignalDescription(transfer: .linear)
        let conversion = CPUConverterTests.conversion(.rgba16f, light, format, sRGB, width: 1, height: 1)
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(8 * $0)) }
        #expect(try ReferenceConverter(conversion).convert(picture).planes == [bytes])
        let result = try picture.converted(by: CPUConverter(conversion, threads: 1), to: conversion.target)
        #expect(result.planes == [bytes])
        // Unused bits are not read.
        let back = CPUConverterTests.conversion(format, sRGB, .rgba16f, light, width: 1, height: 1)
        var words = Picture(format, width: 1, height: 1)
        words.planes = [bytes.dropLast() + [bytes[3] & 0x3F | (format.hasAlpha ? 0x40 : 0)]]
        let halves = try words.converted(by: CPUConverter(back, threads: 1), to: back.target)
        #expect(halves[0, 0, 0] == 0x3C00)
        #expect(halves[3, 0, 0] == (format.hasAlpha ? Int(Half.bits(1.0 / 3)) : 0x3C00))
    }

    @Test("every format and curve, both ways", arguments: Words.signals.indices)
    func conversions(index: Int) throws {
        for (number, conversion) in Words.conversions(Words.signals[index]).enumerated() {
            try CPUConverterTests.check(conversion, seed: UInt64(number + 1))
        }
    }

    @Test("half floats keep every code", arguments: Words.formats, Words.signals.indices)
    func roundTrip(format: PixelFormat, index: Int) throws {
        let (there, back) = Words.roundTrip(format, Words.signals[index])
        let picture = Words.ramps(format)
        #expect(try ReferenceConverter(back).convert(ReferenceConverter(there).convert(picture)) == picture)
        for level in Int32(0)...2 {
            hwd_limit_instructions(level)
            defer { hwd_limit_instructions(2) }
            let halves = try picture.converted(by: CPUConverter(there, threads: 2), to: there.target)
            let result = try halves.converted(by: CPUConverter(back, threads: 2), to: back.target)
            #expect(result == picture, "\(String(cString: hwd_instructions()))")
        }
    }

    @Test("lists of effects", arguments: Words.lists.indices)
    func effects(index: Int) throws {
        let options = try Words.effects(Words.lists[index])
        for (number, format) in Words.formats.enumerated() {
            let signal = Words.signals[number % Words.signals.count]
            let halves = SignalDescription(primaries: .displayP3, transfer: .linear)
            try CPUConverterTests.check(
                CPUConverterTests.conversion(.rgba16f, halves, format, signal, options: options))
            if index == Words.lists.count - 1 { continue }
            try CPUConverterTests.check(
                CPUConverterTests.conversion(format, signal, .rgba16f, halves, options: options))
        }
    }

    @Test("rows that are too short, and planes that are missing, are refused")
    func refusals() throws {
        let signal = Words.signals[0]
        let converter = try CPUConverter(CPUConverterTests.conversion(.bgra10, signal, .rgbx10, signal))
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 37 * 4 * 11, alignment: 4)
        defer { memory.deallocate() }
        let base = try #require(memory.baseAddress)
        func convert(_ from: [Int], _ to: [Int]) throws {
            try converter.convert(
                from.map { PlaneView(base: UnsafeRawPointer(base), stride: $0) },
                into: to.map { MutablePlaneView(base: base, stride: $0) })
        }
        for (from, to) in [([147], [148]), ([148], [147]), ([], [148]), ([148, 148], [148])] {
            let error = #expect(throws: SessionError.self) { try convert(from, to) }
            #expect(error?.status == .parameter)
        }
    }

    /// ffmpeg's conversion of its x2rgb10le and x2bgr10le to planes is exact to a code; zscale converts planes.
    @Test(
        "as ffmpeg reads them, and as zscale converts them",
        .enabled(if: access("/usr/bin/ffmpeg", X_OK) == 0, "ffmpeg is not installed"),
        arguments: [(PixelFormat.bgrx10, "x2rgb10le"), (.rgbx10, "x2bgr10le")])
    func ffmpeg(format: PixelFormat, name: String) throws {
        let image = ImageDescription(format: format, width: 64, height: 16, signal: Words.signals[0])
        let picture = Picture.any(image, seed: 11)
        let planes = try Self.filtered(picture.planes[0], name, "format=gbrp10le", 6 * 64 * 16)
        // G, B, R.
        for (plane, component) in [1, 2, 0].enumerated() {
            for index in 0..<64 * 16 {
                let at = 2 * (plane * 64 * 16 + index)
                let code = Int(planes[at]) | Int(planes[at + 1]) << 8
                #expect(abs(code - picture[component, index % 64, index / 64]) <= 1)
            }
        }
        let exact = [1, 2, 0].flatMap { component in
            (0..<64 * 16).flatMap { index -> [UInt8] in
                let code = picture[component, index % 64, index / 64]
                return [UInt8(code & 0xFF), UInt8(code >> 8)]
            }
        }
        // libzimg's HLG has another OOTF.
        for (index, options) in [(0, "tin=smpte2084:pin=bt2020:npl=203"), (2, "tin=iec61966-2-1:pin=bt709")] {
            let signal = Words.signals[index]
            let target = SignalDescription(primaries: .displayP3, transfer: .linear)
            let conversion = CPUConverterTests.conversion(format, signal, .rgba16f, target, width: 64, height: 16)
            let result = try picture.converted(by: CPUConverter(conversion, threads: 1), to: conversion.target)
            let floats = try Self.filtered(
                exact, "gbrp10le",
                "zscale=\(options):min=gbr:rin=pc:t=linear:p=smpte432:m=gbr,format=gbrpf32le", 12 * 64 * 16)
            var worst = 0.0
            for pixel in 0..<64 * 16 {
                let wanted = [2, 0, 1].map { plane in
                    floats.withUnsafeBytes {
                        Double($0.loadUnaligned(fromByteOffset: 4 * (plane * 64 * 16 + pixel), as: Float.self))
                    }
                }
                let largest = wanted.map(\.magnitude).max() ?? 0
                for component in 0..<3 {
                    let got = Half.value(UInt16(result[component, pixel % 64, pixel / 64]))
                    worst = max(worst, abs(got - wanted[component]) / max(largest, 0x1p-10))
                }
            }
            #expect(worst <= 1e-3, "\(signal.transfer): \(worst) of the largest component from zscale")
        }
    }

    /// What ffmpeg makes of a picture of 64x16.
    private static func filtered(
        _ bytes: [UInt8], _ name: String, _ filter: String, _ count: Int
    ) throws -> [UInt8] {
        let folder = TestDevice.cacheFolder
        let (input, output) = ("\(folder)/words.in", "\(folder)/words.out")
        let file = try #require(fopen(input, "w"))
        #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
        fclose(file)
        let command = """
            ffmpeg -v error -y -f rawvideo -pix_fmt \(name) -s 64x16 -i '\(input)' -vf '\(filter)' -f rawvideo \
            '\(output)' </dev/null
            """
        #expect(system(command) == 0)
        let result = try #require(fopen(output, "r"))
        defer { fclose(result) }
        var read = [UInt8](repeating: 0, count: count)
        #expect(fread(&read, 1, count, result) == count)
        return read
    }
}

extension VulkanTests {
    @Suite struct WordShaders {
        @Test("every format and curve, both ways", arguments: Words.signals.indices)
        func conversions(index: Int) throws {
            for (number, conversion) in Words.conversions(Words.signals[index]).enumerated() {
                try expectCorrect(conversion, seed: UInt64(number + 1))
            }
        }

        @Test("half floats keep every code", arguments: Words.signals.indices)
        func roundTrip(index: Int) throws {
            let device = try TestDevice.get()
            for format in Words.formats {
                let (there, back) = Words.roundTrip(format, Words.signals[index])
                let picture = Words.ramps(format)
                let halves = try convert(
                    picture, with: VulkanConverter(ConversionPlan(there), on: device), to: .rgba16f)
                let result = try convert(
                    halves, with: VulkanConverter(ConversionPlan(back), on: device), to: format)
                #expect(result == picture, "\(format)")
            }
            try TestDevice.checkValidation()
        }

        @Test("lists of effects", arguments: Words.lists.indices)
        func effects(index: Int) throws {
            let options = try Words.effects(Words.lists[index])
            let halves = SignalDescription(primaries: .displayP3, transfer: .linear)
            for (number, format) in Words.formats.enumerated() {
                let signal = Words.signals[number % Words.signals.count]
                try expectCorrect(
                    CPUConverterTests.conversion(.rgba16f, halves, format, signal, options: options))
                try expectCorrect(
                    CPUConverterTests.conversion(format, signal, .rgba16f, halves, options: options))
            }
        }
    }
}
