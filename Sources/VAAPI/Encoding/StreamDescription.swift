// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel
internal import HWDPolicy

/// The hvcC record made from a driver's parameter sets.
///
/// Drivers write their own parameter sets, whatever packed headers they were given, so those of the coded stream are used.
/// The conformance window and the VUI do not affect decoding and are replaced by the session's.
enum StreamDescription {
    /// The hvcC record of a stream with these parameter sets.
    ///
    /// - Throws: `VideoEncoderMalfunction` when they describe another stream than the requested one.
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

    /// An SPS with the session's conformance window and VUI.
    private static func adjusted(
        _ unit: [UInt8], _ configuration: EncoderConfiguration, _ settings: EncoderSettings
    ) throws(BitstreamError) -> [UInt8] {
        var sps = try SequenceParameterSet(nal: unit)
        try check(sps, configuration, settings)
        let (before, vui) = (sps, VUIParameters(configuration))
        if sps.width != settings.size.shownWidth || sps.height != settings.size.shownHeight {
            sps.conformanceWindow = WindowOffsets(
                right: (sps.picWidthInLumaSamples - settings.size.shownWidth) / 2,
                bottom: (sps.picHeightInLumaSamples - settings.size.shownHeight) / 2)
        }
        if sps.vuiParameters != vui { sps.vuiParameters = vui }
        return sps == before ? unit : try sps.nalUnit()
    }

    private static func check(
        _ sps: SequenceParameterSet, _ configuration: EncoderConfiguration, _ settings: EncoderSettings
    ) throws(BitstreamError) {
        guard sps.chromaFormatIdc == 1, sps.bitDepthLuma == configuration.profile.bitDepth,
            sps.bitDepthChroma == configuration.profile.bitDepth
        else {
            throw BitstreamError(
                .unsupported, "the SPS has \(sps.bitDepthLuma) bits a sample, not \(configuration.profile.bitDepth)"
            )
        }
        guard sps.picWidthInLumaSamples >= settings.size.shownWidth,
            sps.picHeightInLumaSamples >= settings.size.shownHeight
        else {
            throw BitstreamError(
                .unsupported, "the SPS has \(sps.picWidthInLumaSamples)x\(sps.picHeightInLumaSamples) samples")
        }
        let (ordering, structure) = (sps.orderingInfo.highest, settings.structure)
        guard ordering.maxNumReorderPics >= structure.reorderDepth,
            structure.keyFrameInterval == 1 || ordering.maxDecPicBufferingMinus1 >= structure.maxReferences
        else {
            throw BitstreamError(
                .unsupported,
                "the SPS allows \(ordering.maxDecPicBufferingMinus1) references and reorders by "
                    + "\(ordering.maxNumReorderPics), the pictures need \(structure.maxReferences) and "
                    + "\(structure.reorderDepth)")
        }
        guard sps.spsMaxSubLayersMinus1 + 1 == structure.temporalLevels else {
            throw BitstreamError(
                .unsupported,
                "the SPS has \(sps.spsMaxSubLayersMinus1 + 1) temporal sub-layers, not \(structure.temporalLevels)")
        }
    }

    /// The static HDR metadata as one SEI NAL unit; nil where there is none.
    private static func hdrMetadata(_ configuration: EncoderConfiguration) throws(BitstreamError) -> [UInt8]? {
        var messages: [SEIMessage] = []
        if let payload = configuration.masteringDisplay {
            messages.append(SEIMessage(payloadType: SEIPayloadType.masteringDisplay, payload: payload))
        }
        if let payload = configuration.contentLight {
            messages.append(SEIMessage(payloadType: SEIPayloadType.contentLight, payload: payload))
        }
        if let payload = configuration.ambientViewing {
            messages.append(SEIMessage(payloadType: SEIPayloadType.ambientViewing, payload: payload))
        }
        return messages.isEmpty ? nil : try SEI(messages: messages).nalUnit()
    }
}
