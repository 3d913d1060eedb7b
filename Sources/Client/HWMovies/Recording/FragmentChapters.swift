// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// Chapters within fragments, where a recorder that dies leaves them: `chpl` in a fragment's `udta` (ISO/IEC 14496-12 8.10.1).
///
/// `chpl` is Nero's list of chapters, which libavformat reads as well: times in 100 ns, and titles of at most 255 bytes.
struct FragmentChapters: Sendable {
    /// Titles by the times, in 100 ns.
    private var titles: [UInt64: String] = [:]

    /// A list's entries at most: their number has a byte.
    private static let listSize = 255
    /// Bytes of entries that a fragment repeats at most: thousands of fragments may have new chapters.
    private static let greatestRepeat = 4096
    private static let longestTitle = 255
    private static let ticksPerSecond = 1e7
    /// Chapters that are read of a file at most.
    private static let greatestCount = 1 << 16

    /// In the order of their times.
    var chapters: [MovieChapter] {
        titles.sorted { $0.key < $1.key }.map {
            MovieChapter(seconds: Double($0.key) / Self.ticksPerSecond, title: $0.value)
        }
    }

    /// Adds those of a fragment's `udta`: one with the time of an earlier one replaces it.
    mutating func add(_ body: ArraySlice<UInt8>) throws(BoxError) {
        var lists = BoxList(body)
        while let (header, body) = try lists.next() {
            guard header.type == "chpl" else { continue }
            var list = BoxFields("chpl", body)
            if try list.versionAndFlags(upTo: 1).version == 1 { _ = try list.take(4) }
            let count = try list.int(1)
            for _ in 0..<count where titles.count < Self.greatestCount {
                let time = try list.number(8)
                let length = try list.int(1)
                titles[time] = String(decoding: try list.take(length), as: UTF8.self)
            }
        }
    }

    /// The `udta` of a fragment; nil where nothing is new.
    ///
    /// Readers number the entries of a list from its first, so the last of those before the new ones are in it as well.
    /// - Parameter stored: what earlier fragments have.
    static func box(_ chapters: [MovieChapter], after stored: [MovieChapter]) -> Box? {
        guard chapters != stored else { return nil }
        let known = zip(chapters, stored).prefix { $0 == $1 }.count
        guard known < chapters.count else { return nil }
        var (first, size) = (known, 0)
        while first > 0, chapters.count - first < listSize {
            size += 9 + min(longestTitle, chapters[first - 1].title.utf8.count)
            guard size <= greatestRepeat else { break }
            first -= 1
        }
        var rest = chapters[first...]
        var lists: [Box] = []
        while !rest.isEmpty {
            let list = rest.prefix(listSize)
            rest = rest.dropFirst(list.count)
            // Version 1, and four bytes without a meaning.
            var fields = [UInt8](bigEndian: [0x0100_0000, 0]) + [UInt8(list.count)]
            for chapter in list {
                let seconds = min(max(0, chapter.seconds), Double(UInt32.max))
                let title = ChapterText.cut(chapter.title, to: longestTitle)
                fields.appendBigEndian(UInt64((seconds * ticksPerSecond).rounded()))
                fields += [UInt8(title.count)] + title
            }
            lists.append(Box("chpl", fields))
        }
        return Box("udta", children: lists)
    }
}
