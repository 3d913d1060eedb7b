// SPDX-License-Identifier: GPL-2.0-or-later

/// The languages of tracks that libavformat leaves out of a .mov.
///
/// It writes only those that have a Macintosh code there; QuickTime reads the packed letters of ISO 639-2/T as well
/// (QuickTime File Format, "Language code values"), as every .mp4 has them.
enum TrackLanguages {
    /// What stands for "none given": 0x7FFF, and the letters "und".
    private static let unspecified: UInt64 = 0x7FFF

    /// Writes the language of track 1, 2, … where the file has that track and none is written yet.
    static func write(_ languages: [String?], into movie: inout Box) throws(BoxError) {
        for track in movie.children.indices {
            // A stream without packets gets no track, but keeps its number.
            guard let number = movie.children[track].trackID, languages.indices.contains(number - 1),
                let code = languages[number - 1].flatMap(packed)
            else { continue }
            try movie.children[track].edit(["mdia", "mdhd"]) { header throws(BoxError) in
                // Behind two times, the time scale and the duration, which version 1 gives 8 bytes each (8.4.2).
                let place = header.fields.first == 1 ? 32 : 20
                guard header.fields.bigEndian(at: place, 2) == unspecified else { return }
                header.fields[place] = UInt8(code >> 8)
                header.fields[place + 1] = UInt8(code & 255)
            }
        }
    }

    /// Three letters of five bits each (ISO/IEC 14496-12 8.4.2.3); nil for what is no such code.
    private static func packed(_ language: String) -> UInt16? {
        let letters = Array(language.utf8)
        guard letters.count == 3, letters.allSatisfy({ (97...122).contains($0) }), language != "und" else {
            return nil
        }
        return letters.reduce(0) { $0 << 5 | UInt16($1 - 0x60) }
    }
}
