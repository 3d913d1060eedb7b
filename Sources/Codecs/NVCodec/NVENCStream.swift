// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel
internal import HWDPolicy

/// What of NVENC's output becomes the session's stream.
///
/// The VUI and the conformance window do not affect decoding and are replaced by the session's. NVENC's own SEI messages are left
/// out: their syntax depends on its VUI (H.265 D.2.2, D.2.3).
enum NVENCStream {
    /// The hvcC record of a stream with these parameter sets, and the number of pictures that it reorders.
    ///
    /// - Parameter parameterSets: a byte stream.
    /// - Throws: `VideoEncoderMalfunction` when they describe another stream than the requested one.
    static func describe(
        _ parameterSets: [UInt8], _ configuration: EncoderConfiguration, _ settings: NVENCSettings,
        _ pictures: NVENCSettings.Pictures
    ) throws(SessionError) -> (record: [UInt8], reorderDepth: Int) {
        do throws(BitstreamError) {
            var units: [[UInt8]] = []
            var depth: Int?
            for unit in AnnexB.NALUnits(parameterSets) {
                switch try NALUnitHeader(nal: Array(unit.prefix(2))).nalUnitType {
                case .sps:
                    var sps = try SequenceParameterSet(nal: Array(unit))
                    try check(sps, settings)
                    depth = sps.orderingInfo.highest.maxNumReorderPics
                    adjust(&sps, settings)
                    units.append(try sps.nalUnit())
                case .vps, .pps: units.append(Array(unit))
                default: break
                }
            }
            guard let depth else { throw BitstreamError(.unsupported, "there is no SPS") }
            if let sei = try hdrMetadata(configuration) { units.append(sei) }
            // Without B pictures nothing is reordered, whatever the SPS allows.
            return (try DecoderConfigurationRecord(nalUnits: units).bytes(), pictures == .inOrder ? 0 : depth)
        } catch {
            throw SessionError(
                .videoEncoderMalfunction, "NVENC's parameter sets cannot be used: \(error.reason)")
        }
    }

    private static func check(
        _ sps: SequenceParameterSet, _ settings: NVENCSettings
    ) throws(BitstreamError) {
        guard sps.chromaFormatIdc == 1, sps.bitDepthLuma == settings.bitDepth,
            sps.bitDepthChroma == settings.bitDepth
        else {
            throw BitstreamError(
                .unsupported, "the SPS has \(sps.bitDepthLuma) bits a sample, not \(settings.bitDepth)")
        }
        guard sps.picWidthInLumaSamples >= settings.size.shownWidth,
            sps.picHeightInLumaSamples >= settings.size.shownHeight
        else {
            throw BitstreamError(
                .unsupported, "the SPS has \(sps.picWidthInLumaSamples)x\(sps.picHeightInLumaSamples) samples")
        }
    }

    private static func adjust(_ sps: inout SequenceParameterSet, _ settings: NVENCSettings) {
        let size = settings.size
        if sps.width != size.shownWidth || sps.height != size.shownHeight {
            sps.conformanceWindow = WindowOffsets(
                right: (sps.picWidthInLumaSamples - size.shownWidth) / 2,
                bottom: (sps.picHeightInLumaSamples - size.shownHeight) / 2)
        }
        sps.vuiParameters = settings.vui
    }

    /// The static HDR metadata as one SEI NAL unit; nil where there is none.
    private static func hdrMetadata(_ configuration: EncoderConfiguration) throws(BitstreamError) -> [UInt8]? {
        let payloads = [
            (SEIPayloadType.masteringDisplay, configuration.masteringDisplay),
            (SEIPayloadType.contentLight, configuration.contentLight),
            (SEIPayloadType.ambientViewing, configuration.ambientViewing),
        ]
        let messages = payloads.compactMap { type, payload in
            payload.map { SEIMessage(payloadType: type, payload: $0) }
        }
        return messages.isEmpty ? nil : try SEI(messages: messages).nalUnit()
    }

    /// Reads a packet, a byte stream: its slices with 4-byte lengths, and the header of the first one.
    ///
    /// - Throws: `VideoEncoderMalfunction` where it has none, or temporal levels.
    static func picture(
        _ packet: UnsafeRawBufferPointer
    ) throws(SessionError) -> (sample: [UInt8], slice: NALUnitHeader) {
        guard !packet.isEmpty else {
            throw SessionError(.videoEncoderMalfunction, "NVENC coded a picture to 0 bytes")
        }
        var sample: [UInt8] = []
        sample.reserveCapacity(packet.count + 16)
        var slice: NALUnitHeader?
        do throws(BitstreamError) {
            for unit in AnnexB.NALUnits(Array(packet)) {
                let header = try NALUnitHeader(nal: Array(unit.prefix(2)))
                guard header.nalUnitType.isSlice else { continue }
                slice = slice ?? header
                try LengthPrefixedNALUnits.append(unit, lengthSize: 4, to: &sample)
            }
        } catch {
            throw SessionError(.videoEncoderMalfunction, "NVENC's output cannot be read: \(error.reason)")
        }
        guard let slice, slice.temporalID == 0 else {
            throw SessionError(
                .videoEncoderMalfunction,
                slice == nil ? "NVENC coded a picture without a slice" : "NVENC coded temporal levels")
        }
        return (sample, slice)
    }
}
