// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel

/// Makes the format description from the NAL units of `x265_encoder_headers`.
enum StreamHeaders {
    /// The hvcC record of these NAL units (without start codes or lengths), and sps_max_num_reorder_pics.
    ///
    /// The SPS's conformance window crops the padding that x265 was given. VPS and SPS are extended by the temporal levels,
    /// which x265 does not know.
    ///
    /// - Parameter groups: those of the stream, and its profile, tier and level; nil for x265's own groups.
    static func describe(
        _ nalUnits: [[UInt8]], _ configuration: EncoderConfiguration,
        groups: (ordering: [SubLayerOrdering], tier: ProfileTierLevel)? = nil
    ) throws(SessionError) -> (record: [UInt8], reorderDepth: Int) {
        do throws(BitstreamError) {
            var reorderDepth = 0
            var units: [[UInt8]] = []
            for unit in nalUnits {
                switch try NALUnitHeader(nal: unit).nalUnitType {
                case .vps:
                    var vps = try VideoParameterSet(nal: unit)
                    if let groups { vps.profileTierLevel = groups.tier }
                    let layers = subLayers(
                        configuration, vps.profileTierLevel, vps.orderingInfo, groups?.ordering)
                    try layers?.divide(&vps)
                    let isChanged = layers != nil || configuration.isInterlaced
                    if configuration.isInterlaced { vps.profileTierLevel.declareInterlacedSource() }
                    units.append(isChanged ? try vps.nalUnit() : unit)
                case .sps:
                    var sps = try SequenceParameterSet(nal: unit)
                    if let groups { sps.profileTierLevel = groups.tier }
                    crop(&sps, to: PaddedSize(configuration.request))
                    let layers = subLayers(
                        configuration, sps.profileTierLevel, sps.orderingInfo, groups?.ordering)
                    try layers?.divide(&sps)
                    reorderDepth = sps.orderingInfo.highest.maxNumReorderPics
                    if configuration.isInterlaced { sps.profileTierLevel.declareInterlacedSource() }
                    if configuration.fieldDetail != nil {
                        sps.vuiParameters = sps.vuiParameters ?? VUIParameters()
                        sps.vuiParameters?.frameFieldInfoPresentFlag = true
                    }
                    units.append(try sps.nalUnit())
                default: units.append(unit)
                }
            }
            // x265 writes the other static metadata itself.
            if let payload = configuration.ambientViewing {
                let message = SEIMessage(payloadType: SEIPayloadType.ambientViewing, payload: payload)
                units.append(try SEI(messages: [message]).nalUnit())
            }
            return (try DecoderConfigurationRecord(nalUnits: units).bytes(), reorderDepth)
        } catch {
            throw SessionError(.videoEncoderMalfunction, "x265's parameter sets cannot be read: \(error.reason)")
        }
    }

    /// A stream's temporal sub-layers for its parameter sets; nil where it has one.
    ///
    /// In x265's own groups, pictures of a level refer to the anchors on both sides and to lower levels, and the pictures below
    /// the middle of a group are coded in presentation order, so no level reorders more than the whole stream.
    /// - Parameter ordering: that of other groups.
    private static func subLayers(
        _ configuration: EncoderConfiguration, _ tier: ProfileTierLevel, _ own: SubLayerOrderingInfo,
        _ ordering: [SubLayerOrdering]?
    ) -> TemporalSubLayers? {
        let (levels, highest, size) = (
            configuration.temporalLevels, own.highest, PaddedSize(configuration.request)
        )
        guard levels.count > 1 else { return nil }
        let parts = (0..<levels.count - 1).map { level in
            // All references are of level 0 where that has B pictures, so it needs what the stream needs.
            let depth = level + levels.depthOfBase
            return SubLayerOrdering(
                maxDecPicBufferingMinus1: levels.depthOfBase > 0
                    ? highest.maxDecPicBufferingMinus1 : min(level + 1, highest.maxDecPicBufferingMinus1),
                maxNumReorderPics: min(depth, highest.maxNumReorderPics))
        }
        return TemporalSubLayers(
            levelIdcs: levels.levelIdcs(
                general: tier.generalLevelIdc, width: size.width, height: size.height,
                bitRate: configuration.bitRate),
            ordering: ordering ?? parts + [highest])
    }

    /// Profile, tier and level in the SPS among these NAL units.
    static func tier(_ nalUnits: [[UInt8]]) throws(SessionError) -> ProfileTierLevel {
        do throws(BitstreamError) {
            for unit in nalUnits where try NALUnitHeader(nal: unit).nalUnitType == .sps {
                return try SequenceParameterSet(nal: unit).profileTierLevel
            }
            throw BitstreamError(.missingParameterSet, "no SPS")
        } catch {
            throw SessionError(.videoEncoderMalfunction, "x265's parameter sets cannot be read: \(error.reason)")
        }
    }

    private static func crop(_ sps: inout SequenceParameterSet, to size: PaddedSize) {
        guard sps.width != size.shownWidth || sps.height != size.shownHeight else { return }
        var window = sps.conformanceWindow ?? WindowOffsets()
        window.right += (sps.width - size.shownWidth) / sps.subWidthC
        window.bottom += (sps.height - size.shownHeight) / sps.subHeightC
        sps.conformanceWindow = window
    }
}
