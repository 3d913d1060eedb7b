// SPDX-License-Identifier: GPL-2.0-or-later

/// The pulse code modulation part of an SPS (7.3.2.2.1).
public struct PCMParameters: Hashable, Sendable {
    /// `pcm_sample_bit_depth_luma_minus1`, 0…15.
    public var pcmSampleBitDepthLumaMinus1 = 7
    /// `pcm_sample_bit_depth_chroma_minus1`, 0…15.
    public var pcmSampleBitDepthChromaMinus1 = 7
    /// `log2_min_pcm_luma_coding_block_size_minus3`, 0…2.
    public var log2MinPcmLumaCodingBlockSizeMinus3 = 0
    /// `log2_diff_max_min_pcm_luma_coding_block_size`, 0…2.
    public var log2DiffMaxMinPcmLumaCodingBlockSize = 0
    /// `pcm_loop_filter_disabled_flag`.
    public var pcmLoopFilterDisabledFlag = false

    /// 8-bit samples in 8×8 blocks.
    public init() {}
}

/// A long-term reference picture candidate of an SPS.
public struct LongTermRefPicSPS: Hashable, Sendable {
    /// `lt_ref_pic_poc_lsb_sps`.
    public var ltRefPicPocLsbSps = 0
    /// `used_by_curr_pic_lt_sps_flag`.
    public var usedByCurrPicLtSpsFlag = false

    /// All zeros.
    public init() {}
}

/// `sps_range_extension()` (7.3.2.2.2).
public struct SPSRangeExtension: Hashable, Sendable {
    /// `transform_skip_rotation_enabled_flag`.
    public var transformSkipRotationEnabledFlag = false
    /// `transform_skip_context_enabled_flag`.
    public var transformSkipContextEnabledFlag = false
    /// `implicit_rdpcm_enabled_flag`.
    public var implicitRdpcmEnabledFlag = false
    /// `explicit_rdpcm_enabled_flag`.
    public var explicitRdpcmEnabledFlag = false
    /// `extended_precision_processing_flag`.
    public var extendedPrecisionProcessingFlag = false
    /// `intra_smoothing_disabled_flag`.
    public var intraSmoothingDisabledFlag = false
    /// `high_precision_offsets_enabled_flag`.
    public var highPrecisionOffsetsEnabledFlag = false
    /// `persistent_rice_adaptation_enabled_flag`.
    public var persistentRiceAdaptationEnabledFlag = false
    /// `cabac_bypass_alignment_enabled_flag`.
    public var cabacBypassAlignmentEnabledFlag = false

    /// All off.
    public init() {}
}

/// The extensions of an SPS behind `sps_extension_present_flag`.
public struct SPSExtensions: Hashable, Sendable {
    /// `sps_range_extension()`; nil when its flag is 0.
    public var rangeExtension: SPSRangeExtension?
    /// `inter_view_mv_vert_constraint_flag` of `sps_multilayer_extension()`; nil when the extension's flag is 0.
    public var interViewMvVertConstraintFlag: Bool?
    /// `sps_3d_extension_flag`.
    public var sps3dExtensionFlag = false
    /// `sps_scc_extension_flag`.
    public var spsSccExtensionFlag = false
    /// `sps_extension_4bits`.
    public var spsExtension4bits = 0
    /// The 3D, SCC and later extensions together, uninterpreted.
    public var rawExtensions = RawBits()

    /// None.
    public init() {}
}

