// SPDX-License-Identifier: MIT
public import HWDBoxes

/// A group of items or tracks (ISO/IEC 14496-12 8.18).
public struct EntityGroup: Hashable, Sendable {
    /// `altr` alternatives, best first; `ster` left and right; `brst` a burst; `albc` an album; `tsyn` pictures of one
    /// time; `iaug` a picture and its sound; and others.
    public var type: FourCC
    public var id: UInt32
    /// Items, or tracks of the file's movie.
    public var entities: [UInt32]

    public init(type: FourCC, id: UInt32, entities: [UInt32]) {
        self.type = type
        self.id = id
        self.entities = entities
    }

    /// Reads the groups of a `grpl` box.
    static func read(_ body: ArraySlice<UInt8>) throws(BoxError) -> [EntityGroup] {
        var (groups, list, total) = ([EntityGroup](), BoxList(body), 0)
        while let (header, body) = try list.next() {
            var fields = BoxFields(header.type, body)
            _ = try fields.versionAndFlags(upTo: 255)
            let (id, count) = (UInt32(try fields.number(4)), try fields.int(4))
            total += count + 1
            guard count <= fields.left / 4, total <= HEIFLimits.entities else {
                throw BoxError("the group \"\(header.type)\" has \(count) entities, more than its box holds")
            }
            var entities: [UInt32] = []
            entities.reserveCapacity(count)
            for _ in 0..<count { entities.append(UInt32(try fields.number(4))) }
            groups.append(EntityGroup(type: header.type, id: id, entities: entities))
        }
        return groups
    }

    /// The group's box.
    var box: Box {
        var bytes: [UInt8] = [0, 0, 0, 0]
        bytes.appendBigEndian(id)
        bytes.appendBigEndian(UInt32(truncatingIfNeeded: entities.count))
        for entity in entities { bytes.appendBigEndian(entity) }
        return Box(type, bytes)
    }
}
