// SPDX-License-Identifier: GPL-2.0-or-later
internal import HEVC
internal import Model
internal import Sessions

/// What the NAL units of `x265_encoder_headers` become.
enum StreamHeaders {
    /// The hvcC record of these NAL units (without start codes or lengths), and sps_max_num_reorder_pics.
    ///
    /// Where the encoder was given more than the frame has, the SPS's conformance window cuts it off again.
    static func describe(
        _ nalUnits: [[UInt8]], shown size: PaddedSize
    ) throws(SessionError) -> (record: [UInt8], reorderDepth: Int) {
        do throws(BitstreamError) {
            var reorderDepth = 0
            var units: [[UInt8]] = []
            for unit in nalUnits {
                guard try NALUnitHeader(nal: unit).nalUnitType == .sps else {
                    units.append(unit)
                    continue
                }
                var sps = try SequenceParameterSet(nal: unit)
                reorderDepth = sps.orderingInfo.highest.maxNumReorderPics
                crop(&sps, to: size)
                units.append(try sps.nalUnit())
            }
            return (try DecoderConfigurationRecord(nalUnits: units).bytes(), reorderDepth)
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
