// SPDX-License-Identifier: MIT

/// The parameter sets of a stream whose layer 1 is an alpha plane: one VPS for both layers, an SPS and a PPS each.
///
/// Decoders key parameter sets by id and not by layer, so the alpha layer's ids differ from every id of the base.
struct AlphaParameterSets: Hashable, Sendable {
    /// `nuh_layer_id` of the alpha layer.
    static let layerId = 1

    let vps: VideoParameterSet
    /// The alpha layer's SPS.
    let sps: SequenceParameterSet
    /// The alpha layer's PPS.
    let pps: PictureParameterSet

    /// Derives them from the parameter sets of two encoders of one layer each.
    ///
    /// - Throws: `unsupported` when the two cannot be layers of one stream (different sizes or sub-layers, more than
    ///   8 bits, several parameter sets of a kind); `missingParameterSet` when one is missing.
    init(base: ParameterSets, alpha: ParameterSets) throws(BitstreamError) {
        guard let vps = base.videoParameterSets.values.first, let baseSPS = base.sequenceParameterSets.values.first,
            let alphaSPS = alpha.sequenceParameterSets.values.first,
            let alphaPPS = alpha.pictureParameterSets.values.first
        else { throw BitstreamError(.missingParameterSet, "a layer lacks a parameter set") }
        guard base.videoParameterSets.count == 1, base.sequenceParameterSets.count == 1,
            alpha.sequenceParameterSets.count == 1, alpha.pictureParameterSets.count == 1
        else { throw BitstreamError(.unsupported, "a layer has several parameter sets of one kind") }
        try Self.check(vps, baseSPS, alphaSPS)
        guard alphaPPS.numExtraSliceHeaderBits == 0 else {
            // In a layer above the base the extra bits are discardable_flag and cross_layer_bla_flag (F.7.3.6.1).
            throw BitstreamError(.unsupported, "the alpha layer's slice headers have extra bits")
        }
        let spsIds = (1...15).filter { base.sequenceParameterSets[$0] == nil }
        let ppsIds = (1...63).filter { base.pictureParameterSets[$0] == nil }
        guard let spsId = spsIds.first, let ppsId = ppsIds.first else {
            throw BitstreamError(.unsupported, "the base layer uses every parameter set id")
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
            throw BitstreamError(.unsupported, "the layers differ in size or sample format")
        }
        guard base.chromaFormatIdc == 1, base.bitDepthLumaMinus8 == 0, base.bitDepthChromaMinus8 == 0 else {
            throw BitstreamError(.unsupported, "the layers are not 8-bit 4:2:0, as streams with alpha must be")
        }
        guard vps.vpsMaxLayersMinus1 == 0 else {
            throw BitstreamError(.unsupported, "the base stream already has several layers")
        }
        guard vps.vpsMaxSubLayersMinus1 == base.spsMaxSubLayersMinus1,
            base.spsMaxSubLayersMinus1 == alpha.spsMaxSubLayersMinus1,
            base.spsTemporalIdNestingFlag == alpha.spsTemporalIdNestingFlag
        else { throw BitstreamError(.unsupported, "the layers differ in their temporal sub-layers") }
    }
}

extension VideoParameterSet {
    /// A VPS of two independent layers: the layer of this one and an alpha plane of the same size.
    ///
    /// With several temporal sub-layers, both layers have all of them, and values that could be inferred are coded
    /// (`sub_layers_vps_max_minus1`, `dpb_size()` of every sub-layer): FFmpeg infers one sub-layer where the standard
    /// infers the VPS's number (F.7.4.3.1.1), and would misread the fields after it.
    ///
    /// - Throws: `BitstreamError` when a value does not fit its syntax element.
    public func addingAlphaLayer(
        base: SequenceParameterSet, alpha: SequenceParameterSet
    ) throws(BitstreamError) -> VideoParameterSet {
        var vps = self
        vps.vpsMaxLayersMinus1 = 1
        vps.vpsMaxLayerId = AlphaParameterSets.layerId
        vps.layerIdIncludedFlag = [[true, true]]
        // An HRD would have to cover both layers; the container has the timing.
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
