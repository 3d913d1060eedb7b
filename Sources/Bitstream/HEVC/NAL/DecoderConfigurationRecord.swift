// SPDX-License-Identifier: MIT

/// `HEVCDecoderConfigurationRecord`, the body of an `hvcC` box (ISO/IEC 14496-15, 8.3.3.1).
public struct DecoderConfigurationRecord: Hashable, Sendable {
    /// The NAL units of one type.
    public struct NALArray: Hashable, Sendable {
        /// True when all NAL units of this type are in the array and none is in the samples.
        public var arrayCompleteness: Bool
        public var nalUnitType: NALUnitType
        /// Whole NAL units, headers included, without start codes.
        public var nalUnits: [[UInt8]]

        public init(arrayCompleteness: Bool, nalUnitType: NALUnitType, nalUnits: [[UInt8]]) {
            self.arrayCompleteness = arrayCompleteness
            self.nalUnitType = nalUnitType
            self.nalUnits = nalUnits
        }
    }

    /// `general_profile_space` to `general_constraint_indicator_flags`.
    public var profile = ProfileTier()
    /// 30 × the level number (H.265 A.4).
    public var generalLevelIdc = 0
    /// 0…4095, as in the VUI (H.265 E.3.1); 0 makes no promise.
    public var minSpatialSegmentationIdc = 0
    /// 0 mixed or unknown, 1 slices, 2 tiles, 3 wavefronts.
    public var parallelismType = 0
    /// 0 4:0:0, 1 4:2:0, 2 4:2:2, 3 4:4:4.
    public var chromaFormatIdc = 1
    /// 0…7.
    public var bitDepthLumaMinus8 = 0
    /// 0…7.
    public var bitDepthChromaMinus8 = 0
    /// Frames per 256 seconds; 0 is unspecified.
    public var avgFrameRate = 0
    /// 0 unknown, 1 constant, 2 constant in each sub-layer.
    public var constantFrameRate = 0
    /// Number of temporal sub-layers, 1…7; 0 is unknown.
    public var numTemporalLayers = 1
    /// `temporalIdNested`.
    public var temporalIdNested = true
    /// `lengthSizeMinusOne` + 1: bytes of a NAL unit's length in the samples, 1, 2 or 4.
    public var lengthSize = 4
    /// The parameter sets and SEI messages, by type.
    public var arrays: [NALArray] = []

    public init() {}

    /// All NAL units, in the record's order.
    public var nalUnits: [[UInt8]] { arrays.flatMap(\.nalUnits) }

    /// The record of a stream with the given VPS, SPS, PPS and SEI NAL units (no start codes, any order).
    ///
    /// Profile, chroma format and bit depths come from the first base-layer SPS. Of several base-layer SPSs the record
    /// has the highest level and tier, the conjunction of compatibility and constraint flags and the smallest
    /// segmentation count, as 8.3.3.1 requires. Parameter set arrays are marked complete unless `completeness` is
    /// false (sample entry `hev1`); SEI arrays never are. The parallelism type is 0 unless the VUI promises a spatial
    /// segmentation.
    /// - Throws: `missingParameterSet` without a VPS, an SPS and a PPS; what parsing them throws.
    public init(nalUnits: [[UInt8]], completeness: Bool = true) throws(BitstreamError) {
        let order: [NALUnitType] = [.vps, .sps, .pps, .prefixSEI, .suffixSEI]
        var byType = order.map {
            NALArray(arrayCompleteness: completeness && $0.isParameterSet, nalUnitType: $0, nalUnits: [])
        }
        var sequences: [SequenceParameterSet] = []
        var pictures: [PictureParameterSet] = []
        var (hasVPS, seen) = (false, Set<[UInt8]>())
        for nal in nalUnits {
            let header = try NALUnitHeader(nal: nal)
            guard let place = order.firstIndex(of: header.nalUnitType) else {
                throw BitstreamError(
                    .unsupported, "an hvcC record holds no NAL units of type \(header.nalUnitType)")
            }
            // A repeated parameter set is listed once.
            guard seen.insert(nal).inserted else { continue }
            byType[place].nalUnits.append(nal)
            guard header.nuhLayerId == 0 else { continue }
            switch header.nalUnitType {
            case .vps:
                _ = try VideoParameterSet(nal: nal)
                hasVPS = true
            case .sps: sequences.append(try SequenceParameterSet(nal: nal))
            case .pps: pictures.append(try PictureParameterSet(nal: nal))
            default: break
            }
        }
        guard let first = sequences.first, !pictures.isEmpty, hasVPS else {
            throw BitstreamError(.missingParameterSet, "an hvcC record needs a VPS, an SPS and a PPS of layer 0")
        }
        try self.init(first: first, sequences: sequences, pictures: pictures)
        arrays = byType.filter { !$0.nalUnits.isEmpty }
    }

    private init(
        first: SequenceParameterSet, sequences: [SequenceParameterSet], pictures: [PictureParameterSet]
    ) throws(BitstreamError) {
        profile = first.profileTierLevel.general ?? ProfileTier()
        chromaFormatIdc = first.chromaFormatIdc
        bitDepthLumaMinus8 = first.bitDepthLumaMinus8
        bitDepthChromaMinus8 = first.bitDepthChromaMinus8
        minSpatialSegmentationIdc = 4095
        for sps in sequences {
            let other = sps.profileTierLevel.general ?? ProfileTier()
            if other.tierFlag && !profile.tierFlag {
                generalLevelIdc = sps.profileTierLevel.generalLevelIdc
                profile.tierFlag = true
            } else if other.tierFlag == profile.tierFlag {
                generalLevelIdc = max(generalLevelIdc, sps.profileTierLevel.generalLevelIdc)
            }
            profile.profileCompatibilityFlags &= other.profileCompatibilityFlags
            profile.constraintIndicatorFlags &= other.constraintIndicatorFlags
            numTemporalLayers = max(numTemporalLayers, sps.spsMaxSubLayersMinus1 + 1)
            temporalIdNested = temporalIdNested && sps.spsTemporalIdNestingFlag
            let segmentation = sps.vuiParameters?.bitstreamRestriction?.minSpatialSegmentationIdc ?? 0
            minSpatialSegmentationIdc = min(minSpatialSegmentationIdc, segmentation)
        }
        if minSpatialSegmentationIdc > 0 { parallelismType = Self.parallelism(of: pictures) }
    }

    /// The parallelism tool that all PPSs use, or 0 when they differ (8.3.3.1).
    private static func parallelism(of pictures: [PictureParameterSet]) -> Int {
        let types = Set(
            pictures.map { pps in
                switch (pps.tiles != nil, pps.entropyCodingSyncEnabledFlag) {
                case (true, true): 0
                case (true, false): 2
                case (false, true): 3
                case (false, false): 1
                }
            })
        return types.count == 1 ? types.first ?? 0 : 0
    }
}
