// SPDX-License-Identifier: GPL-2.0-or-later

/// `colour_primaries`, `transfer_characteristics` and `matrix_coeffs`, in the code points of ITU-T H.273.
public struct VUIColorDescription: Hashable, Sendable {
    /// `colour_primaries`; 2 is unspecified.
    public var colourPrimaries = 2
    /// `transfer_characteristics`; 2 is unspecified.
    public var transferCharacteristics = 2
    /// `matrix_coeffs`; 2 is unspecified.
    public var matrixCoeffs = 2

    /// Unspecified, or the given code points.
    public init(colourPrimaries: Int = 2, transferCharacteristics: Int = 2, matrixCoeffs: Int = 2) {
        self.colourPrimaries = colourPrimaries
        self.transferCharacteristics = transferCharacteristics
        self.matrixCoeffs = matrixCoeffs
    }
}

/// The part of the VUI behind `video_signal_type_present_flag` (E.2.1).
public struct VideoSignalType: Hashable, Sendable {
    /// `video_format`, 0…7; 5 is unspecified.
    public var videoFormat = 5
    /// `video_full_range_flag`.
    public var videoFullRangeFlag = false
    /// Colour; nil when `colour_description_present_flag` is 0.
    public var colourDescription: VUIColorDescription?

    /// Unspecified, video range.
    public init() {}
}

/// Sizes cut off each side of a picture, in the unit the owner names.
public struct WindowOffsets: Hashable, Sendable {
    /// What is cut off on the left.
    public var left = 0
    /// What is cut off on the right.
    public var right = 0
    /// What is cut off at the top.
    public var top = 0
    /// What is cut off at the bottom.
    public var bottom = 0

    /// Nothing cut off, or the given amounts.
    public init(left: Int = 0, right: Int = 0, top: Int = 0, bottom: Int = 0) {
        self.left = left
        self.right = right
        self.top = top
        self.bottom = bottom
    }
}

/// `sar_width` and `sar_height`, present for `aspect_ratio_idc` 255.
public struct SampleAspectRatio: Hashable, Sendable {
    /// `sar_width`, 0…65535; 0 is unspecified.
    public var width = 0
    /// `sar_height`, 0…65535; 0 is unspecified.
    public var height = 0

    /// A ratio width : height.
    public init(width: Int = 0, height: Int = 0) {
        self.width = width
        self.height = height
    }
}

/// `chroma_sample_loc_type_top_field` and `…_bottom_field`, each 0…5.
public struct ChromaSampleLocation: Hashable, Sendable {
    /// `chroma_sample_loc_type_top_field`.
    public var topField = 0
    /// `chroma_sample_loc_type_bottom_field`.
    public var bottomField = 0

    /// The left siting (0), or the given ones.
    public init(topField: Int = 0, bottomField: Int = 0) {
        self.topField = topField
        self.bottomField = bottomField
    }
}

/// `vui_timing_info` and `vps_timing_info`: the clock that picture times count in.
public struct TimingInfo: Hashable, Sendable {
    /// `num_units_in_tick`, in units of 1 / timeScale seconds.
    public var numUnitsInTick = 0
    /// `time_scale`, in Hz.
    public var timeScale = 0
    /// `num_ticks_poc_diff_one_minus1`; nil when `poc_proportional_to_timing_flag` is 0.
    public var numTicksPocDiffOneMinus1: Int?

    /// A clock; 1/25 s for (1, 25).
    public init(numUnitsInTick: Int = 0, timeScale: Int = 0) {
        self.numUnitsInTick = numUnitsInTick
        self.timeScale = timeScale
    }
}

/// The part of the VUI behind `bitstream_restriction_flag` (E.2.1).
public struct BitstreamRestriction: Hashable, Sendable {
    /// `tiles_fixed_structure_flag`.
    public var tilesFixedStructureFlag = false
    /// `motion_vectors_over_pic_boundaries_flag`.
    public var motionVectorsOverPicBoundariesFlag = true
    /// `restricted_ref_pic_lists_flag`.
    public var restrictedRefPicListsFlag = false
    /// `min_spatial_segmentation_idc`, 0…4095.
    public var minSpatialSegmentationIdc = 0
    /// `max_bytes_per_pic_denom`, 0…16.
    public var maxBytesPerPicDenom = 2
    /// `max_bits_per_min_cu_denom`, 0…16.
    public var maxBitsPerMinCuDenom = 1
    /// `log2_max_mv_length_horizontal`, 0…16.
    public var log2MaxMvLengthHorizontal = 15
    /// `log2_max_mv_length_vertical`, 0…16.
    public var log2MaxMvLengthVertical = 15

    /// The values inferred when the part is absent.
    public init() {}
}

/// `vui_parameters()` (E.2.1).
public struct VUIParameters: Hashable, Sendable {
    /// `aspect_ratio_idc`; nil when `aspect_ratio_info_present_flag` is 0.
    public var aspectRatioIdc: Int?
    /// The explicit ratio, used when `aspectRatioIdc` is 255 (EXTENDED_SAR).
    public var sampleAspectRatio = SampleAspectRatio()
    /// `overscan_appropriate_flag`; nil when `overscan_info_present_flag` is 0.
    public var overscanAppropriateFlag: Bool?
    /// Range and colour; nil when `video_signal_type_present_flag` is 0.
    public var videoSignalType: VideoSignalType?
    /// Chroma siting; nil when `chroma_loc_info_present_flag` is 0.
    public var chromaSampleLocation: ChromaSampleLocation?
    /// `neutral_chroma_indication_flag`.
    public var neutralChromaIndicationFlag = false
    /// `field_seq_flag`.
    public var fieldSeqFlag = false
    /// `frame_field_info_present_flag`.
    public var frameFieldInfoPresentFlag = false
    /// Default display window in chroma units; nil when `default_display_window_flag` is 0.
    public var defaultDisplayWindow: WindowOffsets?
    /// The clock; nil when `vui_timing_info_present_flag` is 0.
    public var timingInfo: TimingInfo?
    /// The HRD; nil when absent; needs `timingInfo`.
    public var hrdParameters: HRDParameters?
    /// Restrictions; nil when `bitstream_restriction_flag` is 0.
    public var bitstreamRestriction: BitstreamRestriction?

