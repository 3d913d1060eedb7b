// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA

/// A driver's capabilities for encoding; nil where it does not report them.
struct EncodingAttributes: Hashable, Sendable {
    /// Pictures in list 0, at most.
    let list0: Int?
    /// Pictures in list 1, at most.
    let list1: Int?
    /// Slices a picture, at most.
    let maxSlices: Int?
    /// Levels of quality, 1 the best.
    let qualityLevels: Int?
    /// `VA_PREDICTION_DIRECTION_…` bits.
    let predictionDirections: UInt32?
    /// Tools of H.265.
    let features: HEVCFeatures?
    /// Block sizes of H.265.
    let blockSizes: HEVCBlockSizes?
    /// Regions of interest a picture may have.
    let regionsOfInterest: Int?

    init(_ values: [VAConfigAttribType: UInt32]) {
        let references = values[VAConfigAttribEncMaxRefFrames].map(MaxReferences.init)
        list0 = references?.list0
        list1 = references?.list1
        maxSlices = values[VAConfigAttribEncMaxSlices].map { Int($0) }
        qualityLevels = values[VAConfigAttribEncQualityRange].map { Int(clamping: $0) }
        predictionDirections = values[VAConfigAttribPredictionDirection]
        features = values[VAConfigAttribEncHEVCFeatures].map(HEVCFeatures.init)
        blockSizes = values[VAConfigAttribEncHEVCBlockSizes].map(HEVCBlockSizes.init)
        regionsOfInterest = values[VAConfigAttribEncROI].map {
            Int(VAConfigAttribValEncROI(value: $0).bits.num_roi_regions)
        }
    }

    /// Whether pictures may refer to later ones; nil where the driver does not report it.
    var allowsFuture: Bool? { predictionDirections.map { $0 & UInt32(VA_PREDICTION_DIRECTION_FUTURE) != 0 } }

    /// Whether the driver codes no P slices: both lists of an inter picture must be filled.
    var requiresBothLists: Bool {
        predictionDirections.map { $0 & UInt32(VA_PREDICTION_DIRECTION_BI_NOT_EMPTY) != 0 } ?? false
    }
}

/// `VAConfigAttribEncMaxRefFrames`: list 0 in the low 16 bits, list 1 in the high 16 bits (va.h).
private struct MaxReferences {
    let list0: Int
    let list1: Int

    init(_ value: UInt32) {
        list0 = min(Int(value & 0xFFFF), Self.capacity)
        list1 = min(Int(value >> 16), Self.capacity)
    }

    /// The entries of `ref_pic_list0` and `ref_pic_list1` in va_enc_hevc.h.
    private static let capacity = 15
}

/// `VAConfigAttribValEncHEVCFeatures`: two bits for each tool.
struct HEVCFeatures: Hashable, Sendable {
    /// A driver's support of a tool (`VA_FEATURE_…`).
    enum Support: UInt32 {
        case none, optional, required
    }

    let scalingLists: Support
    let amp: Support
    let sao: Support
    let pcm: Support
    let temporalMVP: Support
    let strongIntraSmoothing: Support
    let signDataHiding: Support
    let constrainedIntra: Support
    let transformSkip: Support
    let cuQPDelta: Support
    let weightedPrediction: Support
    let transquantBypass: Support

    init(_ value: UInt32) {
        let bits = VAConfigAttribValEncHEVCFeatures(value: value).bits
        func support(_ value: UInt32) -> Support { Support(rawValue: value) ?? .none }
        scalingLists = support(bits.scaling_lists)
        amp = support(bits.amp)
        sao = support(bits.sao)
        pcm = support(bits.pcm)
        temporalMVP = support(bits.temporal_mvp)
        strongIntraSmoothing = support(bits.strong_intra_smoothing)
        signDataHiding = support(bits.sign_data_hiding)
        constrainedIntra = support(bits.constrained_intra_pred)
        transformSkip = support(bits.transform_skip)
        cuQPDelta = support(bits.cu_qp_delta)
        weightedPrediction = support(bits.weighted_prediction)
        transquantBypass = support(bits.transquant_bypass)
    }
}

/// `VAConfigAttribValEncHEVCBlockSizes`.
struct HEVCBlockSizes: Hashable, Sendable {
    let log2CTBSizes: ClosedRange<Int>
    let log2MinCBSize: Int
    let log2TBSizes: ClosedRange<Int>
    let depthsInter: ClosedRange<Int>
    let depthsIntra: ClosedRange<Int>

    init(_ value: UInt32) {
        let bits = VAConfigAttribValEncHEVCBlockSizes(value: value).bits
        func range(_ low: UInt32, _ high: UInt32, _ offset: Int) -> ClosedRange<Int> {
            // Some drivers report a lower bound above the upper one.
            Int(min(low, high)) + offset...Int(high) + offset
        }
        log2CTBSizes = range(
            bits.log2_min_coding_tree_block_size_minus3, bits.log2_max_coding_tree_block_size_minus3, 3)
        log2MinCBSize = Int(bits.log2_min_luma_coding_block_size_minus3) + 3
        log2TBSizes = range(
            bits.log2_min_luma_transform_block_size_minus2, bits.log2_max_luma_transform_block_size_minus2, 2)
        depthsInter = range(
            bits.min_max_transform_hierarchy_depth_inter, bits.max_max_transform_hierarchy_depth_inter, 0)
        depthsIntra = range(
            bits.min_max_transform_hierarchy_depth_intra, bits.max_max_transform_hierarchy_depth_intra, 0)
    }
}
