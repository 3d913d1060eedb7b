// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDComparison

/// ICC profiles, of files whose pictures all have the same one and of files whose pictures do not.
@Suite struct ProfileComparisonTests {
    private let first: [UInt8] = [1, 2, 3]
    private let second: [UInt8] = [4, 5]

    @Test func sameForAllPictures() {
        #expect(FactComparison.profile(nil, nil, varies: false) == nil)
        let kept = FactComparison.profile(first, first, varies: false)
        #expect(kept?.verdict == .kept && kept?.expected == nil)
        #expect(FactComparison.profile(nil, first, varies: false)?.verdict == .changed)
        for output in [nil, second] {
            #expect(FactComparison.profile(first, output, varies: false)?.isFault == true)
        }
    }

    @Test func notTheSameForAllPictures() throws {
        // The first picture has one, or only later pictures have.
        for input in [first, nil] {
            let lost = try #require(FactComparison.profile(input, nil, varies: true))
            #expect(lost.name == "icc" && lost.verdict == .lost && !lost.isFault)
            #expect(lost.sentence == "the output has no ICC profile")
        }
        // What is not lost needs no reason.
        for (input, output) in [(first, first), (nil, second)] as [([UInt8]?, [UInt8]?)] {
            let item = try #require(FactComparison.profile(input, output, varies: true))
            #expect(item.verdict != .lost && item.expected == nil)
        }
    }
}
