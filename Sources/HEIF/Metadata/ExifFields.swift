// SPDX-License-Identifier: GPL-2.0-or-later

/// The fields of an Exif structure that describe a photograph, read from its TIFF structure (Exif 2.32, 4.6).
public struct ExifFields: Hashable, Sendable {
    /// 1…8 (tag 0x0112); nil where it is not there.
    ///
    /// In HEIF files it says nothing about how the picture is shown.
    public private(set) var orientation: Int?
    public private(set) var make: String?
    public private(set) var model: String?
    public private(set) var software: String?
    /// When the picture was taken, else when the file was changed: "2023:06:01 12:00:00".
    public private(set) var date: String?
    public private(set) var lens: String?
    public private(set) var isoSpeed: Int?
    /// In seconds.
    public private(set) var exposureTime: Double?
    public private(set) var fNumber: Double?
    /// In millimeters.
    public private(set) var focalLength: Double?
    /// Where the value of `orientation` is in the structure.
    private var orientationPlace: Int?

    /// The most entries of a directory that are read.
    private static let mostEntries = 1024
    /// The longest text.
    private static let mostText = 256

    private enum Tag {
        static let make = 0x010F
        static let model = 0x0110
        static let orientation = 0x0112
        static let software = 0x0131
        static let date = 0x0132
        static let exposureTime = 0x829A
        static let fNumber = 0x829D
        static let exif = 0x8769
        static let isoSpeed = 0x8827
        static let dateTaken = 0x9003
        static let focalLength = 0x920A
        static let lens = 0xA434
    }

    /// Reads a structure; nil where it is none.
    ///
    /// Damaged fields are left out.
    public init?(tiff: [UInt8]) {
        guard let reader = TIFFReader(tiff), let first = reader.number(4, 4) else { return nil }
        read(reader, at: first)
        if let exif = reader.entry(Tag.exif, ofDirectoryAt: first, most: Self.mostEntries).flatMap(reader.integer) {
            read(reader, at: exif)
        }
    }

    private mutating func read(_ reader: TIFFReader, at directory: Int) {
        for entry in reader.entries(at: directory, most: Self.mostEntries) {
            switch entry.tag {
            case Tag.orientation:
                guard let value = reader.integer(entry), (1...8).contains(value) else { continue }
                (orientation, orientationPlace) = (value, entry.place + 8)
            case Tag.make: make = reader.text(entry, most: Self.mostText)
            case Tag.model: model = reader.text(entry, most: Self.mostText)
            case Tag.software: software = reader.text(entry, most: Self.mostText)
            case Tag.date: date = date ?? reader.text(entry, most: Self.mostText)
            case Tag.dateTaken: date = reader.text(entry, most: Self.mostText) ?? date
            case Tag.lens: lens = reader.text(entry, most: Self.mostText)
            case Tag.isoSpeed: isoSpeed = reader.integer(entry)
            case Tag.exposureTime: exposureTime = reader.ratio(entry)
            case Tag.fNumber: fNumber = reader.ratio(entry)
            case Tag.focalLength: focalLength = reader.ratio(entry)
            default: continue
            }
        }
    }

    /// The structure with another orientation; equal but for the two bytes of that field.
    ///
    /// nil where the structure is none. One without the field is returned as it is.
    public static func replacingOrientation(in tiff: [UInt8], with value: Int) -> [UInt8]? {
        guard let fields = ExifFields(tiff: tiff), let reader = TIFFReader(tiff) else { return nil }
        guard let place = fields.orientationPlace else { return tiff }
        var copy = tiff
        let bytes = [UInt8(truncatingIfNeeded: value), 0]
        copy.replaceSubrange(place..<place + 2, with: reader.isLittleEndian ? bytes : bytes.reversed())
        return copy
    }
}

/// Reads the directories of a TIFF structure.
private struct TIFFReader {
    /// One field: its tag, type and count, and where it is.
    struct Entry {
        let tag: Int
        let type: Int
        let count: Int
        let place: Int
    }

    let isLittleEndian: Bool
    private let bytes: [UInt8]

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
