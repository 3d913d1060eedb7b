// SPDX-License-Identifier: GPL-2.0-or-later
import HWDEdits
import Testing

/// The division of videos into segments.
@Suite struct SegmentPlanTests {
    /// A video of 100 pictures of 10 ticks, with some key frames.
    private func plan(_ keys: [Int64], count: Int) -> SegmentPlan {
        SegmentPlan(pictures: (0..<100).map { $0 * 10 }, keys: keys, end: 1000, count: count)
    }

    @Test func evenKeyFramesGiveEvenSegments() {
        let plan = plan((0..<20).map { $0 * 50 }, count: 4)
        #expect(plan.segments.map(\.start) == [0, 250, 500, 750])
        #expect(plan.segments.map(\.end) == [250, 500, 750, 1000])
        #expect(plan.segments.map(\.pictures) == [25, 25, 25, 25])
        #expect(plan.segments.map(\.number) == [1, 2, 3, 4])
    }

    @Test func thereAreAsManyAsKeyFramesAtMost() {
        #expect(plan([0, 300, 310], count: 64).segments.map(\.start) == [0, 300, 310])
        #expect(plan([0], count: 8).segments.map(\.pictures) == [100])
    }

    /// Key frames that are close together leave none for the later segments, unless they are kept for them.
    @Test func everySegmentGetsAKeyFrame() {
        #expect(plan([0, 10, 20, 990], count: 4).segments.map(\.start) == [0, 10, 20, 990])
        #expect(plan([0, 970, 980, 990], count: 4).segments.map(\.start) == [0, 970, 980, 990])
    }

    @Test func theNearestKeyFrameIsTaken() {
        #expect(plan([0, 380, 480, 530, 900], count: 2).segments.map(\.start) == [0, 480])
        #expect(plan([0, 470, 530], count: 2).segments.map(\.start) == [0, 470])
    }

    /// A video whose first picture is not a key frame, as after an edit list, begins with that picture.
    @Test func leadingPicturesBelongToTheSegmentBefore() {
        // In decoding order 30 is a key frame; 10 and 20 follow it.
        let plan = SegmentPlan(pictures: [0, 30, 10, 20, 40, 50], keys: [0, 30], end: 60, count: 2)
        #expect(plan.segments.map(\.pictures) == [3, 3])
        let late = SegmentPlan(pictures: [7, 17, 27, 37], keys: [27], end: 47, count: 3)
        #expect(late.segments.map(\.start) == [7, 27])
        #expect(late.segments.map(\.end) == [27, 47])
    }

    /// Every picture is in one segment, for many distributions of key frames.
    @Test func nothingIsLost() {
        var state: UInt64 = 5
        func random(_ limit: Int64) -> Int64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int64(state >> 33) % limit
        }
        for _ in 0..<500 {
            let pictures = Array(Set((0..<random(80) + 1).map { _ in random(5000) })).sorted()
            let keys = pictures.filter { _ in random(5) == 0 }
            let count = Int(random(12)) + 1
            let plan = SegmentPlan(pictures: pictures, keys: keys, end: 5001, count: count)
            let candidates = Set(keys).subtracting([pictures[0]])
            #expect(plan.segments.count == min(count, candidates.count + 1))
            #expect(plan.segments.reduce(0) { $0 + $1.pictures } == pictures.count)
            #expect(
                zip(plan.segments, plan.segments.dropFirst()).allSatisfy { $0.end == $1.start && $0.start < $0.end }
            )
            #expect(plan.segments.dropFirst().allSatisfy { candidates.contains($0.start) })
            for segment in plan.segments {
                let inside = pictures.count {
                    $0 >= segment.start && ($0 < segment.end || segment.number == plan.segments.count)
                }
                #expect(inside == segment.pictures)
            }
        }
    }
}
