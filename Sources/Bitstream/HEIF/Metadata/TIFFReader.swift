// SPDX-License-Identifier: MIT

/// Reads the directories of a TIFF structure.
struct TIFFReader {
    /// One field: its tag, type and count, and where it is.
    struct Entry {
        let tag: Int
        let type: Int
        let count: Int
        let place: Int
    }

    let isLittleEndian: Bool
    let bytes: [UInt8]

    private static let ascii = 2
    private static let short = 3
    private static let long = 4
    private static let rational = 5

    init?(_ bytes: [UInt8]) {
        switch bytes.prefix(4) {
        case [0x49, 0x49, 42, 0]: isLittleEndian = true
        case [0x4D, 0x4D, 0, 42]: isLittleEndian = false
        default: return nil
        }
        self.bytes = bytes
    }

    /// The number in `count` bytes; nil where the structure ends before.
    func number(_ place: Int, _ count: Int) -> Int? {
        guard place >= 0, count <= bytes.count, place <= bytes.count - count else { return nil }
        let part = bytes[place..<place + count]
        return isLittleEndian
            ? part.reversed().reduce(0) { $0 << 8 | Int($1) } : part.reduce(0) { $0 << 8 | Int($1) }
    }

    /// The fields of a directory, as many as there are bytes for.
    func entries(at directory: Int, most: Int) -> [Entry] {
        guard let count = number(directory, 2) else { return [] }
        return (0..<min(count, most)).compactMap { index in
            let place = directory + 2 + 12 * index
            guard let tag = number(place, 2), let type = number(place + 2, 2), let count = number(place + 4, 4),
                number(place + 8, 4) != nil
            else { return nil }
            return Entry(tag: tag, type: type, count: count, place: place)
        }
    }

    func entry(_ tag: Int, ofDirectoryAt directory: Int, most: Int) -> Entry? {
        entries(at: directory, most: most).first { $0.tag == tag }
    }

    /// A whole number; the first of several.
    func integer(_ entry: Entry) -> Int? {
        guard entry.count > 0 else { return nil }
        switch entry.type {
        case Self.short: return number(entry.count <= 2 ? entry.place + 8 : number(entry.place + 8, 4) ?? -1, 2)
        case Self.long: return number(entry.count == 1 ? entry.place + 8 : number(entry.place + 8, 4) ?? -1, 4)
        default: return nil
        }
    }

    func ratio(_ entry: Entry) -> Double? {
        guard entry.type == Self.rational, entry.count > 0, let place = number(entry.place + 8, 4),
            let numerator = number(place, 4), let denominator = number(place + 4, 4), denominator > 0
        else { return nil }
        return Double(numerator) / Double(denominator)
    }

    /// Bytes of a value of each type, from 1 (TIFF 6.0; 13 is an offset of Exif's own directories).
    static let typeSizes = [1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4]

    /// The bytes of an entry's values; nil for an unknown type, and where they lead outside of the structure.
    func data(_ entry: Entry) -> [UInt8]? { slice(entry).map(Array.init) }

    /// The same without a copy.
    func slice(_ entry: Entry) -> ArraySlice<UInt8>? {
        guard Self.typeSizes.indices.contains(entry.type - 1), entry.count >= 0, entry.count <= bytes.count else {
            return nil
        }
        let length = entry.count * Self.typeSizes[entry.type - 1]
        guard length <= bytes.count, let place = length <= 4 ? entry.place + 8 : number(entry.place + 8, 4),
            place >= 0, place <= bytes.count - length
        else { return nil }
        return bytes[place..<place + length]
    }

    /// A text without the NUL and spaces at its end; nil where it is empty.
    func text(_ entry: Entry, most: Int) -> String? {
        guard entry.type == Self.ascii, entry.count > 0 else { return nil }
        let length = min(entry.count, most)
        guard let place = entry.count <= 4 ? entry.place + 8 : number(entry.place + 8, 4), place >= 0,
            length <= bytes.count, place <= bytes.count - length
        else { return nil }
        let part = bytes[place..<place + length].prefix { $0 != 0 }
        let end = part.lastIndex { $0 != 32 }.map { $0 + 1 } ?? part.startIndex
        return end == part.startIndex ? nil : String(decoding: part[..<end], as: UTF8.self)
    }
}
