// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import Testing

@testable import HWDX265

/// Temporal levels of streams with alpha: each extracted layer is a stream with these levels.
@Suite struct AlphaLevelTests {
    /// One layer as a separate stream, with only `nuh_layer_id` changed.
    private func layer(_ id: Int, of stream: AlphaTests.Stream) throws -> EncodeResult {
        func alone(_ unit: ArraySlice<UInt8>) throws -> [UInt8]? {
            let header = try NALUnitHeader(nal: unit)
            if header.nalUnitType == .vps { return try VideoParameterSet(nal: unit).singleLayer.nalUnit() }
            guard header.nuhLayerId == id else { return nil }
            var unit = Array(unit)
            unit[1] &= 7
            return unit
        }
        let sets = try stream.record.nalUnits.compactMap { try alone($0[...]) }
        var result = EncodeResult(formatDescription: try DecoderConfigurationRecord(nalUnits: sets).bytes())
        for (picture, bytes) in stream.pictures {
            var sample: [UInt8] = []
            var units = try LengthPrefixedNALUnits(bytes[...])
            while let unit = try units.next() {
                #expect(try NALUnitHeader(nal: unit).temporalID == Int(picture.temporalLevel))
                if let own = try alone(unit) { try LengthPrefixedNALUnits.append(own, to: &sample) }
            }
            result.pictures.append(CodedPicture(picture, sample))
        }
        return result
    }

    private func encode(
        _ base: Int, frames: Int, _ properties: [String: PropertyValue] = [:], forced: Set<Int> = [],
        size: (Int, Int) = (96, 64)
    ) throws -> AlphaTests.Stream {
        let rates: [String: PropertyValue] = [
            "BaseLayerFrameRate": .int(Int64(base)), "ExpectedFrameRate": .int(240),
        ]
        return try AlphaTests.encode(
            AlphaTests.Source(width: size.0, height: size.1, frames: frames), rates.merging(properties) { $1 },
            forced: forced)
    }

    static let kinds: [(Int, Int, [String: PropertyValue], Set<Int>)] = [
        (30, 23, ["X265Params": .string("slices=2:hash=1"), "AverageBitRate": .int(300_000)], []),
        (15, 35, [:], []),
        (30, 40, ["MaxKeyFrameInterval": .int(17)], [7, 12]),
        (120, 23, ["MaxKeyFrameInterval": .int(9)], [6, 13]),
        (60, 24, ["MaxKeyFrameInterval": .int(8), "AllowOpenGOP": .bool(false)], []),
    ]

    /// Dropping levels changes no remaining picture of either layer, according to two decoders.
    @Test(arguments: sampled(kinds))
    func everyLevelDecodesAlone(
        base: Int, frames: Int, properties: [String: PropertyValue], forced: Set<Int>
    ) throws {
        let stream = try encode(base, frames: frames, properties, forced: forced)
        try #require(stream.pictures.count == frames)
        let plan = try TemporalLevels(base: Rational(Int32(base)), full: Rational(240))
        let starts = [0] + forced.sorted() + [frames]
        let levels = zip(starts, starts.dropFirst()).flatMap { (0..<($1 - $0)).map(plan.level) }
        let hasLeading = stream.pictures.contains { $0.0.nalUnitType == 21 }
        #expect(hasLeading == (properties["MaxKeyFrameInterval"] != nil && properties["AllowOpenGOP"] == nil))
        for id in 0...1 {
            let faults = try TemporalStreams.faults(
                try layer(id, of: stream), levels: levels, usesLibde265: !hasLeading)
            #expect(faults.isEmpty, "layer \(id): \(faults)")
        }
    }

    @Test func recordDeclaresTheLevelsOfBothLayers() throws {
        let stream = try encode(30, frames: 9)
        let record = stream.record
        for (highest, part) in [(3, record), (1, try record.keepingSubLayers(upTo: 1))] {
            #expect(part.numTemporalLayers == highest + 1 && part.temporalIdNested)
            #expect(AlphaLayerInfo(nalUnits: part.nalUnits)?.deviations == [])
            let sets = try part.nalUnits.filter { $0[0] >> 1 == 33 }.map { try SequenceParameterSet(nal: $0) }
            #expect(sets.map(\.header.nuhLayerId) == [0, 1])
            #expect(sets.allSatisfy { $0.spsMaxSubLayersMinus1 == highest && $0.spsTemporalIdNestingFlag })
            let vps = try VideoParameterSet(nal: try #require(part.nalUnits.first))
            let relations = try #require(try vps.multilayerExtension()?.relations)
            #expect(vps.vpsMaxSubLayersMinus1 == highest && relations.subLayersMaxMinus1 == [highest, highest])
            #expect(part.generalLevelIdc == sets[0].profileTierLevel.generalLevelIdc)
        }
        #expect(try record.keepingSubLayers(upTo: 1).generalLevelIdc < record.generalLevelIdc)
    }

    @Test func keepsMaxFrameDelay() throws {
        let stream = try encode(30, frames: 70, ["MaxFrameDelayCount": .int(54)], size: (64, 64))
        #expect(stream.pictures.count == 70 && stream.maxHeld - 1 <= 54, "\(stream.maxHeld - 1) frames were held")
    }
}
