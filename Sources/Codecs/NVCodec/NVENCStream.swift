// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel
internal import HWDPolicy

/// What of NVENC's output becomes the session's stream.
///
/// NVENC's own SEI messages are left out: their syntax depends on its VUI (H.265 D.2.2, D.2.3), which the session's replaces.
struct NVENCStream {
    /// The hvcC record.
    let record: [UInt8]
    /// The number of pictures that the stream reorders.
    let reorderDepth: Int
    private let profileTierLevel: ProfileTierLevel
    /// The NAL units that NVENC begins with; its VPS, SPS and PPS hold for the whole stream.
    private let parameterSets: Set<[UInt8]>

    /// Describes a stream with these parameter sets.
    ///
    /// - Parameter parameterSets: a byte stream.
    /// - Throws: `VideoEncoderMalfunction` when they describe another stream than the requested one.
    init(
        _ parameterSets: [UInt8], _ configuration: EncoderConfiguration, _ settings: NVENCSettings,
        _ pictures: NVENCSettings.Pictures
    ) throws(SessionError) {
        let units = AnnexB.NALUnits(parameterSets).map { Array($0) }
        do throws(BitstreamError) {
            let sets = try HardwareParameterSets(units, configuration, size: settings.size)
            record = sets.record
            // Without B pictures nothing is reordered, whatever the SPS allows.
            reorderDepth = pictures == .inOrder ? 0 : sets.sps.orderingInfo.highest.maxNumReorderPics
            profileTierLevel = sets.sps.profileTierLevel
        } catch {
            throw SessionError(
                .videoEncoderMalfunction, "NVENC's parameter sets cannot be used: \(error.reason)")
        }
        self.parameterSets = Set(units)
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
                if header.nalUnitType.isParameterSet, !parameterSets.contains(Array(unit)) {
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