    /// Nothing present.
    public init() {}

    mutating func code(_ c: inout some SyntaxCoder, maxSubLayersMinus1: Int) throws(BitstreamError) {
        try c.presence("aspect_ratio_info_present_flag", &aspectRatioIdc, 0)
        if var idc = aspectRatioIdc {
            try c.u("aspect_ratio_idc", 8, &idc)
            if idc == 255 {
                try c.u("sar_width", 16, &sampleAspectRatio.width)
                try c.u("sar_height", 16, &sampleAspectRatio.height)
            }
            aspectRatioIdc = idc
        }
        try c.presence("overscan_info_present_flag", &overscanAppropriateFlag, false)
        if var appropriate = overscanAppropriateFlag {
            try c.flag("overscan_appropriate_flag", &appropriate)
            overscanAppropriateFlag = appropriate
        }
        try c.presence("video_signal_type_present_flag", &videoSignalType, VideoSignalType())
        try videoSignalType?.code(&c)
        try c.presence("chroma_loc_info_present_flag", &chromaSampleLocation, ChromaSampleLocation())
        if var location = chromaSampleLocation {
            try c.ue("chroma_sample_loc_type_top_field", &location.topField, 0...5)
            try c.ue("chroma_sample_loc_type_bottom_field", &location.bottomField, 0...5)
            chromaSampleLocation = location
        }
        try c.flag("neutral_chroma_indication_flag", &neutralChromaIndicationFlag)
        try c.flag("field_seq_flag", &fieldSeqFlag)
        try c.flag("frame_field_info_present_flag", &frameFieldInfoPresentFlag)
        try c.presence("default_display_window_flag", &defaultDisplayWindow, WindowOffsets())
        if var window = defaultDisplayWindow {
            try c.ue("def_disp_win_left_offset", &window.left, 0...16384)
            try c.ue("def_disp_win_right_offset", &window.right, 0...16384)
            try c.ue("def_disp_win_top_offset", &window.top, 0...16384)
            try c.ue("def_disp_win_bottom_offset", &window.bottom, 0...16384)
            defaultDisplayWindow = window
        }
        try codeTiming(&c, maxSubLayersMinus1)
        try c.presence("bitstream_restriction_flag", &bitstreamRestriction, BitstreamRestriction())
        try bitstreamRestriction?.code(&c)
    }

    private mutating func codeTiming(
        _ c: inout some SyntaxCoder, _ maxSubLayersMinus1: Int
    ) throws(BitstreamError) {
        try c.presence("vui_timing_info_present_flag", &timingInfo, TimingInfo())
        guard var timing = timingInfo else { return }
        try c.u("vui_num_units_in_tick", 32, &timing.numUnitsInTick)
        try c.u("vui_time_scale", 32, &timing.timeScale)
        try c.presence("vui_poc_proportional_to_timing_flag", &timing.numTicksPocDiffOneMinus1, 0)
        if var ticks = timing.numTicksPocDiffOneMinus1 {
            try c.ue("vui_num_ticks_poc_diff_one_minus1", &ticks)
            timing.numTicksPocDiffOneMinus1 = ticks
        }
        timingInfo = timing
        try c.presence("vui_hrd_parameters_present_flag", &hrdParameters, HRDParameters())
        try hrdParameters?.code(&c, commonInfPresent: true, maxNumSubLayersMinus1: maxSubLayersMinus1)
    }
}

extension VideoSignalType {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("video_format", 3, &videoFormat)
        try c.flag("video_full_range_flag", &videoFullRangeFlag)
        try c.presence("colour_description_present_flag", &colourDescription, VUIColorDescription())
        guard var colour = colourDescription else { return }
        try c.u("colour_primaries", 8, &colour.colourPrimaries)
        try c.u("transfer_characteristics", 8, &colour.transferCharacteristics)
        try c.u("matrix_coefficients", 8, &colour.matrixCoeffs)
        colourDescription = colour
    }
}

extension BitstreamRestriction {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.flag("tiles_fixed_structure_flag", &tilesFixedStructureFlag)
        try c.flag("motion_vectors_over_pic_boundaries_flag", &motionVectorsOverPicBoundariesFlag)
        try c.flag("restricted_ref_pic_lists_flag", &restrictedRefPicListsFlag)
        try c.ue("min_spatial_segmentation_idc", &minSpatialSegmentationIdc, 0...4095)
        try c.ue("max_bytes_per_pic_denom", &maxBytesPerPicDenom, 0...16)
        try c.ue("max_bits_per_min_cu_denom", &maxBitsPerMinCuDenom, 0...16)
        try c.ue("log2_max_mv_length_horizontal", &log2MaxMvLengthHorizontal, 0...16)
        try c.ue("log2_max_mv_length_vertical", &log2MaxMvLengthVertical, 0...16)
    }
}
