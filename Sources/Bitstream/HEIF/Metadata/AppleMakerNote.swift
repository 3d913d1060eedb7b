// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// The MakerNote of Apple's cameras: a TIFF directory whose offsets count from the note's first byte.
struct AppleMakerNote: Hashable, Sendable {
    /// A field of the directory.
    private struct Field: Hashable {
        var tag: Int
        var type: Int
        var count: Int
        var data: [UInt8]
    }

    private var fields: [Field] = []

    private static let signature = Array("Apple iOS".utf8) + [0, 0, 1]
    /// The directory's first byte, behind the signature and the byte order.
    private static let directory = 14
    private static let versionTag = 0x0001
    private static let identifierTag = 0x0011
    private static let maxFields = 1024
    /// Types of TIFF.
    private static let (text, signedLong) = (2, 9)

    /// A note with nothing but its version.
    init() {
        fields = [Field(tag: Self.versionTag, type: Self.signedLong, count: 1, data: [0, 0, 0, 14])]
    }

    /// Reads a note; nil for one of another maker, and for a damaged one.
    init?(_ bytes: [UInt8]) {
        guard bytes.starts(with: Self.signature), bytes.count >= Self.directory + 2,
            bytes[12..<14].elementsEqual("MM".utf8)
        else { return nil }
        // A reader of TIFF whose offsets count from the note's first byte.
        guard let reader = TIFFReader([0x4D, 0x4D, 0, 42] + bytes.dropFirst(4)) else { return nil }
        for entry in reader.entries(at: Self.directory, most: Self.maxFields) {
            guard let data = reader.data(entry) else { return nil }
            fields.append(Field(tag: entry.tag, type: entry.type, count: entry.count, data: data))
        }
    }

    /// The identifier that both parts of a Live Photo have.
    var contentIdentifier: String? {
        get {
            guard let field = fields.first(where: { $0.tag == Self.identifierTag && $0.type == Self.text }) else {
                return nil
            }
            let text = String(decoding: field.data.prefix(64).prefix { $0 != 0 }, as: UTF8.self)
            return text.isEmpty ? nil : text
        }
        set {
            fields.removeAll { $0.tag == Self.identifierTag }
            guard let newValue else { return }
            let data = Array(newValue.utf8) + [0]
            let place = fields.firstIndex { $0.tag > Self.identifierTag } ?? fields.endIndex
            fields.insert(Field(tag: Self.identifierTag, type: Self.text, count: data.count, data: data), at: place)
        }
    }

    /// The note; what does not fit an entry follows the directory.
    var bytes: [UInt8] {
        var (head, tail) = (Self.signature + Array("MM".utf8), [UInt8]())
        let end = Self.directory + 2 + 12 * fields.count + 4
        head.appendBigEndian(UInt16(truncatingIfNeeded: fields.count))
        for field in fields {
            head.appendBigEndian(UInt16(truncatingIfNeeded: field.tag))
            head.appendBigEndian(UInt16(truncatingIfNeeded: field.type))
            head.appendBigEndian(UInt32(truncatingIfNeeded: field.count))
            if field.data.count <= 4 {
                head += field.data + [UInt8](repeating: 0, count: 4 - field.data.count)
            } else {
                head.appendBigEndian(UInt32(truncatingIfNeeded: end + tail.count))
                tail += field.data + (field.data.count % 2 == 1 ? [0] : [])
            }
        }
        return head + [0, 0, 0, 0] + tail
    }
}
