// SPDX-License-Identifier: MIT

// The levels of trims and of the displays that they are for. Unless stated otherwise a field has 12 bits, and a trim's
// neutral value is 2048.

/// Level 2: a trim.
public struct RPUTrim: Hashable, Sendable, RPUFields {
    /// The display's peak as a PQ code.
    public var targetMaxPQ = 0
    public var slope = 2048
    public var offset = 2048
    public var power = 2048
    public var chromaWeight = 2048
    public var saturationGain = 2048
    /// −1…4095.
    public var msWeight = 2048

    public init() {}

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("target_max_pq", 12, &targetMaxPQ)
        try c.u("trim_slope", 12, &slope)
        try c.u("trim_offset", 12, &offset)
        try c.u("trim_power", 12, &power)
        try c.u("trim_chroma_weight", 12, &chromaWeight)
        try c.u("trim_saturation_gain", 12, &saturationGain)
        try c.signed("ms_weight", 13, &msWeight)
    }
}

/// Level 8: a trim for a display of level 10.
public struct RPUDisplayTrim: Hashable, Sendable, RPUFields {
    /// 8 bits; 255 and 20 are an iPhone's own displays.
    public var targetDisplayIndex = 0
    public var slope = 2048
    public var offset = 2048
    public var power = 2048
    public var chromaWeight = 2048
    public var saturationGain = 2048
    public var msWeight = 2048
    /// In blocks of 12 bytes and more.
    public var midContrastBias: Int?
    /// In blocks of 13 bytes and more.
    public var highlightClipping: Int?
    /// Six of 8 bits in blocks of 19 bytes and more, for red, yellow, green, cyan, blue and magenta; otherwise none.
    public var saturationVectors: [Int] = []
    /// Six of 8 bits in blocks of 25 bytes; otherwise none.
    public var hueVectors: [Int] = []

    /// Without optional parts.
    public init() { self.init(parts: 0) }

    /// With the first `parts` of the four optional parts, each neutral.
    init(parts: Int) {
        midContrastBias = parts > 0 ? 2048 : nil
        highlightClipping = parts > 1 ? 2048 : nil
        saturationVectors = [Int](repeating: 128, count: parts > 2 ? 6 : 0)
        hueVectors = [Int](repeating: 128, count: parts > 3 ? 6 : 0)
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        // A part is present only after the one before it.
        let isPresent = [
            midContrastBias != nil, highlightClipping != nil, !saturationVectors.isEmpty, !hueVectors.isEmpty,
        ]
        guard !zip(isPresent, isPresent.dropFirst()).contains(where: { !$0 && $1 }),
            [saturationVectors, hueVectors].allSatisfy({ $0.isEmpty || $0.count == 6 })
        else { throw BitstreamError(.malformed, "the parts of a block of level 8 are incomplete") }
        try c.u("target_display_index", 8, &targetDisplayIndex)
        try c.u("trim_slope", 12, &slope)
        try c.u("trim_offset", 12, &offset)
        try c.u("trim_power", 12, &power)
        try c.u("trim_chroma_weight", 12, &chromaWeight)
        try c.u("trim_saturation_gain", 12, &saturationGain)
        try c.u("ms_weight", 12, &msWeight)
        if var bias = midContrastBias {
            try c.u("target_mid_contrast", 12, &bias)
            midContrastBias = bias
        }
        if var clipping = highlightClipping {
            try c.u("clip_trim", 12, &clipping)
            highlightClipping = clipping
        }
        for index in saturationVectors.indices { try c.u("saturation_vector_field", 8, &saturationVectors[index]) }
        for index in hueVectors.indices { try c.u("hue_vector_field", 8, &hueVectors[index]) }
    }
}

/// Level 9: the primaries of the source display.
public struct RPUSourcePrimaries: Hashable, Sendable, RPUFields {
    /// 0 P3 D65, 1 BT.709, 2 BT.2020; 255 custom; 8 bits.
    public var sourcePrimaryIndex = 0
    /// x and y of red, green, blue and white × 32767, 16 bits each; empty unless custom.
    public var custom: [Int] = []

    public init(sourcePrimaryIndex: Int = 0) {
        self.sourcePrimaryIndex = sourcePrimaryIndex
    }

    init(isCustom: Bool) {
        custom = [Int](repeating: 0, count: isCustom ? 8 : 0)
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("source_primary_index", 8, &sourcePrimaryIndex)
        try codePrimaries(&c, &custom)
    }
}

/// Level 10: a display that trims of level 8 are for.
public struct RPUTargetDisplay: Hashable, Sendable, RPUFields {
    /// 8 bits.
    public var targetDisplayIndex = 0
    public var targetMaxPQ = 0
    public var targetMinPQ = 0
    /// As `RPUSourcePrimaries.sourcePrimaryIndex`.
    public var targetPrimaryIndex = 0
    /// As `RPUSourcePrimaries.custom`.
    public var custom: [Int] = []

    public init(index: Int, maxPQ: Int, minPQ: Int, primaryIndex: Int) {
        targetDisplayIndex = index
        targetMaxPQ = maxPQ
        targetMinPQ = minPQ
        targetPrimaryIndex = primaryIndex
    }

    init(isCustom: Bool = false) {
        custom = [Int](repeating: 0, count: isCustom ? 8 : 0)
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("target_display_index", 8, &targetDisplayIndex)
        try c.u("target_max_pq", 12, &targetMaxPQ)
        try c.u("target_min_pq", 12, &targetMinPQ)
        try c.u("target_primary_index", 8, &targetPrimaryIndex)
        try codePrimaries(&c, &custom)
    }
}

private func codePrimaries(_ c: inout some SyntaxCoder, _ values: inout [Int]) throws(BitstreamError) {
    guard values.isEmpty || values.count == 8 else {
        throw BitstreamError(.malformed, "custom primaries have \(values.count) coordinates instead of 8")
    }
    for index in values.indices { try c.u("primaries", 16, &values[index]) }
}
