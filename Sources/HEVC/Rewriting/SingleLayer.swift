// SPDX-License-Identifier: GPL-2.0-or-later

extension VideoParameterSet {
    /// The set as a stream of the base layer alone has it: no extension, and no layer set but the base's.
    ///
    /// Decoders of any age then read one and the same thing.
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
    /// The set as a stream of its layer alone has it: in the base layer, and in full.
    ///
    /// A set in the short form (`isMultiLayerExtension`) takes its size and format from the VPS extension, and its
    /// profile and buffers from the VPS (F.7.4.3.2.1).
    /// - Parameters:
    ///   - vps: the VPS it refers to.
    ///   - layerIndex: the layer's place in the VPS extension's list.
    /// - Throws: `unsupported` for a scaling list of another layer, `missingParameterSet` where the VPS does not say
    ///   what is needed.
    public func standalone(
        vps: VideoParameterSet, layerIndex: Int
    ) throws(BitstreamError) -> SequenceParameterSet {
        var copy = self
        copy.header.nuhLayerId = 0
        guard isMultiLayerExtension else { return copy }
        guard spsScalingListRefLayerId == nil else {
            throw BitstreamError(.unsupported, "The SPS takes its scaling list from another layer.")
        }
        let formats = try vps.multilayerExtension()?.relations
        // vps_rep_format_idx: Min(i, vps_num_rep_formats_minus1) where it is not coded.
        let last = (formats?.repFormats.count ?? 0) - 1
        let index = spsRepFormatIdx ?? formats?.repFormatIdx ?? min(layerIndex, last)
        guard let formats, formats.repFormats.indices.contains(index) else {
            throw BitstreamError(
                .missingParameterSet, "The SPS takes its format from the VPS, which has none for it.")
        }
        let format = formats.repFormats[index]
        // What a format leaves out is that of the one before.
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
    /// The segment as a stream of its layer alone has it: in the base layer.
    ///
    /// An IDR picture whose order count is told (`poc_lsb_not_present_flag` 0) and not 0 becomes a BLA picture, which
    /// has the same meaning alone and keeps the count that the pictures behind it go on from (H.265 8.3.1).
    public var standalone: SliceSegment {
        var copy = self
        let type = sliceHeader.header.nalUnitType
        copy.sliceHeader.header.nuhLayerId = 0
        if type.isIDR, sliceHeader.slicePicOrderCntLsb != 0 {
            copy.sliceHeader.header.nalUnitType = type == .idrNLP ? .blaNLP : .blaWRADL
            // No short-term set of the SPS need be an empty one.
            copy.sliceHeader.references = SliceReferences()
        }
        return copy
    }
}
