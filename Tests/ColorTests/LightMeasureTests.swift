// SPDX-License-Identifier: GPL-2.0-or-later
import HWDColor
import HWDModel
import Testing

@Suite struct LightMeasureTests {
    static func image(
        _ transfer: TransferFunction, _ format: PixelFormat = .p010, isFullRange: Bool = false
    ) -> ImageDescription {
        ImageDescription(
            format: format, width: 16, height: 16,
            signal: SignalDescription(
                primaries: .bt2020, transfer: transfer, matrix: .bt2020, isFullRange: isFullRange))
    }

    /// Computed independently from BT.2100's formulas.
    @Test(
        "PQ codes of HLG pixels",
        arguments: [
            ((64.0, 512.0, 512.0), 0.0), ((502, 512, 512), 1808.35), ((721, 512, 512), 2378.24),
            ((940, 512, 512), 3078.73), ((600, 450, 600), 2345.09),
        ])
    func hlg(pixel: (Double, Double, Double), code: Double) throws {
        let measure = try #require(LightMeasure(Self.image(.hlg)))
        #expect(abs(measure.code(y: pixel.0, cb: pixel.1, cr: pixel.2) - code) < 0.005)
    }

    @Test func eightBitsAndFullRangeMeanTheSameLight() throws {
        let bytes = try #require(LightMeasure(Self.image(.hlg, .nv12)))
        #expect(abs(bytes.code(y: 235, cb: 128, cr: 128) - 3078.73) < 0.005)
        let full = try #require(LightMeasure(Self.image(.hlg, .i010, isFullRange: true)))
        #expect(abs(full.code(y: 1023, cb: 512, cr: 512) - 3078.73) < 0.005)
    }

    @Test func pqIsItsOwnCode() throws {
        let measure = try #require(LightMeasure(Self.image(.pq)))
        #expect(abs(measure.code(y: 502, cb: 512, cr: 512) - 4095 * 0.5) < 1e-9)
        #expect(measure.code(y: 1000, cb: 512, cr: 512) == 4095)
    }

    @Test func otherPicturesAreNotMeasured() {
        #expect(LightMeasure(Self.image(.bt1886)) == nil)
        #expect(LightMeasure(Self.image(.pq, .rgba8)) == nil)
    }

    @Test func summarizesCounts() {
        var counts = [UInt32](repeating: 0, count: 4096)
        #expect(PictureLight(counts: counts.span).peak == 0)
        (counts[10], counts[2000], counts[4000]) = (499, 4500, 1)
        let light = PictureLight(counts: counts.span)
        #expect(light.min == 10 && light.max == 2000 && light.peak == 4000)
        let mean = (10.0 * 499 + 2000 * 4500 + 4000) / 5000
        #expect(abs(light.average - mean) < 1e-9)
        let squares = (100.0 * 499 + 4e6 * 4500 + 16e6) / 5000
        #expect(abs(light.deviation - (squares - mean * mean).squareRoot()) < 1e-6)
        // More than one in a thousand counts.
        counts[4000] = 6
        #expect(PictureLight(counts: counts.span).max == 4000)
    }

    @Test func shotsStartWhereBrightnessJumps() {
        var detector = ShotDetector()
        func picture(_ code: Int) -> [UInt32] {
            (0..<4096).map { abs($0 - code) < 300 ? 10 : 0 }
        }
        // Slow and fast motion of brightness, a jump, and a picture between two that differ from it.
        let codes = [1000, 1005, 1010, 1040, 1070, 2500, 2510, 2505, 1200, 1201]
        let starts = codes.map { detector.startsShot(counts: picture($0).span) }
        #expect(starts.indices.filter { starts[$0] } == [0, 5, 8])
    }

    @Test func fadesAndFlickerAreNoShots() {
        var detector = ShotDetector()
        let starts = (0..<40).map { index -> Bool in
            let center = 1000 + (index < 20 ? index * 100 : (index % 2) * 160 + 1900)
            let counts = (0..<4096).map { abs($0 - center) < 300 ? UInt32(10) : 0 }
            return detector.startsShot(counts: counts.span)
        }
        #expect(starts.dropFirst().allSatisfy { !$0 })
    }
}
