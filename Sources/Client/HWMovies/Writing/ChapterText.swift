// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// Chapters' titles as samples of text (QuickTime File Format, "Text Media").
enum ChapterText {
    /// The sample entry: no colors, no box, and one font.
    static let entry: Box = {
        var fields = [UInt8](repeating: 0, count: 7) + [1]
        // Flags, justification, background and box; then a style of font 1, whose table follows.
        fields += [UInt8](bigEndian: [1, 0, 0, 0, 0, 0, 0x1_0000])
        fields += [0, 0, 0, 0, 0, 0]
        return Box("text", fields + Box("ftab", [0, 1, 0, 1, 0]).bytes)
    }()

    /// `gmhd` of text, whose matrix changes nothing.
    static let mediaHeader: Box = {
        let information = [UInt8](bigEndian: [0, 0x0040_8000, 0x8000_8000, 0])
        var matrix = [UInt8](bigEndian: Box.identityMatrix)
        matrix[33] = 0
        return Box("gmhd", Box("gmin", information).bytes + Box("text", matrix).bytes)
    }()

    /// A sample: the length, the title, and the statement that it is UTF-8.
    static func sample(_ title: String) -> [UInt8] {
        let text = cut(title, to: Int(UInt16.max))
        var bytes: [UInt8] = []
        bytes.appendBigEndian(UInt16(text.count))
        return bytes + text + Box("encd", [0, 0, 1, 0]).bytes
    }

    /// The whole characters of a title's first bytes.
    static func cut(_ title: String, to count: Int) -> [UInt8] {
        var bytes = Array(title.utf8.prefix(count + 1))
        guard bytes.count > count else { return bytes }
        while bytes.removeLast() & 0xC0 == 0x80 {}
        return bytes
    }
}

extension WrittenTrack {
    /// The titles of chapters as samples of a track of text, and the media box that has them; nil without chapters.
    ///
    /// - Parameters:
    ///   - end: when the movie ends, in seconds: later chapters are left out.
    ///   - position: where the media box begins.
    static func chapters(
        _ chapters: [MovieChapter], until end: Double, isQuickTime: Bool, at position: UInt64
    ) -> (track: WrittenTrack, media: Box)? {
        let shown = chapters.filter { (0..<end).contains($0.seconds) }.sorted { $0.seconds < $1.seconds }
        guard !shown.isEmpty else { return nil }
        var track = WrittenTrack(chaptersOf: isQuickTime)
        var bytes: [UInt8] = []
        for (number, chapter) in shown.enumerated() {
            let until = number + 1 < shown.count ? shown[number + 1].seconds : end
            let times = [chapter.seconds, until].map { Int64(min($0 * 1000, Double(Int32.max)).rounded()) }
            let packet = WrittenPacket(
                bytes: ChapterText.sample(chapter.title), time: times[0], duration: times[1] - times[0])
            track.append(packet, at: position + UInt64(Box.headerSize + bytes.count))
            bytes += packet.bytes
        }
        return (track, Box("mdat", bytes))
    }
}
