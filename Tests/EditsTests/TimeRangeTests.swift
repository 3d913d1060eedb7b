// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDEdits

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
}
