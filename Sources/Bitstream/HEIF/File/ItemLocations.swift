// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// Where bytes of an item are.
public struct ByteSpan: Hashable, Sendable {
    /// Whether they are in the `idat` box, else in the file.
    public let isInItemData: Bool
    public let range: Range<UInt64>
}

/// The `iloc` box: where the bytes of items are (ISO/IEC 14496-12 8.11.3).
struct ItemLocations: Sendable {
    /// The location of one item.
    struct Location: Sendable {
        /// 0 in the file, 1 in `idat`, 2 in other items.
        let method: UInt8
        /// 0 for this file.
        let dataReference: UInt16
        let extents: Range<UInt32>
    }

    /// A part of an item; a length of 0 means up to the end.
    struct Extent: Sendable {
        let offset: UInt64
        let length: UInt64
        /// For method 2, which of the items of the `iloc` reference has the bytes, from 1; 0 is the first.
        let index: UInt32
    }

    private(set) var locations: [Location] = []
    private(set) var extents: [Extent] = []

    init() {}

    /// Reads an `iloc` box and sets the locations of the items.
    init(_ body: ArraySlice<UInt8>, _ items: inout ItemTable) throws(BoxError) {
        var fields = BoxFields("iloc", body)
        let (version, _) = try fields.versionAndFlags(upTo: 2)
        let sizes = try fields.int(2)
        let widths = Widths(
            offset: sizes >> 12, length: sizes >> 8 & 15, base: sizes >> 4 & 15, index: version > 0 ? sizes & 15 : 0
        )
        for width in [widths.offset, widths.length, widths.base, widths.index] where ![0, 4, 8].contains(width) {
            throw BoxError("the box \"iloc\" has fields of \(width) bytes")
        }
        for _ in 0..<(try fields.int(version == 2 ? 4 : 2)) {
            let id = UInt32(try fields.number(version == 2 ? 4 : 2))
            let location = try read(id, &fields, version, widths)
            guard let index = items.index(id) else { continue }
            guard items.items[index].location == nil else { throw BoxError("item \(id) has two locations") }
            items.set(location: UInt32(locations.count), at: index)
            locations.append(location)
        }
    }

    private struct Widths {
        let offset: Int
        let length: Int
        let base: Int
        let index: Int
    }

    private mutating func read(
        _ id: UInt32, _ fields: inout BoxFields, _ version: Int, _ widths: Widths
    ) throws(BoxError) -> Location {
        let method = version > 0 ? try fields.int(2) & 15 : 0
        guard method <= 2 else { throw BoxError("item \(id) is constructed by the unknown method \(method)") }
        let (reference, base) = (try fields.int(2), try fields.number(widths.base))
        let count = try fields.int(2)
        guard extents.count + count <= HEIFLimits.extents else {
            throw BoxError("items have more than \(HEIFLimits.extents) extents")
        }
        let start = UInt32(extents.count)
        for _ in 0..<count {
            let index = try fields.number(widths.index)
            let (offset, overflow) = base.addingReportingOverflow(try fields.number(widths.offset))
            guard !overflow, index <= UInt64(UInt32.max) else {
                throw BoxError("the location of item \(id) exceeds any file size")
            }
            extents.append(
                Extent(offset: offset, length: try fields.number(widths.length), index: UInt32(index)))
        }
        return Location(
            method: UInt8(method), dataReference: UInt16(reference), extents: start..<UInt32(extents.count))
    }
}
