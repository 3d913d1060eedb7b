// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC
internal import HWDPolicy

/// The parameter sets of a stream that a hardware encoder writes, checked and described for a session.
///
/// Encoders write their own, whatever they were given, so those of the coded stream are used. The conformance window and the VUI
/// do not affect decoding and are replaced by the session's.
public struct HardwareParameterSets: Sendable {
    /// The SPS as the encoder wrote it; the last one of several.
    public let sps: SequenceParameterSet
    /// The hvcC record, with the session's static HDR metadata.
    public let record: [UInt8]

    /// - Parameters:
    ///   - units: the NAL units with which the encoder begins a stream; those that are no parameter sets are left out.
    ///   - size: what the encoder was opened with.
    /// - Throws: `unsupported` where there is no SPS, or one of another bit depth or a smaller picture; else as parsing one.
    public init(
        _ units: [[UInt8]], _ configuration: EncoderConfiguration, size: CodedSize
    ) throws(BitstreamError) {
        var (written, found) = ([[UInt8]](), SequenceParameterSet?.none)
        for unit in units {
            let type = try NALUnitHeader(nal: unit).nalUnitType
            guard type == .sps else {
                if type.isParameterSet { written.append(unit) }
                continue
            }
            let sps = try SequenceParameterSet(nal: unit)
            try Self.check(sps, bitDepth: configuration.profile.bitDepth, size)
            let adjusted = Self.adjusted(sps, VUIParameters(configuration), size)
            written.append(adjusted == sps ? unit : try adjusted.nalUnit())
            found = sps
        }
        guard let found else { throw BitstreamError(.unsupported, "there is no SPS") }
        sps = found
        if let message = try Self.hdrMetadata(configuration) { written.append(message) }
        record = try DecoderConfigurationRecord(nalUnits: written).bytes()
    }

    private static func check(
        _ sps: SequenceParameterSet, bitDepth: Int, _ size: CodedSize
    ) throws(BitstreamError) {
        guard sps.chromaFormatIdc == 1, sps.bitDepthLuma == bitDepth, sps.bitDepthChroma == bitDepth else {
            throw BitstreamError(.unsupported, "the SPS has \(sps.bitDepthLuma) bits a sample, not \(bitDepth)")
        }
        guard sps.picWidthInLumaSamples >= size.shownWidth, sps.picHeightInLumaSamples >= size.shownHeight else {
            throw BitstreamError(
                .unsupported, "the SPS has \(sps.picWidthInLumaSamples)x\(sps.picHeightInLumaSamples) samples")
        }
    }

    private static func adjusted(
        _ sps: SequenceParameterSet, _ vui: VUIParameters, _ size: CodedSize
    ) -> SequenceParameterSet {
        var sps = sps
        if sps.width != size.shownWidth || sps.height != size.shownHeight {
            sps.conformanceWindow = WindowOffsets(
                right: (sps.picWidthInLumaSamples - size.shownWidth) / 2,
                bottom: (sps.picHeightInLumaSamples - size.shownHeight) / 2)
        }
        sps.vuiParameters = vui
        return sps
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
}
