// SPDX-License-Identifier: MIT

/// One coded picture buffer of `sub_layer_hrd_parameters()` (E.2.3).
public struct HRDBuffer: Hashable, Sendable {
    /// The rate is (this + 1) × 2^(6 + bitRateScale) bit/s.
    public var bitRateValueMinus1 = 0
    /// The size is (this + 1) × 2^(4 + cpbSizeScale) bits.
    public var cpbSizeValueMinus1 = 0
    /// Decoding unit size, (this + 1) × 2^(4 + cpbSizeDuScale) bits; present with sub-picture parameters.
    public var cpbSizeDuValueMinus1 = 0
    /// Decoding unit rate, in units as `bitRateValueMinus1`; present with sub-picture parameters.
    public var bitRateDuValueMinus1 = 0
    /// True for constant bit rate operation.
    public var cbrFlag = false

    public init() {}

    mutating func code(_ c: inout some SyntaxCoder, subPicture: Bool) throws(BitstreamError) {
        try c.ue("bit_rate_value_minus1", &bitRateValueMinus1)
        try c.ue("cpb_size_value_minus1", &cpbSizeValueMinus1)
        if subPicture {
            try c.ue("cpb_size_du_value_minus1", &cpbSizeDuValueMinus1)
            try c.ue("bit_rate_du_value_minus1", &bitRateDuValueMinus1)
        }
        try c.flag("cbr_flag", &cbrFlag)
    }
}

/// The timing of one sub-layer in `hrd_parameters()` (E.2.2).
public struct HRDSubLayer: Hashable, Sendable {
    public var fixedPicRateGeneralFlag = false
    /// True whenever the general flag is.
    public var fixedPicRateWithinCvsFlag = false
    /// Clock ticks between output pictures − 1, 0…2047; present with a fixed picture rate.
    public var elementalDurationInTcMinus1 = 0
    public var lowDelayHrdFlag = false
    /// Number of buffer specifications − 1, 0…31.
    public var cpbCntMinus1 = 0
    /// Buffers of the NAL HRD: cpbCntMinus1 + 1 of them when NAL parameters are present, otherwise none.
    public var nalBuffers: [HRDBuffer] = []
    /// Buffers of the VCL HRD: cpbCntMinus1 + 1 of them when VCL parameters are present, otherwise none.
    public var vclBuffers: [HRDBuffer] = []

    public init() {}

    mutating func code(_ c: inout some SyntaxCoder, common: HRDParameters) throws(BitstreamError) {
        try c.flag("fixed_pic_rate_general_flag", &fixedPicRateGeneralFlag)
        if fixedPicRateGeneralFlag {
            fixedPicRateWithinCvsFlag = true
        } else {
            try c.flag("fixed_pic_rate_within_cvs_flag", &fixedPicRateWithinCvsFlag)
        }
        if fixedPicRateWithinCvsFlag {
            lowDelayHrdFlag = false
            try c.ue("elemental_duration_in_tc_minus1", &elementalDurationInTcMinus1, 0...2047)
        } else {
            try c.flag("low_delay_hrd_flag", &lowDelayHrdFlag)
        }
        if !lowDelayHrdFlag { try c.ue("cpb_cnt_minus1", &cpbCntMinus1, 0...31) }
        let subPicture = common.subPicHrdParams != nil
        if common.nalHrdParametersPresentFlag {
            try c.size("nal sub_layer_hrd_parameters", &nalBuffers, cpbCntMinus1 + 1, HRDBuffer())
            for index in nalBuffers.indices { try nalBuffers[index].code(&c, subPicture: subPicture) }
        }
        if common.vclHrdParametersPresentFlag {
            try c.size("vcl sub_layer_hrd_parameters", &vclBuffers, cpbCntMinus1 + 1, HRDBuffer())
            for index in vclBuffers.indices { try vclBuffers[index].code(&c, subPicture: subPicture) }
        }
    }
}

