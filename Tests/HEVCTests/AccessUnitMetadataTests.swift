// SPDX-License-Identifier: GPL-2.0-or-later
import HWDHEVC
import Testing

/// Where HDR metadata are inserted into an access unit.
@Suite struct AccessUnitMetadataTests {
    private static func sample(_ units: [[UInt8]]) throws -> [UInt8] {
        var sample: [UInt8] = []
        for unit in units { try LengthPrefixedNALUnits.append(unit, to: &sample) }
        return sample
    }

    private static func units(_ sample: [UInt8]) throws -> [[UInt8]] {
        var units = try LengthPrefixedNALUnits(sample[...])
        var result: [[UInt8]] = []
        while let unit = try units.next() { result.append(Array(unit)) }
        return result
    }

    /// A TRAIL_R slice of the base layer and one of layer 1, both at TemporalId 2.
    private let slices: [[UInt8]] = [[0x02, 0x03, 0x80, 1], [0x02, 0x0B, 0x80, 2]]
    private let light = SEIMessage(payloadType: 144, payload: [3, 0xE8, 1, 0x90])
    private let dynamic = SEIMessage(payloadType: 4, payload: [0xB5, 0, 0x3C, 0, 1, 4, 1, 0x40])

    @Test func messagesPrecedeTheSlicesAndTheRPUIsLast() throws {
        let timing = try SEI(messages: [SEIMessage(payloadType: 1, payload: [0x18])]).nalUnit()
        var sample = try Self.sample([timing] + slices)
        var metadata = AccessUnitMetadata()
        metadata.messages = [light, dynamic]
        metadata.rpu = [0x7C, 0x01, 0x19, 8]
        try metadata.insert(into: &sample)
        let units = try Self.units(sample)
        #expect(try units.map { try NALUnitHeader(nal: $0).nalUnitType.rawValue } == [39, 39, 39, 1, 1, 62])
        #expect(units[0] == timing && Array(units[3...4]) == slices)
        #expect(try SEI(nal: units[1]).messages == [light] && SEI(nal: units[2]).messages == [dynamic])
        let inserted = try [units[1], units[2], units[5]].map { try NALUnitHeader(nal: $0) }
        #expect(inserted.allSatisfy { $0.temporalID == 2 && $0.nuhLayerId == 0 })
        #expect(Array(units[5].dropFirst(2)) == [0x19, 8])
    }

    @Test func aMessageThatIsThereIsNotRepeated() throws {
        var sample = try Self.sample([try SEI(messages: [light]).nalUnit()] + slices)
        let before = sample
        var metadata = AccessUnitMetadata()
        metadata.messages = [light]
        try metadata.insert(into: &sample)
        #expect(sample == before)
        metadata.messages = [dynamic]
        try metadata.insert(into: &sample)
        #expect(try Self.units(sample).count == 4)
    }

    /// Captions and HDR10+ have the same payload type.
    @Test func captionsDoNotReplaceHDR10Plus() throws {
        let captions = try SEIMessage(.closedCaptions(ClosedCaptions(constructs: [.init(bytes: [0x94, 0x2C])])))
        var sample = try Self.sample([try SEI(messages: [captions]).nalUnit()] + slices)
        var metadata = AccessUnitMetadata()
        metadata.messages = [dynamic, captions]
        try metadata.insert(into: &sample)
        let units = try Self.units(sample)
        #expect(try units.count == 4 && SEI(nal: units[1]).messages == [dynamic])
    }

    @Test func returnsMessagesThatTheAccessUnitContradicts() throws {
        var sample = try Self.sample([try SEI(messages: [light]).nalUnit()] + slices)
        var metadata = AccessUnitMetadata()
        let other = SEIMessage(payloadType: 144, payload: [1, 0, 0, 9])
        metadata.messages = [light]
        #expect(try metadata.insert(into: &sample) == [])
        metadata.messages = [other]
        #expect(try metadata.insert(into: &sample) == [other])
    }

    /// A driver's own message is no reason to end a session.
    @Test func passesOnMessagesThatCannotBeRead() throws {
        let damaged: [UInt8] = [0x4E, 0x01, 0x04, 0xFF, 0x20]
        var sample = try Self.sample([damaged] + slices)
        var metadata = AccessUnitMetadata()
        metadata.messages = [light]
        try metadata.insert(into: &sample)
        let units = try Self.units(sample)
        #expect(try units.count == 4 && units[0] == damaged && SEI(nal: units[1]).messages == [light])
    }

    @Test func refusesAnAccessUnitWithoutASlice() throws {
        var metadata = AccessUnitMetadata()
        metadata.rpu = [0x7C, 0x01, 0x19]
        for damaged in [[], try Self.sample([try SEI(messages: [light]).nalUnit()]), [0, 0, 0, 9, 2, 1]] {
            var sample = damaged
            #expect(throws: BitstreamError.self) { try metadata.insert(into: &sample) }
        }
    }
}
