// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDCoding

/// x265's picture order with one reference in each direction, b-adapt 0 and a B pyramid, according to its
/// documentation: anchors at a fixed distance or on request; the middle picture between two anchors is a reference.
private struct OrderModel {
    let groupSize: Int
    let interval: Int
    let isOpenGOP: Bool
    /// Whether all kinds are required, so that nothing follows from distances.
    let requiresAllKinds: Bool

    /// The references of each frame.
    func references(_ frames: [LevelPlanner.Frame]) -> [[Int]] {
        var references = [[Int]](repeating: [], count: frames.count)
        var (anchor, key) = (0, 0)
        for frame in frames.dropFirst() {
            let number = frame.number
            let isOrdered = requiresAllKinds || !frame.isRegular
            let isKey = isOrdered ? [.idr, .intra].contains(frame.kind) : number - key >= interval
            let isAnchor = isOrdered ? frame.kind != .bidirectional : isKey || number - anchor == groupSize
            guard isAnchor || number == frames.count - 1 else { continue }
            let isClosed = frame.kind == .idr || isKey && !isOpenGOP
            if isKey { key = number }
            // Before an IDR picture x265 would make the last B picture an anchor.
            if isClosed {
                references[number] = number - anchor > 1 ? [-1] : []
            } else if !isKey {
                references[number] = [anchor]
            }
            let between = (anchor + 1)..<number
            let middle = between.count > 1 ? anchor + 1 + between.count / 2 : nil
            for b in between where !isClosed {
                let low = middle.map { b > $0 ? $0 : anchor } ?? anchor
                let high = middle.map { b < $0 ? $0 : number } ?? number
                references[b] = b == middle ? [anchor, number] : [low, high]
            }
            anchor = number
        }
        return references
    }
}

@Suite struct LevelPlannerTests {
    private static let bases = [120, 60, 30, 15]

    /// The levels of a stream of 240 frames per second, as x265 codes them where neither key frames nor latency prevent it.
    private func levels(base: Int) throws -> TemporalLevels {
        var levels = try TemporalLevels(base: Rational(Int32(base)), full: Rational(240))
        levels.lengthenGroups(keyFrameInterval: 250, maxDelay: nil)
        return levels
    }

    /// With any length and any forced key frames, each frame is planned once and in order, has the level of its position,
    /// and refers to lower levels only.
    @Test(arguments: bases, [false, true])
    func everyFrameRefersToLowerLevels(base: Int, isOpenGOP: Bool) throws {
        let levels = try levels(base: base)
        for interval in [levels.anchorDistance, 2 * levels.anchorDistance, 160] {
            for frames in 1...50 {
                for forced in [[], [1], [5, 6], [3, 9, 10, 30], [16]] as [Set<Int>] {
                    try check(levels, interval, isOpenGOP, frames, forced)
                }
            }
        }
    }

    private func check(
        _ levels: TemporalLevels, _ interval: Int, _ isOpenGOP: Bool, _ frames: Int, _ forced: Set<Int>
    ) throws {
        var planner = LevelPlanner(levels, keyFrameInterval: interval, isOpenGOP: isOpenGOP)
        var queue: [LevelPlanner.Frame] = []
        for frame in 0..<frames {
            planner.add(forceKeyFrame: forced.contains(frame), to: &queue)
            #expect(planner.framesHeld <= levels.framesHeld)
            #expect(queue.count + planner.framesHeld == frame + 1)
        }
        planner.finish(into: &queue)
        try #require(queue.map(\.number) == Array(0..<frames))

        let starts = forced.union([0])
        let models = [false, true].map {
            OrderModel(
                groupSize: levels.anchorDistance, interval: interval, isOpenGOP: isOpenGOP, requiresAllKinds: $0)
        }
        #expect(models[0].references(queue) == models[1].references(queue))
        for (frame, references) in zip(queue, models[0].references(queue)) {
            let start = starts.filter { $0 <= frame.number }.max() ?? 0
            #expect(frame.level == levels.level(atPosition: frame.number - start))
            for reference in references {
                try #require(queue.indices.contains(reference), "\(frame) ends its group otherwise than planned")
                #expect(
                    queue[reference].level < max(1, frame.level),
                    "\(frame.number) at level \(frame.level) refers to \(queue[reference])")
            }
        }
    }

    /// Two levels have an anchor at every fourth frame, unless groups end before or must be ordered at once.
    @Test func lengthensGroupsOfTwo() throws {
        #expect(try Self.bases.map { try levels(base: $0).anchorDistance } == [4, 4, 8, 16])
        for (interval, delay, distance) in [(250, 15, 4), (250, 14, 2), (4, nil, 4), (3, nil, 2)] {
            var levels = try TemporalLevels(base: Rational(120), full: Rational(240))
            levels.lengthenGroups(keyFrameInterval: interval, maxDelay: delay)
            #expect(levels.anchorDistance == distance && levels.groupSize == 2, "\(interval), \(delay ?? -1)")
        }
        var planner = LevelPlanner(try levels(base: 120), keyFrameInterval: 248, isOpenGOP: true)
        var queue: [LevelPlanner.Frame] = []
        for _ in 0..<8 { planner.add(forceKeyFrame: false, to: &queue) }
        planner.finish(into: &queue)
        #expect(queue.map(\.level) == [0, 1, 0, 1, 0, 1, 0, 1])
        #expect(queue.filter { $0.kind == .predicted }.map(\.number) == [4, 6, 7])
    }

    @Test func dividesAnIncompleteGroupAtPowersOfTwo() throws {
        var planner = LevelPlanner(
            try TemporalLevels(base: Rational(30), full: Rational(240)), keyFrameInterval: 248, isOpenGOP: true)
        var queue: [LevelPlanner.Frame] = []
        for _ in 0..<16 { planner.add(forceKeyFrame: false, to: &queue) }
        planner.finish(into: &queue)
        #expect(queue.filter { $0.kind == .predicted }.map(\.number) == [8, 12, 14, 15])
        #expect(queue.map(\.level) == [0, 3, 2, 3, 1, 3, 2, 3, 0, 3, 2, 3, 1, 3, 2, 3])
    }
}
