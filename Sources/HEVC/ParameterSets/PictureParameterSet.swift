// SPDX-License-Identifier: GPL-2.0-or-later

/// The tile grid of a PPS (7.3.2.3.1).
public struct TileParameters: Hashable, Sendable {
    /// `num_tile_columns_minus1`.
    public var numTileColumnsMinus1 = 0
    /// `num_tile_rows_minus1`.
    public var numTileRowsMinus1 = 0
    /// `uniform_spacing_flag`.
    public var uniformSpacingFlag = true
    /// `column_width_minus1` of all columns but the last, in coding tree blocks; empty when spaced uniformly.
    public var columnWidthMinus1: [Int] = []
    /// `row_height_minus1` of all rows but the last, in coding tree blocks; empty when spaced uniformly.
    public var rowHeightMinus1: [Int] = []
    /// `loop_filter_across_tiles_enabled_flag`.
    public var loopFilterAcrossTilesEnabledFlag = true

    /// One tile.
    public init() {}
}

/// `pps_beta_offset_div2` and `pps_tc_offset_div2`, or the same of a slice.
public struct DeblockingOffsets: Hashable, Sendable {
    /// `beta_offset_div2`, −6…6.
    public var betaOffsetDiv2 = 0
    /// `tc_offset_div2`, −6…6.
    public var tcOffsetDiv2 = 0

    /// No offsets, or the given ones.
    public init(betaOffsetDiv2: Int = 0, tcOffsetDiv2: Int = 0) {
        self.betaOffsetDiv2 = betaOffsetDiv2
        self.tcOffsetDiv2 = tcOffsetDiv2
    }
}

/// The deblocking part of a PPS behind `deblocking_filter_control_present_flag`.
public struct DeblockingControl: Hashable, Sendable {
    /// `deblocking_filter_override_enabled_flag`.
    public var deblockingFilterOverrideEnabledFlag = false
    /// The offsets; nil when `pps_deblocking_filter_disabled_flag` is 1.
    public var offsets: DeblockingOffsets? = DeblockingOffsets()

    /// Deblocking on without offsets.
    public init() {}
}

/// The chroma QP offset lists of a PPS range extension.
public struct ChromaQpOffsetList: Hashable, Sendable {
    /// `diff_cu_chroma_qp_offset_depth`, 0…3.
    public var diffCuChromaQpOffsetDepth = 0
    /// `cb_qp_offset_list`, 1…6 entries of −12…12.
    public var cbQpOffsetList: [Int] = [0]
    /// `cr_qp_offset_list`, as many entries.
    public var crQpOffsetList: [Int] = [0]

    /// One entry of 0.
    public init() {}
}

/// `pps_range_extension()` (7.3.2.3.2).
public struct PPSRangeExtension: Hashable, Sendable {
    /// `log2_max_transform_skip_block_size_minus2`, present with transform skip.
    public var log2MaxTransformSkipBlockSizeMinus2 = 0
    /// `cross_component_prediction_enabled_flag`.
    public var crossComponentPredictionEnabledFlag = false
    /// The lists; nil when `chroma_qp_offset_list_enabled_flag` is 0.
    public var chromaQpOffsetList: ChromaQpOffsetList?
    /// `log2_sao_offset_scale_luma`, 0…6.
    public var log2SaoOffsetScaleLuma = 0
    /// `log2_sao_offset_scale_chroma`, 0…6.
    public var log2SaoOffsetScaleChroma = 0

    /// All off.
    public init() {}
}

/// The extensions of a PPS behind `pps_extension_present_flag`.
public struct PPSExtensions: Hashable, Sendable {
    /// `pps_range_extension()`; nil when its flag is 0.
    public var rangeExtension: PPSRangeExtension?
    /// `pps_multilayer_extension_flag`.
    public var ppsMultilayerExtensionFlag = false
    /// `pps_3d_extension_flag`.
    public var pps3dExtensionFlag = false
    /// `pps_scc_extension_flag`.
    public var ppsSccExtensionFlag = false
    /// `pps_extension_4bits`.
    public var ppsExtension4bits = 0
    /// The multilayer, 3D, SCC and later extensions together, uninterpreted.
    public var rawExtensions = RawBits()

