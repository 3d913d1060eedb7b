// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel

/// The hvcC record made from a driver's parameter sets.
enum StreamDescription {
    /// The hvcC record of a stream with these parameter sets.
    ///
    /// - Throws: `VideoEncoderMalfunction` when they describe another stream than the requested one.
    static func record(
        _ parameterSets: [[UInt8]], _ configuration: EncoderConfiguration, _ settings: EncoderSettings
    ) throws(SessionError) -> [UInt8] {
        do throws(BitstreamError) {
            let sets = try HardwareParameterSets(parameterSets, configuration, size: settings.size)
            try check(sets.sps, settings.structure)
            return sets.record
        } catch {
            throw SessionError(
                .videoEncoderMalfunction, "the driver's parameter sets cannot be used: \(error.reason)")
        }
    }

    private static func check(
        _ sps: SequenceParameterSet, _ structure: PictureStructure
    ) throws(BitstreamError) {
        let ordering = sps.orderingInfo.highest
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
}
