// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDPixels
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

/// Published values of HDR to SDR in 8-bit codes, from every set of loops.
enum TonePoints {
    struct Point: Sendable {
        var transfer: TransferFunction
        var value: Triple
        var sdr: Triple

        init(_ transfer: TransferFunction, _ value: Triple, _ sdr: Triple) {
            (self.transfer, self.value, self.sdr) = (transfer, value, sdr)
        }

        init(_ transfer: TransferFunction, gray: Double, _ sdr: Double) {
            self.init(transfer, Triple(repeating: gray), Triple(repeating: sdr))
        }
    }

    /// E' of HDR and of SDR: BT.2390 5.4.1 on max(R, G, B) from 1000 to 203 cd/m².
    static let all: [Point] = [
        Point(.pq, gray: 0.1, 0.06837846534226402), Point(.pq, gray: 0.25, 0.21640950734349854),
        Point(.pq, gray: 0.5, 0.7196208521667193), Point(.pq, gray: 0.5806888810416109, 0.9033161183578814),
        Point(.pq, gray: 0.65, 0.9789096486639991), Point(.pq, gray: 0.75, 0.9999998770104223),
        Point(.hlg, gray: 0.5, 0.5609868672599799), Point(.hlg, gray: 0.75, 0.9034429577151295),
        Point(.pq, [0.5, 0.45, 0.4], [0.7981571599734939, 0.5619509179022628, 0.4447057338803342]),
        Point(.hlg, [0.7, 0.6, 0.5], [0.9148064586514545, 0.6586759518288926, 0.5489539279829816]),
    ]

    /// Converts a flat 10-bit picture of a point to 8 bits and compares every code.
    static func check(
        _ point: Point, _ formats: (PixelFormat, PixelFormat), _ place: SourceLocation = #_sourceLocation,
        by converter: (Conversion) throws -> any PixelConverter
    ) throws {
        let conversion = CPUConverterTests.conversion(
            formats.0,
            SignalDescription(primaries: .bt2020, transfer: point.transfer, matrix: .bt2020), formats.1,
            SignalDescription(), width: 40, height: 12,
            options: ConversionOptions(chromaDownsampling: .siting, targetHeadroom: 1))
        func codes(_ value: Triple, _ matrix: YCbCrMatrix, _ depth: Int) -> Triple {
            let range = SampleRange(bitDepth: depth, isFullRange: false)
            return matrix.fromRGB * value * range.span + range.zero
        }
        var source = Picture(formats.0, width: 40, height: 12)
        let read = codes(point.value, .bt2020, 10)
        func forEach(_ body: (Int, Int, Int) -> Void) {
            for component in 0..<3 {
                for y in 0..<(component == 0 ? 12 : 6) {
                    for x in 0..<(component == 0 ? 40 : 20) { body(component, x, y) }
                }
            }
        }
        forEach { source[$0, $1, $2] = Int(read[$0].rounded()) }
        let result = try source.converted(by: converter(conversion), to: conversion.target)
        let wanted = codes(point.sdr, .bt709, 8)
        var worst = 0.0
        forEach { worst = max(worst, abs(Double(result[$0, $1, $2]) - wanted[$0])) }
        #expect(worst <= 1, "\(point.value): \(worst) codes", sourceLocation: place)
    }
}

extension CPUConverterTests {
    @Test("HDR to SDR within one code of published values", arguments: TonePoints.all)
    func tonePoints(_ point: TonePoints.Point) throws {
        for level in Int32(0)...2 {
            hwd_limit_instructions(level)
            defer { hwd_limit_instructions(2) }
            for formats in [(PixelFormat.p010, PixelFormat.nv12), (.i010, .yu12)] {
                try TonePoints.check(point, formats) { try CPUConverter($0, threads: 1) }
            }
        }
    }
}

extension VulkanTests {
    @Suite struct ToneMapping {
        @Test("HDR to SDR within one code of published values")
        func tonePoints() throws {
            for point in TonePoints.all {
                try TonePoints.check(point, (.p010, .nv12)) {
                    try VulkanConverter(ConversionPlan($0), on: TestDevice.get())
                }
            }
            try TestDevice.checkValidation()
        }
    }
}
