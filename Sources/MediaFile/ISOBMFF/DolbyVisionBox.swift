// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV

/// The configuration box of a Dolby Vision stream, from the record of an input that has no boxes (Matroska, MPEG-TS).
enum DolbyVisionBox {
    /// Makes `dvcC` for profiles up to 7, `dvvC` up to 10 and `dvwC` above ("Dolby Vision Streams Within the ISO Base Media
    /// File Format" 2.4, 3.1); nil without a record.
    static func make(_ stream: AVStream) -> Box? {
        stream.sideData(AV_PKT_DATA_DOVI_CONF, as: AVDOVIDecoderConfigurationRecord.self).flatMap(make)
    }

    /// The types of the configuration box.
    static let types: Set<FourCC> = ["dvcC", "dvvC", "dvwC"]
    /// Bytes of its body.
    static let size = 24

    /// The box with this body: its type follows from the profile.
    static func make(_ record: [UInt8]) -> Box {
        let profile = record.count > 2 ? record[2] >> 1 : 0
        return Box(type(ofProfile: profile), record)
    }

    private static func type(ofProfile profile: UInt8) -> FourCC { profile > 10 ? "dvwC" : profile > 7 ? "dvvC" : "dvcC" }

    /// Whether a configuration box is of profile 5, whose base layer only Dolby Vision players show correctly
    /// (`dv_bl_signal_compatibility_id` 0).
    static func needsDolbyVision(_ box: Box) -> Bool {
        guard types.contains(box.type), let bits = box.fields.bigEndian(at: 2, 2) else {
            return false
        }
        return bits >> 9 == 5
    }

    /// The box of a record; nil where a field exceeds its bits.
    static func make(_ record: AVDOVIDecoderConfigurationRecord) -> Box? {
        guard record.dv_profile < 1 << 7, record.dv_level < 1 << 6, record.dv_bl_signal_compatibility_id < 1 << 4
        else { return nil }
        let flags = [record.rpu_present_flag, record.el_present_flag, record.bl_present_flag]
        let bits =
            UInt16(record.dv_profile) << 9 | UInt16(record.dv_level) << 3
            | flags.reduce(0) { $0 << 1 | ($1 == 0 ? 0 : 1) }
        var bytes = [record.dv_version_major, record.dv_version_minor]
        bytes.appendBigEndian(bits)
        bytes.append(record.dv_bl_signal_compatibility_id << 4)
        // 28 and 4 × 32 reserved bits, the first four of which share a byte with the identifier.
        bytes += [UInt8](repeating: 0, count: 19)
        return make(bytes)
    }
}
