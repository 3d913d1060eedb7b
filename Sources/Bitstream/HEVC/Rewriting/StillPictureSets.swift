// SPDX-License-Identifier: MIT

extension DecoderConfigurationRecord {
    /// The record of a stream whose pictures are each decoded on their own, as those of still images are.
    ///
    /// Encoders of video label such streams by how they were set up: x265 states range extensions for every stream of
    /// key frames. The VPS, the SPS and the record get the profile that the pictures need, as cameras write it: Main Still
    /// Picture for 8-bit 4:2:0, Main 10 with one picture for 10-bit 4:2:0, Monochrome for 8 or 10-bit 4:0:0 (H.265
    /// A.3); the lowest level for their size (A.4.1), and a picture buffer of one picture without delay. Other formats keep
    /// their profile. SEI messages are left out. No slice depends on what changes.
    ///
    /// - Parameter inSequence: the stream has more than one picture, which profiles of still ones exclude: Main or Main 10.
    /// - Throws: `missingParameterSet` without a VPS, an SPS and a PPS; `unsupported` for pictures that exceed level 6.2;
    ///   what parsing and writing parameter sets throws.
    public func relabelledAsStill(inSequence: Bool = false) throws(BitstreamError) -> DecoderConfigurationRecord {
        let units = arrays.filter { $0.nalUnitType.isParameterSet }.flatMap(\.nalUnits)
        let sets = try ParameterSets(nalUnits: units)
        guard let sps = sets.sequenceParameterSets.values.first, sets.sequenceParameterSets.count == 1 else {
            throw BitstreamError(.missingParameterSet, "a still picture needs exactly one SPS")
        }
        let label = try StillLabel(sps, inSequence: inSequence)
        var rewritten: [[UInt8]] = []
        for unit in units {
            switch try NALUnitHeader(nal: unit).nalUnitType {
            case .vps:
                var vps = try VideoParameterSet(nal: unit)
                label.write(&vps.profileTierLevel, &vps.orderingInfo)
                rewritten.append(try vps.nalUnit())
            case .sps:
                var sps = try SequenceParameterSet(nal: unit)
                label.write(&sps.profileTierLevel, &sps.orderingInfo)
                rewritten.append(try sps.nalUnit())
            default: rewritten.append(unit)
            }
        }
        var record = try DecoderConfigurationRecord(nalUnits: rewritten)
        record.lengthSize = lengthSize
        return record
    }
}

/// Profile and level of still pictures.
private struct StillLabel {
    /// nil keeps what the stream states.
    private let profile: ProfileTier?
    private let levelIdc: Int

    /// MaxLumaPs by level (H.265 table A.8).
    private static let levels = [
        (30, 36864), (60, 122_880), (63, 245_760), (90, 552_960), (93, 983_040), (120, 2_228_224), (150, 8_912_896),
        (180, 35_651_584),
    ]

    init(_ sps: SequenceParameterSet, inSequence: Bool) throws(BitstreamError) {
        let (width, height) = (sps.picWidthInLumaSamples, sps.picHeightInLumaSamples)
        let fitting = Self.levels.first { _, most in
            // No side exceeds the root of 8 × MaxLumaPs.
            width * height <= most && width * width <= 8 * most && height * height <= 8 * most
        }
        guard let fitting else {
            throw BitstreamError(.unsupported, "a picture of \(width)x\(height) exceeds every level")
        }
        levelIdc = fitting.0
        profile = Self.profile(sps, inSequence: inSequence)
    }

    private static func profile(_ sps: SequenceParameterSet, inSequence: Bool) -> ProfileTier? {
        // The tools of range extensions belong to profiles of their own.
        guard sps.extensions?.rangeExtension ?? SPSRangeExtension() == SPSRangeExtension(),
            sps.chromaFormatIdc == 0 || sps.bitDepthLuma == sps.bitDepthChroma
        else { return nil }
        var profile = ProfileTier()
        switch (sps.chromaFormatIdc, sps.bitDepthLuma) {
        case (1, 8):
            // Decoders of Main, Main 10 and Main Still Picture decode it.
            (profile.profileIdc, profile.profileCompatibilityFlags) =
                inSequence ? (1, 0x6000_0000) : (3, 0x7000_0000)
        case (1, 10):
            (profile.profileIdc, profile.profileCompatibilityFlags) = (2, 0x2000_0000)
            // general_one_picture_only_constraint_flag
            profile.constraintBits = inSequence ? 0 : 0x010_0000_0000
        case (0, 8), (0, 10):
            (profile.profileIdc, profile.profileCompatibilityFlags) = (4, 0x0800_0000)
            // Monochrome of at most 8 or 10 bits, at the lower bit rate (table A.2).
            profile.constraintBits = sps.bitDepthLuma == 8 ? 0xFC8_0000_0000 : 0xDC8_0000_0000
        default: return nil
        }
        (profile.progressiveSourceFlag, profile.nonPackedConstraintFlag) = (true, true)
        profile.frameOnlyConstraintFlag = true
        return profile
    }

    func write(_ level: inout ProfileTierLevel, _ ordering: inout SubLayerOrderingInfo) {
        level.general = profile ?? level.general
        level.generalLevelIdc = levelIdc
        ordering.subLayers = ordering.subLayers.map { _ in SubLayerOrdering() }
    }
}
