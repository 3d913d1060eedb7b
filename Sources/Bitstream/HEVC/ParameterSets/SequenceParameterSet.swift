// SPDX-License-Identifier: MIT

/// The pulse code modulation parameters of an SPS (7.3.2.2.1).
public struct PCMParameters: Hashable, Sendable {
    /// 0…15.
    public var pcmSampleBitDepthLumaMinus1 = 7
    /// 0…15.
    public var pcmSampleBitDepthChromaMinus1 = 7
    /// 0…2.
    public var log2MinPcmLumaCodingBlockSizeMinus3 = 0
    /// 0…2.
    public var log2DiffMaxMinPcmLumaCodingBlockSize = 0
    public var pcmLoopFilterDisabledFlag = false

    /// 8-bit samples in 8×8 blocks.
    public init() {}
}

/// A long-term reference picture candidate of an SPS.
public struct LongTermRefPicSPS: Hashable, Sendable {
    public var ltRefPicPocLsbSps = 0
    public var usedByCurrPicLtSpsFlag = false

    public init() {}
}

/// `sps_range_extension()` (7.3.2.2.2).
public struct SPSRangeExtension: Hashable, Sendable {
    public var transformSkipRotationEnabledFlag = false
    public var transformSkipContextEnabledFlag = false
    public var implicitRdpcmEnabledFlag = false
    public var explicitRdpcmEnabledFlag = false
    public var extendedPrecisionProcessingFlag = false
    public var intraSmoothingDisabledFlag = false
    /// True when weighted prediction offsets have the bit depth of samples (7.4.3.2.2).
    public var highPrecisionOffsetsEnabledFlag = false
    public var persistentRiceAdaptationEnabledFlag = false
    public var cabacBypassAlignmentEnabledFlag = false

    public init() {}
}

/// The extensions of an SPS with `sps_extension_present_flag` 1.
public struct SPSExtensions: Hashable, Sendable {
    /// `sps_range_extension()`; nil when its flag is 0.
    public var rangeExtension: SPSRangeExtension?
    /// `inter_view_mv_vert_constraint_flag` of `sps_multilayer_extension()`; nil when the extension's flag is 0.
    public var interViewMvVertConstraintFlag: Bool?
    public var sps3dExtensionFlag = false
    public var spsSccExtensionFlag = false
    public var spsExtension4bits = 0
    /// The 3D, SCC and later extensions together, not interpreted.
    public var rawExtensions = RawBits()

    public init() {}
}

/// `seq_parameter_set_rbsp()` (7.3.2.2).
///
/// In the short form of a layer above the base (`isMultiLayerExtension`, F.7.3.2.2.1) size, chroma format and bit
/// depth come from the VPS: the properties keep their initial values, and the size is 0.
public struct SequenceParameterSet: Hashable, Sendable, CodedSyntax {
    public var header = NALUnitHeader(.sps)
    /// 0…15.
    public var spsVideoParameterSetId = 0
    /// 0…6; in layers above the base it is `sps_ext_or_max_sub_layers_minus1`, which may be 7.
    public var spsMaxSubLayersMinus1 = 0
    /// True when every picture is a point to switch up to higher sub-layers (7.4.3.2.1).
    public var spsTemporalIdNestingFlag = true
    /// `profile_tier_level(1, sps_max_sub_layers_minus1)`.
    public var profileTierLevel = ProfileTierLevel()
    /// 0…15.
    public var spsSeqParameterSetId = 0
    /// In the short form, the index of the VPS's `rep_format()`; nil when `update_rep_format_flag` is 0.
    public var spsRepFormatIdx: Int?
    /// 0 4:0:0, 1 4:2:0, 2 4:2:2, 3 4:4:4.
    public var chromaFormatIdc = 1
    /// For 4:4:4: the planes are coded as three monochrome pictures.
    public var separateColourPlaneFlag = false
    /// Coded width, a multiple of the minimum coding block size.
    public var picWidthInLumaSamples = 0
    /// Coded height, a multiple of the minimum coding block size.
    public var picHeightInLumaSamples = 0
    /// The conformance window in chroma units; nil when `conformance_window_flag` is 0.
    public var conformanceWindow: WindowOffsets?
    /// 0…8.
    public var bitDepthLumaMinus8 = 0
    /// 0…8.
    public var bitDepthChromaMinus8 = 0
    /// Width of `slice_pic_order_cnt_lsb` is this + 4 bits (7.4.3.2.1); 0…12.
    public var log2MaxPicOrderCntLsbMinus4 = 0
    /// `sps_max_dec_pic_buffering_minus1`, `sps_max_num_reorder_pics` and `sps_max_latency_increase_plus1`.
    public var orderingInfo = SubLayerOrderingInfo()
    /// 0…3.
    public var log2MinLumaCodingBlockSizeMinus3 = 0
    /// 0…3.
    public var log2DiffMaxMinLumaCodingBlockSize = 3
    /// 0…3.
    public var log2MinLumaTransformBlockSizeMinus2 = 0
    /// 0…3.
    public var log2DiffMaxMinLumaTransformBlockSize = 3
    /// 0…4.
    public var maxTransformHierarchyDepthInter = 0
    /// 0…4.
    public var maxTransformHierarchyDepthIntra = 0
    public var scalingListEnabledFlag = false
    /// `sps_scaling_list_ref_layer_id` of the short form; nil when `sps_infer_scaling_list_flag` is 0.
    public var spsScalingListRefLayerId: Int?
    /// `scaling_list_data()`; nil when `sps_scaling_list_data_present_flag` is 0.
    public var scalingListData: ScalingListData?
    /// True when asymmetric motion partitions may be used.
    public var ampEnabledFlag = false
    public var sampleAdaptiveOffsetEnabledFlag = false
    /// Nil when `pcm_enabled_flag` is 0.
    public var pcm: PCMParameters?
    /// The `st_ref_pic_set()`s, at most 64.
    public var shortTermRefPicSets: [ShortTermRefPicSet] = []
    /// The long-term candidates, at most 32; nil when `long_term_ref_pics_present_flag` is 0.
    public var longTermRefPics: [LongTermRefPicSPS]?
    public var spsTemporalMvpEnabledFlag = false
    public var strongIntraSmoothingEnabledFlag = false
    /// `vui_parameters()`; nil when `vui_parameters_present_flag` is 0.
    public var vuiParameters: VUIParameters?
    /// Nil when `sps_extension_present_flag` is 0.
    public var extensions: SPSExtensions?

    /// An SPS without a size, which must be set before it is written.
    public init() {}

    /// Parses a whole NAL unit, header included; throws when it is not a well-formed SPS.
    public init(nal: ArraySlice<UInt8>) throws(BitstreamError) {
        var reader = try BitReader(nal: nal, expecting: .sps, header: &header)
        try code(&reader)
    }

    /// Parses a whole NAL unit, header included; throws when it is not a well-formed SPS.
    public init(nal: [UInt8]) throws(BitstreamError) {
        try self.init(nal: nal[...])
    }

    /// The whole NAL unit; throws when a value does not fit its syntax element.
    public func nalUnit() throws(BitstreamError) -> [UInt8] {
        try header.nalUnit(rbsp: try coded())
    }
}
