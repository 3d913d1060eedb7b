// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDHEVC

/// What a description tells of its alpha layer, and in what it differs from the interoperability profile.
@Suite struct AlphaLayerInfoTests {
    /// A stream with alpha as this project writes it, and what it was made from.
    static func ours(_ change: (inout SequenceParameterSet) -> Void = { _ in }) throws -> [[UInt8]] {
        let (vps, sps) = LayerTests.singleLayer()
        var alpha = sps
        alpha.header = NALUnitHeader(.sps, nuhLayerId: 1)
        alpha.spsSeqParameterSetId = 1
        var vui = VUIParameters()
        vui.videoSignalType = VideoSignalType()
        vui.videoSignalType?.videoFullRangeFlag = true
        alpha.vuiParameters = vui
        change(&alpha)
        var (basePPS, alphaPPS) = (PictureParameterSet(), PictureParameterSet())
        alphaPPS.header = NALUnitHeader(.pps, nuhLayerId: 1)
        (alphaPPS.ppsPicParameterSetId, alphaPPS.ppsSeqParameterSetId) = (1, 1)
        basePPS.ppsSeqParameterSetId = 0
        return [
            try vps.addingAlphaLayer(base: sps, alpha: sps).nalUnit(), try sps.nalUnit(), try alpha.nalUnit(),
            try basePPS.nalUnit(), try alphaPPS.nalUnit(),
            try SEI(messages: [SEIMessage(.alphaChannelInfo(AlphaChannelInfo(alphaChannelUseIdc: 1)))]).nalUnit(),
        ]
    }

    @Test func ownFormFollowsTheProfile() throws {
        let info = try #require(AlphaLayerInfo(nalUnits: try Self.ours()))
        #expect(info.layerId == 1 && info.info?.alphaChannelUseIdc == 1)
        #expect(info.deviations.isEmpty, "\(info.deviations)")
    }

    @Test func everyDeviationIsNamed() throws {
        func deviations(_ nalUnits: [[UInt8]]) throws -> [String] {
            try #require(AlphaLayerInfo(nalUnits: nalUnits)).deviations
        }
        #expect(
            try deviations(Self.ours { $0.vuiParameters = nil }) == [
                "the alpha layer's SPS does not say full range"
            ])
        #expect(try deviations(Self.ours { $0.spsSeqParameterSetId = 0 }) == ["both layers' SPSs have one id"])
        #expect(
            try deviations(Self.ours { $0.picWidthInLumaSamples = 320 }) == ["the layers are of different size"])
        #expect(
            try deviations(
                Self.ours {
                    $0.spsMaxSubLayersMinus1 = 1
                    $0.profileTierLevel.subLayers = [SubLayerProfileTierLevel()]
                    $0.orderingInfo.presentFlag = false
                }) == ["the base layer has 1 temporal sub-layers, the alpha layer 2"])
        #expect(
            try deviations(Self.ours().dropLast()) == ["no alpha_channel_info message tells the mode"])
        #expect(try deviations(Self.ours().filter { $0[0] != 0x44 }) == ["the alpha layer has no PPS"])
    }

    @Test func streamsOfOneLayerHaveNone() throws {
        let (vps, sps) = LayerTests.singleLayer()
        #expect(AlphaLayerInfo(nalUnits: [try vps.nalUnit(), try sps.nalUnit()]) == nil)
        let ours = try VideoParameterSet(nal: try #require(try Self.ours().first))
        #expect(AlphaLayerInfo(nalUnits: [try ours.singleLayer.nalUnit(), try sps.nalUnit()]) == nil)
        var single = vps
        (single.timingInfo, single.orderingInfo.presentFlag) = (nil, true)
        #expect(ours.singleLayer == single, "what is taken out is what was put in")
    }
}
