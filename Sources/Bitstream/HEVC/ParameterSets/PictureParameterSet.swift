// SPDX-License-Identifier: MIT

/// The tile grid of a PPS (7.3.2.3.1).
public struct TileParameters: Hashable, Sendable {
    public var numTileColumnsMinus1 = 0
    public var numTileRowsMinus1 = 0
    public var uniformSpacingFlag = true
    /// Widths of all columns but the last − 1, in coding tree blocks; empty when spaced uniformly.
    public var columnWidthMinus1: [Int] = []
    /// Heights of all rows but the last − 1, in coding tree blocks; empty when spaced uniformly.
    public var rowHeightMinus1: [Int] = []
    public var loopFilterAcrossTilesEnabledFlag = true

    public init() {}
}

/// `pps_beta_offset_div2` and `pps_tc_offset_div2`, or `slice_…` in a slice header.
public struct DeblockingOffsets: Hashable, Sendable {
    /// −6…6.
    public var betaOffsetDiv2 = 0
    /// −6…6.
    public var tcOffsetDiv2 = 0

    public init(betaOffsetDiv2: Int = 0, tcOffsetDiv2: Int = 0) {
        self.betaOffsetDiv2 = betaOffsetDiv2
        self.tcOffsetDiv2 = tcOffsetDiv2
    }
}

/// The deblocking parameters of a PPS with `deblocking_filter_control_present_flag` 1.
public struct DeblockingControl: Hashable, Sendable {
    /// True when slice headers may override the values here.
    public var deblockingFilterOverrideEnabledFlag = false
    /// The offsets; nil when `pps_deblocking_filter_disabled_flag` is 1.
    public var offsets: DeblockingOffsets? = DeblockingOffsets()

    public init() {}
}

/// The chroma QP offset lists of a PPS range extension.
public struct ChromaQpOffsetList: Hashable, Sendable {
    /// 0…3: depth below the coding tree block at which the offset may change.
    public var diffCuChromaQpOffsetDepth = 0
    /// 1…6 entries of −12…12.
    public var cbQpOffsetList: [Int] = [0]
    /// As many entries of −12…12.
    public var crQpOffsetList: [Int] = [0]

    public init() {}
}

/// `pps_range_extension()` (7.3.2.3.2).
public struct PPSRangeExtension: Hashable, Sendable {
    /// 0…3; present with transform skip.
    public var log2MaxTransformSkipBlockSizeMinus2 = 0
    public var crossComponentPredictionEnabledFlag = false
    /// The lists; nil when `chroma_qp_offset_list_enabled_flag` is 0.
    public var chromaQpOffsetList: ChromaQpOffsetList?
    /// 0…6.
    public var log2SaoOffsetScaleLuma = 0
    /// 0…6.
    public var log2SaoOffsetScaleChroma = 0

    public init() {}
}

/// The extensions of a PPS with `pps_extension_present_flag` 1.
public struct PPSExtensions: Hashable, Sendable {
    /// `pps_range_extension()`; nil when its flag is 0.
    public var rangeExtension: PPSRangeExtension?
    public var ppsMultilayerExtensionFlag = false
    public var pps3dExtensionFlag = false
    public var ppsSccExtensionFlag = false
    public var ppsExtension4bits = 0
    /// The multilayer, 3D, SCC and later extensions together, not interpreted.
    public var rawExtensions = RawBits()

    public init() {}
}

/// `pic_parameter_set_rbsp()` (7.3.2.3).
public struct PictureParameterSet: Hashable, Sendable, CodedSyntax {
    public var header = NALUnitHeader(.pps)
    /// 0…63.
    public var ppsPicParameterSetId = 0
    /// 0…15.
    public var ppsSeqParameterSetId = 0
    public var dependentSliceSegmentsEnabledFlag = false
    /// True when slice headers have `pic_output_flag`.
    public var outputFlagPresentFlag = false
    /// 0…7; number of `slice_reserved_flag`s in slice headers.
    public var numExtraSliceHeaderBits = 0
    public var signDataHidingEnabledFlag = false
    /// True when slice headers have `cabac_init_flag`.
    public var cabacInitPresentFlag = false
    /// 0…14.
    public var numRefIdxL0DefaultActiveMinus1 = 0
    /// 0…14.
    public var numRefIdxL1DefaultActiveMinus1 = 0
    /// −(26 + QpBdOffset)…25; −74 at 16 bits.
    public var initQpMinus26 = 0
    public var constrainedIntraPredFlag = false
    public var transformSkipEnabledFlag = false
    /// 0…3: depth below the coding tree block at which QP may change; nil when `cu_qp_delta_enabled_flag` is 0.
    public var diffCuQpDeltaDepth: Int?
    /// −12…12.
    public var ppsCbQpOffset = 0
    /// −12…12.
    public var ppsCrQpOffset = 0
    /// True when slice headers have `slice_cb_qp_offset` and `slice_cr_qp_offset`.
    public var ppsSliceChromaQpOffsetsPresentFlag = false
    /// True when P slices have a `pred_weight_table()`.
    public var weightedPredFlag = false
    /// True when B slices have a `pred_weight_table()`.
    public var weightedBipredFlag = false
    public var transquantBypassEnabledFlag = false
    /// True for wavefront parallel processing.
    public var entropyCodingSyncEnabledFlag = false
    /// The tile grid; nil when `tiles_enabled_flag` is 0.
    public var tiles: TileParameters?
    public var ppsLoopFilterAcrossSlicesEnabledFlag = false
    /// Nil when `deblocking_filter_control_present_flag` is 0.
    public var deblockingControl: DeblockingControl?
    /// `scaling_list_data()`; nil when `pps_scaling_list_data_present_flag` is 0.
    public var scalingListData: ScalingListData?
    /// True when slice headers may reorder their reference picture lists.
    public var listsModificationPresentFlag = false
    /// 0…4.
    public var log2ParallelMergeLevelMinus2 = 0
    public var sliceSegmentHeaderExtensionPresentFlag = false
    /// Nil when `pps_extension_present_flag` is 0.
    public var extensions: PPSExtensions?

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
        try header.nalUnit(rbsp: try coded())
    }
}
