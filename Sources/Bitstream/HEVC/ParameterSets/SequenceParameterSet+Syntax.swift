// SPDX-License-Identifier: MIT

/// The largest coded width and height accepted; level 6.2 allows 16,888 (A.4.1).
let maxPictureSide = 16384

extension SequenceParameterSet {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("sps_video_parameter_set_id", 4, &spsVideoParameterSetId)
        try c.u("sps_max_sub_layers_minus1", 3, &spsMaxSubLayersMinus1, 0...(header.nuhLayerId == 0 ? 6 : 7))
        let short = isMultiLayerExtension
        if !short {
            try c.flag("sps_temporal_id_nesting_flag", &spsTemporalIdNestingFlag)
            try profileTierLevel.code(&c, maxNumSubLayersMinus1: spsMaxSubLayersMinus1)
        }
        try c.ue("sps_seq_parameter_set_id", &spsSeqParameterSetId, 0...15)
        if short {
            try c.presence("update_rep_format_flag", &spsRepFormatIdx, 0)
            if var index = spsRepFormatIdx {
                try c.u("sps_rep_format_idx", 8, &index)
                spsRepFormatIdx = index
            }
        } else {
            try codeFormat(&c)
        }
        try c.ue("log2_max_pic_order_cnt_lsb_minus4", &log2MaxPicOrderCntLsbMinus4, 0...12)
        if !short { try orderingInfo.code(&c, maxSubLayersMinus1: spsMaxSubLayersMinus1) }
        try codeBlockSizes(&c, short)
        try codeScalingLists(&c, short)
        try c.flag("amp_enabled_flag", &ampEnabledFlag)
        try c.flag("sample_adaptive_offset_enabled_flag", &sampleAdaptiveOffsetEnabledFlag)
        try c.presence("pcm_enabled_flag", &pcm, PCMParameters())
        try pcm?.code(&c)
        try codeReferences(&c)
        try c.flag("sps_temporal_mvp_enabled_flag", &spsTemporalMvpEnabledFlag)
        try c.flag("strong_intra_smoothing_enabled_flag", &strongIntraSmoothingEnabledFlag)
        try c.presence("vui_parameters_present_flag", &vuiParameters, VUIParameters())
        try vuiParameters?.code(&c, maxSubLayersMinus1: short ? 0 : spsMaxSubLayersMinus1)
        try c.presence("sps_extension_present_flag", &extensions, SPSExtensions())
        try extensions?.code(&c)
        try c.rbspTrailingBits()
    }

    private mutating func codeFormat(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.ue("chroma_format_idc", &chromaFormatIdc, 0...3)
        if chromaFormatIdc == 3 { try c.flag("separate_colour_plane_flag", &separateColourPlaneFlag) }
        try c.ue("pic_width_in_luma_samples", &picWidthInLumaSamples, 1...maxPictureSide)
        try c.ue("pic_height_in_luma_samples", &picHeightInLumaSamples, 1...maxPictureSide)
        try c.presence("conformance_window_flag", &conformanceWindow, WindowOffsets())
        if var window = conformanceWindow {
            try c.ue("conf_win_left_offset", &window.left, 0...maxPictureSide)
            try c.ue("conf_win_right_offset", &window.right, 0...maxPictureSide)
            try c.ue("conf_win_top_offset", &window.top, 0...maxPictureSide)
            try c.ue("conf_win_bottom_offset", &window.bottom, 0...maxPictureSide)
            conformanceWindow = window
        }
        guard width > 0, height > 0 else {
            throw BitstreamError(.outOfRange, "the conformance window leaves nothing of the picture")
        }
        try c.ue("bit_depth_luma_minus8", &bitDepthLumaMinus8, 0...8)
        try c.ue("bit_depth_chroma_minus8", &bitDepthChromaMinus8, 0...8)
    }

    private mutating func codeBlockSizes(
        _ c: inout some SyntaxCoder, _ short: Bool
    ) throws(BitstreamError) {
        try c.ue("log2_min_luma_coding_block_size_minus3", &log2MinLumaCodingBlockSizeMinus3, 0...3)
        try c.ue(
            "log2_diff_max_min_luma_coding_block_size", &log2DiffMaxMinLumaCodingBlockSize,
            0...(3 - log2MinLumaCodingBlockSizeMinus3))
        let mask = (1 << minCbLog2SizeY) - 1
        guard short || (picWidthInLumaSamples & mask == 0 && picHeightInLumaSamples & mask == 0) else {
            throw BitstreamError(
                .outOfRange,
                "\(picWidthInLumaSamples)x\(picHeightInLumaSamples) is no multiple of the coding block size \(mask + 1)"
            )
        }
        try c.ue("log2_min_luma_transform_block_size_minus2", &log2MinLumaTransformBlockSizeMinus2, 0...3)
        let minTbLog2SizeY = 2 + log2MinLumaTransformBlockSizeMinus2
        try check("MinTbLog2SizeY", minTbLog2SizeY, 2...(minCbLog2SizeY - 1))
        try c.ue(
            "log2_diff_max_min_luma_transform_block_size", &log2DiffMaxMinLumaTransformBlockSize,
            0...max(0, min(ctbLog2SizeY, 5) - minTbLog2SizeY))
        let deepest = ctbLog2SizeY - minTbLog2SizeY
        try c.ue("max_transform_hierarchy_depth_inter", &maxTransformHierarchyDepthInter, 0...deepest)
        try c.ue("max_transform_hierarchy_depth_intra", &maxTransformHierarchyDepthIntra, 0...deepest)
    }

    private mutating func codeScalingLists(
        _ c: inout some SyntaxCoder, _ short: Bool
    ) throws(BitstreamError) {
        try c.flag("scaling_list_enabled_flag", &scalingListEnabledFlag)
        guard scalingListEnabledFlag else { return }
        if short {
            try c.presence("sps_infer_scaling_list_flag", &spsScalingListRefLayerId, 0)
            if var layer = spsScalingListRefLayerId {
                try c.u("sps_scaling_list_ref_layer_id", 6, &layer)
                spsScalingListRefLayerId = layer
                return
            }
        }
        try c.presence("sps_scaling_list_data_present_flag", &scalingListData, ScalingListData())
        try scalingListData?.code(&c)
    }

    private mutating func codeReferences(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        var count = shortTermRefPicSets.count
        try c.ue("num_short_term_ref_pic_sets", &count, 0...64)
        try c.size("st_ref_pic_set", &shortTermRefPicSets, count, ShortTermRefPicSet())
        for index in 0..<count {
            var set = shortTermRefPicSets[index]
            try set.code(&c, index: index, sets: shortTermRefPicSets, inSlice: false)
            shortTermRefPicSets[index] = set
        }
        try c.presence("long_term_ref_pics_present_flag", &longTermRefPics, [])
        guard var candidates = longTermRefPics else { return }
        count = candidates.count
        try c.ue("num_long_term_ref_pics_sps", &count, 0...32)
        try c.size("lt_ref_pic_poc_lsb_sps", &candidates, count, LongTermRefPicSPS())
        for index in candidates.indices {
            try c.u(
                "lt_ref_pic_poc_lsb_sps", 4 + log2MaxPicOrderCntLsbMinus4, &candidates[index].ltRefPicPocLsbSps)
            try c.flag("used_by_curr_pic_lt_sps_flag", &candidates[index].usedByCurrPicLtSpsFlag)
        }
        longTermRefPics = candidates
    }
}

