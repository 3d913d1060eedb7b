// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// An item that is written.
struct NewItem: Sendable {
    var id: UInt32
    var type: FourCC
    var isHidden = false
    var contentType = ""
    /// Indices of properties, with whether a reader must know them.
    var properties: [(index: Int, isEssential: Bool)] = []
    /// The bytes of an item that is in `idat`; nil for one in `mdat`.
    var body: [UInt8]?
}

/// The `meta` box of a file: items, their properties and where their bytes are.
///
/// All fields have fixed widths, so its size does not depend on where the bytes are.
struct MetaWriter: Sendable {
    private(set) var items: [NewItem] = []
    var primary: UInt32 = 0
    var references: [(type: FourCC, from: UInt32, to: [UInt32])] = []
    var groups: [EntityGroup] = []
    /// Whether offsets and lengths have 64 bits.
    var usesLargeOffsets = false
    /// The distinct properties.
    private(set) var properties: [Box] = []
    private var known: [Box: Int] = [:]

    /// The index of a property, which is added where it is new.
    mutating func index(_ property: ItemProperty) throws(HEIFError) -> Int {
        let box = try property.box()
        if let index = known[box] { return index }
        guard properties.count < HEIFLimits.properties else {
            throw HEIFError(.limit, "the file needs more than \(HEIFLimits.properties) properties")
        }
        known[box] = properties.count
        properties.append(box)
        return properties.count - 1
    }

    /// Whether ids need 32 bits, which FFmpeg up to 8.1 does not read in `infe`.
    private var isWide = false

    /// Adds an item, whose id is higher than those before.
    mutating func append(_ item: NewItem) {
        items.append(item)
        isWide = isWide || item.id > 0xFFFF
    }

    /// The whole box; `locations` has offset and length of each item in `mdat`.
    func box(locations: [UInt32: (offset: UInt64, length: UInt64)]) -> Box {
        // The handler is the first box (ISO/IEC 23008-12 10.2.1.1).
        var handler: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0]
        handler.appendBigEndian(("pict" as FourCC).rawValue)
        handler += [UInt8](repeating: 0, count: 13)
        var children = [Box("hdlr", handler), Box("pitm", head(isWide ? 1 : 0) + id(primary)), itemInformation]
        if !references.isEmpty { children.append(referenceBox) }
        children.append(Box("iprp", children: [Box("ipco", children: properties), associations]))
        let data = items.compactMap(\.body).flatMap { $0 }
        if !data.isEmpty { children.append(Box("idat", data)) }
        if !groups.isEmpty { children.append(Box("grpl", children: groups.map(\.box))) }
        children.append(locationBox(locations, hasItemData: !data.isEmpty))
        return Box("meta", fields: [0, 0, 0, 0], children: children)
    }

    private func head(_ version: UInt8, flags: UInt8 = 0) -> [UInt8] { [version, 0, 0, flags] }

    private func id(_ id: UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        if isWide { bytes.appendBigEndian(id) } else { bytes.appendBigEndian(UInt16(truncatingIfNeeded: id)) }
        return bytes
    }

    private var itemInformation: Box {
        let hasMany = items.count > 0xFFFF
        var fields = head(hasMany ? 1 : 0)
        if hasMany {
            fields.appendBigEndian(UInt32(items.count))
        } else {
            fields.appendBigEndian(UInt16(items.count))
        }
        let entries = items.map { item in
            var bytes = head(isWide ? 3 : 2, flags: item.isHidden ? 1 : 0) + id(item.id) + [0, 0]
            bytes.appendBigEndian(item.type.rawValue)
            bytes.append(0)
            if item.type == "mime" { bytes += Array(item.contentType.utf8) + [0] }
            return Box("infe", bytes)
        }
        return Box("iinf", fields: fields, children: entries)
    }

    private var referenceBox: Box {
        Box(
            "iref", fields: head(isWide ? 1 : 0),
            children: references.map { reference in
                var bytes = id(reference.from)
                bytes.appendBigEndian(UInt16(truncatingIfNeeded: reference.to.count))
                for target in reference.to { bytes += id(target) }
                return Box(reference.type, bytes)
            })
    }

    private var associations: Box {
        let isLong = properties.count > 0x7F
        let entries = items.filter { !$0.properties.isEmpty }
        var bytes = head(isWide ? 1 : 0, flags: isLong ? 1 : 0)
        bytes.appendBigEndian(UInt32(entries.count))
        for item in entries {
            bytes += id(item.id)
            bytes.append(UInt8(truncatingIfNeeded: item.properties.count))
            for (index, isEssential) in item.properties {
                if isLong {
                    bytes.appendBigEndian(UInt16(index + 1) | (isEssential ? 0x8000 : 0))
                } else {
                    bytes.append(UInt8(index + 1) | (isEssential ? 0x80 : 0))
                }
            }
        }
        return Box("ipma", bytes)
    }

    private func locationBox(
        _ locations: [UInt32: (offset: UInt64, length: UInt64)], hasItemData: Bool
    ) -> Box {
        let version: UInt8 = isWide ? 2 : hasItemData ? 1 : 0
        var bytes = head(version) + [usesLargeOffsets ? 0x88 : 0x44, 0]
        if isWide {
            bytes.appendBigEndian(UInt32(items.count))
        } else {
            bytes.appendBigEndian(UInt16(truncatingIfNeeded: items.count))
        }
        var position: UInt64 = 0
        for item in items {
            bytes += id(item.id)
            if version > 0 { bytes += [0, item.body == nil ? 0 : 1] }
            // This file, and one extent.
            bytes += [0, 0, 0, 1]
            var place = locations[item.id] ?? (0, 0)
            if let body = item.body {
                place = (position, UInt64(body.count))
                position += place.length
            }
            for number in [place.offset, place.length] {
                if usesLargeOffsets {
                    bytes.appendBigEndian(number)
                } else {
                    bytes.appendBigEndian(UInt32(truncatingIfNeeded: number))
                }
            }
        }
        return Box("iloc", bytes)
    }
}
