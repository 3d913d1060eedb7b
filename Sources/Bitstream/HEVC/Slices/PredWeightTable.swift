// SPDX-License-Identifier: MIT

/// A weight and an offset of `pred_weight_table()`.
public struct PredWeight: Hashable, Sendable {
    /// `delta_luma_weight` or `delta_chroma_weight`, −128…127, in units of 2^−denominator.
    public var deltaWeight = 0
    /// `luma_offset` or `delta_chroma_offset`, in 8-bit sample values unless `high_precision_offsets_enabled_flag` is set.
    public var offset = 0

    public init(deltaWeight: Int = 0, offset: Int = 0) {
        self.deltaWeight = deltaWeight
        self.offset = offset
    }
}

/// The weights of one reference picture.
public struct RefPicWeights: Hashable, Sendable {
    /// The luma weight; nil when `luma_weight_flag` is 0.
    public var luma: PredWeight?
    /// The Cb and Cr weights, two of them; nil when `chroma_weight_flag` is 0.
    public var chroma: [PredWeight]?

    public init() {}
}

/// `pred_weight_table()` (7.3.6.3).
public struct PredWeightTable: Hashable, Sendable {
    /// Weights are in units of 2^−this; 0…7.
    public var lumaLog2WeightDenom = 0
    /// Added to `lumaLog2WeightDenom` for chroma; the sum is 0…7.
    public var deltaChromaLog2WeightDenom = 0
    /// The weights of list 0, one for each active picture.
    public var l0: [RefPicWeights] = []
    /// The weights of list 1, one for each active picture of a B slice.
    public var l1: [RefPicWeights] = []

    public init() {}

    /// The table for `counts` active pictures in the lists.
    ///
    /// The standard omits the flags for a reference that is the current picture itself or a picture of another layer
    /// at the same time. Neither occurs here: screen content and inter-layer prediction are refused earlier.
    mutating func code(
        _ c: inout some SyntaxCoder, counts: (l0: Int, l1: Int), sps: SequenceParameterSet
    ) throws(BitstreamError) {
        try c.ue("luma_log2_weight_denom", &lumaLog2WeightDenom, 0...7)
        let hasChroma = sps.chromaArrayType != 0
        if hasChroma {
            try c.se(
                "delta_chroma_log2_weight_denom", &deltaChromaLog2WeightDenom,
                (-lumaLog2WeightDenom)...(7 - lumaLog2WeightDenom))
        }
        let precise = sps.extensions?.rangeExtension?.highPrecisionOffsetsEnabledFlag ?? false
        let halfRanges = (
            luma: 1 << (precise ? sps.bitDepthLuma - 1 : 7), chroma: 1 << (precise ? sps.bitDepthChroma - 1 : 7)
        )
        try Self.code(&c, &l0, counts.l0, hasChroma, halfRanges)
        try Self.code(&c, &l1, counts.l1, hasChroma, halfRanges)
    }

    private static func code(
        _ c: inout some SyntaxCoder, _ list: inout [RefPicWeights], _ count: Int, _ hasChroma: Bool,
        _ halfRanges: (luma: Int, chroma: Int)
    ) throws(BitstreamError) {
        try c.size("pred_weight_table", &list, count, RefPicWeights())
        for index in list.indices { try c.presence("luma_weight_flag", &list[index].luma, PredWeight()) }
        if hasChroma {
            for index in list.indices {
                try c.presence("chroma_weight_flag", &list[index].chroma, [PredWeight(), PredWeight()])
            }
        }
        for index in list.indices {
            if var luma = list[index].luma {
                try c.se("delta_luma_weight", &luma.deltaWeight, -128...127)
                try c.se("luma_offset", &luma.offset, -halfRanges.luma...(halfRanges.luma - 1))
                list[index].luma = luma
            }
            guard hasChroma, var chroma = list[index].chroma else { continue }
            try c.size("chroma weights", &chroma, 2, PredWeight())
            for plane in 0..<2 {
                try c.se("delta_chroma_weight", &chroma[plane].deltaWeight, -128...127)
                try c.se(
                    "delta_chroma_offset", &chroma[plane].offset,
                    (-4 * halfRanges.chroma)...(4 * halfRanges.chroma - 1))
            }
            list[index].chroma = chroma
        }
    }
}
