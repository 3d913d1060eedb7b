// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes

/// The track languages that libavformat leaves out of a .mov.
///
/// Its muxer writes only languages with a Macintosh code there; QuickTime also reads the packed letters of ISO 639-2/T
/// (QuickTime File Format, "Language code values"), which every .mp4 uses.
package enum TrackLanguages {
    /// The value for "unspecified" in QuickTime, and the packed letters "und".
    private static let unspecified: UInt64 = 0x7FFF

    /// Writes the language of track 1, 2, … into each existing track that has none yet.
    package static func write(_ languages: [String?], into movie: inout Box) throws(BoxError) {
        for track in movie.children.indices {
            // A stream without packets gets no track, but keeps its number.
            guard let number = movie.children[track].trackID, languages.indices.contains(number - 1),
                let code = languages[number - 1].flatMap(packed)
            else { continue }
            try movie.children[track].edit(["mdia", "mdhd"]) { header throws(BoxError) in
                // The time scale has 4 bytes, the duration as many as each of the two times (8.4.2).
                let offset = header.offsetAfterTimes + 4 + (header.fields.first == 1 ? 8 : 4)
                guard header.fields.bigEndian(at: offset, 2) == unspecified else { return }
                header.fields[offset] = UInt8(code >> 8)
                header.fields[offset + 1] = UInt8(code & 255)
            }
        }
    }

    /// Three letters of five bits each (ISO/IEC 14496-12 8.4.2.3); nil for anything but a three-letter code.
    private static func packed(_ language: String) -> UInt16? {
        let letters = Array(language.utf8)
        guard letters.count == 3, letters.allSatisfy({ (97...122).contains($0) }), language != "und" else {
            return nil
        }
        return letters.reduce(0) { $0 << 5 | UInt16($1 - 0x60) }
    }
}
