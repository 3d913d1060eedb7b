// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA

/// What a driver says of encoding; nil where it does not tell.
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
        // Low 16 bits list 0, high 16 bits list 1 (va.h, VAConfigAttribEncMaxRefFrames).
        list0 = values[VAConfigAttribEncMaxRefFrames].map { min(Int($0 & 0xFFFF), 15) }
        list1 = values[VAConfigAttribEncMaxRefFrames].map { min(Int($0 >> 16), 15) }
        maxSlices = values[VAConfigAttribEncMaxSlices].map { Int($0) }
        qualityLevels = values[VAConfigAttribEncQualityRange].map { Int(clamping: $0) }
        predictionDirections = values[VAConfigAttribPredictionDirection]
        features = values[VAConfigAttribEncHEVCFeatures].map(HEVCFeatures.init)
        blockSizes = values[VAConfigAttribEncHEVCBlockSizes].map(HEVCBlockSizes.init)
        regionsOfInterest = values[VAConfigAttribEncROI].map { Int($0 & 0xFF) }
    }

    /// Whether pictures may refer to later ones; nil where the driver does not tell.
    var allowsFuture: Bool? { predictionDirections.map { $0 & UInt32(VA_PREDICTION_DIRECTION_FUTURE) != 0 } }

    /// Whether no slice may be a P slice: the lists of a picture that refers to others are both filled.
    var requiresBothLists: Bool {
        predictionDirections.map { $0 & UInt32(VA_PREDICTION_DIRECTION_BI_NOT_EMPTY) != 0 } ?? false
    }
}

/// `VAConfigAttribValEncHEVCFeatures`: two bits for each tool.
struct HEVCFeatures: Hashable, Sendable {
    /// What a driver does with a tool (`VA_FEATURE_…`).
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
            // A driver that mixes up its bounds allows the larger one.
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
