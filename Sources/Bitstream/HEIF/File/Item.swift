// SPDX-License-Identifier: MIT
public import HWDBoxes

/// An item of a file: a picture, a derivation of pictures, or metadata (ISO/IEC 14496-12 8.11.6).
///
/// Small on purpose, because a grid has one for each of its tiles; the texts of items are in `HEIFFile.texts`.
public struct Item: Hashable, Sendable {
    public let id: UInt32
    /// `hvc1`, `grid`, `Exif`, `mime`, ….
    public let type: FourCC
    /// Not meant to be shown on its own, as the tiles of a grid.
    public let isHidden: Bool
    /// Encrypted or otherwise not readable as it is.
    public let isProtected: Bool
    /// The associations of its properties in the file's table.
    var properties: Range<UInt32> = 0..<0
    /// Its location in the file's table; nil where its bytes are nowhere, as those of `iden`.
    var location: UInt32?

    /// How pictures of the type come about; nil for items that are no pictures or of an unknown type.
    public var picture: ItemPictureKind? { ItemPictureKind(type) }
}

/// How the picture of an item comes about.
public enum ItemPictureKind: Hashable, Sendable {
    case coded
    case grid
    case overlay
    /// The picture of another item, with transformations of its own.
    case identity
    /// A picture and a gain map (ISO 21496-1), shown as the picture.
    case toneMap

    private static let codedTypes: Set<FourCC> = [
        "hvc1", "hev1", "lhv1", "lhe1", "avc1", "av01", "vvc1", "evc1", "jpeg", "j2k1", "unci", "mski",
    ]

    init?(_ type: FourCC) {
        switch type {
        case "grid": self = .grid
        case "iovl": self = .overlay
        case "iden": self = .identity
        case "tmap": self = .toneMap
        default:
            guard Self.codedTypes.contains(type) else { return nil }
            self = .coded
        }
    }
}

/// The texts of an item, kept for those alone that have some.
public struct ItemText: Hashable, Sendable {
    public var name = ""
    /// The MIME type of a `mime` item, the URI of a `uri ` item.
    public var contentType = ""
    public var contentEncoding = ""
}

/// The items of a file, by rising id.
struct ItemTable: Sendable {
    private(set) var items: [Item] = []
    private(set) var texts: [UInt32: ItemText] = [:]

    init() {}

    /// Reads an `iinf` box (ISO/IEC 14496-12 8.11.6).
    init(_ body: ArraySlice<UInt8>) throws(BoxError) {
        var fields = BoxFields("iinf", body)
        // Version 2 exists in files of Nokia's first writer; it is laid out as version 1.
        let (version, _) = try fields.versionAndFlags(upTo: 2)
        let count = try fields.int(version == 0 ? 2 : 4)
        guard count <= HEIFLimits.items else {
            throw BoxError("the file has \(count) items; \(HEIFLimits.items) are supported")
        }
        var list = BoxList(fields.rest)
        while let (header, body) = try list.next() {
            guard header.type == "infe" else { continue }
            guard items.count < count else { throw BoxError("the file states \(count) items and has more") }
            try add(body)
        }
        guard items.count == count else {
            throw BoxError("the file states \(count) items and has \(items.count)")
        }
        if !zip(items, items.dropFirst()).allSatisfy({ $0.id < $1.id }) { items.sort { $0.id < $1.id } }
        for (item, next) in zip(items, items.dropFirst()) where item.id == next.id {
            throw BoxError("the file has two items \(item.id)")
        }
    }

    private mutating func add(_ body: ArraySlice<UInt8>) throws(BoxError) {
        var fields = BoxFields("infe", body)
        let (version, flags) = try fields.versionAndFlags(upTo: 3)
        let id = UInt32(try fields.number(version == 3 ? 4 : 2))
        let protection = try fields.int(2)
        // Before version 2 items have a MIME type only.
        let type = version < 2 ? "mime" : try fields.fourCC()
        var text = ItemText(name: fields.text())
        if type == "mime" || type == "uri " { text.contentType = fields.text() }
        if type == "mime" { text.contentEncoding = fields.text() }
        if text != ItemText() { texts[id] = text }
        items.append(Item(id: id, type: type, isHidden: flags & 1 == 1, isProtected: protection != 0))
    }

    /// The place of an item; nil where there is none of the id.
    func index(_ id: UInt32) -> Int? {
        var (low, high) = (0, items.count)
        while low < high {
            let middle = (low + high) / 2
            if items[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < items.count && items[low].id == id ? low : nil
    }

    mutating func set(properties: Range<UInt32>, at index: Int) { items[index].properties = properties }
    mutating func set(location: UInt32, at index: Int) { items[index].location = location }
}
