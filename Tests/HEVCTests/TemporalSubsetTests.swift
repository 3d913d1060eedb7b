// SPDX-License-Identifier: GPL-2.0-or-later
import HEVC
import Testing

/// Parameter sets of what is left when upper temporal sub-layers are dropped (H.265 10.1).
@Suite struct TemporalSubsetTests {
    /// A VPS and SPS of four sub-layers, each with its level and its needs, below a general level of 5.1.
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
    func setsSpeakOfWhatIsLeft(_ highest: Int, _ level: Int, _ buffering: Int, _ reorder: Int) throws {
        var (vps, sps) = sets()
        vps.keepSubLayers(upTo: highest)
        sps.keepSubLayers(upTo: highest)
        // They can be written, and read as they were written.
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

    @Test func levelsWithoutOneOfTheirOwnHaveTheNextOnes() {
        let table = sets().1.profileTierLevel
        #expect((0..<5).map { table.ofSubLayer($0).levelIdc } == [93, 123, 123, 153, 153])
        let ordering = sets().1.orderingInfo
        #expect((0..<5).map { ordering.ofSubLayer($0).maxNumReorderPics } == [0, 1, 2, 2, 2])
    }
}