/// `seq_parameter_set_rbsp()` (7.3.2.2).
///
/// In the short form of an SPS in a layer above the base (`isMultiLayerExtension`, F.7.3.2.2.1) size, chroma
/// format and bit depth come from the VPS; the properties here then keep their initial values and the sizes are
/// 0.
public struct SequenceParameterSet: Hashable, Sendable {
    /// The NAL unit's header.
    public var header = NALUnitHeader(.sps)
    /// `sps_video_parameter_set_id`, 0…15.
    public var spsVideoParameterSetId = 0
    /// `sps_max_sub_layers_minus1`, 0…6; in layers above the base `sps_ext_or_max_sub_layers_minus1`, also 7.
    public var spsMaxSubLayersMinus1 = 0
    /// `sps_temporal_id_nesting_flag`.
    public var spsTemporalIdNestingFlag = true
    /// `profile_tier_level(1, sps_max_sub_layers_minus1)`.
    public var profileTierLevel = ProfileTierLevel()
    /// `sps_seq_parameter_set_id`, 0…15.
    public var spsSeqParameterSetId = 0
    /// `sps_rep_format_idx` of the short form; nil when `update_rep_format_flag` is 0.
    public var spsRepFormatIdx: Int?
    /// `chroma_format_idc`: 0 4:0:0, 1 4:2:0, 2 4:2:2, 3 4:4:4.
    public var chromaFormatIdc = 1
    /// `separate_colour_plane_flag`, for 4:4:4.
    public var separateColourPlaneFlag = false
    /// `pic_width_in_luma_samples`: the coded width, a multiple of the minimum coding block.
    public var picWidthInLumaSamples = 0
    /// `pic_height_in_luma_samples`: the coded height, a multiple of the minimum coding block.
    public var picHeightInLumaSamples = 0
    /// The conformance window in chroma units; nil when `conformance_window_flag` is 0.
    public var conformanceWindow: WindowOffsets?
    /// `bit_depth_luma_minus8`, 0…8.
    public var bitDepthLumaMinus8 = 0
    /// `bit_depth_chroma_minus8`, 0…8.
    public var bitDepthChromaMinus8 = 0
    /// `log2_max_pic_order_cnt_lsb_minus4`, 0…12.
    public var log2MaxPicOrderCntLsbMinus4 = 0
    /// The `sps_max_dec_pic_buffering_minus1`, … of each sub-layer.
    public var orderingInfo = SubLayerOrderingInfo()
    /// `log2_min_luma_coding_block_size_minus3`, 0…3.
    public var log2MinLumaCodingBlockSizeMinus3 = 0
    /// `log2_diff_max_min_luma_coding_block_size`, 0…3.
    public var log2DiffMaxMinLumaCodingBlockSize = 3
    /// `log2_min_luma_transform_block_size_minus2`, 0…3.
    public var log2MinLumaTransformBlockSizeMinus2 = 0
    /// `log2_diff_max_min_luma_transform_block_size`, 0…3.
    public var log2DiffMaxMinLumaTransformBlockSize = 3
    /// `max_transform_hierarchy_depth_inter`, 0…4.
    public var maxTransformHierarchyDepthInter = 0
    /// `max_transform_hierarchy_depth_intra`, 0…4.
    public var maxTransformHierarchyDepthIntra = 0
    /// `scaling_list_enabled_flag`.
    public var scalingListEnabledFlag = false
    /// `sps_scaling_list_ref_layer_id` of the short form; nil when `sps_infer_scaling_list_flag` is 0.
    public var spsScalingListRefLayerId: Int?
    /// `scaling_list_data()`; nil when `sps_scaling_list_data_present_flag` is 0.
    public var scalingListData: ScalingListData?
    /// `amp_enabled_flag`.
    public var ampEnabledFlag = false
    /// `sample_adaptive_offset_enabled_flag`.
    public var sampleAdaptiveOffsetEnabledFlag = false
    /// The PCM part; nil when `pcm_enabled_flag` is 0.
    public var pcm: PCMParameters?
    /// The `st_ref_pic_set()`s, at most 64.
    public var shortTermRefPicSets: [ShortTermRefPicSet] = []
    /// The long-term candidates, at most 32; nil when `long_term_ref_pics_present_flag` is 0.
    public var longTermRefPics: [LongTermRefPicSPS]?
    /// `sps_temporal_mvp_enabled_flag`.
    public var spsTemporalMvpEnabledFlag = false
    /// `strong_intra_smoothing_enabled_flag`.
    public var strongIntraSmoothingEnabledFlag = false
    /// `vui_parameters()`; nil when `vui_parameters_present_flag` is 0.
    public var vuiParameters: VUIParameters?
    /// The extensions; nil when `sps_extension_present_flag` is 0.
    public var extensions: SPSExtensions?

    /// An SPS of zeros; the size must be set before it can be written.
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
        var (copy, writer) = (self, BitWriter())
        try copy.code(&writer)
        return try header.nalUnit(rbsp: writer.bytes)
    }
}
