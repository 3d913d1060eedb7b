// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
internal import HWDModel
internal import HWDSessions

/// What a driver's own parameter sets become: the hvcC record.
///
/// They are taken from what it coded, whatever was handed to it, because drivers write their own. What only a player
/// looks at, the conformance window and the VUI, is then ours again.
enum StreamDescription {
    /// The hvcC record of a stream with these parameter sets.
    ///
    /// - Throws: `VideoEncoderMalfunction` when they are not those of the stream that was asked for.
    static func record(
        _ parameterSets: [[UInt8]], _ configuration: EncoderConfiguration, _ settings: EncoderSettings
    ) throws(SessionError) -> [UInt8] {
        do throws(BitstreamError) {
            var units: [[UInt8]] = []
            for unit in parameterSets {
                guard try NALUnitHeader(nal: unit).nalUnitType == .sps else {
                    units.append(unit)
                    continue
                }
                units.append(try adjusted(unit, configuration, settings))
            }
            if let sei = try hdrMetadata(configuration) { units.append(sei) }
            return try DecoderConfigurationRecord(nalUnits: units).bytes()
        } catch {
            throw SessionError(
                .videoEncoderMalfunction, "the driver's parameter sets cannot be used: \(error.reason)")
        }
    }

    private static func adjusted(
        _ unit: [UInt8], _ configuration: EncoderConfiguration, _ settings: EncoderSettings
    ) throws(BitstreamError) -> [UInt8] {
        var sps = try SequenceParameterSet(nal: unit)
        guard sps.chromaFormatIdc == 1, sps.bitDepthLuma == configuration.profile.bitDepth,
            sps.bitDepthChroma == configuration.profile.bitDepth
        else {
            throw BitstreamError(
                .unsupported, "The SPS says \(sps.bitDepthLuma) bits, not \(configuration.profile.bitDepth).")
        }
        guard sps.picWidthInLumaSamples >= settings.size.shownWidth,
            sps.picHeightInLumaSamples >= settings.size.shownHeight
        else {
            throw BitstreamError(
                .unsupported, "The SPS says \(sps.picWidthInLumaSamples)x\(sps.picHeightInLumaSamples) samples.")
        }
        let (ordering, structure) = (sps.orderingInfo.highest, settings.structure)
        guard ordering.maxNumReorderPics >= structure.reorderDepth,
            structure.keyFrameInterval == 1 || ordering.maxDecPicBufferingMinus1 >= structure.maxReferences
        else {
            throw BitstreamError(
                .unsupported,
                "The SPS allows \(ordering.maxDecPicBufferingMinus1) references and reorders by "
                    + "\(ordering.maxNumReorderPics), the pictures need \(structure.maxReferences) and "
                    + "\(structure.reorderDepth).")
        }
        guard sps.spsMaxSubLayersMinus1 + 1 == structure.temporalLevels else {
            throw BitstreamError(
                .unsupported,
                "The SPS tells \(sps.spsMaxSubLayersMinus1 + 1) temporal levels, not \(structure.temporalLevels).")
        }
        let (before, vui) = (sps, VUIParameters(configuration))
        if sps.width != settings.size.shownWidth || sps.height != settings.size.shownHeight {
            sps.conformanceWindow = WindowOffsets(
                right: (sps.picWidthInLumaSamples - settings.size.shownWidth) / 2,
                bottom: (sps.picHeightInLumaSamples - settings.size.shownHeight) / 2)
        }
        if sps.vuiParameters != vui { sps.vuiParameters = vui }
        return sps == before ? unit : try sps.nalUnit()
    }

    /// The static HDR metadata as one SEI NAL unit; nil where there are none.
    private static func hdrMetadata(_ configuration: EncoderConfiguration) throws(BitstreamError) -> [UInt8]? {
        var messages: [SEIMessage] = []
        if let payload = configuration.masteringDisplay {
            messages.append(SEIMessage(payloadType: 137, payload: payload))
        }
        if let payload = configuration.contentLight {
            messages.append(SEIMessage(payloadType: 144, payload: payload))
        }
        return messages.isEmpty ? nil : try SEI(messages: messages).nalUnit()
    }
}
