// SPDX-License-Identifier: GPL-2.0-or-later
import HWDMetadata
import HWDModel
import Testing

@testable import hwctl_media

/// Which parts `hwctl join` accepts.
@Suite struct PartCheckTests {
    private func part(
        _ segment: Int, of count: Int = 4, source: String = "aa", options: [String] = ["--quality=0.5"],
        _ change: (inout [String: PropertyValue]) -> Void = { _ in }
    ) throws -> PartCheck.Part {
        var fields: [String: PropertyValue] = [
            "schema": .int(2), "segment": .int(Int64(segment)), "count": .int(Int64(count)),
            "source": .string(source),
            "time_base": .string("1/100"), "start": .int(Int64(segment - 1) * 200),
            "end": .int(Int64(segment) * 200),
            "options": .array(options.map { .string($0) }), "frames": .int(50), "digest": .string("bb"),
            "encoder": .string("x265"),
        ]
        change(&fields)
        return PartCheck.Part(
            path: "part-\(segment).mov", record: try JSON.decode(PartRecord.self, from: JSON.encode(fields)))
    }

    private func reason(_ parts: [PartCheck.Part]) -> String? {
        do throws(MediaError) {
            _ = try PartCheck.ordered(parts, source: ("aa", "in.mov"))
            return nil
        } catch {
            #expect(error.kind == .badInput && error.exitStatus == .badInput)
            return error.reason
        }
    }

    @Test func anyOrderIsAccepted() throws {
        let parts = try [3, 1, 4, 2].map { try part($0) }
        #expect(try PartCheck.ordered(parts, source: ("aa", "in.mov")).map(\.record.segment) == [1, 2, 3, 4])
    }

    @Test func partsThatDoNotBelongTogether() throws {
        let all = try (1...4).map { try part($0) }
        #expect(reason(Array(all[0..<1])) == "segments 2-4 of 4 are missing")
        #expect(reason([all[0], all[1], all[3]]) == "segment 3 of 4 is missing")
        #expect(reason(all + [all[1]]) == "segment 2 is there twice: part-2.mov and part-2.mov")
        #expect(
            reason(try [part(1), part(2, source: "cc")]) == "part-2.mov is a segment of another source than in.mov")
        #expect(
            reason(try [part(1), part(2, options: [])])
                == "part-2.mov was encoded without options, part-1.mov with --quality=0.5")
        #expect(
            reason(try [part(1), part(2, of: 8)])
                == "part-2.mov is segment 2 of 8, part-1.mov is segment 1 of 4: encode all with one count")
    }

    @Test func presetsOfOneNameWithOtherValues() throws {
        let (first, same) = (try part(1), try part(2))
        let preset = try part(2) { $0["preset"] = .string("1f") }
        let sound = try part(2) { $0["sound"] = .string("aac") }
        #expect(
            reason([first, preset])
                == "part-2.mov and part-1.mov were encoded with presets of one name and other values")
        #expect(
            reason([first, sound])
                == "part-2.mov was encoded for the sound aac, part-1.mov for no preset's sound")
        let again = try part(2)
        #expect(same.record.isSameWork(as: again.record))
        #expect(!same.record.isSameWork(as: preset.record) && !same.record.isSameWork(as: sound.record))
    }

    @Test func timesThatDoNotMeet() throws {
        let gap = try (1...4).map { number in try part(number) { if number == 2 { $0["start"] = .int(201) } } }
        #expect(reason(gap) == "part-1.mov ends at 2.000 s and part-2.mov begins at 2.010 s: there is a gap")
        let overlap = try (1...4).map { number in try part(number) { if number == 2 { $0["end"] = .int(450) } } }
        #expect(reason(overlap) == "part-2.mov ends at 4.500 s and part-3.mov begins at 4.000 s: they overlap")
    }

    @Test func numbersInMessages() {
        #expect(PartCheck.ranges([1, 2, 3, 5, 8, 9]) == "1-3, 5, 8-9")
        #expect(PartCheck.ranges((1...30).map { $0 * 2 }).hasSuffix("20 and more"))
    }

    @Test func segmentNumbers() {
        #expect(SegmentNumber(argument: "2/32").map { [$0.number, $0.count] } == [2, 32])
        for text in ["0/3", "4/3", "3", "1/0", "-1/3", "1/", "/3", "1/2/3", "a/b", "1/100001", ""] {
            #expect(SegmentNumber(argument: text) == nil, "\(text)")
        }
    }

    @Test func ticksOfOtherTimeBases() throws {
        let ntsc = try #require(Rational(1001, 30000))
        let film = try #require(TickScale(from: Rational(1, 30000) ?? ntsc, to: ntsc))
        #expect(film.exact(3003) == 3)
        #expect(film.exact(3004) == nil)
        let same = try #require(TickScale(from: ntsc, to: ntsc))
        #expect(same.exact(-7) == -7)
        #expect(same.exact(.max) == nil)
        let finest = try #require(TickScale(from: Rational(1), to: Rational(1, .max) ?? ntsc))
        #expect(finest.exact(1 << 40) == nil)
    }
}
