// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWClient

@Suite("Packets and times across processes")
struct GateTests {
    /// Frames' numbers in the decoding order of groups of eight: an anchor, then the pyramid before it.
    private static func pyramid(from first: UInt64, _ count: UInt64) -> [UInt64] {
        guard count > 0 else { return [] }
        var order: [UInt64] = [first]
        var next = first + 1
        while next < first + count {
            let size = min(8, first + count - next)
            // A group that the stream's end cuts short has no pictures between its anchors.
            order += size == 8 ? [7, 3, 1, 0, 2, 5, 4, 6].map { next + $0 } : (0..<size).map { next + $0 }
            next += size
        }
        return order
    }

    @Test("Without reordering every packet passes at once")
    func chain() {
        var gate = PacketGate<UInt64>()
        for frame in UInt64(0)..<10 { #expect(gate.add(frame, of: frame) == [frame]) }
        #expect(gate.isEmpty && gate.deliveredCount == 10)
    }

    @Test("What passed before any failure is the first frames of the stream")
    func prefixes() {
        for failure in 0...40 {
            var gate = PacketGate<UInt64>()
            var delivered: [UInt64] = []
            for frame in Self.pyramid(from: 0, 40).prefix(failure) { delivered += gate.add(frame, of: frame) }
            let count = UInt64(delivered.count)
            #expect(count == gate.deliveredCount && delivered.sorted() == (0..<count).map { $0 })
            #expect(failure - delivered.count < 8)
            gate.discard()
            for frame in Self.pyramid(from: count, 40 - count) { delivered += gate.add(frame, of: frame) }
            #expect(delivered.sorted() == (0..<40).map { $0 } && gate.isEmpty)
        }
    }

    /// Decoding times as a worker computes them, for presentation times from the first it was sent on.
    private static func worker(_ depth: Int, _ times: [Int64]) -> [Int64] {
        times.indices.map { $0 < depth ? times[0] - Int64(depth - $0) * 40 : times[$0 - depth] }
    }

    @Test("Decoding times continue as if one process had computed them", arguments: 0...3)
    func times(depth: Int) {
        let presented = (0..<100).map { Int64($0) * 40 + ($0 > 50 ? 7 : 0) }
        let whole = Self.worker(depth, presented)
        for failure in [1, 2, 3, 9, 70, 99] {
            for nextDepth in 0...depth {
                var timeline = DecodeTimeline()
                var result: [Int64] = []
                for time in presented.prefix(failure + 5) { timeline.frameSent(pts: time) }
                for time in whole.prefix(failure) { result.append(timeline.next(own: time)) }
                timeline.continueElsewhere(reported: depth)
                #expect(timeline.depth == depth)
                for time in presented.dropFirst(failure + 5) { timeline.frameSent(pts: time) }
                for time in Self.worker(nextDepth, Array(presented.dropFirst(failure))) {
                    result.append(timeline.next(own: time))
                }
                #expect(result == whole)
            }
        }
    }

    @Test(
        "A depth that leaves no room before the first presentation time is lowered, so that times rise",
        arguments: 1...5)
    func reportedTooDeep(reported: Int) throws {
        var timeline = DecodeTimeline()
        for time in Int64(0)..<10 { timeline.frameSent(pts: time) }
        // A process that reorders one picture, in a time base of one unit a frame.
        var result = [timeline.next(own: -1)]
        timeline.continueElsewhere(reported: reported)
        let depth = try #require(timeline.depth)
        let next = Self.worker(min(depth, 1), (1..<10).map { Int64($0) })
        for time in next { result.append(timeline.next(own: time)) }
        #expect(zip(result, result.dropFirst()).allSatisfy { $0 < $1 }, "\(result)")
        #expect(depth == 1)
    }

    @Test("A failure before the first packet changes no times")
    func early() {
        var timeline = DecodeTimeline()
        for time in Int64(0)..<5 { timeline.frameSent(pts: time * 40) }
        timeline.continueElsewhere(reported: 2)
        #expect(timeline.depth == nil)
        #expect((-2..<5).map { timeline.next(own: Int64($0) * 40) } == (-2..<5).map { Int64($0) * 40 })
    }
}
