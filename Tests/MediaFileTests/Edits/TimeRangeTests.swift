// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDMediaFile

@Suite struct TimeRangeTests {
    @Test func timesAreParsed() {
        let times: [(String, Int64?)] = [
            ("0", 0), ("12.5", 12_500_000), ("1:02:03.5", 3_723_500_000), ("2:00", 120_000_000),
            ("90", 90_000_000), ("90:00", 5_400_000_000), ("0.0000005", 1), ("999:59:59", 3_599_999_000_000),
            ("1000:00:00", 3_600_000_000_000), ("1001:00:00", nil), ("1:60", nil), ("1:2:3:4", nil), ("", nil),
            (":1", nil), ("1.", nil), (".5", nil), ("-1", nil), ("1e3", nil), ("1.5:00", nil), ("nan", nil),
            ("99999999999999999999", nil), ("１", nil), ("1.0000000001", nil),
        ]
        for (text, expected) in times { #expect(TimeRange.microseconds(text) == expected, "\(text)") }
    }

    @Test func picturesBeginAtTheStartOrLater() throws {
        // Milliseconds, as in Matroska: 30 frames per second are rounded.
        let base = try #require(Rational(1, 1000))
        var cut = TimeCut(TimeRange(start: 33_400, end: .duration(66_000)), timeBase: base)
        #expect(
            [0, 33, 67, 100, 133].map { cut.place(picture: $0) } == [.before, .inside, .inside, .after, .after])
        #expect(cut.origin == 33)
        #expect(cut.duration(40, at: 67) == 32)
        var other = TimeCut(TimeRange(start: 33_600, end: .time(100_000)), timeBase: base)
        #expect([33, 67, 100].map { other.place(picture: $0) } == [.before, .inside, .after])
        #expect(other.origin == 67)
    }
}
