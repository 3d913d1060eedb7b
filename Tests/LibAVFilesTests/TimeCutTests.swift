// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDEdits
@testable import HWDLibAVReading

@Suite struct TimeCutTests {
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
