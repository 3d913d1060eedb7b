// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import Testing

@Suite struct DecodeTimesTests {
    /// Decoding order of a pyramid of 4: I0 P4 B2 b1 b3 …; D = 2 (sps_max_num_reorder_pics).
    @Test(arguments: [1, 1001, 40000] as [Int64], [0, -70000, 123_456_789] as [Int64])
    func timesIncreaseAndNeverExceedPresentation(tick: Int64, start: Int64) {
        var times = DecodeTimes(reorderDepth: 2, nominalDuration: tick)
        var order = [0]
        for base in stride(from: 0, to: 400, by: 4) { order += [base + 4, base + 2, base + 1, base + 3] }
        // A variable rate: every seventh frame is late.
        let pts = (0...400).map { (index: Int) -> Int64 in
            start + Int64(index) * tick + Int64(index / 7) * tick / 2
        }
        for time in pts { times.frameIn(pts: time) }
        var last = Int64.min
        for index in order {
            guard let dts = times.next() else {
                Issue.record("no time for picture \(index)")
                return
            }
            #expect(dts > last && dts <= pts[index])
            last = dts
        }
        #expect(times.next() == nil)
    }

    /// The largest times that a session accepts, with the deepest reordering of the standard.
    @Test func doesNotOverflowWithLargeTimes() {
        let far: Int64 = (1 << 56) - 1
        var times = DecodeTimes(reorderDepth: 16, nominalDuration: .max / 64)
        for pts in [-far, far - 1, far] { times.frameIn(pts: pts) }
        let given = [times.next(), times.next(), times.next()].compactMap { $0 }
        #expect(given.count == 3 && given == given.sorted() && given.allSatisfy { $0 <= -far })
    }

    @Test func handlesASinglePicture() {
        var times = DecodeTimes(reorderDepth: 2, nominalDuration: 0)
        times.frameIn(pts: 10)
        #expect(times.next() == 8)
        #expect(times.next() == nil)
    }

    @Test func equalsPresentationWithoutReordering() {
        var times = DecodeTimes(reorderDepth: 0, nominalDuration: 1)
        for pts in [3, 9, 10] as [Int64] {
            times.frameIn(pts: pts)
            #expect(times.next() == pts)
        }
    }
}
