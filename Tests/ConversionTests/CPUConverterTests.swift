// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDPixels
import HWDColor
import HWDModel
import HWDConversion
import Testing

/// The CPU's loops compared with `ReferenceConverter`.
@Suite(.serialized) struct CPUConverterTests {
    static let ycbcr: [PixelFormat] = [.nv12, .p010, .yu12, .i010, .yuva]
    static let rgb: [PixelFormat] = [.rgba16f, .bgra8, .rgba8]

    static let pq = SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020, siting: .topLeft)
    static let hlg = SignalDescription(primaries: .bt2020, transfer: .hlg, matrix: .bt2020)

    /// A conversion of an odd size with defaults for the other values.
    static func conversion(
        _ from: PixelFormat, _ source: SignalDescription, _ to: PixelFormat, _ target: SignalDescription,
        width: Int = 37, height: Int = 11, alpha: (AlphaMode, AlphaMode) = (.straight, .straight),
        options: ConversionOptions = ConversionOptions()
    ) -> Conversion {
        Conversion(
            source: ImageDescription(format: from, width: width, height: height, signal: source, alpha: alpha.0),
            target: ImageDescription(format: to, width: width, height: height, signal: target, alpha: alpha.1),
            options: options)
    }

    /// Converts a picture of random codes and compares it with the reference.
    static func check(_ conversion: Conversion, seed: UInt64 = 1, _ place: SourceLocation = #_sourceLocation) throws
    {
        let reference = try ReferenceConverter(conversion)
        let picture = Picture.any(conversion.source, seed: seed)
        let values = reference.values(picture)
        for level in Int32(0)...2 {
            hwd_limit_instructions(level)
            defer { hwd_limit_instructions(2) }
            let result = try picture.converted(by: CPUConverter(conversion, threads: 2), to: conversion.target)
            let difference = Difference(result, values)
            let words = "\(String(cString: hwd_instructions())): \(conversion)"
            #expect(difference.halves <= 1, "\(difference.halves) units, \(words)", sourceLocation: place)
            let limit = reference.plan.dithers ? 1.05 : 0.55
            #expect(difference.codes <= limit, "\(difference.codes) codes, \(words)", sourceLocation: place)
        }
    }

    @Test("every transfer function and matrix to half floats", arguments: TransferFunction.allCases)
    func toHalves(_ transfer: TransferFunction) throws {
        for (index, matrix) in YCbCrMatrix.allCases.enumerated() {
            for isFullRange in [false, true] {
                let signal = SignalDescription(
                    primaries: .bt2020, transfer: transfer, matrix: matrix, isFullRange: isFullRange)
                try Self.check(
                    Self.conversion(
                        Self.ycbcr[index], signal, .rgba16f,
                        SignalDescription(primaries: .displayP3, transfer: .linear)))
            }
        }
    }

    @Test("half floats to every transfer function and matrix", arguments: TransferFunction.allCases)
    func fromHalves(_ transfer: TransferFunction) throws {
        for (index, matrix) in YCbCrMatrix.allCases.enumerated() {
            for isFullRange in [false, true] {
                let signal = SignalDescription(
                    primaries: .bt2020, transfer: transfer, matrix: matrix, isFullRange: isFullRange)
                try Self.check(
                    Self.conversion(
                        .rgba16f, SignalDescription(primaries: .displayP3, transfer: .linear),
                        Self.ycbcr[index + 1],
                        signal))
            }
        }
    }

    @Test("every chroma siting in both directions", arguments: ChromaSiting.allCases)
    func siting(_ siting: ChromaSiting) throws {
        var signal = Self.pq
        signal.siting = siting
        let light = SignalDescription(primaries: .bt2020, transfer: .linear)
        for format in [PixelFormat.nv12, .i010] {
            try Self.check(Self.conversion(format, signal, .rgba16f, light))
            for way in [ConversionOptions.ChromaDownsampling.box, .siting] {
                try Self.check(
                    Self.conversion(
                        .rgba16f, light, format, signal, options: ConversionOptions(chromaDownsampling: way)))
            }
        }
    }

    @Test("odd and large sizes", arguments: [(1, 1), (2, 1), (1, 2), (3, 3), (16, 2), (33, 5), (1030, 4)])
    func sizes(_ width: Int, _ height: Int) throws {
        let bytes = SignalDescription(transfer: .sRGB)
        for format in Self.ycbcr {
            try Self.check(Self.conversion(format, Self.hlg, .bgra8, bytes, width: width, height: height))
            try Self.check(Self.conversion(.rgba8, bytes, format, Self.hlg, width: width, height: height))
        }
        try Self.check(
            Self.conversion(
                .rgba16f, SignalDescription(transfer: .linear), .rgba8, bytes, width: width, height: height))
    }

    @Test("light of every width around those of vectors", arguments: ChromaSiting.allCases)
    func widths(_ siting: ChromaSiting) throws {
        let light = SignalDescription(primaries: .displayP3, transfer: .linear)
        for format in PixelFormat.yCbCr {
            for transfer in [TransferFunction.pq, .bt1886] {
                let signal = SignalDescription(
                    primaries: .bt2020, transfer: transfer, matrix: .bt2020, siting: siting)
                for width in [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128] {
                    try Self.check(Self.conversion(format, signal, .rgba16f, light, width: width, height: 3))
                }
            }
        }
    }

    @Test("divides and multiplies by alpha", arguments: CPUConverterTests.rgb + [.yuva])
    func alpha(_ from: PixelFormat) throws {
        for to in Self.rgb + [.yuva] {
            for alpha in [(AlphaMode.straight, AlphaMode.premultiplied), (.premultiplied, .straight)] {
                func signal(_ format: PixelFormat) -> SignalDescription {
                    SignalDescription(primaries: .bt709, transfer: format == .rgba16f ? .linear : .sRGB)
                }
                try Self.check(Self.conversion(from, signal(from), to, signal(to), alpha: alpha))
            }
        }
    }

    @Test("Y'CbCr to Y'CbCr, by rescaling and through light")
    func betweenYCbCr() throws {
        for from in Self.ycbcr {
            for to in Self.ycbcr {
                var other = Self.pq
                other.isFullRange = true
                try Self.check(Self.conversion(from, Self.pq, to, other))
                try Self.check(Self.conversion(from, Self.pq, to, Self.hlg))
                var moved = Self.pq
                moved.siting = .left
                try Self.check(Self.conversion(from, Self.pq, to, moved))
            }
        }
    }

    @Test("options")
    func options() throws {
        let light = SignalDescription(primaries: .displayP3, transfer: .linear)
        let bytes = SignalDescription(transfer: .sRGB)
        for options in [
            ConversionOptions(referenceWhite: 100), ConversionOptions(hlgPeak: 600),
            ConversionOptions(overRange: .extend), ConversionOptions(targetHeadroom: 2),
            ConversionOptions(effects: Effects(exposure: 1, saturation: 0.5, sepia: 0.3)),
        ] {
            // P3 as the light has it: infinities do not grow over what tables hold.
            for signal in [Self.pq, Self.hlg, SignalDescription(primaries: .displayP3)] {
                try Self.check(Self.conversion(.p010, signal, .rgba16f, light, options: options))
                try Self.check(Self.conversion(.rgba16f, light, .p010, signal, options: options))
            }
        }
        try Self.check(
            Self.conversion(.p010, Self.pq, .nv12, SignalDescription(), options: ConversionOptions(dither: true)))
        try Self.check(
            Self.conversion(.rgba16f, light, .bgra8, bytes, options: ConversionOptions(dither: true)))
    }

    @Test("codes survive a round trip with the same primaries")
    func roundTrip() throws {
        let light = SignalDescription(primaries: .bt2020, transfer: .linear)
        for signal in [Self.pq, Self.hlg] {
            var picture = Picture(.p010, width: 64, height: 32)
            // One color for each block of four, so that neighbouring chroma has no effect.
            var numbers = Numbers(3)
            for y in 0..<32 {
                for x in 0..<64 { picture[0, x, y] = 64 + (x / 2 * 13 + y / 2 * 7) % 877 }
            }
            _ = numbers.next()
            for y in 0..<16 {
                for x in 0..<32 { (picture[1, x, y], picture[2, x, y]) = (512, 512) }
            }
            let there = Self.conversion(.p010, signal, .rgba16f, light, width: 64, height: 32)
            let back = Self.conversion(.rgba16f, light, .p010, signal, width: 64, height: 32)
            let halves = try picture.converted(by: CPUConverter(there), to: there.target)
            let again = try halves.converted(by: CPUConverter(back), to: back.target)
            for y in 0..<32 {
                for x in 0..<64 { #expect(abs(again[0, x, y] - picture[0, x, y]) <= 1) }
            }
        }
    }

    @Test("large pictures, with several threads", arguments: [CPUConverterTests.pq, CPUConverterTests.hlg])
    func large(_ signal: SignalDescription) throws {
        let (width, height) = (1410, 751)
        let conversion = Self.conversion(
            .p010, signal, .rgba16f, SignalDescription(primaries: .displayP3, transfer: .linear), width: width,
            height: height)
        let reference = try ReferenceConverter(conversion)
        var picture = Picture(.p010, width: width, height: height)
        var numbers = Numbers(5)
        for plane in picture.planes.indices {
            picture.planes[plane].withUnsafeMutableBytes { bytes in
                for offset in stride(from: 0, to: bytes.count, by: 2) {
                    bytes.storeBytes(
                        of: UInt16(truncatingIfNeeded: numbers.next()) & 0xFFC0, toByteOffset: offset,
                        as: UInt16.self)
                }
            }
        }
        // Rows of 64 bytes' multiple, as sessions have them.
        let row = (width * 8 + 63) & ~63
        let target = UnsafeMutableRawBufferPointer.allocate(byteCount: row * height, alignment: 64)
        defer { target.deallocate() }
        try picture.planes[0].withUnsafeBytes { luma in
            try picture.planes[1].withUnsafeBytes { chroma in
                try CPUConverter(conversion, threads: 3).convert(
                    [
                        PlaneView(base: try #require(luma.baseAddress), stride: width * 2),
                        PlaneView(base: try #require(chroma.baseAddress), stride: width * 2),
                    ], into: [MutablePlaneView(base: try #require(target.baseAddress), stride: row)])
            }
        }
        for index in stride(from: 0, to: width * height, by: 211) {
            let (x, y) = (index % width, index / width)
            let (codes, alpha) = reference.components(picture, x, y)
            let wanted = reference.plan.convert(codes, alpha: alpha).codes
            let got = (0..<3).map {
                Half.value(target.load(fromByteOffset: y * row + x * 8 + $0 * 2, as: UInt16.self))
            }
            let largest = max(abs(wanted.x), abs(wanted.y), abs(wanted.z))
            for component in 0..<3 {
                #expect(abs(got[component] - wanted[component]) <= largest / 1024 + 0x1p-24, "pixel \(x), \(y)")
            }
        }
    }

    @Test("errors name the unsupported value")
    func refusals() throws {
        let conversion = Self.conversion(.p010, Self.pq, .rgba16f, SignalDescription(transfer: .linear))
        let converter = try CPUConverter(conversion)
        #expect(throws: SessionError.self) { try converter.convert([], into: []) }
        #expect(throws: SessionError.self) {
            _ = try ConverterChoice.choose(
                for: Self.conversion(
                    .p010, Self.pq, .rgba16f, SignalDescription(transfer: .linear),
                    options: ConversionOptions(referenceWhite: .nan)), ConverterChoice.Request(.auto))
        }
        #expect(throws: SessionError.self) { _ = try SignalDescription(ColorDescription(matrix: 14)) }
    }
}
