// SPDX-License-Identifier: MIT
public import HWDBoxes

/// The structure of a HEIF file, read and checked (ISO/IEC 23008-12); pictures themselves are not decoded.
public struct HEIFFile: Sendable {
    /// The major brand of `ftyp`.
    public internal(set) var majorBrand: FourCC = "mif1"
    /// Its compatible brands, each one once.
    public internal(set) var brands: [FourCC] = []
    /// The item that is shown first; nil in a file that is an image sequence alone.
    public internal(set) var primary: UInt32?
    /// The groups of items and tracks.
    public internal(set) var groups: [EntityGroup] = []
    /// The image sequence of the file's movie; nil without one.
    public internal(set) var sequence: ImageSequence?
    /// The types of the boxes at the top level, in order: `mpvd` is the video of a motion photo.
    public internal(set) var topLevelTypes: [FourCC] = []
    /// What was ignored in the file, one sentence each; at most `HEIFLimits.remarks`.
    public internal(set) var remarks: [String] = []

    var itemTable = ItemTable()
    var propertyTable = ItemPropertyTable()
    var locations = ItemLocations()
    var references = ItemReferences()
    /// The contents of `idat`.
    var itemData: [UInt8] = []
    /// Bytes of the file.
    var fileLength: UInt64 = 0
    /// Where the `meta` box begins, and its body; nil without one.
    var metaBox: (start: UInt64, body: Range<UInt64>)?
    /// Whether the file ends with a box that states its size, so that others can follow.
    var endsWithBox = false
    /// The entries of `dref` that are this file itself, from 1.
    var ownDataReferences: Set<UInt16> = []

    init() {}

    /// All items, by rising id.
    public var items: [Item] { itemTable.items }

    /// An item; nil where there is none of the id.
    public func item(_ id: UInt32) -> Item? { itemTable.index(id).map { itemTable.items[$0] } }

    /// The name and the content type of an item.
    public func text(of id: UInt32) -> ItemText { itemTable.texts[id] ?? ItemText() }

    /// The properties of an item, in the order listed.
    public func properties(of item: Item) -> [(property: ItemProperty, isEssential: Bool)] {
        propertyTable.properties(of: item)
    }

    /// All references between items, in the order of the file.
    public var itemReferences: [ItemReference] { references.all }

    /// The items that an item's reference of a type names, in order.
    public func targets(_ type: FourCC, of id: UInt32) -> [UInt32] { references.targets(type, of: id) }

    /// The pictures that are not hidden and not part of others, by rising id, the primary one first.
    public var shownPictures: [UInt32] {
        let shown = items.filter { !$0.isHidden && $0.picture != nil && $0.id != primary }.map(\.id)
        let parts = Set(references.all.lazy.filter { $0.type == "dimg" }.flatMap(\.to))
        let others = shown.filter { id in
            !parts.contains(id) && references.targets("thmb", of: id).isEmpty
                && references.targets("auxl", of: id).isEmpty
        }
        return (primary.map { [$0] } ?? []) + others
    }

    /// Adds a remark, where there is room for one.
    mutating func remark(_ text: String) {
        if remarks.count < HEIFLimits.remarks { remarks.append(text) }
    }
}
