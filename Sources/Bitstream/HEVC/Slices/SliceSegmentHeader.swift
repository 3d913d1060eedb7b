// SPDX-License-Identifier: MIT

/// `slice_type` (table 7-7).
public enum SliceType: Int, Hashable, Sendable {
    case b = 0
    case p = 1
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

    public init() {}
}

/// The short- and long-term reference pictures of a slice header; absent in IDR pictures.
public struct SliceReferences: Hashable, Sendable {
    /// `short_term_ref_pic_set_idx`; nil when the set is coded in the slice header.
    public var shortTermRefPicSetIdx: Int?
    /// The set in use: the SPS's set with that index, or the one coded in the slice header.
    public var shortTermRefPicSet = ShortTermRefPicSet()
    /// The long-term pictures, those of the SPS (`ltIdxSps` not nil) first.
    public var longTermRefPics: [LongTermRefPic] = []

    public init() {}

    /// NumPicTotalCurr (7-55): number of pictures that the current one may refer to.
    public var numPicTotalCurr: Int {
        shortTermRefPicSet.numUsedByCurrPic + longTermRefPics.reduce(0) { $0 + ($1.usedByCurrPicLt ? 1 : 0) }
    }
}

/// `slice_segment_header()` (7.3.6.1).
///
/// Elements that are absent keep the value the standard infers. A dependent slice segment takes everything from
/// `sliceType` to `sliceLoopFilterAcrossSlicesEnabledFlag` from the slice segment before it; these properties are
/// not filled in here.
public struct SliceSegmentHeader: Hashable, Sendable {
    public var header: NALUnitHeader
    public var firstSliceSegmentInPicFlag = true
    /// Present in IRAP pictures; true drops the pictures not yet output (C.5.2.2).
    public var noOutputOfPriorPicsFlag = false
    /// 0…63.
    public var slicePicParameterSetId = 0
    /// True when the segment takes its slice's values from the segment before it.
    public var dependentSliceSegmentFlag = false
    /// Address of the first coding tree block, in raster order.
    public var sliceSegmentAddress = 0
    /// `num_extra_slice_header_bits` of them.
    public var sliceReservedFlag: [Bool] = []
    public var sliceType = SliceType.i
    /// False for a picture that is decoded and never output.
    public var picOutputFlag = true
    /// 0 Y, 1 Cb, 2 Cr; present with `separate_colour_plane_flag`.
    public var colourPlaneId = 0
    /// Picture order count modulo MaxPicOrderCntLsb (8.3.1).
    public var slicePicOrderCntLsb = 0
    /// The reference pictures; nil in IDR pictures.
    public var references: SliceReferences?
    public var sliceTemporalMvpEnabledFlag = false
    public var sliceSaoLumaFlag = false
    public var sliceSaoChromaFlag = false
    /// True when the slice codes the two counts below; otherwise they are the PPS's defaults.
    public var numRefIdxActiveOverrideFlag = false
    /// 0…14.
    public var numRefIdxL0ActiveMinus1 = 0
    /// 0…14.
    public var numRefIdxL1ActiveMinus1 = 0
    /// Indices that reorder list 0 (7.4.7.2); nil when `ref_pic_list_modification_flag_l0` is 0.
    public var listEntryL0: [Int]?
    /// Indices that reorder list 1 (7.4.7.2); nil when `ref_pic_list_modification_flag_l1` is 0.
    public var listEntryL1: [Int]?
    public var mvdL1ZeroFlag = false
    public var cabacInitFlag = false
    public var collocatedFromL0Flag = true
    /// Index in the collocated list of the picture that supplies temporal motion vectors.
    public var collocatedRefIdx = 0
    /// `pred_weight_table()`; nil when absent.
    public var predWeightTable: PredWeightTable?
    /// 0…4.
    public var fiveMinusMaxNumMergeCand = 0
    /// Added to 26 + `init_qp_minus26` for the slice's QP (7-54).
    public var sliceQpDelta = 0
    /// −12…12; added to `pps_cb_qp_offset`.
    public var sliceCbQpOffset = 0
    /// −12…12; added to `pps_cr_qp_offset`.
    public var sliceCrQpOffset = 0
    public var cuChromaQpOffsetEnabledFlag = false
    /// True when the slice codes its own deblocking parameters.
    public var deblockingFilterOverrideFlag = false
    public var sliceDeblockingFilterDisabledFlag = false
    /// `slice_beta_offset_div2` and `slice_tc_offset_div2`.
    public var sliceDeblockingOffsets = DeblockingOffsets()
    public var sliceLoopFilterAcrossSlicesEnabledFlag = false
    /// Width of an entry point offset − 1, 0…31; present with entry points.
    public var offsetLenMinus1 = 0
    /// Bytes of slice segment data − 1 per substream, emulation prevention included (7.4.7.1).
    public var entryPointOffsetMinus1: [Int] = []
    /// `slice_segment_header_extension_data_byte`, at most 256.
    public var sliceSegmentHeaderExtension: [UInt8] = []

    /// The header of an intra slice that starts a picture.
    public init(_ header: NALUnitHeader) {
        self.header = header
    }
}
