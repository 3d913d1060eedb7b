// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

@testable import HWDHEVC

@Suite struct HostileInputTests {
    /// SplitMix64: the same numbers in every run.
    struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    /// The outcomes of many parses.
    struct Tally {
        var accepted = 0
        var refused: [BitstreamError.Code: Int] = [:]
    }

    /// Parses a NAL unit by its type; an accepted one must be writable and read back equal.
    static func parse(_ nal: [UInt8], _ sets: ParameterSets, _ tally: inout Tally) {
        do throws(BitstreamError) {
            var detector = AccessUnitDetector()
            _ = try detector.startsAccessUnit(nal[...])
            switch try NALUnitHeader(nal: nal).nalUnitType {
            case .vps:
                let vps = try VideoParameterSet(nal: nal)
                #expect((try? VideoParameterSet(nal: vps.nalUnit())) == vps)
            case .sps:
                let sps = try SequenceParameterSet(nal: nal)
                #expect((try? SequenceParameterSet(nal: sps.nalUnit())) == sps)
                #expect(sps.isMultiLayerExtension || (sps.width > 0 && sps.height > 0))
            case .pps:
                let pps = try PictureParameterSet(nal: nal)
                #expect((try? PictureParameterSet(nal: pps.nalUnit())) == pps)
            case .prefixSEI, .suffixSEI:
                let sei = try SEI(nal: nal)
                #expect((try? SEI(nal: sei.nalUnit())) == sei)
                for message in sei.messages { _ = try message.interpreted() }
            default:
                let slice = try SliceSegment(nal: nal, parameterSets: sets)
                let again = try? SliceSegment(nal: slice.nalUnit(parameterSets: sets), parameterSets: sets)
                #expect(again?.sliceHeader == slice.sliceHeader)
                #expect(again.map { Array($0.data) } == Array(slice.data))
            }
            tally.accepted += 1
        } catch {
            tally.refused[error.code, default: 0] += 1
            #expect(!error.reason.isEmpty)
        }
    }

    @Test func throwsOrAcceptsTwentyThousandMutations() throws {
        let stream = try SyntheticStream.bytes()
        var seeds = AnnexB.NALUnits(stream).map { Array($0) }
        let alpha = SEI(messages: [
            try SEIMessage(.alphaChannelInfo(AlphaChannelInfo())),
            try SEIMessage(.contentLightLevelInfo(ContentLightLevelInfo(maxContentLightLevel: 1000))),
            try SEIMessage(.masteringDisplayColourVolume(MasteringDisplayColourVolume())),
        ])
        seeds.append(try alpha.nalUnit())
        let sets = try SyntheticStream.parameterSets()
        var record = DecoderConfigurationRecord()
        record.arrays = [.init(arrayCompleteness: true, nalUnitType: .vps, nalUnits: [seeds[0]])]
        let configuration = try record.bytes()
        var (random, tally) = (Generator(state: 265), Tally())
        for round in 0..<20_000 {
            var nal = round % 8 == 7 ? configuration : seeds[round % seeds.count]
            Self.mutate(&nal, &random, keeping: round % 8 == 7 ? 0 : 2)
            if round % 8 == 7 {
                do throws(BitstreamError) {
                    let parsed = try DecoderConfigurationRecord(bytes: nal)
                    #expect((try? DecoderConfigurationRecord(bytes: parsed.bytes())) == parsed)
                    tally.accepted += 1
                } catch { tally.refused[error.code, default: 0] += 1 }
            } else {
                Self.parse(nal, sets, &tally)
            }
        }
        #expect(tally.accepted > 100 && tally.refused.values.reduce(0, +) > 1000)
        #expect(tally.accepted + tally.refused.values.reduce(0, +) == 20_000)
    }

    /// Makes one to four changes: flips a bit, sets a byte, cuts off the end, or inserts zeros or ones.
    static func mutate(_ bytes: inout [UInt8], _ random: inout Generator, keeping: Int) {
        for _ in 0..<Int.random(in: 1...4, using: &random) where bytes.count > keeping + 1 {
            let index = Int.random(in: keeping..<bytes.count, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0...3: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 4: bytes[index] = .random(in: 0...255, using: &random)
            case 5: bytes.removeSubrange(index...)
            case 6: bytes.insert(contentsOf: [0, 0, 0, 0], at: index)
            default: bytes.insert(contentsOf: [255, 255, 255, 255], at: index)
            }
        }
    }

    @Test(
        "Throws or accepts NAL units of damaged clips",
        arguments: ["bitflips.hevc", "no_irap.hevc", "no_sps.hevc", "only_params.hevc", "zeros.hevc", "random.mp4"])
    func damagedClips(name: String) throws {
        let stream = try Clips.bytes("damaged/\(name)")
        var (sets, tally) = (ParameterSets(), Tally())
        for nal in AnnexB.NALUnits(stream) {
            Self.parse(Array(nal), sets, &tally)
            _ = try? sets.add(nal: nal)
        }
        if name == "no_sps.hevc" { #expect(tally.refused[.missingParameterSet, default: 0] > 0) }
        if name == "only_params.hevc" { #expect(tally.refused.isEmpty && tally.accepted >= 3) }
        if name == "zeros.hevc" { #expect(tally.accepted == 0) }
    }

    @Test("Refuses to write values that the standard forbids")
    func refusesForbiddenValues() throws {
        func refuses(_ change: (inout SequenceParameterSet) -> Void) throws {
            var sps = try SyntheticStream.sps()
            change(&sps)
            #expect(throws: BitstreamError.self) { try sps.nalUnit() }
        }
        try refuses { $0.spsSeqParameterSetId = 16 }
        try refuses { $0.picWidthInLumaSamples = 16392 }
        try refuses { $0.picWidthInLumaSamples = 420 }
        try refuses { $0.conformanceWindow = WindowOffsets(left: 104, right: 104) }
        try refuses { $0.bitDepthLumaMinus8 = 9 }
        try refuses { $0.log2MaxPicOrderCntLsbMinus4 = 13 }
        try refuses { $0.log2DiffMaxMinLumaCodingBlockSize = 4 }
        try refuses { $0.shortTermRefPicSets = Array(repeating: ShortTermRefPicSet(), count: 65) }
        try refuses { $0.vuiParameters?.hrdParameters?.subLayers[0].cpbCntMinus1 = 32 }
        try refuses {
            $0.shortTermRefPicSets = [
                ShortTermRefPicSet(
                    negativePics: (1...17).map { ShortTermRefPic(deltaPoc: -$0) }, positivePics: [])
            ]
        }
        // Not ordered by distance.
        try refuses {
            $0.shortTermRefPicSets = [
                ShortTermRefPicSet(negativePics: [.init(deltaPoc: -3), .init(deltaPoc: -1)], positivePics: [])
            ]
        }
    }

    @Test func refusesEveryPrefixOfAParameterSet() throws {
        let stream = try SyntheticStream.bytes()
        for nal in AnnexB.NALUnits(stream).prefix(3) {
            for length in 0..<(nal.count - 1) {
                let cut = Array(nal.prefix(length))
                #expect(throws: BitstreamError.self) { try VideoParameterSet(nal: cut) }
                #expect(throws: BitstreamError.self) { try SequenceParameterSet(nal: cut) }
                #expect(throws: BitstreamError.self) { try PictureParameterSet(nal: cut) }
            }
        }
    }
}
