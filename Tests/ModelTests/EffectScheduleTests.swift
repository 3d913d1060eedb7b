// SPDX-License-Identifier: MIT
import HWDModel
import Testing

/// Which effects a frame gets, by its time.
@Suite struct EffectScheduleTests {
    private static func list(_ stops: Int) throws -> EffectList {
        try EffectList(texts: ["exposure:ev=\(stops)"], .call)
    }

    private static func change(_ pts: Int64, _ stops: Int) throws -> EffectSchedule.Change {
        EffectSchedule.Change(pts: pts, list: try list(stops))
    }

    /// The effects of frames with these times, in order.
    private static func stops(_ schedule: inout EffectSchedule, _ times: [Int64?]) -> [Int] {
        times.map { pts in
            schedule.advance(to: pts)
            return Int(schedule.list.effects[0].number("ev"))
        }
    }

    @Test("A change holds from its time on, in whatever order changes are added")
    func times() throws {
        var schedule = EffectSchedule(try Self.list(0))
        for (pts, stops) in [(Int64(20), 2), (10, 1), (-5, -1)] { try schedule.add(Self.change(pts, stops)) }
        #expect(schedule.pending.map(\.pts) == [-5, 10, 20])
        #expect(Self.stops(&schedule, [-6, -5, 9, 10, 19, 20, 30]) == [0, -1, -1, 1, 1, 2, 2])
        #expect(schedule.pending.isEmpty)
    }

    @Test(
        "A frame that goes back keeps what the frame before it had; a change for the past holds from the next frame on"
    )
    func backwards() throws {
        var schedule = EffectSchedule(try Self.list(0))
        try schedule.add(Self.change(10, 1))
        #expect(Self.stops(&schedule, [10, 3]) == [1, 1])
        try schedule.add(Self.change(2, 2))
        #expect(Self.stops(&schedule, [11]) == [2])
    }

    @Test("Frames without a time get only changes for all of them, and the last one of a time counts")
    func always() throws {
        var schedule = EffectSchedule(try Self.list(0))
        try schedule.add(Self.change(Ticks.bound - 1, 5))
        try schedule.add(Self.change(EffectSchedule.always, 1))
        try schedule.add(Self.change(EffectSchedule.always, 2))
        #expect(schedule.pending.count == 2)
        #expect(Self.stops(&schedule, [nil, Ticks.bound - 1]) == [2, 5])
    }

    @Test("Other effects, impossible times and too many changes are refused, and nothing else changes")
    func refused() throws {
        var schedule = EffectSchedule(try Self.list(0))
        for pts in [Ticks.bound, -Ticks.bound, .max] {
            #expect(throws: SessionError.self) { try schedule.add(Self.change(pts, 1)) }
        }
        for texts in [[], ["sepia"], ["exposure:ev=1", "exposure:ev=1"]] {
            let error = #expect(throws: SessionError.self) {
                try schedule.add(EffectSchedule.Change(pts: 0, list: EffectList(texts: texts, .call)))
            }
            #expect(error?.reason.contains("but the session's are exposure") == true)
        }
        for pts in 0..<EffectSchedule.maxPending { try schedule.add(Self.change(Int64(pts), 1)) }
        let before = schedule
        #expect(throws: SessionError.self) { try schedule.add(Self.change(100, 1)) }
        #expect(schedule == before)
        // One that replaces another is no further one.
        try schedule.add(Self.change(7, 3))
        #expect(Self.stops(&schedule, [7, 8]) == [3, 1])
        try schedule.add(Self.change(100, 4))
    }

    @Test("The list of the last frame and as many changes as may wait can be added to another worker's session")
    func replay() throws {
        var schedule = EffectSchedule(try Self.list(0))
        try schedule.add(Self.change(EffectSchedule.always, 9))
        for pts in 0..<EffectSchedule.maxPending { try schedule.add(Self.change(Int64(pts), 1)) }
        #expect(schedule.pending.count == EffectSchedule.maxPending + 1)
        try schedule.add(Self.change(EffectSchedule.always, 2))
        #expect(Self.stops(&schedule, [nil, -1, 0]) == [2, 2, 1])
    }
}
