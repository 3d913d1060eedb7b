// SPDX-License-Identifier: MIT

// Parameter sets for a stream whose upper temporal sub-layers were removed (H.265 10.1): they describe the sub-layers
// that remain, and no others.

extension ProfileTierLevel {
    /// Profile, tier and level of the sub-layers 0…`temporalID`; where they are not coded, those of the next sub-layer
    /// above with coded ones (7.4.4).
    public func ofSubLayer(_ temporalID: Int) -> (profile: ProfileTier, levelIdc: Int) {
        let above = subLayers.dropFirst(max(0, temporalID))
        return (
            above.lazy.compactMap(\.profile).first ?? general ?? ProfileTier(),
            above.lazy.compactMap(\.levelIdc).first ?? generalLevelIdc
        )
    }

    /// Reduces the table to the sub-layers 0…`highest`.
    fileprivate mutating func keep(upTo highest: Int) {
        let (profile, level) = ofSubLayer(highest)
        if general != nil { general = profile }
        generalLevelIdc = level
        subLayers = Array(subLayers.prefix(highest))
    }
}

extension SubLayerOrderingInfo {
    /// The entry for the sub-layers 0…`temporalID`.
    public func ofSubLayer(_ temporalID: Int) -> SubLayerOrdering {
        presentFlag && subLayers.indices.contains(temporalID) ? subLayers[temporalID] : highest
    }

    fileprivate mutating func keep(upTo highest: Int) {
        if presentFlag { subLayers = Array(subLayers.prefix(highest + 1)) }
    }
}

extension HRDParameters {
    fileprivate mutating func keep(upTo highest: Int) { subLayers = Array(subLayers.prefix(highest + 1)) }
}

extension VPSExtension {
    /// Reduces the extension to the sub-layers 0…`highest` (F.7.4.3.1.1).
    fileprivate mutating func keep(upTo highest: Int) {
        baseProfileTierLevel?.keep(upTo: highest)
        guard var relations else { return }
        for index in relations.profileTierLevels.indices { relations.profileTierLevels[index].keep(upTo: highest) }
        // Values not coded are inferred from the VPS, which are 0 then.
        relations.subLayersMaxMinus1 =
            highest == 0 ? nil : relations.subLayersMaxMinus1?.map { min($0, highest) }
        for index in relations.outputLayerSets.indices {
            let left = relations.outputLayerSets[index].ordering.prefix(highest + 1)
            relations.outputLayerSets[index].ordering = Array(left)
            if left.count == 1 { relations.outputLayerSets[index].subLayerFlagInfoPresentFlag = false }
        }
        self.relations = relations
    }
}

extension VideoParameterSet {
    /// The extension, and whether the VPS can be reduced to fewer sub-layers: not with an extension that cannot be
    /// interpreted to its end, since that describes sub-layers, too.
    fileprivate var divisible: (content: VPSExtension?, isDivisible: Bool) {
        guard vpsExtension != nil else { return (nil, true) }
        do throws(BitstreamError) {
            let content = try multilayerExtension()
            // vps_vui() is not interpreted.
            return (content, content?.relations?.vpsVuiPresentFlag == false)
        } catch { return (nil, false) }
    }

    /// Reduces the set to the sub-layers 0…`highest`, in all layers.
    ///
    /// A set with no more than these is unchanged, and so is one with an extension that cannot be interpreted to its
    /// end, since that describes sub-layers, too.
    /// - Throws: `BitstreamError` when the reduced extension cannot be written.
    public mutating func keepSubLayers(upTo highest: Int) throws(BitstreamError) {
        guard highest >= 0, highest < vpsMaxSubLayersMinus1 else { return }
        let (content, isDivisible) = divisible
        guard isDivisible else { return }
        vpsMaxSubLayersMinus1 = highest
        // 7.4.3.1: the flag is 1 with a single sub-layer.
        if highest == 0 { vpsTemporalIdNestingFlag = true }
        profileTierLevel.keep(upTo: highest)
        orderingInfo.keep(upTo: highest)
        for index in hrdParameters.indices { hrdParameters[index].hrdParameters.keep(upTo: highest) }
        guard var content else { return }
        content.keep(upTo: highest)
        try setMultilayerExtension(content)
    }
}

extension SequenceParameterSet {
    /// Reduces the set to the sub-layers 0…`highest`.
    ///
    /// A set with no more than these is unchanged, and so is one in the short form, which has the VPS's sub-layers.
    public mutating func keepSubLayers(upTo highest: Int) {
        guard highest >= 0, highest < spsMaxSubLayersMinus1, !isMultiLayerExtension else { return }
        spsMaxSubLayersMinus1 = highest
        if highest == 0 { spsTemporalIdNestingFlag = true }
        profileTierLevel.keep(upTo: highest)
        orderingInfo.keep(upTo: highest)
        vuiParameters?.hrdParameters?.keep(upTo: highest)
    }
}

extension DecoderConfigurationRecord {
    /// The record for the sub-layers 0…`highest`: parameter sets and the record's own fields describe only these.
    ///
    /// It is unchanged when a VPS has an extension that cannot be interpreted, since SPSs must not contradict it.
    /// - Throws: what reading or writing a parameter set throws.
    public func keepingSubLayers(upTo highest: Int) throws(BitstreamError) -> DecoderConfigurationRecord {
        var record = self
        for nal in nalUnits {
            guard try NALUnitHeader(nal: nal).nalUnitType == .vps else { continue }
            // The SPSs must not contradict the extension.
            if try !VideoParameterSet(nal: nal).divisible.isDivisible { return self }
        }
        for array in arrays.indices {
            for index in arrays[array].nalUnits.indices {
                let nal = arrays[array].nalUnits[index]
                switch try NALUnitHeader(nal: nal).nalUnitType {
                case .vps:
                    var set = try VideoParameterSet(nal: nal)
                    try set.keepSubLayers(upTo: highest)
                    record.arrays[array].nalUnits[index] = try set.nalUnit()
                case .sps:
                    var set = try SequenceParameterSet(nal: nal)
                    guard set.spsMaxSubLayersMinus1 > highest else { continue }
                    set.keepSubLayers(upTo: highest)
                    record.arrays[array].nalUnits[index] = try set.nalUnit()
                    guard set.header.nuhLayerId == 0 else { continue }
                    record.generalLevelIdc = set.profileTierLevel.generalLevelIdc
                    record.profile = set.profileTierLevel.general ?? record.profile
                default: continue
                }
            }
        }
        if record.numTemporalLayers > highest + 1 { record.numTemporalLayers = highest + 1 }
        if highest == 0 { record.temporalIdNested = true }
        return record
    }
}
