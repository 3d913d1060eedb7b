// SPDX-License-Identifier: MIT

/// `rpu_data_header()` of a Dolby Vision RPU (ETSI GS CCM 001), up to the flags that say which parts follow.
public struct RPUHeader: Hashable, Sendable {
    /// 11 bits; its bits 8 to 10 are 0 where bit depths follow.
    public var rpuFormat = 18
    /// 0…15; 0 for profile 5, 1 for profiles 4, 7 and 8.
    public var vdrRPUProfile = 1
    /// 0…15.
    public var vdrRPULevel = 0
    /// Nil when `vdr_seq_info_present_flag` is 0.
    public var sequenceInfo: RPUSequenceInfo? = RPUSequenceInfo()

    public init() {}

    /// Whether the color metadata of the display management are left out.
    var isCompressed: Bool { sequenceInfo?.depths?.dmCompression == 1 }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        // Other types have another syntax.
        try c.constant("rpu_type", 6, 2)
        try c.u("rpu_format", 11, &rpuFormat)
        try c.u("vdr_rpu_profile", 4, &vdrRPUProfile)
        try c.u("vdr_rpu_level", 4, &vdrRPULevel)
        try c.presence("vdr_seq_info_present_flag", &sequenceInfo, RPUSequenceInfo())
        if var info = sequenceInfo {
            try info.code(&c, rpuFormat: rpuFormat)
            sequenceInfo = info
        }
    }
}

/// The part of the header that holds for a sequence.
public struct RPUSequenceInfo: Hashable, Sendable {
    public var chromaResamplingExplicitFilterFlag = false
    /// How coefficients are coded.
    public var coefficients = RPUCoefficientFormat.fixed(log2Denominator: 23)
    /// 0…3.
    public var vdrRPUNormalizedIdc = 1
    /// Whether the base layer has full range.
    public var blVideoFullRangeFlag = false
    /// Nil for values of `rpu_format` that leave them out.
    public var depths: RPUDepths? = RPUDepths()

    public init() {}

    mutating func code(_ c: inout some SyntaxCoder, rpuFormat: Int) throws(BitstreamError) {
        try c.flag("chroma_resampling_explicit_filter_flag", &chromaResamplingExplicitFilterFlag)
        try coefficients.code(&c)
        try c.u("vdr_rpu_normalized_idc", 2, &vdrRPUNormalizedIdc)
        try c.flag("bl_video_full_range_flag", &blVideoFullRangeFlag)
        guard rpuFormat & 0x700 == 0 else { return depths = nil }
        var value = depths ?? RPUDepths()
        try value.code(&c)
        depths = value
    }
}

/// How the coefficients of a mapping are coded.
public enum RPUCoefficientFormat: Hashable, Sendable {
    /// An integer is value × 2^log2Denominator; 0…32.
    case fixed(log2Denominator: Int)
    /// The bits of a binary32.
    case float

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        var (type, denominator) = (0, 23)
        switch self {
        case .fixed(let value): denominator = value
        case .float: type = 1
        }
        try c.u("coefficient_data_type", 2, &type, 0...1)
        guard type == 0 else { return self = .float }
        try c.ue("coefficient_log2_denom", &denominator, 0...32)
        self = .fixed(log2Denominator: denominator)
    }

    /// A coefficient in this format; `isSigned` is whether its integer part is.
    func code(
        _ c: inout some SyntaxCoder, _ name: StaticString, _ value: inout Int, isSigned: Bool = true
    ) throws(BitstreamError) {
        guard case .fixed(let bits) = self else { return try c.u(name, 32, &value) }
        var (whole, fraction) = (value >> bits, value & ((1 << bits) - 1))
        if isSigned {
            try c.se(name, &whole, -0x7FFF_FFFF...0x7FFF_FFFF)
        } else {
            try c.ue(name, &whole, 0...0x7FFF_FFFF)
        }
        try c.u(name, bits, &fraction)
        value = whole << bits | fraction
    }
}

/// Bit depths and filters of the layers.
public struct RPUDepths: Hashable, Sendable {
    /// 0…8.
    public var blBitDepthMinus8 = 2
    /// 0…8.
    public var elBitDepthMinus8 = 2
    /// 0…255.
    public var extMappingIdc = 0
    /// 0…8.
    public var vdrBitDepthMinus8 = 4
    public var spatialResamplingFilterFlag = false
    /// 0…7; 1 when the color metadata of the display management are left out.
    public var dmCompression = 0
    public var elSpatialResamplingFilterFlag = false
    /// True without an enhancement layer's residual.
    public var disableResidualFlag = true

    public init() {}

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.ue("bl_bit_depth_minus8", &blBitDepthMinus8, 0...8)
        var both = extMappingIdc << 8 | elBitDepthMinus8
        try c.ue("el_bit_depth_minus8", &both, 0...0xFFFF)
        (extMappingIdc, elBitDepthMinus8) = (both >> 8, both & 0xFF)
        try check("el_bit_depth_minus8", elBitDepthMinus8, 0...8)
        try c.ue("vdr_bit_depth_minus8", &vdrBitDepthMinus8, 0...8)
        try c.flag("spatial_resampling_filter_flag", &spatialResamplingFilterFlag)
        try c.u("dm_compression", 3, &dmCompression)
        try c.flag("el_spatial_resampling_filter_flag", &elSpatialResamplingFilterFlag)
        try c.flag("disable_residual_flag", &disableResidualFlag)
    }
}
