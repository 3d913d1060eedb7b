// SPDX-License-Identifier: MIT

extension PictureParameterSet {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.ue("pps_pic_parameter_set_id", &ppsPicParameterSetId, 0...63)
        try c.ue("pps_seq_parameter_set_id", &ppsSeqParameterSetId, 0...15)
        try c.flag("dependent_slice_segments_enabled_flag", &dependentSliceSegmentsEnabledFlag)
        try c.flag("output_flag_present_flag", &outputFlagPresentFlag)
        try c.u("num_extra_slice_header_bits", 3, &numExtraSliceHeaderBits)
        try c.flag("sign_data_hiding_enabled_flag", &signDataHidingEnabledFlag)
        try c.flag("cabac_init_present_flag", &cabacInitPresentFlag)
        try c.ue("num_ref_idx_l0_default_active_minus1", &numRefIdxL0DefaultActiveMinus1, 0...14)
        try c.ue("num_ref_idx_l1_default_active_minus1", &numRefIdxL1DefaultActiveMinus1, 0...14)
        try c.se("init_qp_minus26", &initQpMinus26, -74...25)
        try c.flag("constrained_intra_pred_flag", &constrainedIntraPredFlag)
        try c.flag("transform_skip_enabled_flag", &transformSkipEnabledFlag)
        try c.presence("cu_qp_delta_enabled_flag", &diffCuQpDeltaDepth, 0)
        if var depth = diffCuQpDeltaDepth {
            try c.ue("diff_cu_qp_delta_depth", &depth, 0...3)
            diffCuQpDeltaDepth = depth
        }
        try c.se("pps_cb_qp_offset", &ppsCbQpOffset, -12...12)
        try c.se("pps_cr_qp_offset", &ppsCrQpOffset, -12...12)
        try c.flag("pps_slice_chroma_qp_offsets_present_flag", &ppsSliceChromaQpOffsetsPresentFlag)
        try c.flag("weighted_pred_flag", &weightedPredFlag)
        try c.flag("weighted_bipred_flag", &weightedBipredFlag)
        try c.flag("transquant_bypass_enabled_flag", &transquantBypassEnabledFlag)
        try c.presence("tiles_enabled_flag", &tiles, TileParameters())
        try c.flag("entropy_coding_sync_enabled_flag", &entropyCodingSyncEnabledFlag)
        try tiles?.code(&c)
        try c.flag("pps_loop_filter_across_slices_enabled_flag", &ppsLoopFilterAcrossSlicesEnabledFlag)
        try c.presence("deblocking_filter_control_present_flag", &deblockingControl, DeblockingControl())
        try deblockingControl?.code(&c)
        try c.presence("pps_scaling_list_data_present_flag", &scalingListData, ScalingListData())
        try scalingListData?.code(&c)
        try c.flag("lists_modification_present_flag", &listsModificationPresentFlag)
        try c.ue("log2_parallel_merge_level_minus2", &log2ParallelMergeLevelMinus2, 0...4)
        try c.flag("slice_segment_header_extension_present_flag", &sliceSegmentHeaderExtensionPresentFlag)
        try c.presence("pps_extension_present_flag", &extensions, PPSExtensions())
        try extensions?.code(&c, transformSkip: transformSkipEnabledFlag)
        try c.rbspTrailingBits()
    }
}

extension TileParameters {
    /// Level 6.2 allows 20 columns and 22 rows (table A.8); the limit of 64 leaves room for later levels.
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.ue("num_tile_columns_minus1", &numTileColumnsMinus1, 0...63)
        try c.ue("num_tile_rows_minus1", &numTileRowsMinus1, 0...63)
        try c.flag("uniform_spacing_flag", &uniformSpacingFlag)
        if !uniformSpacingFlag {
            try c.size("column_width_minus1", &columnWidthMinus1, numTileColumnsMinus1, 0)
            try c.size("row_height_minus1", &rowHeightMinus1, numTileRowsMinus1, 0)
            for index in columnWidthMinus1.indices {
                try c.ue("column_width_minus1", &columnWidthMinus1[index], 0...(maxPictureSide / 8))
            }
            for index in rowHeightMinus1.indices {
                try c.ue("row_height_minus1", &rowHeightMinus1[index], 0...(maxPictureSide / 8))
            }
        }
        try c.flag("loop_filter_across_tiles_enabled_flag", &loopFilterAcrossTilesEnabledFlag)
    }
}

extension DeblockingOffsets {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.se("beta_offset_div2", &betaOffsetDiv2, -6...6)
        try c.se("tc_offset_div2", &tcOffsetDiv2, -6...6)
    }
}

extension DeblockingControl {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.flag("deblocking_filter_override_enabled_flag", &deblockingFilterOverrideEnabledFlag)
        var disabled = offsets == nil
        try c.flag("pps_deblocking_filter_disabled_flag", &disabled)
        if disabled { offsets = nil }
        try offsets?.code(&c)
    }
}

extension PPSExtensions {
    mutating func code(_ c: inout some SyntaxCoder, transformSkip: Bool) throws(BitstreamError) {
        try c.presence("pps_range_extension_flag", &rangeExtension, PPSRangeExtension())
        try c.flag("pps_multilayer_extension_flag", &ppsMultilayerExtensionFlag)
        try c.flag("pps_3d_extension_flag", &pps3dExtensionFlag)
        try c.flag("pps_scc_extension_flag", &ppsSccExtensionFlag)
        try c.u("pps_extension_4bits", 4, &ppsExtension4bits)
        try rangeExtension?.code(&c, transformSkip: transformSkip)
        if ppsMultilayerExtensionFlag || pps3dExtensionFlag || ppsSccExtensionFlag || ppsExtension4bits != 0 {
            try c.extensionData(&rawExtensions)
        }
    }
}

extension PPSRangeExtension {
    mutating func code(_ c: inout some SyntaxCoder, transformSkip: Bool) throws(BitstreamError) {
        if transformSkip {
            try c.ue(
                "log2_max_transform_skip_block_size_minus2", &log2MaxTransformSkipBlockSizeMinus2, 0...3)
        }
        try c.flag("cross_component_prediction_enabled_flag", &crossComponentPredictionEnabledFlag)
        try c.presence("chroma_qp_offset_list_enabled_flag", &chromaQpOffsetList, ChromaQpOffsetList())
        if var list = chromaQpOffsetList {
            try c.ue("diff_cu_chroma_qp_offset_depth", &list.diffCuChromaQpOffsetDepth, 0...3)
            var lengthMinus1 = list.cbQpOffsetList.count - 1
            try c.ue("chroma_qp_offset_list_len_minus1", &lengthMinus1, 0...5)
            try c.size("cb_qp_offset_list", &list.cbQpOffsetList, lengthMinus1 + 1, 0)
            try c.size("cr_qp_offset_list", &list.crQpOffsetList, lengthMinus1 + 1, 0)
            for index in 0...lengthMinus1 {
                try c.se("cb_qp_offset_list", &list.cbQpOffsetList[index], -12...12)
                try c.se("cr_qp_offset_list", &list.crQpOffsetList[index], -12...12)
            }
            chromaQpOffsetList = list
        }
        try c.ue("log2_sao_offset_scale_luma", &log2SaoOffsetScaleLuma, 0...6)
        try c.ue("log2_sao_offset_scale_chroma", &log2SaoOffsetScaleChroma, 0...6)
    }
}
