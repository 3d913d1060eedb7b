// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDHEVC

/// Descriptions of alpha layers and their deviations from the interoperability profile.
@Suite struct AlphaLayerInfoTests {
    /// A stream with alpha in this project's form, with changes to the alpha layer's SPS.
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

    @Test func findsNoDeviationInOwnStreams() throws {
        let info = try #require(AlphaLayerInfo(nalUnits: try Self.ours()))
        #expect(info.layerId == 1 && info.info?.alphaChannelUseIdc == 1)
        #expect(info.deviations.isEmpty, "\(info.deviations)")
    }

    @Test func namesEveryDeviation() throws {
        func deviations(_ nalUnits: [[UInt8]]) throws -> [String] {
            try #require(AlphaLayerInfo(nalUnits: nalUnits)).deviations
        }
        #expect(
            try deviations(Self.ours { $0.vuiParameters = nil }) == [
                "the alpha layer's SPS does not signal full range"
            ])
        #expect(try deviations(Self.ours { $0.spsSeqParameterSetId = 0 }) == ["both layers' SPSs have the same id"])
        #expect(
            try deviations(Self.ours { $0.picWidthInLumaSamples = 320 }) == ["the layers differ in size"])
        #expect(
            try deviations(
                Self.ours {
                    $0.spsMaxSubLayersMinus1 = 1
                    $0.profileTierLevel.subLayers = [SubLayerProfileTierLevel()]
                    $0.orderingInfo.presentFlag = false
                }) == ["the base layer has 1 temporal sub-layers, the alpha layer 2"])
        #expect(
            try deviations(Self.ours().dropLast()) == [
                "there is no alpha_channel_info message, so the mode is unknown"
            ])
        #expect(try deviations(Self.ours().filter { $0[0] != 0x44 }) == ["the alpha layer has no PPS"])
    }

    @Test func findsNoAlphaInStreamsOfOneLayer() throws {
        let (vps, sps) = LayerTests.singleLayer()
        #expect(AlphaLayerInfo(nalUnits: [try vps.nalUnit(), try sps.nalUnit()]) == nil)
        let ours = try VideoParameterSet(nal: try #require(try Self.ours().first))
        #expect(AlphaLayerInfo(nalUnits: [try ours.singleLayer.nalUnit(), try sps.nalUnit()]) == nil)
        var single = vps
        (single.timingInfo, single.orderingInfo.presentFlag) = (nil, true)
        #expect(ours.singleLayer == single, "singleLayer undoes addingAlphaLayer")
    }
}
