// SPDX-License-Identifier: MIT

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
    /// The identifier that Apple's cameras write into both parts of a Live Photo (tag 0x0011 of their MakerNote).
    public private(set) var contentIdentifier: String?
    /// Whether the colors are in no known space (tag 0xA001, 65535), as cameras say of Display P3.
    public private(set) var isUncalibrated = false
    /// Where the value of `orientation` is in the structure.
    private var orientationPlace: Int?

    /// The most entries of a directory that are read.
    private static let maxEntries = 1024
    /// The longest text.
    private static let maxText = 256

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
        static let makerNote = 0x927C
        static let colorSpace = 0xA001
    }

    /// Reads a structure; nil where it is none.
    ///
    /// Damaged fields are left out.
    public init?(tiff: [UInt8]) {
        guard let reader = TIFFReader(tiff), let first = reader.number(4, 4) else { return nil }
        read(reader, at: first)
        if let exif = reader.entry(Tag.exif, ofDirectoryAt: first, most: Self.maxEntries).flatMap(reader.integer) {
            read(reader, at: exif)
        }
    }

    private mutating func read(_ reader: TIFFReader, at directory: Int) {
        for entry in reader.entries(at: directory, most: Self.maxEntries) {
            switch entry.tag {
            case Tag.orientation:
                guard let value = reader.integer(entry), (1...8).contains(value) else { continue }
                (orientation, orientationPlace) = (value, entry.place + 8)
            case Tag.make: make = reader.text(entry, most: Self.maxText)
            case Tag.model: model = reader.text(entry, most: Self.maxText)
            case Tag.software: software = reader.text(entry, most: Self.maxText)
            case Tag.date: date = date ?? reader.text(entry, most: Self.maxText)
            case Tag.dateTaken: date = reader.text(entry, most: Self.maxText) ?? date
            case Tag.lens: lens = reader.text(entry, most: Self.maxText)
            case Tag.isoSpeed: isoSpeed = reader.integer(entry)
            case Tag.exposureTime: exposureTime = reader.ratio(entry)
            case Tag.fNumber: fNumber = reader.ratio(entry)
            case Tag.makerNote:
                contentIdentifier = reader.data(entry).flatMap(AppleMakerNote.init)?.contentIdentifier
            case Tag.colorSpace: isUncalibrated = reader.integer(entry) == 0xFFFF
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
