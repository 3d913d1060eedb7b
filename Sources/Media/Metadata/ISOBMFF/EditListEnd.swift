// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes

/// The end of what an edit list shows (ISO/IEC 14496-12 8.6.6).
///
/// libavformat's muxer shows a track to its last sample. A copy also has the samples behind the end of the source's edit
/// list, because others may depend on them, and must not show them.
package enum EditListEnd {
    /// Shortens the last edit of a track so that the track ends at `seconds` of the movie's time line.
    ///
    /// The durations in the headers of the track and the movie follow. A track that ends earlier is left as it is.
    /// - Throws: an error where the track or one of its boxes is missing or damaged.
    package static func write(_ seconds: Double, track number: Int, into movie: inout Box) throws(BoxError) {
        guard let header = movie.first("mvhd"),
            let scale = header.fields.bigEndian(at: header.offsetAfterTimes, 4),
            let index = movie.children.firstIndex(where: { $0.trackID == number })
        else { throw BoxError("the movie has no track \(number)") }
        let ticks = (seconds * Double(scale)).rounded()
        guard ticks >= 1, ticks < Double(Int64.max) else { return }
        let end = UInt64(ticks)
        var isShortened = false
        let isFound = try movie.children[index].edit(["edts", "elst"]) { list throws(BoxError) in
            isShortened = try shorten(&list, to: end)
        }
        guard isFound else { throw BoxError("track \(number) has no edit list") }
        guard isShortened else { return }
        try movie.children[index].edit(["tkhd"]) { header throws(BoxError) in
            // track_ID and a reserved word precede the duration (8.3.2).
            try set(end, at: header.offsetAfterTimes + 8, in: &header)
        }
        let longest = try movie.children.filter { $0.type == "trak" }.map { track throws(BoxError) in
            guard let header = track.first("tkhd") else { throw BoxError("a track has no header") }
            return header.fields.bigEndian(at: header.offsetAfterTimes + 8, header.fields.first == 1 ? 8 : 4) ?? 0
        }.max()
        try movie.edit(["mvhd"]) { header throws(BoxError) in
            try set(longest ?? end, at: header.offsetAfterTimes + 4, in: &header)
        }
    }

    /// The most edits of a track: more than a movie box of 64 MiB can have.
    private static let maxCount = 1 << 24

    /// The durations of a list's edits, in ticks of the movie; nil where the list is empty, damaged or too long.
    static func durations(_ list: Box) -> [UInt64]? {
        let (width, entrySize) = entry(list)
        guard let count = list.fields.bigEndian(at: 4, 4), (1...UInt64(maxCount)).contains(count),
            list.fields.count >= 8 + Int(count) * entrySize
        else { return nil }
        return (0..<Int(count)).map { list.fields.bigEndian(at: 8 + $0 * entrySize, width) ?? 0 }
    }

    /// Bytes of a duration, and of an edit: duration, media time, rate.
    private static func entry(_ list: Box) -> (width: Int, size: Int) {
        list.fields.first == 1 ? (8, 20) : (4, 12)
    }

    /// Shortens the last edit; false where the list does not last longer than `end`.
    private static func shorten(_ list: inout Box, to end: UInt64) throws(BoxError) -> Bool {
        guard let durations = durations(list) else { throw BoxError("the edit list is damaged") }
        let before = durations.dropLast().reduce(0) { $0 &+ $1 }
        guard let last = durations.last, end > before, end - before < last else { return false }
        try set(end - before, at: 8 + (durations.count - 1) * entry(list).size, in: &list)
        return true
    }

    /// Writes a number of 8 bytes in version 1 of a box, else of 4.
    private static func set(_ value: UInt64, at offset: Int, in box: inout Box) throws(BoxError) {
        var bytes: [UInt8] = []
        if box.fields.first == 1 {
            bytes.appendBigEndian(value)
        } else {
            bytes.appendBigEndian(UInt32(clamping: value))
        }
        guard offset + bytes.count <= box.fields.count else { throw BoxError("the box \"\(box.type)\" is cut off") }
        box.fields.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
}
