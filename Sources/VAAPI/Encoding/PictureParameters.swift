// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDCoding
internal import HWDHEVC

// libva's structures for a sequence, a picture and its slice. Fields named after syntax elements are filled from the
// headers that StreamSyntax writes, so that both always agree.

extension VAEncSequenceParameterBufferHEVC {
    init(_ settings: EncoderSettings) {
        self.init()
        let (sps, structure) = (settings.syntax.sps, settings.structure)
        // Main (H.265 A.3.2).
        general_profile_idc = UInt8(sps.profileTierLevel.general?.profileIdc ?? 1)
        general_level_idc = UInt8(sps.profileTierLevel.generalLevelIdc)
        general_tier_flag = sps.profileTierLevel.general?.tierFlag == true ? 1 : 0
        // Mesa 22 derives the POC's length from it, which is at most 16 bits. Key frames are planned by this module.
        intra_period = UInt32(min(structure.keyFrameInterval, 1 << 15))
        intra_idr_period = intra_period
        ip_period = UInt32(structure.anchorDistance)
        bits_per_second = settings.rate.targetBitsPerSecond
        pic_width_in_luma_samples = UInt16(sps.picWidthInLumaSamples)
        pic_height_in_luma_samples = UInt16(sps.picHeightInLumaSamples)
        seq_fields.bits.chroma_format_idc = UInt32(sps.chromaFormatIdc)
        seq_fields.bits.bit_depth_luma_minus8 = UInt32(sps.bitDepthLumaMinus8)
        seq_fields.bits.bit_depth_chroma_minus8 = UInt32(sps.bitDepthChromaMinus8)
        seq_fields.bits.strong_intra_smoothing_enabled_flag = sps.strongIntraSmoothingEnabledFlag.bit
        seq_fields.bits.amp_enabled_flag = sps.ampEnabledFlag.bit
        seq_fields.bits.sample_adaptive_offset_enabled_flag = sps.sampleAdaptiveOffsetEnabledFlag.bit
        seq_fields.bits.sps_temporal_mvp_enabled_flag = sps.spsTemporalMvpEnabledFlag.bit
        seq_fields.bits.low_delay_seq = (structure.anchorDistance == 1).bit
        seq_fields.bits.hierachical_flag = (structure.anchorDistance > 2 || structure.temporalLevels > 1).bit
        log2_min_luma_coding_block_size_minus3 = UInt8(sps.log2MinLumaCodingBlockSizeMinus3)
        log2_diff_max_min_luma_coding_block_size = UInt8(sps.log2DiffMaxMinLumaCodingBlockSize)
        log2_min_transform_block_size_minus2 = UInt8(sps.log2MinLumaTransformBlockSizeMinus2)
        log2_diff_max_min_transform_block_size = UInt8(sps.log2DiffMaxMinLumaTransformBlockSize)
        max_transform_hierarchy_depth_inter = UInt8(sps.maxTransformHierarchyDepthInter)
        max_transform_hierarchy_depth_intra = UInt8(sps.maxTransformHierarchyDepthIntra)
        guard let vui = sps.vuiParameters else { return }
        vui_parameters_present_flag = 1
        if let aspect = vui.aspectRatioIdc {
            vui_fields.bits.aspect_ratio_info_present_flag = 1
            aspect_ratio_idc = UInt8(aspect)
            sar_width = UInt32(vui.sampleAspectRatio.width)
            sar_height = UInt32(vui.sampleAspectRatio.height)
        }
        if let timing = vui.timingInfo {
            vui_fields.bits.vui_timing_info_present_flag = 1
            vui_num_units_in_tick = UInt32(timing.numUnitsInTick)
            vui_time_scale = UInt32(timing.timeScale)
        }
    }
}

/// The `coding_type` of a picture in va_enc_hevc.h.
///
/// B1 and B2 are not used, because `hierarchical_level_plus1` describes the pyramid.
enum VACodingType: UInt32 {
    case i = 1
    case p = 2
    case b = 3

    init(_ sliceType: SliceType) {
        switch sliceType {
        case .i: self = .i
        case .p: self = .p
        case .b: self = .b
        }
    }
}

/// Values of `collocated_ref_pic_index` in va_enc_hevc.h.
private enum CollocatedPicture {
    /// No picture predicts motion vectors.
    static let none: UInt8 = 0xFF
}

extension VAPictureHEVC {
    /// A surface and the picture in it.
    init(_ surface: VASurfaceID, poc: Int, flags: Int32 = 0) {
        self.init()
        picture_id = surface
        pic_order_cnt = Int32(truncatingIfNeeded: poc)
        self.flags = UInt32(flags)
    }

    /// An unused entry.
    static var none: VAPictureHEVC { VAPictureHEVC(VA_INVALID_SURFACE, poc: 0, flags: VA_PICTURE_HEVC_INVALID) }
}

