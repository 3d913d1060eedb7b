// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDHEVC
internal import HWDMetadata

extension DolbyVisionBox {
    /// The box of the stream's record; nil without one.
    static func make(_ stream: AVStream) -> Box? {
        stream.sideData(AV_PKT_DATA_DOVI_CONF, as: AVDOVIDecoderConfigurationRecord.self).flatMap(make)
    }

    /// The box of libavcodec's record; nil where a field exceeds its bits.
    static func make(_ record: AVDOVIDecoderConfigurationRecord) -> Box? {
        var configuration = DolbyVisionConfiguration(
            profile: Int(record.dv_profile), level: Int(record.dv_level),
            compatibilityID: Int(record.dv_bl_signal_compatibility_id))
        configuration.versionMajor = Int(record.dv_version_major)
        configuration.versionMinor = Int(record.dv_version_minor)
        configuration.hasRPU = record.rpu_present_flag != 0
        configuration.hasEnhancementLayer = record.el_present_flag != 0
        configuration.hasBaseLayer = record.bl_present_flag != 0
        return make(configuration)
    }
}
