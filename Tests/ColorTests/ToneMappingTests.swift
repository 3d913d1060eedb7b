// SPDX-License-Identifier: GPL-2.0-or-later
import HWDColor
import HWDModel
import Testing

/// HDR to SDR and between PQ and HLG: values that were computed from BT.2390, BT.2100 and BT.2408 outside of this project.
@Suite struct ToneMappingTests {
    static let pq = SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020)
    static let hlg = SignalDescription(primaries: .bt2020, transfer: .hlg, matrix: .bt2020)
    static let sdr = SignalDescription(primaries: .bt709, transfer: .bt1886, matrix: .bt709)
    static let sdrPeak = ConversionOptions(targetHeadroom: 1)

    /// R'G'B' of a pixel after a conversion from and to 10-bit Y'CbCr, not rounded.
    static func converted(
        _ value: Triple, _ source: SignalDescription, _ target: SignalDescription, _ options: ConversionOptions
    ) throws -> Triple {
        let plan = try ConversionPlan(
            Conversion(
                source: ImageDescription(format: .i010, width: 16, height: 16, signal: source),
                target: ImageDescription(format: .i010, width: 16, height: 16, signal: target), options: options))
        let range = SampleRange(bitDepth: 10, isFullRange: false)
        let codes = source.matrix.fromRGB * value * range.span + range.zero
        return target.matrix.toRGB * ((plan.convert(codes, alpha: 1).codes - range.zero) / range.span)
    }

    struct Point: Sendable {
        var source: SignalDescription
        var value: Triple
        var wanted: Triple

        init(_ source: SignalDescription, _ value: Triple, _ wanted: Triple) {
            (self.source, self.value, self.wanted) = (source, value, wanted)
        }

        init(_ source: SignalDescription, gray: Double, _ wanted: Double) {
            self.init(source, Triple(repeating: gray), Triple(repeating: wanted))
        }
    }

    static let points: [Point] = [
        Point(pq, gray: 0.1, 0.06837846534226402), Point(pq, gray: 0.25, 0.21640950734349854),
        Point(pq, gray: 0.5, 0.7196208521667193), Point(pq, gray: 0.5806888810416109, 0.9033161183578814),
        Point(pq, gray: 0.65, 0.9789096486639991), Point(pq, gray: 0.75, 0.9999998770104223),
        Point(hlg, gray: 0.5, 0.5609868672599799), Point(hlg, gray: 0.75, 0.9034429577151295),
        Point(pq, [0.5, 0.45, 0.4], [0.7981571599734939, 0.5619509179022628, 0.4447057338803342]),
        Point(hlg, [0.7, 0.6, 0.5], [0.9148064586514545, 0.6586759518288926, 0.5489539279829816]),
    ]

    @Test("HDR to SDR at 203 cd/m² from 1000 (BT.2390 5.4.1 on max(R, G, B))", arguments: points)
    func toSDR(point: Point) throws {
        let result = try Self.converted(point.value, point.source, Self.sdr, Self.sdrPeak)
        // The colored ones were computed with the matrix from BT.2020 to BT.709 rounded to 10 digits.
        let tolerance = point.value.x == point.value.y ? 1e-12 : 1e-10
        for component in 0..<3 { #expect(abs(result[component] - point.wanted[component]) <= tolerance) }
    }

    @Test(
        "HLG to PQ for a display of 1000 cd/m² (BT.2100 table 5)",
        arguments: [
            (0.25, 0.29653314006622733), (0.5, 0.44159845897314537), (0.75, 0.5807671908638553),
            (1, 0.7518270997704155),
        ])
    func hlgToPQ(value: Double, wanted: Double) throws {
        let result = try Self.converted(Triple(repeating: value), Self.hlg, Self.pq, ConversionOptions())
        let back = try Self.converted(
            result, Self.pq, Self.hlg, ConversionOptions(targetHeadroom: 1000.0 / 203, masteringPeak: 1000))
        for component in 0..<3 {
            #expect(abs(result[component] - wanted) <= 1e-12)
            // The curves of BT.2100 meet to about 1e-8.
            #expect(abs(back[component] - value) <= 1e-6)
        }
    }

    @Test("SDR's white at 203 cd/m² (BT.2408)", arguments: [(pq, 0.5806888810416109, 1e-12), (hlg, 0.75, 2e-4)])
    func whiteOfSDR(target: SignalDescription, wanted: Double, tolerance: Double) throws {
        let result = try Self.converted(Triple(repeating: 1), Self.sdr, target, ConversionOptions())
        for component in 0..<3 { #expect(abs(result[component] - wanted) <= tolerance) }
        let black = try Self.converted(.zero, Self.sdr, target, ConversionOptions())
        #expect(black.max() < 1e-6 && black.min() > -1e-6)
    }

    @Test func aBrighterPQSourceIsMappedToTheHLGDisplay() throws {
        let options = ConversionOptions(targetHeadroom: 1000.0 / 203, masteringPeak: 4000)
        let peak = TransferFunction.pq.encode(0.4)
        let result = try Self.converted(Triple(repeating: peak), Self.pq, Self.hlg, options)
        #expect(abs(result.x - 1) < 1e-6)
        let middle = try Self.converted(Triple(repeating: 0.4), Self.pq, Self.hlg, options)
        let unmapped = try Self.converted(Triple(repeating: 0.4), Self.pq, Self.hlg, ConversionOptions())
        #expect(abs(middle.x - unmapped.x) < 1e-12, "the lower tones stay")
    }
}
