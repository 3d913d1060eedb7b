// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDLibAVWriting

/// Cues of text that overlap, and text in the form of ASS.
@Suite struct TextTests {
    private typealias Part = CueQueue.Part

    /// The parts of cues that are added in their order.
    private func parts(_ cues: [(Int64, Int64, String)]) -> [Part] {
        var queue = CueQueue { $0.joined(separator: "+") }
        let parts = cues.flatMap { queue.add(Part(start: $0.0, end: $0.1, text: $0.2)) }
        return parts + queue.finish()
    }

    @Test func cuesThatOverlapAreShownTogether() {
        #expect(
            parts([(0, 10, "a"), (7, 20, "b")]) == [
                Part(start: 0, end: 7, text: "a"), Part(start: 7, end: 10, text: "a+b"),
                Part(start: 10, end: 20, text: "b"),
            ])
        #expect(parts([(0, 5, "a"), (5, 9, "b")]).map(\.text) == ["a", "b"])
        #expect(parts([(3, 8, "a"), (3, 8, "b")]) == [Part(start: 3, end: 8, text: "a+b")])
    }

    @Test func partsNeverOverlapOrLengthenTheText() {
        let starts: [Int64] = (0..<40).map { $0 * 100 }
        let parts = self.parts(starts.map { ($0, $0 + 1000, String($0)) })
        #expect(zip(parts, parts.dropFirst()).allSatisfy { $0.end <= $1.start })
        #expect(parts.last?.end == 4900)
        // A cue that comes after its end is left out; one that comes late begins late.
        #expect(self.parts([(100, 200, "a"), (50, 60, "b")]).map(\.text) == ["a"])
    }

    @Test func drawingsAreNoText() throws {
        let drawing = try #require(ASSText("0,0,Default,,0,0,0,,{\\p1}m 0 0 l 9, 0{\\p0}"))
        #expect(drawing.hadDrawing && drawing.isBlank)
        let both = try #require(ASSText("0,0,Default,,0,0,0,,one{\\an8\\p4}m 0 0{\\p0}, two"))
        #expect(both.hadDrawing && !both.isBlank && both.text == "one{\\an8\\p4}{\\p0}, two")
        let plain = try #require(ASSText("0,0,Default,,0,0,0,,{\\pos(1,2)\\pbo0}Hello, you"))
        #expect(!plain.hadDrawing && plain.text == "{\\pos(1,2)\\pbo0}Hello, you")
        #expect(ASSText("too,few") == nil)
    }
}
