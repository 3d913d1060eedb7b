// SPDX-License-Identifier: GPL-2.0-or-later

/// `slice_type` (table 7-7).
public enum SliceType: Int, Hashable, Sendable {
    /// Bi-predictive.
    case b = 0
    /// Predictive.
    case p = 1
    /// Intra.
    case i = 2
}

/// A long-term reference picture of a slice header.
public struct LongTermRefPic: Hashable, Sendable {
    /// `lt_idx_sps` for one that the SPS lists; nil for one coded in the slice header.
    public var ltIdxSps: Int?
    /// PocLsbLt: `poc_lsb_lt`, or the value from the SPS.
    public var pocLsbLt = 0
    /// UsedByCurrPicLt: `used_by_curr_pic_lt_flag`, or the value from the SPS.
    public var usedByCurrPicLt = false
    /// `delta_poc_msb_cycle_lt`; nil when `delta_poc_msb_present_flag` is 0.
    public var deltaPocMsbCycleLt: Int?

    /// All zeros.
    public init() {}
}

/// The short- and long-term reference pictures that a slice header names; absent for IDR pictures.
public struct SliceReferences: Hashable, Sendable {
    /// `short_term_ref_pic_set_idx`; nil when the set is coded in the slice header.
    public var shortTermRefPicSetIdx: Int?
    /// The set that holds: that of the SPS, or that of the slice header.
    public var shortTermRefPicSet = ShortTermRefPicSet()
    /// The long-term pictures, those of the SPS (`ltIdxSps` not nil) first.
    public var longTermRefPics: [LongTermRefPic] = []

    /// No references, coded in the slice header.
    public init() {}

    /// NumPicTotalCurr (7-55): how many pictures the current one may refer to.
    public var numPicTotalCurr: Int {
        shortTermRefPicSet.numUsedByCurrPic + longTermRefPics.reduce(0) { $0 + ($1.usedByCurrPicLt ? 1 : 0) }
    }
}

/// `slice_segment_header()` (7.3.6.1).
///
/// Elements that are absent keep the value the standard infers. In a dependent slice segment everything from
/// `sliceType` to `sliceLoopFilterAcrossSlicesEnabledFlag` belongs to the slice segment before and is not
/// filled in here.
public struct SliceSegmentHeader: Hashable, Sendable {
    /// The NAL unit's header.
    public var header: NALUnitHeader
    /// `first_slice_segment_in_pic_flag`.
    public var firstSliceSegmentInPicFlag = true
    /// `no_output_of_prior_pics_flag`, present in IRAP pictures.
    public var noOutputOfPriorPicsFlag = false
    /// `slice_pic_parameter_set_id`, 0…63.
    public var slicePicParameterSetId = 0
    /// `dependent_slice_segment_flag`.
    public var dependentSliceSegmentFlag = false
    /// `slice_segment_address`, in coding tree blocks in raster order.
    public var sliceSegmentAddress = 0
    /// `slice_reserved_flag[i]`, `num_extra_slice_header_bits` of them.
    public var sliceReservedFlag: [Bool] = []
    /// `slice_type`.
    public var sliceType = SliceType.i
    /// `pic_output_flag`.
    public var picOutputFlag = true
    /// `colour_plane_id`, 0…2.
    public var colourPlaneId = 0
    /// `slice_pic_order_cnt_lsb`.
    public var slicePicOrderCntLsb = 0
    /// The reference pictures; nil in IDR pictures.
    public var references: SliceReferences?
    /// `slice_temporal_mvp_enabled_flag`.
    public var sliceTemporalMvpEnabledFlag = false
    /// `slice_sao_luma_flag`.
    public var sliceSaoLumaFlag = false
    /// `slice_sao_chroma_flag`.
    public var sliceSaoChromaFlag = false
    /// `num_ref_idx_active_override_flag`.
    public var numRefIdxActiveOverrideFlag = false
    /// `num_ref_idx_l0_active_minus1`, 0…14.
    public var numRefIdxL0ActiveMinus1 = 0
    /// `num_ref_idx_l1_active_minus1`, 0…14.
    public var numRefIdxL1ActiveMinus1 = 0
    /// `list_entry_l0`; nil when `ref_pic_list_modification_flag_l0` is 0.
    public var listEntryL0: [Int]?
    /// `list_entry_l1`; nil when `ref_pic_list_modification_flag_l1` is 0.
    public var listEntryL1: [Int]?
    /// `mvd_l1_zero_flag`.
    public var mvdL1ZeroFlag = false
    /// `cabac_init_flag`.
    public var cabacInitFlag = false
    /// `collocated_from_l0_flag`.
    public var collocatedFromL0Flag = true
    /// `collocated_ref_idx`.
    public var collocatedRefIdx = 0
    /// `pred_weight_table()`; nil when absent.
    public var predWeightTable: PredWeightTable?
    /// `five_minus_max_num_merge_cand`, 0…4.
    public var fiveMinusMaxNumMergeCand = 0
    /// `slice_qp_delta`.
    public var sliceQpDelta = 0
    /// `slice_cb_qp_offset`, −12…12.
    public var sliceCbQpOffset = 0
    /// `slice_cr_qp_offset`, −12…12.
    public var sliceCrQpOffset = 0
    /// `cu_chroma_qp_offset_enabled_flag`.
    public var cuChromaQpOffsetEnabledFlag = false
    /// `deblocking_filter_override_flag`.
    public var deblockingFilterOverrideFlag = false
    /// `slice_deblocking_filter_disabled_flag`.
    public var sliceDeblockingFilterDisabledFlag = false
    /// `slice_beta_offset_div2` and `slice_tc_offset_div2`.
    public var sliceDeblockingOffsets = DeblockingOffsets()
    /// `slice_loop_filter_across_slices_enabled_flag`.
    public var sliceLoopFilterAcrossSlicesEnabledFlag = false
    /// `offset_len_minus1`, 0…31; present with entry points.
    public var offsetLenMinus1 = 0
    /// `entry_point_offset_minus1[i]`, in bytes of slice segment data, emulation prevention included.
    public var entryPointOffsetMinus1: [Int] = []
    /// `slice_segment_header_extension_data_byte`, at most 256.
    public var sliceSegmentHeaderExtension: [UInt8] = []

    /// The header of an intra slice that starts a picture.
    public init(_ header: NALUnitHeader) {
        self.header = header
    }
}
