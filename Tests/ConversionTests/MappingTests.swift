// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDPixels
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

/// Nonlinear mappings of base layer codes by loops and shaders, compared with `ReferenceConverter`.
enum Mappings {
    /// Curves with every kind of piece, and matrices of profile 5: IPT to L'M'S', and LMS to BT.2020.
    static func all() throws -> [SignalMapping] {
        let toRGB = Matrix3([1, 0.0975, 0.2052], [1, -0.1139, 0.1332], [1, 0.0326, -0.6769])
        let light = Matrix3([3.2404, -2.2867, 0.0463], [-0.7284, 1.8896, -0.1612], [0.0168, -0.0717, 1.0549])
        let regression = SignalMapping.Piece.regression(
            constant: 0.02,
            orders: [
                [0.05, 0.9, -0.035, 0.025, -0.015, 0.02, 0.01], [-0.025, 0.04, 0.015, -0.01, 0.005, -0.015, 0.03],
                [0.02, -0.03, 0.01, 0.04, -0.02, 0.01, 0.05],
            ])
        return try [8, 10].flatMap { depth throws(SessionError) in
            let top = 1 << depth - 1
            let rising = SignalMapping.Curve(
                pivots: [0, top / 8, top / 4, top / 3, top / 2, top * 5 / 8, top * 3 / 4, top * 7 / 8, top],
                pieces: (0..<8).map { .polynomial([0.01 * Double($0), 0.8, 0.02 * Double($0)]) })
            let mixed = SignalMapping.Curve(
                pivots: [top / 16, top / 2, top * 15 / 16], pieces: [.polynomial([0.04, 0.92]), regression])
            let whole = SignalMapping.Curve(pivots: [0, top], pieces: [regression])
            let line = SignalMapping.Curve(pivots: [0, top], pieces: [.polynomial([0, 1])])
            return [
                try SignalMapping(
                    bitDepth: depth, curves: [rising, mixed, whole],
                    toRGB: Affine(toRGB, -(toRGB * Triple(0, 0.5, 0.5))), light: light, peak: 1000),
                try SignalMapping(
                    bitDepth: depth, curves: [line, line, line],
                    toRGB: Affine(toRGB, -(toRGB * Triple(0.0625, 0.5, 0.5))), light: .identity, peak: 4000),
            ]
        }
    }

    /// Conversions with a mapping to light, to bytes with tone mapping, and to Y'CbCr.
    static func conversions(_ mapping: SignalMapping) -> [Conversion] {
        let formats: [PixelFormat] = mapping.bitDepth == 10 ? [.p010, .i010] : [.nv12, .yu12]
        return formats.flatMap { format in
            [
                CPUConverterTests.conversion(
                    format, CPUConverterTests.pq, .rgba16f,
                    SignalDescription(primaries: .bt2020, transfer: .linear),
                    options: ConversionOptions(mapping: mapping)),
                CPUConverterTests.conversion(
                    format, CPUConverterTests.pq, .rgba8, SignalDescription(transfer: .sRGB),
                    options: ConversionOptions(targetHeadroom: 1, mapping: mapping)),
                CPUConverterTests.conversion(
                    format, CPUConverterTests.pq, format, CPUConverterTests.pq,
                    options: ConversionOptions(mapping: mapping)),
            ]
        }
    }
}

extension CPUConverterTests {
    @Test("a nonlinear mapping of the source's codes")
    func mapping() throws {
        for mapping in try Mappings.all() {
            for conversion in Mappings.conversions(mapping) { try Self.check(conversion, seed: 3) }
        }
    }

    @Test func changesToAnotherMapping() throws {
        let mappings = try Mappings.all().filter { $0.bitDepth == 10 }
        let (first, second) = (Mappings.conversions(mappings[0]), Mappings.conversions(mappings[1]))
        try MappingChange.check(first[0], second[0], refused: second[1]) { try CPUConverter($0, threads: 1) }
        // The other peak needs another table of tone mapping.
        #expect(try !CPUConverter(first[1]).change(to: second[1]))
    }
}

/// A converter that changes to another mapping.
enum MappingChange {
    static func check(
        _ first: Conversion, _ second: Conversion, refused: Conversion,
        by make: (Conversion) throws -> any PixelConverter
    ) throws {
        let picture = Picture.any(first.source, seed: 4)
        let converter = try make(first)
        let before = try picture.converted(by: converter, to: first.target)
        #expect(try !converter.change(to: refused))
        #expect(try picture.converted(by: converter, to: first.target) == before)
        #expect(try converter.change(to: second))
        let after = try picture.converted(by: converter, to: second.target)
        #expect(try after == picture.converted(by: make(second), to: second.target) && after != before)
        var without = first
        without.options.mapping = nil
        #expect(try !converter.change(to: without))
    }
}

extension VulkanTests {
    @Suite struct MappingShaders {
        @Test("a nonlinear mapping of the source's codes")
        func mapping() throws {
            for mapping in try Mappings.all() {
                for conversion in Mappings.conversions(mapping) { try expectCorrect(conversion, seed: 5) }
            }
        }

        @Test func changesToAnotherMapping() throws {
            let mappings = try Mappings.all().filter { $0.bitDepth == 10 }
            let (first, second) = (Mappings.conversions(mappings[0]), Mappings.conversions(mappings[1]))
            try MappingChange.check(first[0], second[0], refused: second[1]) {
                try VulkanConverter(ConversionPlan($0), on: TestDevice.get())
            }
            try TestDevice.checkValidation()
        }
    }
}
