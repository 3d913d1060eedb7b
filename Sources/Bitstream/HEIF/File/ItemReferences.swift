// SPDX-License-Identifier: MIT
public import HWDBoxes

/// A reference from an item to others (ISO/IEC 14496-12 8.11.12).
public struct ItemReference: Hashable, Sendable {
    /// `dimg` inputs, `thmb` what a thumbnail shows, `auxl` what an auxiliary picture belongs to, `cdsc` what metadata
    /// describe, `prem` the alpha by which a picture is multiplied, `iloc` the items that have the bytes, ….
    public let type: FourCC
    public let from: UInt32
    /// The items that it names, in order.
    public let to: [UInt32]
}

/// The references of a file.
struct ItemReferences: Sendable {
    private(set) var all: [ItemReference] = []
    /// The references from an item.
    private var byOrigin: [UInt32: [Int32]] = [:]
    /// The references to an item, for the types that are looked up by their targets.
    private var byTarget: [UInt32: [Int32]] = [:]
    /// Items that are named and do not exist, of references that can be ignored.
    private(set) var missing: [(type: FourCC, from: UInt32, to: UInt32)] = []

    private static let lookedUp: Set<FourCC> = ["thmb", "auxl", "cdsc"]
    /// Inputs of a tone map, which is looked up by the first: the picture, and its gain map.
    private static let toneMapInputs = 2

    init() {}

    /// Reads an `iref` box.
    ///
    /// What names an item that does not exist is left out, but for inputs of derivations.
    init(_ body: ArraySlice<UInt8>, _ items: ItemTable) throws(BoxError) {
        var fields = BoxFields("iref", body)
        let width = try fields.versionAndFlags(upTo: 1).version == 0 ? 2 : 4
        var (list, total) = (BoxList(fields.rest), 0)
        while let (header, body) = try list.next() {
            var fields = BoxFields(header.type, body)
            let (from, count) = (UInt32(try fields.number(width)), try fields.int(2))
            total += count + 1
            guard count <= fields.left / width, total <= HEIFLimits.references else {
                throw BoxError(
                    "the reference \"\(header.type)\" of item \(from) names more items than its box holds")
            }
            var to: [UInt32] = []
            to.reserveCapacity(count)
            for _ in 0..<count {
                let id = UInt32(try fields.number(width))
                if header.type == "dimg" || items.index(id) != nil {
                    to.append(id)
                } else if missing.count < HEIFLimits.remarks {
                    missing.append((header.type, from, id))
                }
            }
            if !to.isEmpty { try add(ItemReference(type: header.type, from: from, to: to)) }
        }
    }

    private mutating func add(_ reference: ItemReference) throws(BoxError) {
        guard byOrigin[reference.from, default: []].count < HEIFLimits.referenceTypes else {
            throw BoxError("item \(reference.from) has more than \(HEIFLimits.referenceTypes) references")
        }
        guard targets(reference.type, of: reference.from).isEmpty else {
            throw BoxError("item \(reference.from) has two references \"\(reference.type)\"")
        }
        let number = Int32(all.count)
        all.append(reference)
        byOrigin[reference.from, default: []].append(number)
        let isToneMap = reference.type == "dimg" && reference.to.count == Self.toneMapInputs
        guard isToneMap || Self.lookedUp.contains(reference.type) else { return }
        for id in reference.to.prefix(isToneMap ? 1 : .max) where byTarget[id]?.last != number {
            byTarget[id, default: []].append(number)
        }
    }

    /// The items that an item's reference names; none without one.
    func targets(_ type: FourCC, of id: UInt32) -> [UInt32] {
        (byOrigin[id] ?? []).lazy.map { all[Int($0)] }.first { $0.type == type }?.to ?? []
    }

    /// The items that refer to an item by `thmb`, `auxl` or `cdsc`, or by `dimg` as the first of two inputs, in the order of the file.
    func origins(_ type: FourCC, of id: UInt32) -> [UInt32] {
        (byTarget[id] ?? []).map { all[Int($0)] }.filter { $0.type == type }.map(\.from)
    }

    /// Checks that no chain of references of a type returns to its beginning, or is longer than `depth`.
    func checkChains(_ type: FourCC, depth: Int) throws(HEIFError) {
        // The depth of each finished item; 0 for one that is being visited.
        var depths: [UInt32: Int] = [:]
        for reference in all where reference.type == type && depths[reference.from] == nil {
            var stack: [(id: UInt32, next: Int, deepest: Int)] = [(reference.from, 0, 0)]
            depths[reference.from] = 0
            while let top = stack.last {
                let inputs = targets(type, of: top.id)
                guard top.next < inputs.count else {
                    stack.removeLast()
                    depths[top.id] = top.deepest + 1
                    if !stack.isEmpty {
                        stack[stack.count - 1].deepest = max(stack[stack.count - 1].deepest, top.deepest + 1)
                    }
                    continue
                }
                stack[stack.count - 1].next += 1
                let input = inputs[top.next]
                switch depths[input] {
                case 0:
                    throw HEIFError(.cycle, "the references \"\(type)\" of item \(input) lead back to it")
                case let known?:
                    stack[stack.count - 1].deepest = max(stack[stack.count - 1].deepest, known)
                case nil where targets(type, of: input).isEmpty:
                    depths[input] = 1
                    stack[stack.count - 1].deepest = max(stack[stack.count - 1].deepest, 1)
                case nil:
                    depths[input] = 0
                    stack.append((input, 0, 0))
                }
                guard stack.count + stack[stack.count - 1].deepest <= depth + 1 else {
                    throw HEIFError(
                        .limit, "items refer to each other by \"\(type)\" more than \(depth) times in a row")
                }
            }
        }
    }
}