/// The part of `hrd_parameters()` for decoding units within a picture (E.2.2).
public struct SubPicHRDParams: Hashable, Sendable {
    /// A sub-picture tick is a clock tick divided by this + 2; 0…255.
    public var tickDivisorMinus2 = 0
    /// Width of the SEI element − 1 in bits, 0…31.
    public var duCpbRemovalDelayIncrementLengthMinus1 = 0
    /// True when decoding unit delays are in picture timing SEI messages.
    public var subPicCpbParamsInPicTimingSeiFlag = false
    /// Width of the SEI element − 1 in bits, 0…31.
    public var dpbOutputDelayDuLengthMinus1 = 0

    public init() {}
}

/// `hrd_parameters()`: the hypothetical reference decoder's buffers (E.2.2).
public struct HRDParameters: Hashable, Sendable {
    public var nalHrdParametersPresentFlag = false
    public var vclHrdParametersPresentFlag = false
    /// The sub-picture part; nil when `sub_pic_hrd_params_present_flag` is 0.
    public var subPicHrdParams: SubPicHRDParams?
    /// 0…15; see `HRDBuffer.bitRateValueMinus1`.
    public var bitRateScale = 0
    /// 0…15; see `HRDBuffer.cpbSizeValueMinus1`.
    public var cpbSizeScale = 0
    /// 0…15; see `HRDBuffer.cpbSizeDuValueMinus1`.
    public var cpbSizeDuScale = 0
    /// Width of the SEI element − 1 in bits, 0…31; 23 is inferred (E.3.2).
    public var initialCpbRemovalDelayLengthMinus1 = 23
    /// Width of the SEI element − 1 in bits, 0…31; 23 is inferred (E.3.2).
    public var auCpbRemovalDelayLengthMinus1 = 23
    /// Width of the SEI element − 1 in bits, 0…31; 23 is inferred (E.3.2).
    public var dpbOutputDelayLengthMinus1 = 23
    /// One entry for each sub-layer.
    public var subLayers: [HRDSubLayer] = [HRDSubLayer()]

    public init() {}

    /// Codes the table; without `commonInfPresent` the common fields keep their values (the caller infers them).
    mutating func code(
        _ c: inout some SyntaxCoder, commonInfPresent: Bool, maxNumSubLayersMinus1: Int
    ) throws(BitstreamError) {
        if commonInfPresent { try codeCommon(&c) }
        try c.size("sub_layers", &subLayers, maxNumSubLayersMinus1 + 1, HRDSubLayer())
        for index in subLayers.indices { try subLayers[index].code(&c, common: self) }
    }

    private mutating func codeCommon(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.flag("nal_hrd_parameters_present_flag", &nalHrdParametersPresentFlag)
        try c.flag("vcl_hrd_parameters_present_flag", &vclHrdParametersPresentFlag)
        guard nalHrdParametersPresentFlag || vclHrdParametersPresentFlag else { return }
        try c.presence("sub_pic_hrd_params_present_flag", &subPicHrdParams, SubPicHRDParams())
        if var sub = subPicHrdParams {
            try c.u("tick_divisor_minus2", 8, &sub.tickDivisorMinus2)
            try c.u(
                "du_cpb_removal_delay_increment_length_minus1", 5, &sub.duCpbRemovalDelayIncrementLengthMinus1)
            try c.flag("sub_pic_cpb_params_in_pic_timing_sei_flag", &sub.subPicCpbParamsInPicTimingSeiFlag)
            try c.u("dpb_output_delay_du_length_minus1", 5, &sub.dpbOutputDelayDuLengthMinus1)
            subPicHrdParams = sub
        }
        try c.u("bit_rate_scale", 4, &bitRateScale)
        try c.u("cpb_size_scale", 4, &cpbSizeScale)
        if subPicHrdParams != nil { try c.u("cpb_size_du_scale", 4, &cpbSizeDuScale) }
        try c.u("initial_cpb_removal_delay_length_minus1", 5, &initialCpbRemovalDelayLengthMinus1)
        try c.u("au_cpb_removal_delay_length_minus1", 5, &auCpbRemovalDelayLengthMinus1)
        try c.u("dpb_output_delay_length_minus1", 5, &dpbOutputDelayLengthMinus1)
    }
}
