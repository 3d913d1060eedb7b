// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// The headers of a track that is written (ISO/IEC 14496-12 8.3, 8.4).
struct TrackBoxes {
    let id: UInt32
    /// In ticks of the movie.
    let duration: UInt64
    /// In ticks of the track.
    let mediaDuration: UInt64
    let timeScale: UInt32
    let isQuickTime: Bool

    func video(
        _ matrix: [UInt32], _ language: String?, size: [UInt32], _ edits: Box, _ table: Box, chapters: UInt32? = nil
    ) -> Box {
        var children = [
            header(matrix, size, volume: 0), edits,
            media("vide", language, Box("vmhd", [0, 0, 0, 1] + [UInt8](repeating: 0, count: 8)), table),
        ]
        if let chapters {
            children.insert(Self.chapterReference(chapters), at: 2)
        }
        return Box("trak", children: children)
    }

    /// A track's reference to that with its chapters.
    static func chapterReference(_ track: UInt32) -> Box {
        Box("tref", Box("chap", [UInt8](bigEndian: [track])).bytes)
    }

    /// A track that players show as chapters and not as a picture: it is not enabled.
    func chapters(_ edits: Box, _ table: Box) -> Box {
        Box(
            "trak",
            children: [
                header(Box.identityMatrix, [0, 0], volume: 0, flags: 2), edits,
                media("text", nil, ChapterText.mediaHeader, table),
            ])
    }

    func sound(_ settings: SoundTrackSettings, _ edits: Box, _ table: Box) -> Box {
        Box(
            "trak",
            children: [
                header(Box.identityMatrix, [0, 0], volume: 0x0100), edits,
                media("soun", settings.language, Box("smhd", [UInt8](repeating: 0, count: 8)), table),
            ])
    }

    /// Times of a header: version 1 where 32 bits do not hold the duration.
    static func times(_ flags: UInt32, _ duration: UInt64, _ between: [UInt32]) -> [UInt8] {
        let isWide = duration > UInt64(UInt32.max)
        var bytes = [UInt8](bigEndian: [(isWide ? 0x0100_0000 : 0) | flags])
        // Neither a time of creation nor one of a change.
        bytes += [UInt8](repeating: 0, count: isWide ? 16 : 8) + [UInt8](bigEndian: between)
        if isWide { bytes.appendBigEndian(duration) } else { bytes.appendBigEndian(UInt32(duration)) }
        return bytes
    }

    private func header(_ matrix: [UInt32], _ size: [UInt32], volume: UInt32, flags: UInt32 = 3) -> Box {
        // Enabled (1) and in the movie (2).
        let fields = Self.times(flags, duration, [id, 0]) + [UInt8](bigEndian: [0, 0, 0, volume << 16])
        return Box("tkhd", fields + [UInt8](bigEndian: matrix + size))
    }

    private func media(_ handler: FourCC, _ language: String?, _ mediaHeader: Box, _ table: Box) -> Box {
        let header = Box("mdhd", Self.times(0, mediaDuration, [timeScale]) + Self.packed(language) + [0, 0])
        var information = [mediaHeader]
        if isQuickTime { information.append(self.handler("dhlr", "url ", "DataHandler")) }
        information += [.sameFileData, table]
        let name = handler == "vide" ? "VideoHandler" : handler == "soun" ? "SoundHandler" : "TextHandler"
        return Box(
            "mdia",
            children: [
                header, self.handler(isQuickTime ? "mhlr" : nil, handler, name), Box("minf", children: information),
            ])
    }

    /// `hdlr`, whose name is preceded by its length in QuickTime and ends with a zero in MP4.
    private func handler(_ component: FourCC?, _ type: FourCC, _ name: String) -> Box {
        let fields = [UInt8](bigEndian: [0, component?.rawValue ?? 0, type.rawValue, 0, 0, 0])
        let text = Array(name.utf8)
        return Box("hdlr", fields + (isQuickTime ? [UInt8(text.count)] + text : text + [0]))
    }

    /// Three letters of five bits each (8.4.2.3).
    private static func packed(_ language: String?) -> [UInt8] {
        let letters = Array((language ?? "und").utf8)
        guard letters.count == 3, letters.allSatisfy({ (97...122).contains($0) }) else { return [0x55, 0xC4] }
        let code = letters.reduce(0) { $0 << 5 | UInt16($1 - 0x60) }
        return [UInt8(code >> 8), UInt8(code & 255)]
    }
}