    /// None.
    public init() {}
}

/// `pic_parameter_set_rbsp()` (7.3.2.3).
public struct PictureParameterSet: Hashable, Sendable {
    /// The NAL unit's header.
    public var header = NALUnitHeader(.pps)
    /// `pps_pic_parameter_set_id`, 0…63.
    public var ppsPicParameterSetId = 0
    /// `pps_seq_parameter_set_id`, 0…15.
    public var ppsSeqParameterSetId = 0
    /// `dependent_slice_segments_enabled_flag`.
    public var dependentSliceSegmentsEnabledFlag = false
    /// `output_flag_present_flag`.
    public var outputFlagPresentFlag = false
    /// `num_extra_slice_header_bits`, 0…7.
    public var numExtraSliceHeaderBits = 0
    /// `sign_data_hiding_enabled_flag`.
    public var signDataHidingEnabledFlag = false
    /// `cabac_init_present_flag`.
    public var cabacInitPresentFlag = false
    /// `num_ref_idx_l0_default_active_minus1`, 0…14.
    public var numRefIdxL0DefaultActiveMinus1 = 0
    /// `num_ref_idx_l1_default_active_minus1`, 0…14.
    public var numRefIdxL1DefaultActiveMinus1 = 0
    /// `init_qp_minus26`, −74…25 (the deeper the samples, the lower).
    public var initQpMinus26 = 0
    /// `constrained_intra_pred_flag`.
    public var constrainedIntraPredFlag = false
    /// `transform_skip_enabled_flag`.
    public var transformSkipEnabledFlag = false
    /// `diff_cu_qp_delta_depth`, 0…3; nil when `cu_qp_delta_enabled_flag` is 0.
    public var diffCuQpDeltaDepth: Int?
    /// `pps_cb_qp_offset`, −12…12.
    public var ppsCbQpOffset = 0
    /// `pps_cr_qp_offset`, −12…12.
    public var ppsCrQpOffset = 0
    /// `pps_slice_chroma_qp_offsets_present_flag`.
    public var ppsSliceChromaQpOffsetsPresentFlag = false
    /// `weighted_pred_flag`.
    public var weightedPredFlag = false
    /// `weighted_bipred_flag`.
    public var weightedBipredFlag = false
    /// `transquant_bypass_enabled_flag`.
    public var transquantBypassEnabledFlag = false
    /// `entropy_coding_sync_enabled_flag`: wavefront parallel processing.
    public var entropyCodingSyncEnabledFlag = false
    /// The tile grid; nil when `tiles_enabled_flag` is 0.
    public var tiles: TileParameters?
    /// `pps_loop_filter_across_slices_enabled_flag`.
    public var ppsLoopFilterAcrossSlicesEnabledFlag = false
    /// Deblocking; nil when `deblocking_filter_control_present_flag` is 0.
    public var deblockingControl: DeblockingControl?
    /// `scaling_list_data()`; nil when `pps_scaling_list_data_present_flag` is 0.
    public var scalingListData: ScalingListData?
    /// `lists_modification_present_flag`.
    public var listsModificationPresentFlag = false
    /// `log2_parallel_merge_level_minus2`, 0…4.
    public var log2ParallelMergeLevelMinus2 = 0
    /// `slice_segment_header_extension_present_flag`.
    public var sliceSegmentHeaderExtensionPresentFlag = false
    /// The extensions; nil when `pps_extension_present_flag` is 0.
    public var extensions: PPSExtensions?

    /// A PPS of zeros.
    public init() {}

    /// Parses a whole NAL unit, header included; throws when it is not a well-formed PPS.
    public init(nal: ArraySlice<UInt8>) throws(BitstreamError) {
        var reader = try BitReader(nal: nal, expecting: .pps, header: &header)
        try code(&reader)
    }

    /// Parses a whole NAL unit, header included; throws when it is not a well-formed PPS.
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
