// SPDX-License-Identifier: GPL-2.0-or-later

/// The parameter sets of a stream whose layer 1 is an alpha plane: one VPS for both layers, an SPS and a PPS each.
///
/// Decoders key parameter sets by id and not by layer, so the alpha layer's ids differ from every id of the base.
struct AlphaParameterSets: Hashable, Sendable {
    /// `nuh_layer_id` of the alpha layer.
    static let layerId = 1

    /// The two layers' VPS.
    let vps: VideoParameterSet
    /// The alpha layer's SPS as it is written.
    let sps: SequenceParameterSet
    /// The alpha layer's PPS as it is written.
    let pps: PictureParameterSet

    /// From the parameter sets that two encoders of one layer each made.
    ///
    /// - Throws: `unsupported` where the two cannot be layers of one stream: other sizes, more than 8 bits, other
    ///   sub-layers, several parameter sets of a kind; `missingParameterSet` where one lacks.
    init(base: ParameterSets, alpha: ParameterSets) throws(BitstreamError) {
        guard let vps = base.videoParameterSets.values.first, let baseSPS = base.sequenceParameterSets.values.first,
            let alphaSPS = alpha.sequenceParameterSets.values.first,
            let alphaPPS = alpha.pictureParameterSets.values.first
        else { throw BitstreamError(.missingParameterSet, "Both layers need their parameter sets.") }
        guard base.videoParameterSets.count == 1, base.sequenceParameterSets.count == 1,
            alpha.sequenceParameterSets.count == 1, alpha.pictureParameterSets.count == 1
        else { throw BitstreamError(.unsupported, "A layer has several parameter sets of one kind.") }
        try Self.check(vps, baseSPS, alphaSPS)
        guard alphaPPS.numExtraSliceHeaderBits == 0 else {
            // In a layer above the base the extra bits are discardable_flag and cross_layer_bla_flag (F.7.3.6.1).
            throw BitstreamError(.unsupported, "The alpha layer's slice headers have extra bits.")
        }
        let spsIds = (1...15).filter { base.sequenceParameterSets[$0] == nil }
        let ppsIds = (1...63).filter { base.pictureParameterSets[$0] == nil }
        guard let spsId = spsIds.first, let ppsId = ppsIds.first else {
            throw BitstreamError(.unsupported, "The base layer leaves the alpha layer no parameter set id.")
        }
        var (sps, pps) = (alphaSPS, alphaPPS)
        sps.header = NALUnitHeader(.sps, nuhLayerId: Self.layerId)
        sps.spsSeqParameterSetId = spsId
        sps.spsVideoParameterSetId = vps.vpsVideoParameterSetId
        var (vui, signal) = (
            sps.vuiParameters ?? VUIParameters(), sps.vuiParameters?.videoSignalType ?? VideoSignalType()
        )
        signal.videoFullRangeFlag = true
        vui.videoSignalType = signal
        sps.vuiParameters = vui
        pps.header = NALUnitHeader(.pps, nuhLayerId: Self.layerId)
        pps.ppsPicParameterSetId = ppsId
        pps.ppsSeqParameterSetId = spsId
        self.sps = sps
        self.pps = pps
        self.vps = try vps.addingAlphaLayer(base: baseSPS, alpha: alphaSPS)
    }

    private static func check(
        _ vps: VideoParameterSet, _ base: SequenceParameterSet, _ alpha: SequenceParameterSet
    ) throws(BitstreamError) {
        guard RepFormat(base) == RepFormat(alpha) else {
            throw BitstreamError(.unsupported, "The alpha layer has another size or sample format than the base.")
        }
        guard base.chromaFormatIdc == 1, base.bitDepthLumaMinus8 == 0, base.bitDepthChromaMinus8 == 0 else {
            throw BitstreamError(.unsupported, "Streams with alpha have 4:2:0 pictures of 8 bits.")
        }
        guard vps.vpsMaxLayersMinus1 == 0 else {
            throw BitstreamError(.unsupported, "The base stream has several layers already.")
        }
        guard vps.vpsMaxSubLayersMinus1 == base.spsMaxSubLayersMinus1,
            base.spsMaxSubLayersMinus1 == alpha.spsMaxSubLayersMinus1,
            base.spsTemporalIdNestingFlag == alpha.spsTemporalIdNestingFlag
        else { throw BitstreamError(.unsupported, "The layers do not have the same temporal sub-layers.") }
    }
}

extension VideoParameterSet {
    /// This VPS of one layer, made the VPS of two independent ones: its own and an alpha plane of the same size.
    ///
    /// Where there are several temporal sub-layers, both layers have them all. What could be inferred of them is
    /// written out then (`sub_layers_vps_max_minus1`, every sub-layer's `dpb_size()`): FFmpeg infers one sub-layer
    /// where the standard infers the VPS's number (F.7.4.3.1.1), and would read what follows wrongly.
    ///
    /// - Throws: `BitstreamError` when a value does not fit its syntax element.
    public func addingAlphaLayer(
        base: SequenceParameterSet, alpha: SequenceParameterSet
    ) throws(BitstreamError) -> VideoParameterSet {
        var vps = self
        vps.vpsMaxLayersMinus1 = 1
        vps.vpsMaxLayerId = AlphaParameterSets.layerId
        vps.layerIdIncludedFlag = [[true, true]]
        // An HRD would have to speak for both layers; times are the container's.
        vps.timingInfo = nil
        vps.hrdParameters = []
        let highest = vpsMaxSubLayersMinus1
        vps.orderingInfo = SubLayerOrderingInfo(subLayers: (0...highest).map(orderingInfo.ofSubLayer))

        func level(_ subLayer: Int) -> Int {
            [profileTierLevel, base.profileTierLevel, alpha.profileTierLevel]
                .map { $0.ofSubLayer(subLayer).levelIdc }.max() ?? 0
        }
        var needed = ProfileTierLevel()
        needed.general = nil
        needed.generalLevelIdc = level(highest)
        needed.subLayers = (0..<highest).map { SubLayerProfileTierLevel(levelIdc: level($0)) }
        var layers = VPSExtension()
        layers.baseProfileTierLevel = needed
        layers.scalabilityMaskFlag[ScalabilityType.auxiliary.rawValue] = true
        layers.dimensionIdLenMinus1 = [0]
        layers.layers = [
            VPSExtension.Layer(nuhLayerId: 0, dimensionId: [0]),
            VPSExtension.Layer(nuhLayerId: AlphaParameterSets.layerId, dimensionId: [VPSExtension.alphaAuxId]),
        ]
        var shown = OutputLayerSet()
        shown.profileTierLevelIdx = [1, 1]
        shown.subLayerFlagInfoPresentFlag = highest > 0
        shown.ordering = (0...highest).map { subLayer in
            let (mine, other) = (orderingInfo.ofSubLayer(subLayer), alpha.orderingInfo.ofSubLayer(subLayer))
            return LayerSetOrdering(
                maxDecPicBufferingMinus1: [mine.maxDecPicBufferingMinus1, other.maxDecPicBufferingMinus1],
                maxNumReorderPics: max(mine.maxNumReorderPics, other.maxNumReorderPics),
                maxLatencyIncreasePlus1: mine.maxLatencyIncreasePlus1)
        }
        var relations = VPSLayerRelations()
        if highest > 0 { relations.subLayersMaxMinus1 = [highest, highest] }
        relations.outputLayerSets = [shown]
        relations.repFormats = [RepFormat(base)]
        relations.maxOneActiveRefLayerFlag = true
        relations.pocLsbNotPresentFlag = true
        layers.relations = relations
        try vps.setMultilayerExtension(layers)
        return vps
    }
}
