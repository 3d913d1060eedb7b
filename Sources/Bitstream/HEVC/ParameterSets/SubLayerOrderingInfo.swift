// SPDX-License-Identifier: MIT

/// The decoded picture buffer that one sub-layer and those below it need (7.4.3.1, 7.4.3.2.1).
public struct SubLayerOrdering: Hashable, Sendable {
    /// Size of the decoded picture buffer − 1, 0…15.
    public var maxDecPicBufferingMinus1 = 0
    /// 0…maxDecPicBufferingMinus1.
    public var maxNumReorderPics = 0
    /// 0 sets no limit.
    public var maxLatencyIncreasePlus1 = 0

    public init(
        maxDecPicBufferingMinus1: Int = 0, maxNumReorderPics: Int = 0, maxLatencyIncreasePlus1: Int = 0
    ) {
        self.maxDecPicBufferingMinus1 = maxDecPicBufferingMinus1
        self.maxNumReorderPics = maxNumReorderPics
        self.maxLatencyIncreasePlus1 = maxLatencyIncreasePlus1
    }
}

/// The ordering information of a VPS or SPS.
public struct SubLayerOrderingInfo: Hashable, Sendable {
    /// `sub_layer_ordering_info_present_flag`: true for an entry per sub-layer, false for one entry for all.
    public var presentFlag = true
    /// The last entry is that of the highest sub-layer.
    public var subLayers: [SubLayerOrdering] = [SubLayerOrdering()]

    public init(presentFlag: Bool = true, subLayers: [SubLayerOrdering] = [SubLayerOrdering()]) {
        self.presentFlag = presentFlag
        self.subLayers = subLayers
    }

    /// The entry of the highest sub-layer.
    public var highest: SubLayerOrdering { subLayers.last ?? SubLayerOrdering() }

    mutating func code(_ c: inout some SyntaxCoder, maxSubLayersMinus1: Int) throws(BitstreamError) {
        try c.flag("sub_layer_ordering_info_present_flag", &presentFlag)
        try c.size("sub-layers", &subLayers, presentFlag ? maxSubLayersMinus1 + 1 : 1, SubLayerOrdering())
        for index in subLayers.indices {
            var entry = subLayers[index]
            try c.ue("max_dec_pic_buffering_minus1", &entry.maxDecPicBufferingMinus1, 0...15)
            try c.ue("max_num_reorder_pics", &entry.maxNumReorderPics, 0...entry.maxDecPicBufferingMinus1)
            try c.ue("max_latency_increase_plus1", &entry.maxLatencyIncreasePlus1)
            subLayers[index] = entry
        }
    }
}