extension VAEncPictureParameterBufferHEVC {
    /// - Parameters:
    ///   - surface: the surface that the picture is reconstructed to.
    ///   - references: the reference pictures that are kept while it is coded.
    init(
        _ picture: PlannedPicture, _ settings: EncoderSettings, surface: VASurfaceID,
        references: [VAPictureHEVC], coded: VABufferID
    ) {
        self.init()
        let pps = settings.syntax.pps
        decoded_curr_pic = VAPictureHEVC(surface, poc: picture.poc)
        Self.fill(&reference_frames, references)
        coded_buf = coded
        // collocated_ref_idx is 0: the first picture of list 0 (H.265 7.4.7.1).
        let collocated = settings.tools.usesTemporalMVP ? picture.list0.first : nil
        collocated_ref_pic_index =
            references.firstIndex { Int($0.pic_order_cnt) == collocated }.map { UInt8($0) }
            ?? CollocatedPicture.none
        pic_init_qp = UInt8(26 + pps.initQpMinus26)
        diff_cu_qp_delta_depth = UInt8(pps.diffCuQpDeltaDepth ?? 0)
        pps_cb_qp_offset = Int8(pps.ppsCbQpOffset)
        pps_cr_qp_offset = Int8(pps.ppsCrQpOffset)
        log2_parallel_merge_level_minus2 = UInt8(pps.log2ParallelMergeLevelMinus2)
        num_ref_idx_l0_default_active_minus1 = UInt8(pps.numRefIdxL0DefaultActiveMinus1)
        num_ref_idx_l1_default_active_minus1 = UInt8(pps.numRefIdxL1DefaultActiveMinus1)
        slice_pic_parameter_set_id = UInt8(pps.ppsPicParameterSetId)
        nal_unit_type = picture.nalUnitType.rawValue
        pic_fields.bits.idr_pic_flag = (picture.kind == .idr).bit
        pic_fields.bits.coding_type = VACodingType(picture.sliceType).rawValue
        pic_fields.bits.reference_pic_flag = picture.isReference.bit
        pic_fields.bits.sign_data_hiding_enabled_flag = pps.signDataHidingEnabledFlag.bit
        pic_fields.bits.constrained_intra_pred_flag = pps.constrainedIntraPredFlag.bit
        pic_fields.bits.transform_skip_enabled_flag = pps.transformSkipEnabledFlag.bit
        pic_fields.bits.cu_qp_delta_enabled_flag = (pps.diffCuQpDeltaDepth != nil).bit
        pic_fields.bits.pps_loop_filter_across_slices_enabled_flag = pps.ppsLoopFilterAcrossSlicesEnabledFlag.bit
        // 0 leaves the level to coding_type, which is sufficient without a pyramid.
        let isHierarchical = settings.structure.anchorDistance > 2 || settings.structure.temporalLevels > 1
        let level =
            settings.structure.anchorDistance == 1 ? min(picture.level, Self.maxLowDelayLevel) : picture.level
        hierarchical_level_plus1 = isHierarchical ? UInt8(level + 1) : 0
    }

    /// Intel's rate control has no deeper level in low-delay sequences (codechal_vdenc_hevc_g12.cpp).
    private static let maxLowDelayLevel = 2

    /// Fills one of libva's arrays of 15 pictures and marks the rest unused.
    static func fill<Array15>(_ array: inout Array15, _ pictures: [VAPictureHEVC]) {
        withUnsafeMutableBytes(of: &array) { bytes in
            let slots = bytes.bindMemory(to: VAPictureHEVC.self)
            for index in slots.indices { slots[index] = index < pictures.count ? pictures[index] : .none }
        }
    }
}

extension VAEncSliceParameterBufferHEVC {
    /// The parameters of a picture's only slice.
    init(
        _ header: SliceSegmentHeader, _ settings: EncoderSettings, list0: [VAPictureHEVC], list1: [VAPictureHEVC]
    ) {
        self.init()
        num_ctu_in_slice = UInt32(settings.syntax.sps.picSizeInCtbsY)
        slice_type = UInt8(header.sliceType.rawValue)
        slice_pic_parameter_set_id = UInt8(header.slicePicParameterSetId)
        num_ref_idx_l0_active_minus1 = UInt8(header.numRefIdxL0ActiveMinus1)
        num_ref_idx_l1_active_minus1 = UInt8(header.numRefIdxL1ActiveMinus1)
        VAEncPictureParameterBufferHEVC.fill(&ref_pic_list0, list0)
        VAEncPictureParameterBufferHEVC.fill(&ref_pic_list1, list1)
        max_num_merge_cand = UInt8(5 - header.fiveMinusMaxNumMergeCand)
        slice_qp_delta = Int8(header.sliceQpDelta)
        slice_fields.bits.last_slice_of_pic_flag = 1
        slice_fields.bits.slice_temporal_mvp_enabled_flag = header.sliceTemporalMvpEnabledFlag.bit
        slice_fields.bits.slice_sao_luma_flag = header.sliceSaoLumaFlag.bit
        slice_fields.bits.slice_sao_chroma_flag = header.sliceSaoChromaFlag.bit
        slice_fields.bits.num_ref_idx_active_override_flag = header.numRefIdxActiveOverrideFlag.bit
        slice_fields.bits.mvd_l1_zero_flag = header.mvdL1ZeroFlag.bit
        slice_fields.bits.cabac_init_flag = header.cabacInitFlag.bit
        slice_fields.bits.slice_deblocking_filter_disabled_flag = header.sliceDeblockingFilterDisabledFlag.bit
        slice_fields.bits.slice_loop_filter_across_slices_enabled_flag =
            header.sliceLoopFilterAcrossSlicesEnabledFlag.bit
        slice_fields.bits.collocated_from_l0_flag = header.collocatedFromL0Flag.bit
    }
}

extension Bool {
    /// 1 or 0, for bit fields.
    fileprivate var bit: UInt32 { self ? 1 : 0 }
}
