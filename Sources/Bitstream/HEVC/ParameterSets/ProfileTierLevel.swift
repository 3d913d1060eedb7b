// SPDX-License-Identifier: MIT

/// The 88 bits of profile, tier and constraints that the general and the sub-layer parts share (7.3.3).
public struct ProfileTier: Hashable, Sendable {
    /// 0…3; 0 in this version of the standard.
    public var profileSpace = 0
    /// False for Main tier, true for High tier.
    public var tierFlag = false
    /// 0…31: 1 Main, 2 Main 10, 3 Main Still Picture, 4 range extensions.
    public var profileIdc = 0
    /// `profile_compatibility_flag[0…31]`; bit 31 is flag 0.
    public var profileCompatibilityFlags: UInt32 = 0
    public var progressiveSourceFlag = false
    public var interlacedSourceFlag = false
    public var nonPackedConstraintFlag = false
    public var frameOnlyConstraintFlag = false
    /// The 44 bits after `frame_only_constraint_flag`; the profile defines them.
    public var constraintBits: UInt64 = 0

    public init() {}

    /// The 48 bits from `progressive_source_flag` on, as hvcC records and `tscl` entries store them.
    public var constraintIndicatorFlags: UInt64 {
        get {
            UInt64(progressiveSourceFlag ? 1 : 0) << 47 | UInt64(interlacedSourceFlag ? 1 : 0) << 46
                | UInt64(nonPackedConstraintFlag ? 1 : 0) << 45 | UInt64(frameOnlyConstraintFlag ? 1 : 0) << 44
                | constraintBits
        }
        set {
            progressiveSourceFlag = newValue >> 47 & 1 == 1
            interlacedSourceFlag = newValue >> 46 & 1 == 1
            nonPackedConstraintFlag = newValue >> 45 & 1 == 1
            frameOnlyConstraintFlag = newValue >> 44 & 1 == 1
            constraintBits = newValue & 0xFFF_FFFF_FFFF
        }
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("profile_space", 2, &profileSpace)
        try c.flag("tier_flag", &tierFlag)
        try c.u("profile_idc", 5, &profileIdc)
        for index in 0..<32 {
            let mask: UInt32 = 1 << UInt32(31 - index)
            var flag = profileCompatibilityFlags & mask != 0
            try c.flag("profile_compatibility_flag", &flag)
            profileCompatibilityFlags = flag ? profileCompatibilityFlags | mask : profileCompatibilityFlags & ~mask
        }
        try c.flag("progressive_source_flag", &progressiveSourceFlag)
        try c.flag("interlaced_source_flag", &interlacedSourceFlag)
        try c.flag("non_packed_constraint_flag", &nonPackedConstraintFlag)
        try c.flag("frame_only_constraint_flag", &frameOnlyConstraintFlag)
        var bits = Int(constraintBits & 0xFFF_FFFF_FFFF)
        try c.u("constraint_bits", 44, &bits)
        constraintBits = UInt64(bits)
    }
}

/// The part of `profile_tier_level()` for one sub-layer below the highest.
public struct SubLayerProfileTierLevel: Hashable, Sendable {
    /// Profile and tier; nil when `sub_layer_profile_present_flag` is 0.
    public var profile: ProfileTier?
    /// `sub_layer_level_idc` (30 × the level); nil when `sub_layer_level_present_flag` is 0.
    public var levelIdc: Int?

    public init(profile: ProfileTier? = nil, levelIdc: Int? = nil) {
        self.profile = profile
        self.levelIdc = levelIdc
    }
}

/// `profile_tier_level()` (7.3.3).
public struct ProfileTierLevel: Hashable, Sendable {
    /// Profile and tier of the whole stream; nil when `profilePresentFlag` is 0.
    public var general: ProfileTier? = ProfileTier()
    /// 30 × the level number (A.4).
    public var generalLevelIdc = 0
    /// One entry for each sub-layer below the highest.
    public var subLayers: [SubLayerProfileTierLevel] = []

    public init() {}

    /// Codes the table; `profilePresentFlag` is 1 when `general` is not nil.
    mutating func code(
        _ c: inout some SyntaxCoder, maxNumSubLayersMinus1: Int
    ) throws(BitstreamError) {
        try general?.code(&c)
        try c.u("general_level_idc", 8, &generalLevelIdc)
        try c.size("sub_layers", &subLayers, maxNumSubLayersMinus1, SubLayerProfileTierLevel())
        for index in subLayers.indices {
            try c.presence("sub_layer_profile_present_flag", &subLayers[index].profile, ProfileTier())
            try c.presence("sub_layer_level_present_flag", &subLayers[index].levelIdc, 0)
        }
        if maxNumSubLayersMinus1 > 0 {
            for _ in maxNumSubLayersMinus1..<8 { try c.constant("reserved_zero_2bits", 2, 0) }
        }
        for index in subLayers.indices {
            try subLayers[index].profile?.code(&c)
            if var level = subLayers[index].levelIdc {
                try c.u("sub_layer_level_idc", 8, &level)
                subLayers[index].levelIdc = level
            }
        }
    }
}
