// SPDX-License-Identifier: GPL-2.0-or-later
internal import HEVC
internal import Model

/// What the NAL units of `x265_encoder_headers` say.
enum ParameterSets {
    /// The hvcC record of these NAL units (without start codes or lengths), and sps_max_num_reorder_pics.
    static func describe(_ nalUnits: [[UInt8]]) throws(SessionError) -> (record: [UInt8], reorderDepth: Int) {
        do throws(BitstreamError) {
            var reorderDepth = 0
            for unit in nalUnits where try NALUnitHeader(nal: unit).nalUnitType == .sps {
                reorderDepth = try SequenceParameterSet(nal: unit).orderingInfo.highest.maxNumReorderPics
            }
            return (try DecoderConfigurationRecord(nalUnits: nalUnits).bytes(), reorderDepth)
        } catch {
            throw SessionError(.videoEncoderMalfunction, "x265's parameter sets cannot be read: \(error.reason)")
        }
    }
}
