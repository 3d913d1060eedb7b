// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes
package import HWDHEVC

/// The configuration box of a Dolby Vision stream, from the record of an input that has no boxes (Matroska, MPEG-TS).
package enum DolbyVisionBox {
    /// The types of the configuration box.
    static let types: Set<FourCC> = ["dvcC", "dvvC", "dvwC"]

    /// The box of a record's bytes, which are kept as they are; nil for fewer than a record has.
    package static func make(_ record: [UInt8]) -> Box? {
        guard let configuration = try? DolbyVisionConfiguration(bytes: record), var box = make(configuration) else {
            return nil
        }
        box.fields = record
        return box
    }

    /// Whether a configuration box is of profile 5, whose base layer only Dolby Vision players show correctly
    /// (`dv_bl_signal_compatibility_id` 0).
    package static func needsDolbyVision(_ box: Box) -> Bool {
        configuration(box)?.profile == 5
    }

    /// The record of a configuration box; nil for other boxes and for short ones.
    package static func configuration(_ box: Box) -> DolbyVisionConfiguration? {
        types.contains(box.type) ? try? DolbyVisionConfiguration(bytes: Array(box.fields)) : nil
    }

    /// The box of a record; nil where a field exceeds its bits.
    package static func make(_ configuration: DolbyVisionConfiguration) -> Box? {
        let type: FourCC = configuration.profile > 10 ? "dvwC" : configuration.profile > 7 ? "dvvC" : "dvcC"
        return (try? configuration.bytes()).map { Box(type, $0) }
    }
}
