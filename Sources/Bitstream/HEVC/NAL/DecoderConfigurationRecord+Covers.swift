// SPDX-License-Identifier: MIT

extension DecoderConfigurationRecord {
    /// Whether a decoder that was set up with this record decodes the pictures of `other` correctly.
    ///
    /// That is so if the parameter sets differ only in what no slice depends on: this record's level, tier and picture
    /// buffer (H.265 A.4, 7.4.3.2.1) are at least those of `other`, and the nominal frame rate of the VPS and the VUI may
    /// differ. SEI messages with unregistered user data are ignored. Parameter sets that cannot be parsed must be equal.
    public func covers(_ other: DecoderConfigurationRecord) -> Bool {
        let (mine, others) = (Self.relevant(nalUnits), Self.relevant(other.nalUnits))
        return lengthSize == other.lengthSize && mine.count == others.count
            && zip(mine, others).allSatisfy { Self.covers($0, $1) }
    }

    /// The parameter sets, and the SEI messages that describe the content.
    private static func relevant(_ nalUnits: [[UInt8]]) -> [[UInt8]] {
        nalUnits.filter { unit in
            guard let messages = try? SEI(nal: unit).messages else { return true }
            return !messages.allSatisfy { $0.payloadType == userDataUnregistered }
        }
    }

    /// user_data_unregistered (H.265 D.2.1), in which encoders describe themselves.
    private static let userDataUnregistered = 5

    private static func covers(_ mine: [UInt8], _ other: [UInt8]) -> Bool {
        if mine == other { return true }
        if let mine = try? VideoParameterSet(nal: mine), let other = try? VideoParameterSet(nal: other) {
            return mine.covers(other)
        }
        if let mine = try? SequenceParameterSet(nal: mine), let other = try? SequenceParameterSet(nal: other) {
            return mine.covers(other)
        }
        return false
    }
}

extension VideoParameterSet {
    fileprivate func covers(_ other: VideoParameterSet) -> Bool {
        guard profileTierLevel.covers(other.profileTierLevel), orderingInfo.covers(other.orderingInfo) else {
            return false
        }
        var same = other
        same.profileTierLevel = profileTierLevel
        same.orderingInfo = orderingInfo
        if timingInfo != nil, other.timingInfo != nil { same.timingInfo = timingInfo }
        return self == same
    }
}

extension SequenceParameterSet {
    fileprivate func covers(_ other: SequenceParameterSet) -> Bool {
        guard profileTierLevel.covers(other.profileTierLevel), orderingInfo.covers(other.orderingInfo) else {
            return false
        }
        var same = other
        same.profileTierLevel = profileTierLevel
        same.orderingInfo = orderingInfo
        if let timing = vuiParameters?.timingInfo, other.vuiParameters?.timingInfo != nil {
            same.vuiParameters?.timingInfo = timing
        }
        return self == same
    }
}

extension ProfileTierLevel {
    /// Whether a decoder of this profile, tier and level, in every sub-layer, decodes streams of `other` (A.4.1).
    public func covers(_ other: ProfileTierLevel) -> Bool {
        guard subLayers.count == other.subLayers.count, generalLevelIdc >= other.generalLevelIdc,
            general.covers(other.general)
        else { return false }
        return zip(subLayers, other.subLayers).allSatisfy { mine, theirs in
            mine.profile.covers(theirs.profile)
                && (mine.levelIdc ?? generalLevelIdc) >= (theirs.levelIdc ?? other.generalLevelIdc)
        }
    }
}

extension ProfileTier? {
    /// A decoder of the High tier also decodes the Main tier (A.4.1).
    fileprivate func covers(_ other: ProfileTier?) -> Bool {
        guard let self, var other else { return self == other }
        if self.tierFlag { other.tierFlag = true }
        return self == other
    }
}

extension SubLayerOrderingInfo {
    fileprivate func covers(_ other: SubLayerOrderingInfo) -> Bool {
        subLayers.count == other.subLayers.count
            && zip(subLayers, other.subLayers).allSatisfy { mine, other in
                mine.maxDecPicBufferingMinus1 >= other.maxDecPicBufferingMinus1
                    && mine.maxNumReorderPics >= other.maxNumReorderPics
                    && mine.promisesNoLess(latencyOf: other)
            }
    }
}

extension SubLayerOrdering {
    /// Whether SpsMaxLatencyPictures (7.4.3.2.1) is at least that of `other`.
    fileprivate func promisesNoLess(latencyOf other: SubLayerOrdering) -> Bool {
        guard maxLatencyIncreasePlus1 > 0 else { return true }
        return other.maxLatencyIncreasePlus1 > 0
            && maxNumReorderPics + maxLatencyIncreasePlus1 >= other.maxNumReorderPics
                + other.maxLatencyIncreasePlus1
    }
}
