// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDHEVC

/// The configuration box of a Dolby Vision stream, from the record of an input that has no boxes (Matroska, MPEG-TS).
enum DolbyVisionBox {
    /// The box of the stream's record; nil without one.
    static func make(_ stream: AVStream) -> Box? {
        stream.sideData(AV_PKT_DATA_DOVI_CONF, as: AVDOVIDecoderConfigurationRecord.self).flatMap(make)
    }

    /// The types of the configuration box.
    static let types: Set<FourCC> = ["dvcC", "dvvC", "dvwC"]

    /// The box of a record's bytes, which are kept as they are; nil for fewer than a record has.
    static func make(_ record: [UInt8]) -> Box? {
        guard let configuration = try? DolbyVisionConfiguration(bytes: record), var box = make(configuration) else {
            return nil
        }
        box.fields = record
        return box
    }

    /// Whether a configuration box is of profile 5, whose base layer only Dolby Vision players show correctly
    /// (`dv_bl_signal_compatibility_id` 0).
    static func needsDolbyVision(_ box: Box) -> Bool {
        configuration(box)?.profile == 5
    }

    /// The record of a configuration box; nil for other boxes and for short ones.
    static func configuration(_ box: Box) -> DolbyVisionConfiguration? {
        types.contains(box.type) ? try? DolbyVisionConfiguration(bytes: Array(box.fields)) : nil
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

    /// The box of a record; nil where a field exceeds its bits.
    static func make(_ configuration: DolbyVisionConfiguration) -> Box? {
        let type: FourCC = configuration.profile > 10 ? "dvwC" : configuration.profile > 7 ? "dvvC" : "dvcC"
        return (try? configuration.bytes()).map { Box(type, $0) }
    }
}
