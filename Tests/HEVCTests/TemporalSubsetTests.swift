// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDHEVC

/// Parameter sets of streams whose upper temporal sub-layers were removed (H.265 10.1).
@Suite struct TemporalSubsetTests {
    /// A VPS and SPS of four sub-layers with different levels and buffer sizes, below a general level of 5.1.
    private func sets() -> (VideoParameterSet, SequenceParameterSet) {
        var vps = VideoParameterSet()
        var sps = SequenceParameterSet()
        var table = ProfileTierLevel()
        table.general?.profileIdc = 1
        table.generalLevelIdc = 153
        table.subLayers = [
            SubLayerProfileTierLevel(levelIdc: 93), SubLayerProfileTierLevel(),
            SubLayerProfileTierLevel(levelIdc: 123),
        ]
        let ordering = SubLayerOrderingInfo(
            subLayers: [(1, 0), (2, 1), (3, 2), (4, 2)].map {
                SubLayerOrdering(maxDecPicBufferingMinus1: $0.0, maxNumReorderPics: $0.1)
            })
        (vps.vpsMaxSubLayersMinus1, vps.profileTierLevel, vps.orderingInfo) = (3, table, ordering)
        (sps.spsMaxSubLayersMinus1, sps.profileTierLevel, sps.orderingInfo) = (3, table, ordering)
        (vps.vpsTemporalIdNestingFlag, sps.spsTemporalIdNestingFlag) = (false, false)
        (sps.picWidthInLumaSamples, sps.picHeightInLumaSamples) = (64, 64)
        var hrd = HRDParameters()
        hrd.subLayers = Array(repeating: HRDSubLayer(), count: 4)
        sps.vuiParameters = VUIParameters()
        sps.vuiParameters?.timingInfo = TimingInfo()
        sps.vuiParameters?.hrdParameters = hrd
        return (vps, sps)
    }

    @Test(arguments: [(0, 93, 1, 0), (1, 123, 2, 1), (2, 123, 3, 2), (3, 153, 4, 2), (6, 153, 4, 2)])
    func reducesParameterSets(_ highest: Int, _ level: Int, _ buffering: Int, _ reorder: Int) throws {
        var (vps, sps) = sets()
        try vps.keepSubLayers(upTo: highest)
        sps.keepSubLayers(upTo: highest)
        // Writing and reading preserves them.
        let readVPS = try VideoParameterSet(nal: try vps.nalUnit())
        let readSPS = try SequenceParameterSet(nal: try sps.nalUnit())
        #expect(readVPS == vps && readSPS == sps)
        let left = min(highest, 3)
        #expect(readVPS.vpsMaxSubLayersMinus1 == left && readSPS.spsMaxSubLayersMinus1 == left)
        #expect(readVPS.vpsTemporalIdNestingFlag == (left == 0) && readSPS.spsTemporalIdNestingFlag == (left == 0))
        for (table, ordering) in [
            (readVPS.profileTierLevel, readVPS.orderingInfo), (readSPS.profileTierLevel, readSPS.orderingInfo),
        ] {
            #expect(table.generalLevelIdc == level && table.subLayers.count == left)
            #expect(ordering.subLayers.count == left + 1)
            #expect(ordering.highest.maxDecPicBufferingMinus1 == buffering)
            #expect(ordering.highest.maxNumReorderPics == reorder)
        }
        #expect(readSPS.vuiParameters?.hrdParameters?.subLayers.count == left + 1)
    }

    /// Reducing a stream with alpha equals adding an alpha layer to the reduced base layer.
    @Test(arguments: 0...3)
    func reducesExtensions(_ highest: Int) throws {
        let (single, sps) = sets()
        var vps = try VideoParameterSet(nal: try single.addingAlphaLayer(base: sps, alpha: sps).nalUnit())
        let whole = try #require(try vps.multilayerExtension()?.relations)
        #expect(whole.subLayersMaxMinus1 == [3, 3])
        let needs = try #require(whole.outputLayerSets.first)
        #expect(needs.subLayerFlagInfoPresentFlag && needs.ordering.map { $0?.maxNumReorderPics } == [0, 1, 2, 2])
        #expect(needs.ordering.map { $0?.maxDecPicBufferingMinus1 } == [[1, 1], [2, 2], [3, 3], [4, 4]])

        try vps.keepSubLayers(upTo: highest)
        #expect(try VideoParameterSet(nal: try vps.nalUnit()) == vps && vps.alphaLayerId == 1)
        let level = try vps.multilayerExtension()?.baseProfileTierLevel
        #expect(level?.generalLevelIdc == [93, 123, 123, 153][highest] && level?.subLayers.count == highest)
        var (lower, lowerSPS) = (single, sps)
        try lower.keepSubLayers(upTo: highest)
        lowerSPS.keepSubLayers(upTo: highest)
        #expect(try lower.addingAlphaLayer(base: lowerSPS, alpha: lowerSPS) == vps)
        var second = sps
        second.header = NALUnitHeader(.sps, nuhLayerId: 1)
        second.keepSubLayers(upTo: highest)
        #expect(second.spsMaxSubLayersMinus1 == highest)
        second.spsMaxSubLayersMinus1 = 7
        second.keepSubLayers(upTo: highest)
        #expect(second.spsMaxSubLayersMinus1 == 7, "the short form has the VPS's sub-layers")
    }

    @Test func refusesLayersWithDifferentSubLayers() throws {
        let (vps, sps) = sets()
        var fewer = sps
        fewer.keepSubLayers(upTo: 1)
        func layers(_ alpha: SequenceParameterSet) throws -> AlphaParameterSets {
            var (first, second) = (ParameterSets(), ParameterSets())
            first.add(vps)
            first.add(sps)
            second.add(alpha)
            second.add(PictureParameterSet())
            return try AlphaParameterSets(base: first, alpha: second)
        }
        #expect(try layers(sps).sps.spsMaxSubLayersMinus1 == 3)
        let error = #expect(throws: BitstreamError.self) { try layers(fewer) }
        #expect(error?.reason.contains("temporal sub-layers") == true)
    }

    @Test func infersLevelsFromTheNextSubLayer() {
        let table = sets().1.profileTierLevel
        #expect((0..<5).map { table.ofSubLayer($0).levelIdc } == [93, 123, 123, 153, 153])
        let ordering = sets().1.orderingInfo
        #expect((0..<5).map { ordering.ofSubLayer($0).maxNumReorderPics } == [0, 1, 2, 2, 2])
    }
}
