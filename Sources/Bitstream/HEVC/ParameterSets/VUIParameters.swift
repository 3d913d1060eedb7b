// SPDX-License-Identifier: MIT

/// `colour_primaries`, `transfer_characteristics` and `matrix_coeffs`, in the code points of ITU-T H.273.
public struct VUIColorDescription: Hashable, Sendable {
    /// 2 is unspecified.
    public var colourPrimaries = 2
    /// 2 is unspecified.
    public var transferCharacteristics = 2
    /// 2 is unspecified.
    public var matrixCoeffs = 2

    public init(colourPrimaries: Int = 2, transferCharacteristics: Int = 2, matrixCoeffs: Int = 2) {
        self.colourPrimaries = colourPrimaries
        self.transferCharacteristics = transferCharacteristics
        self.matrixCoeffs = matrixCoeffs
    }
}

/// The part of the VUI with `video_signal_type_present_flag` 1 (E.2.1).
public struct VideoSignalType: Hashable, Sendable {
    /// 0…7; 5 is unspecified.
    public var videoFormat = 5
    public var videoFullRangeFlag = false
    /// Nil when `colour_description_present_flag` is 0.
    public var colourDescription: VUIColorDescription?

    public init() {}
}

/// Sizes cropped from each side of a picture, in units that the owner defines.
public struct WindowOffsets: Hashable, Sendable {
    public var left = 0
    public var right = 0
    public var top = 0
    public var bottom = 0

    public init(left: Int = 0, right: Int = 0, top: Int = 0, bottom: Int = 0) {
        self.left = left
        self.right = right
        self.top = top
        self.bottom = bottom
    }
}

/// `sar_width` and `sar_height`, present for `aspect_ratio_idc` 255.
public struct SampleAspectRatio: Hashable, Sendable {
    /// 0…65535; 0 is unspecified.
    public var width = 0
    /// 0…65535; 0 is unspecified.
    public var height = 0

    public init(width: Int = 0, height: Int = 0) {
        self.width = width
        self.height = height
    }
}

/// `chroma_sample_loc_type_top_field` and `…_bottom_field`, each 0…5; 0 is the left siting.
public struct ChromaSampleLocation: Hashable, Sendable {
    public var topField = 0
    public var bottomField = 0

    public init(topField: Int = 0, bottomField: Int = 0) {
        self.topField = topField
        self.bottomField = bottomField
    }
}

/// The clock of `vui_timing_info` or `vps_timing_info`: a tick is numUnitsInTick / timeScale seconds.
public struct TimingInfo: Hashable, Sendable {
    /// In units of 1 / timeScale seconds.
    public var numUnitsInTick = 0
    /// In Hz.
    public var timeScale = 0
    /// `num_ticks_poc_diff_one_minus1`; nil when `poc_proportional_to_timing_flag` is 0.
    public var numTicksPocDiffOneMinus1: Int?

    public init(numUnitsInTick: Int = 0, timeScale: Int = 0) {
        self.numUnitsInTick = numUnitsInTick
        self.timeScale = timeScale
    }
}

/// The part of the VUI with `bitstream_restriction_flag` 1 (E.2.1).
public struct BitstreamRestriction: Hashable, Sendable {
    public var tilesFixedStructureFlag = false
    public var motionVectorsOverPicBoundariesFlag = true
    public var restrictedRefPicListsFlag = false
    /// 0…4095; 0 makes no promise.
    public var minSpatialSegmentationIdc = 0
    /// 0…16; 0 sets no limit.
    public var maxBytesPerPicDenom = 2
    /// 0…16; 0 sets no limit.
    public var maxBitsPerMinCuDenom = 1
    /// In quarter luma samples, 0…16.
    public var log2MaxMvLengthHorizontal = 15
    /// In quarter luma samples, 0…16.
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
    /// Nil when `video_signal_type_present_flag` is 0.
    public var videoSignalType: VideoSignalType?
    /// Nil when `chroma_loc_info_present_flag` is 0.
    public var chromaSampleLocation: ChromaSampleLocation?
    /// True when all chroma samples are 1 << (BitDepthC − 1).
    public var neutralChromaIndicationFlag = false
    /// True when pictures are fields.
    public var fieldSeqFlag = false
    /// True when picture timing SEI messages have `pic_struct`.
    public var frameFieldInfoPresentFlag = false
    /// Default display window in chroma units; nil when `default_display_window_flag` is 0.
    public var defaultDisplayWindow: WindowOffsets?
    /// Nil when `vui_timing_info_present_flag` is 0.
    public var timingInfo: TimingInfo?
    /// Coded only with `timingInfo`; nil when `vui_hrd_parameters_present_flag` is 0.
    public var hrdParameters: HRDParameters?
    /// Nil when `bitstream_restriction_flag` is 0.
    public var bitstreamRestriction: BitstreamRestriction?

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
        guard var description = colourDescription else { return }
        try c.u("colour_primaries", 8, &description.colourPrimaries)
        try c.u("transfer_characteristics", 8, &description.transferCharacteristics)
        try c.u("matrix_coefficients", 8, &description.matrixCoeffs)
        colourDescription = description
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
