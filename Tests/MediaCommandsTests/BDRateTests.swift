// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import hwctl_media

/// Numbers of SciPy's PchipInterpolator and its integrals.
@Suite struct BDRateTests {
    private func curve(_ rates: [Double], _ qualities: [Double]) -> [BDRate.Point] {
        zip(rates, qualities).map { BDRate.Point(rate: $0, quality: $1) }
    }

    @Test func fourPoints() throws {
        let reference = curve([85.95, 157.11, 309.58, 686.76], [31.42, 34.24, 37.18, 40.28])
        let test = curve([893.34, 112.75, 204.93, 407.8], [40.39, 31.24, 34.17, 37.21])
        let percent = try #require(BDRate.percent(test, against: reference))
        #expect(abs(percent - 31.379878202397627) < 1e-9)
    }

    @Test func otherNumbersOfPoints() throws {
        let five = curve([100, 200, 300, 800, 1600], [70, 82.5, 83, 94, 97.25])
        let three = curve([90, 210, 650], [75, 84, 95.5])
        #expect(abs(try #require(BDRate.percent(three, against: five)) + 27.392446072998943) < 1e-9)
        #expect(abs(try #require(BDRate.percent(five, against: three)) - 37.726716562493) < 1e-9)
        let two = (curve([100, 400], [30, 40]), curve([80, 300], [31, 39]))
        #expect(abs(try #require(BDRate.percent(two.1, against: two.0)) + 22.54033307585164) < 1e-9)
        #expect(abs(try #require(BDRate.percent(five, against: five))) < 1e-9)
    }

    @Test func curvesThatCannotBeCompared() {
        let curve = curve([100, 200], [30, 35])
        #expect(BDRate.percent(self.curve([100, 200], [36, 40]), against: curve) == nil)
        #expect(BDRate.percent(self.curve([100], [32]), against: curve) == nil)
        #expect(BDRate.percent(self.curve([100, 200], [35, 30]), against: curve) == nil)
        #expect(BDRate.percent(self.curve([0, 200], [30, 35]), against: curve) == nil)
        #expect(BDRate.percent(self.curve([100, 200], [30, .infinity]), against: curve) == nil)
    }
}
