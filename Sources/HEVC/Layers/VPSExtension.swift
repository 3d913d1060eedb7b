// SPDX-License-Identifier: GPL-2.0-or-later

/// What a scalability dimension counts (table F.1).
public enum ScalabilityType: Int, Hashable, Sendable {
    /// DepthLayerFlag.
    case depth = 0
    /// ViewOrderIdx.
    case view = 1
    /// DependencyId: spatial or quality scalability.
    case dependency = 2
    /// AuxId: 1 is an alpha plane, 2 a depth map (table F.2).
    case auxiliary = 3
}

/// `vps_extension()` (F.7.3.2.1.1): which layers a stream has, and how they relate.
public struct VPSExtension: Hashable, Sendable {
    /// One layer's place among the scalability dimensions.
    public struct Layer: Hashable, Sendable {
        /// `layer_id_in_nuh`: the layer's `nuh_layer_id`, 0…62.
        public var nuhLayerId = 0
        /// `dimension_id`, one for each dimension that `scalabilityMaskFlag` names.
        public var dimensionId: [Int] = []

        /// A layer's id and its place; by default the base layer's of a stream without dimensions.
        public init(nuhLayerId: Int = 0, dimensionId: [Int] = []) {
            self.nuhLayerId = nuhLayerId
            self.dimensionId = dimensionId
        }
    }

    /// AuxId of an alpha plane (table F.2, AUX_ALPHA).
    public static let alphaAuxId = 1

    /// `profile_tier_level(0, …)` of the base layer alone; nil when the VPS has one layer or an external base.
    public var baseProfileTierLevel: ProfileTierLevel?
    /// `splitting_flag`: the dimensions are bit fields of `nuh_layer_id`.
    public var splittingFlag = false
    /// `scalability_mask_flag`, sixteen, by `ScalabilityType`.
    public var scalabilityMaskFlag = [Bool](repeating: false, count: 16)
    /// `dimension_id_len_minus1`, 0…7: one for each dimension, one fewer with `splittingFlag`.
    public var dimensionIdLenMinus1: [Int] = []
    /// `vps_nuh_layer_id_present_flag`: false when each layer's id is its index.
    public var vpsNuhLayerIdPresentFlag = false
    /// The layers, the base first.
    public var layers = [Layer()]
    /// What follows; nil when it could not be interpreted, which is so for more than two layers.
    public var relations: VPSLayerRelations?

    /// One layer.
    public init() {}

    /// ScalabilityId of a layer by its index, 0 in dimensions that the stream does not have.
    public func scalabilityId(_ type: ScalabilityType, ofLayer index: Int) -> Int {
        guard layers.indices.contains(index), scalabilityMaskFlag.indices.contains(type.rawValue),
            scalabilityMaskFlag[type.rawValue]
        else { return 0 }
        let place = scalabilityMaskFlag[..<type.rawValue].count { $0 }
        let ids = layers[index].dimensionId
        return ids.indices.contains(place) ? ids[place] : 0
    }

    /// `nuh_layer_id` of the first alpha layer; nil without one.
    public var alphaLayerId: Int? {
        layers.indices.first { scalabilityId(.auxiliary, ofLayer: $0) == Self.alphaAuxId }
            .map { layers[$0].nuhLayerId }
    }

    /// The table, from the alignment bits to `vps_extension2_flag` and its data.
    ///
    /// A reader that cannot interpret what follows the layers keeps them: who looks for an alpha layer needs no more,
    /// and files are about whose extension goes on otherwise than the standard says.
    mutating func code(_ c: inout some SyntaxCoder, of vps: VideoParameterSet) throws(BitstreamError) {
        // Their value is not checked: readers at large do not either.
        while !c.isByteAligned {
            var one = true
            try c.flag("vps_extension_alignment_bit_equal_to_one", &one)
        }
        try codeDimensions(&c, of: vps)
        try codeLayers(&c, count: 1 + min(62, vps.vpsMaxLayersMinus1))
        if c.isReading {
            var (attempt, rest) = (c, VPSLayerRelations())
            do throws(BitstreamError) {
                try rest.code(&attempt, self, of: vps)
                relations = rest
                c = attempt
            } catch {
                relations = nil
            }
        } else {
            guard var rest = relations else {
                throw BitstreamError(.unsupported, "A VPS extension needs what follows its layers to be written.")
            }
            try rest.code(&c, self, of: vps)
        }
    }

    private mutating func codeDimensions(
        _ c: inout some SyntaxCoder, of vps: VideoParameterSet
    ) throws(BitstreamError) {
        baseProfileTierLevel =
            vps.vpsMaxLayersMinus1 > 0 && vps.vpsBaseLayerInternalFlag
            ? baseProfileTierLevel ?? ProfileTierLevel() : nil
        // The level and the sub-layers only: the profile is the VPS's own (profilePresentFlag 0).
        baseProfileTierLevel?.general = nil
        try baseProfileTierLevel?.code(&c, maxNumSubLayersMinus1: vps.vpsMaxSubLayersMinus1)
        try c.flag("splitting_flag", &splittingFlag)
        try c.size("scalability_mask_flag", &scalabilityMaskFlag, 16, false)
        for index in scalabilityMaskFlag.indices {
            try c.flag("scalability_mask_flag", &scalabilityMaskFlag[index])
        }
        let types = scalabilityMaskFlag.count { $0 }
        try c.size("dimension_id_len_minus1", &dimensionIdLenMinus1, max(0, types - (splittingFlag ? 1 : 0)), 0)
        for index in dimensionIdLenMinus1.indices {
            try c.u("dimension_id_len_minus1", 3, &dimensionIdLenMinus1[index])
        }
    }

    private mutating func codeLayers(_ c: inout some SyntaxCoder, count: Int) throws(BitstreamError) {
        let types = scalabilityMaskFlag.count { $0 }
        try c.flag("vps_nuh_layer_id_present_flag", &vpsNuhLayerIdPresentFlag)
        try c.size("layers", &layers, count, Layer(dimensionId: [Int](repeating: 0, count: types)))
        for index in layers.indices.dropFirst() {
            var layer = layers[index]
            if c.isReading { layer.nuhLayerId = index }
            if vpsNuhLayerIdPresentFlag {
                try c.u("layer_id_in_nuh", 6, &layer.nuhLayerId)
            } else {
                try check("layer_id_in_nuh", layer.nuhLayerId, index...index)
            }
            if splittingFlag {
                layer.dimensionId = try split(layer.nuhLayerId, types)
            } else {
                try c.size("dimension_id", &layer.dimensionId, types, 0)
                for type in 0..<types {
                    try c.u("dimension_id", dimensionIdLenMinus1[type] + 1, &layer.dimensionId[type])
                }
            }
            layers[index] = layer
        }
    }

    /// The bit fields of a `nuh_layer_id` (F.7.4.3.1.1, dimBitOffset); the last one goes up to bit 5.
    private func split(_ nuhLayerId: Int, _ types: Int) throws(BitstreamError) -> [Int] {
        var (offset, ids) = (0, [Int]())
        for type in 0..<types {
            let bits = type < dimensionIdLenMinus1.count ? dimensionIdLenMinus1[type] + 1 : 6 - offset
            guard bits >= 0, offset + bits <= 6 else {
                throw BitstreamError(
                    .outOfRange, "The scalability dimensions need more than nuh_layer_id's six bits.")
            }
            ids.append((nuhLayerId >> offset) & ((1 << bits) - 1))
            offset += bits
        }
        return ids
    }
}
