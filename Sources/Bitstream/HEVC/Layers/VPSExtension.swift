// SPDX-License-Identifier: MIT

/// The kind of a scalability dimension (table F.1).
public enum ScalabilityType: Int, Hashable, Sendable {
    case depth = 0
    case view = 1
    /// DependencyId: spatial or quality scalability.
    case dependency = 2
    /// AuxId: 1 is an alpha plane, 2 a depth map (table F.2).
    case auxiliary = 3
}

/// `vps_extension()` (F.7.3.2.1.1): the layers of a stream and their relations.
public struct VPSExtension: Hashable, Sendable {
    /// A layer and its position in the scalability dimensions.
    public struct Layer: Hashable, Sendable {
        /// `layer_id_in_nuh`, 0…62.
        public var nuhLayerId = 0
        /// `dimension_id`, one for each dimension in `scalabilityMaskFlag`.
        public var dimensionId: [Int] = []

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
    /// Sixteen flags, indexed by `ScalabilityType`.
    public var scalabilityMaskFlag = [Bool](repeating: false, count: 16)
    /// Width of each dimension's id − 1 in bits, 0…7; one entry fewer with `splittingFlag`.
    public var dimensionIdLenMinus1: [Int] = []
    /// `vps_nuh_layer_id_present_flag`: false when each layer's id is its index.
    public var vpsNuhLayerIdPresentFlag = false
    /// The layers, base layer first.
    public var layers = [Layer()]
    /// The rest of the extension; nil when it cannot be interpreted, as with more than two layers.
    public var relations: VPSLayerRelations?

    public init() {}

    /// ScalabilityId of a layer by its index; 0 in dimensions that the stream does not have.
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

    /// Codes the table, from the alignment bits to `vps_extension2_flag` and its data.
    ///
    /// When the data after the layers cannot be interpreted, reading keeps the layers, which is enough to find an
    /// alpha layer: some files have an extension that does not follow the standard's syntax after that point.
    mutating func code(_ c: inout some SyntaxCoder, of vps: VideoParameterSet) throws(BitstreamError) {
        // Their value is not checked; other decoders do not check it either.
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
                throw BitstreamError(.unsupported, "the VPS extension lacks the relations of its layers")
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
        // profilePresentFlag is 0: only level and sub-layers are coded, and the profile is that of the VPS.
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
                    .outOfRange, "the scalability dimensions need more than nuh_layer_id's six bits")
            }
            ids.append((nuhLayerId >> offset) & ((1 << bits) - 1))
            offset += bits
        }
        return ids
    }
}