extension PCMParameters {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("pcm_sample_bit_depth_luma_minus1", 4, &pcmSampleBitDepthLumaMinus1)
        try c.u("pcm_sample_bit_depth_chroma_minus1", 4, &pcmSampleBitDepthChromaMinus1)
        try c.ue("log2_min_pcm_luma_coding_block_size_minus3", &log2MinPcmLumaCodingBlockSizeMinus3, 0...2)
        try c.ue(
            "log2_diff_max_min_pcm_luma_coding_block_size", &log2DiffMaxMinPcmLumaCodingBlockSize,
            0...(2 - log2MinPcmLumaCodingBlockSizeMinus3))
        try c.flag("pcm_loop_filter_disabled_flag", &pcmLoopFilterDisabledFlag)
    }
}

extension SPSExtensions {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.presence("sps_range_extension_flag", &rangeExtension, SPSRangeExtension())
        try c.presence("sps_multilayer_extension_flag", &interViewMvVertConstraintFlag, false)
        try c.flag("sps_3d_extension_flag", &sps3dExtensionFlag)
        try c.flag("sps_scc_extension_flag", &spsSccExtensionFlag)
        try c.u("sps_extension_4bits", 4, &spsExtension4bits)
        try rangeExtension?.code(&c)
        if var constraint = interViewMvVertConstraintFlag {
            try c.flag("inter_view_mv_vert_constraint_flag", &constraint)
            interViewMvVertConstraintFlag = constraint
        }
        if sps3dExtensionFlag || spsSccExtensionFlag || spsExtension4bits != 0 {
            try c.extensionData(&rawExtensions)
        }
    }
}

extension SPSRangeExtension {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.flag("transform_skip_rotation_enabled_flag", &transformSkipRotationEnabledFlag)
        try c.flag("transform_skip_context_enabled_flag", &transformSkipContextEnabledFlag)
        try c.flag("implicit_rdpcm_enabled_flag", &implicitRdpcmEnabledFlag)
        try c.flag("explicit_rdpcm_enabled_flag", &explicitRdpcmEnabledFlag)
        try c.flag("extended_precision_processing_flag", &extendedPrecisionProcessingFlag)
        try c.flag("intra_smoothing_disabled_flag", &intraSmoothingDisabledFlag)
        try c.flag("high_precision_offsets_enabled_flag", &highPrecisionOffsetsEnabledFlag)
        try c.flag("persistent_rice_adaptation_enabled_flag", &persistentRiceAdaptationEnabledFlag)
        try c.flag("cabac_bypass_alignment_enabled_flag", &cabacBypassAlignmentEnabledFlag)
    }
}
