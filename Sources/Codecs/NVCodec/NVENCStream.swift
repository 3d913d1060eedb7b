// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel
internal import HWDPolicy

/// What of NVENC's output becomes the session's stream.
///
/// The VUI and the conformance window do not affect decoding and are replaced by the session's. NVENC's own SEI messages are left
/// out: their syntax depends on its VUI (H.265 D.2.2, D.2.3).
struct NVENCStream {
    /// The hvcC record.
    let record: [UInt8]
    /// The number of pictures that the stream reorders.
    let reorderDepth: Int
    private let profileTierLevel: ProfileTierLevel
    /// NVENC's VPS, SPS and PPS, which hold for the whole stream.
    private let parameterSets: Set<[UInt8]>

    /// Describes a stream with these parameter sets.
    ///
    /// - Parameter parameterSets: a byte stream.
    /// - Throws: `VideoEncoderMalfunction` when they describe another stream than the requested one.
    init(
        _ parameterSets: [UInt8], _ configuration: EncoderConfiguration, _ settings: NVENCSettings,
        _ pictures: NVENCSettings.Pictures
    ) throws(SessionError) {
        do throws(BitstreamError) {
            var units: [[UInt8]] = []
            var sets: Set<[UInt8]> = []
            var found: SequenceParameterSet?
            for unit in AnnexB.NALUnits(parameterSets) {
                switch try NALUnitHeader(nal: Array(unit.prefix(2))).nalUnitType {
                case .sps:
                    var sps = try SequenceParameterSet(nal: Array(unit))
                    try Self.check(sps, settings)
                    found = sps
                    Self.adjust(&sps, settings)
                    units.append(try sps.nalUnit())
                    sets.insert(Array(unit))
                case .vps, .pps:
                    units.append(Array(unit))
                    sets.insert(Array(unit))
                default: break
                }
            }
            guard let found else { throw BitstreamError(.unsupported, "there is no SPS") }
            if let sei = try Self.hdrMetadata(configuration) { units.append(sei) }
            record = try DecoderConfigurationRecord(nalUnits: units).bytes()
            // Without B pictures nothing is reordered, whatever the SPS allows.
            reorderDepth = pictures == .inOrder ? 0 : found.orderingInfo.highest.maxNumReorderPics
            profileTierLevel = found.profileTierLevel
            self.parameterSets = sets
        } catch {
            throw SessionError(
                .videoEncoderMalfunction, "NVENC's parameter sets cannot be used: \(error.reason)")
        }
    }

    /// Whether the stream's level and tier hold the pictures and the rate of a configuration.
    func covers(_ configuration: EncoderConfiguration) -> Bool {
        let request = configuration.request
        let needed = Level.needed(
            width: request.width, height: request.height, frameRate: configuration.frameRate,
            bitRate: configuration.bitRate)
        return 3 * needed.number <= profileTierLevel.generalLevelIdc
            && (profileTierLevel.general?.tierFlag == true || !needed.needsHighTier(configuration.bitRate))
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
    /// - Throws: `VideoEncoderMalfunction` where it has none, or temporal levels, or other parameter sets than at the beginning.
    func picture(
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
                if [.vps, .sps, .pps].contains(header.nalUnitType), !parameterSets.contains(Array(unit)) {
                    throw BitstreamError(.unsupported, "its parameter sets changed")
                }
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
