// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// Adds fields to an Exif structure; what is there keeps its place, since fields name places in the structure.
public struct ExifEditor: Sendable {
    /// The structure.
    public private(set) var tiff: [UInt8]

    private enum Tag {
        static let exif = 0x8769
        static let dateTaken = 0x9003
        static let offsetOfDateTaken = 0x9011
        static let makerNote = 0x927C
        static let fractionOfDateTaken = 0x9291
    }

    private static let (text, long, undefined) = (2, 4, 7)
    private static let maxEntries = 1024

    /// A structure without fields.
    public init() { tiff = [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0] }

    /// A structure to change; nil where it is none.
    public init?(_ tiff: [UInt8]) {
        guard let reader = TIFFReader(tiff), let first = reader.number(4, 4), reader.number(first, 2) != nil else {
            return nil
        }
        self.tiff = tiff
    }

    /// Sets the identifier of a Live Photo.
    ///
    /// - Returns: whether the MakerNote was empty or Apple's; one of another maker is replaced.
    /// - Throws: `limit` for a structure that is too large.
    public mutating func setContentIdentifier(_ identifier: String) throws(HEIFError) -> Bool {
        let known = exifDirectory.flatMap { value(Tag.makerNote, ofDirectoryAt: $0) }
        let note = known.map { AppleMakerNote($0) } ?? AppleMakerNote()
        var written = note ?? AppleMakerNote()
        written.contentIdentifier = identifier
        try set(Tag.makerNote, type: Self.undefined, written.bytes)
        return note != nil
    }

    /// Sets when the picture was taken (DateTimeOriginal, SubSecTimeOriginal and OffsetTimeOriginal, Exif 2.32 4.6.5).
    ///
    /// - Parameters:
    ///   - date: in local time, such as "2023:06:01 12:00:00".
    ///   - microseconds: of the second, 0 to 999,999.
    ///   - offset: of local time from UTC, such as "+02:00".
    /// - Throws: `limit` for a structure that is too large.
    public mutating func setDateTaken(_ date: String, microseconds: Int, offset: String) throws(HEIFError) {
        let digits = String(microseconds)
        let fraction = String(repeating: "0", count: max(0, 6 - digits.count)) + digits
        try set(Tag.dateTaken, type: Self.text, Array(date.utf8) + [0])
        try set(Tag.fractionOfDateTaken, type: Self.text, Array(fraction.utf8) + [0])
        try set(Tag.offsetOfDateTaken, type: Self.text, Array(offset.utf8) + [0])
    }

    /// Sets a field of the Exif directory.
    /// - Parameter bytes: more than 4, which the field itself would hold.
    private mutating func set(_ tag: Int, type: Int, _ bytes: [UInt8]) throws(HEIFError) {
        let place = append(bytes)
        let exif = try directory(at: exifDirectory, setting: tag, type: type, count: bytes.count, value: place)
        let first = reader?.number(4, 4)
        let main = try directory(at: first, setting: Tag.exif, type: Self.long, count: 1, value: exif)
        tiff.replaceSubrange(4..<8, with: number(main, 4))
    }

    private var reader: TIFFReader? { TIFFReader(tiff) }

    private var exifDirectory: Int? {
        guard let reader, let first = reader.number(4, 4) else { return nil }
        return reader.entry(Tag.exif, ofDirectoryAt: first, most: Self.maxEntries).flatMap(reader.integer)
    }

    private func value(_ tag: Int, ofDirectoryAt place: Int) -> [UInt8]? {
        guard let reader else { return nil }
        return reader.entry(tag, ofDirectoryAt: place, most: Self.maxEntries).flatMap(reader.data)
    }

    /// Writes a copy of a directory with a field at the end of the structure, and returns its place.
    ///
    /// - Parameter place: nil for a new directory.
    private mutating func directory(
        at place: Int?, setting tag: Int, type: Int, count: Int, value: Int
    ) throws(HEIFError) -> Int {
        let known = place.flatMap { reader?.number($0, 2) } ?? 0
        var (entries, next): ([[UInt8]], [UInt8]) = ([], [0, 0, 0, 0])
        if let place, known > 0 {
            guard known < Self.maxEntries, place + 2 + 12 * known <= tiff.count else {
                throw HEIFError(.malformed, "the directory of Exif at byte \(place) is cut off")
            }
            entries = (0..<known).map { Array(tiff[place + 2 + 12 * $0..<place + 14 + 12 * $0]) }
            let end = place + 2 + 12 * known
            if end + 4 <= tiff.count { next = Array(tiff[end..<end + 4]) }
        }
        func tagOf(_ entry: [UInt8]) -> Int {
            isLittleEndian ? Int(entry[1]) << 8 | Int(entry[0]) : Int(entry[0]) << 8 | Int(entry[1])
        }
        entries.removeAll { tagOf($0) == tag }
        let entry = number(tag, 2) + number(type, 2) + number(count, 4) + number(value, 4)
        entries.insert(entry, at: entries.firstIndex { tagOf($0) > tag } ?? entries.endIndex)
        let written = append(number(entries.count, 2) + entries.flatMap { $0 } + next)
        guard UInt64(tiff.count) <= HEIFLimits.metadataSize else { throw HEIFError(.limit, "Exif is too large") }
        return written
    }

    private var isLittleEndian: Bool { tiff[0] == 0x49 }

    private func number(_ value: Int, _ count: Int) -> [UInt8] {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        return isLittleEndian ? bytes : bytes.reversed()
    }

    /// Appends bytes at an even place, and returns it.
    private mutating func append(_ bytes: [UInt8]) -> Int {
        if tiff.count % 2 == 1 { tiff.append(0) }
        defer { tiff += bytes }
        return tiff.count
    }
}
