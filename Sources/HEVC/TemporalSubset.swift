// SPDX-License-Identifier: GPL-2.0-or-later

/// Parameter sets of a stream whose upper temporal sub-layers were taken out (H.265 10.1): they then describe what is
/// left, and nothing more.
extension ProfileTierLevel {
    /// Profile, tier and level of the sub-layers 0…`temporalId`: their own, else those of the next sub-layer above that
    /// has any (7.4.4).
    public func ofSubLayer(_ temporalId: Int) -> (profile: ProfileTier, levelIdc: Int) {
        let above = subLayers.dropFirst(max(0, temporalId))
        return (
            above.lazy.compactMap(\.profile).first ?? general ?? ProfileTier(),
            above.lazy.compactMap(\.levelIdc).first ?? generalLevelIdc
        )
    }

    /// What is left of the table when `highest` is the highest sub-layer.
    fileprivate mutating func keep(upTo highest: Int) {
        let (profile, level) = ofSubLayer(highest)
        if general != nil { general = profile }
        generalLevelIdc = level
        subLayers = Array(subLayers.prefix(highest))
    }
}

extension SubLayerOrderingInfo {
    /// The needs of the sub-layers 0…`temporalId`.
    public func ofSubLayer(_ temporalId: Int) -> SubLayerOrdering {
        presentFlag && subLayers.indices.contains(temporalId) ? subLayers[temporalId] : highest
    }

    fileprivate mutating func keep(upTo highest: Int) {
        if presentFlag { subLayers = Array(subLayers.prefix(highest + 1)) }
    }
}

extension HRDParameters {
    fileprivate mutating func keep(upTo highest: Int) { subLayers = Array(subLayers.prefix(highest + 1)) }
}

extension VideoParameterSet {
    /// Has the set describe the sub-layers 0…`highest` alone; sets with fewer, and those with an extension (which
    /// speaks of sub-layers on its own), stay as they are.
    public mutating func keepSubLayers(upTo highest: Int) {
        guard highest >= 0, highest < vpsMaxSubLayersMinus1, vpsExtension == nil else { return }
        vpsMaxSubLayersMinus1 = highest
        // 7.4.3.1: one sub-layer alone has the flag set.
        if highest == 0 { vpsTemporalIdNestingFlag = true }
        profileTierLevel.keep(upTo: highest)
        orderingInfo.keep(upTo: highest)
        for index in hrdParameters.indices { hrdParameters[index].hrdParameters.keep(upTo: highest) }
    }
}

extension SequenceParameterSet {
    /// Has the set describe the sub-layers 0…`highest` alone; sets with fewer, and those of other layers than the
    /// base, stay as they are.
    public mutating func keepSubLayers(upTo highest: Int) {
        guard highest >= 0, highest < spsMaxSubLayersMinus1, header.nuhLayerId == 0 else { return }
        spsMaxSubLayersMinus1 = highest
        if highest == 0 { spsTemporalIdNestingFlag = true }
        profileTierLevel.keep(upTo: highest)
        orderingInfo.keep(upTo: highest)
        vuiParameters?.hrdParameters?.keep(upTo: highest)
    }
}

extension DecoderConfigurationRecord {
    /// The record of the sub-layers 0…`highest`: its parameter sets describe these alone, and its own fields with them.
    ///
    /// Sets of layers above the base, and all others when a VPS with an extension needs them as they are, are kept.
    /// Throws what reading or writing a parameter set throws.
    public func keepingSubLayers(upTo highest: Int) throws(BitstreamError) -> DecoderConfigurationRecord {
        var record = self
        for nal in nalUnits {
            guard try NALUnitHeader(nal: nal).nalUnitType == .vps else { continue }
            // What the extension says of sub-layers cannot be rewritten here, and must not contradict the SPS.
            if try VideoParameterSet(nal: nal).vpsExtension != nil { return self }
        }
        for array in arrays.indices {
            for index in arrays[array].nalUnits.indices {
                let nal = arrays[array].nalUnits[index]
                switch try NALUnitHeader(nal: nal).nalUnitType {
                case .vps:
                    var set = try VideoParameterSet(nal: nal)
                    set.keepSubLayers(upTo: highest)
                    record.arrays[array].nalUnits[index] = try set.nalUnit()
                case .sps:
                    var set = try SequenceParameterSet(nal: nal)
                    guard set.header.nuhLayerId == 0, set.spsMaxSubLayersMinus1 > highest else { continue }
                    set.keepSubLayers(upTo: highest)
                    record.arrays[array].nalUnits[index] = try set.nalUnit()
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
