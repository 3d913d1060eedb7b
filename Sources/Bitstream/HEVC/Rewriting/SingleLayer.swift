// SPDX-License-Identifier: MIT

extension VideoParameterSet {
    /// The VPS for a stream of the base layer alone: without extension and without other layer sets.
    ///
    /// So decoders that interpret the extension and those that do not read the same.
    public var singleLayer: VideoParameterSet {
        var copy = self
        copy.vpsMaxLayersMinus1 = 0
        copy.vpsMaxLayerId = 0
        copy.layerIdIncludedFlag = []
        copy.vpsExtension = nil
        copy.hrdParameters = hrdParameters.filter { $0.hrdLayerSetIdx == 0 }
        return copy
    }
}

extension SequenceParameterSet {
    /// The SPS for a stream of its layer alone: in the base layer and in the full form.
    ///
    /// The short form (`isMultiLayerExtension`) takes size and format from the VPS extension, and profile and buffers
    /// from the VPS (F.7.4.3.2.1).
    /// - Parameters:
    ///   - vps: the VPS it refers to.
    ///   - layerIndex: the layer's index in the VPS extension's list.
    /// - Throws: `unsupported` for a scaling list of another layer; `missingParameterSet` when the VPS has no format
    ///   for the layer.
    public func standalone(
        vps: VideoParameterSet, layerIndex: Int
    ) throws(BitstreamError) -> SequenceParameterSet {
        var copy = self
        copy.header.nuhLayerId = 0
        guard isMultiLayerExtension else { return copy }
        guard spsScalingListRefLayerId == nil else {
            throw BitstreamError(.unsupported, "the SPS takes its scaling list from another layer")
        }
        let formats = try vps.multilayerExtension()?.relations
        // vps_rep_format_idx: Min(i, vps_num_rep_formats_minus1) where it is not coded.
        let last = (formats?.repFormats.count ?? 0) - 1
        let index = spsRepFormatIdx ?? formats?.repFormatIdx ?? min(layerIndex, last)
        guard let formats, formats.repFormats.indices.contains(index) else {
            throw BitstreamError(
                .missingParameterSet, "the SPS takes its format from the VPS, which has none")
        }
        let format = formats.repFormats[index]
        // A format without chroma and bit depth has those of the format before it.
        let samples = formats.repFormats[...index].last { $0.chromaAndBitDepth != nil }?.chromaAndBitDepth
        copy.picWidthInLumaSamples = format.picWidthInLumaSamples
        copy.picHeightInLumaSamples = format.picHeightInLumaSamples
        copy.conformanceWindow = format.conformanceWindow
        copy.chromaFormatIdc = samples?.chromaFormatIdc ?? 1
        copy.separateColourPlaneFlag = samples?.separateColourPlaneFlag ?? false
        copy.bitDepthLumaMinus8 = samples?.bitDepthLumaMinus8 ?? 0
        copy.bitDepthChromaMinus8 = samples?.bitDepthChromaMinus8 ?? 0
        copy.spsMaxSubLayersMinus1 = vps.vpsMaxSubLayersMinus1
        copy.spsTemporalIdNestingFlag = vps.vpsTemporalIdNestingFlag
        copy.profileTierLevel = vps.profileTierLevel
        copy.orderingInfo = vps.orderingInfo
        copy.spsRepFormatIdx = nil
        return copy
    }
}

extension SliceSegment {
    /// The segment for a stream of its layer alone: in the base layer.
    ///
    /// An IDR picture with a non-zero `slice_pic_order_cnt_lsb` (`poc_lsb_not_present_flag` 0) becomes a BLA picture,
    /// which is equivalent there and keeps the order count that later pictures derive theirs from (8.3.1).
    public var standalone: SliceSegment {
        var copy = self
        let type = sliceHeader.header.nalUnitType
        copy.sliceHeader.header.nuhLayerId = 0
        if type.isIDR, sliceHeader.slicePicOrderCntLsb != 0 {
            copy.sliceHeader.header.nalUnitType = type == .idrNLP ? .blaNLP : .blaWRADL
            // Coded explicitly, since the SPS may have no empty set.
            copy.sliceHeader.references = SliceReferences()
        }
        return copy
    }
}
