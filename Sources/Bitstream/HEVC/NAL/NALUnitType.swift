// SPDX-License-Identifier: MIT

/// `nal_unit_type`, with the names of H.265 table 7-1.
public enum NALUnitType: UInt8, Hashable, Sendable, CaseIterable {
    case trailN = 0
    case trailR, tsaN, tsaR, stsaN, stsaR, radlN, radlR, raslN, raslR
    case rsvVclN10, rsvVclR11, rsvVclN12, rsvVclR13, rsvVclN14, rsvVclR15
    case blaWLP, blaWRADL, blaNLP, idrWRADL, idrNLP, craNUT
    case rsvIrapVcl22, rsvIrapVcl23
    case rsvVcl24, rsvVcl25, rsvVcl26, rsvVcl27, rsvVcl28, rsvVcl29, rsvVcl30, rsvVcl31
    case vps, sps, pps, aud, eos, eob, fd, prefixSEI, suffixSEI
    case rsvNvcl41, rsvNvcl42, rsvNvcl43, rsvNvcl44, rsvNvcl45, rsvNvcl46, rsvNvcl47
    case unspec48, unspec49, unspec50, unspec51, unspec52, unspec53, unspec54, unspec55
    case unspec56, unspec57, unspec58, unspec59, unspec60, unspec61, unspec62, unspec63

    /// True for coded slice segments and the reserved VCL types (0…31).
    public var isVCL: Bool { rawValue < 32 }

    /// True for types 16…23: random access pictures and the two types reserved for them.
    public var isIRAP: Bool { rawValue >= 16 && rawValue <= 23 }

    /// True for IDR_W_RADL and IDR_N_LP.
    public var isIDR: Bool { self == .idrWRADL || self == .idrNLP }

    /// True for BLA_W_LP, BLA_W_RADL and BLA_N_LP.
    public var isBLA: Bool { rawValue >= 16 && rawValue <= 18 }

    public var isCRA: Bool { self == .craNUT }

    /// True for RADL_N and RADL_R: leading pictures that decode after a random access.
    public var isRADL: Bool { self == .radlN || self == .radlR }

    /// True for RASL_N and RASL_R: leading pictures skipped after a random access.
    public var isRASL: Bool { self == .raslN || self == .raslR }

    /// True for TSA and STSA: a decoder may switch up to a higher temporal sub-layer here.
    public var isTemporalSwitchingPoint: Bool { rawValue >= 2 && rawValue <= 5 }

    /// True for the sub-layer non-reference types, the even ones below 16: no picture of the same sub-layer refers to
    /// them.
    public var isSubLayerNonReference: Bool { rawValue < 16 && rawValue & 1 == 0 }

    /// True for the slice types that this version of the standard defines (0…9 and 16…21).
    public var isSlice: Bool { rawValue <= 9 || (rawValue >= 16 && rawValue <= 21) }

    public var isParameterSet: Bool { self == .vps || self == .sps || self == .pps }
}
