// SPDX-License-Identifier: MIT
internal import HWDBoxes
internal import HWDHEVC

/// The properties of a file and which items have them (ISO/IEC 14496-12 8.11.14).
struct ItemPropertyTable: Sendable {
    /// The contents of `ipco`; numbers in `associations` count from 1.
    private(set) var properties: [ItemProperty] = []
    /// The number of a property, with the top bit for an essential one.
    private(set) var associations: [UInt16] = []
    /// What the SPS of an `hvcC` record states, by the property's number: the tiles of a grid share one.
    private var streams: [UInt16: CodedFormat] = [:]

    init() {}

    /// Reads an `iprp` box and sets the properties of the items.
    init(_ body: ArraySlice<UInt8>, _ items: inout ItemTable) throws(BoxError) {
        var (list, tables, containers) = (BoxList(body), [ArraySlice<UInt8>](), 0)
        while let (header, body) = try list.next() {
            if header.type == "ipma" { tables.append(body) }
            guard header.type == "ipco" else { continue }
            containers += 1
            guard containers == 1 else { throw BoxError("the box \"iprp\" has several boxes \"ipco\"") }
            try readProperties(body)
        }
        // An entry for an item comes once, in whichever box.
        var seen = [Bool](repeating: false, count: items.items.count)
        for table in tables { try readAssociations(table, &items, &seen) }
    }

    private mutating func readProperties(_ body: ArraySlice<UInt8>) throws(BoxError) {
        var list = BoxList(body)
        while let (header, body) = try list.next() {
            guard properties.count < HEIFLimits.properties else {
                throw BoxError("the file has more than \(HEIFLimits.properties) properties")
            }
            var property = ItemProperty(header.type, body)
            if case .hevc(let record) = property {
                do throws(BitstreamError) {
                    streams[UInt16(properties.count + 1)] = try CodedFormat(record)
                } catch {
                    property = .damaged(header.type, "its SPS is damaged: \(error.reason)")
                }
            }
            properties.append(property)
        }
    }

    private mutating func readAssociations(
        _ body: ArraySlice<UInt8>, _ items: inout ItemTable, _ seen: inout [Bool]
    ) throws(BoxError) {
        var fields = BoxFields("ipma", body)
        let (version, flags) = try fields.versionAndFlags(upTo: 1)
        for _ in 0..<(try fields.int(4)) {
            let id = UInt32(try fields.number(version == 0 ? 2 : 4))
            let start = UInt32(associations.count)
            for _ in 0..<(try fields.int(1)) {
                let word = try fields.int(flags & 1 == 1 ? 2 : 1)
                let (isEssential, number) =
                    flags & 1 == 1 ? (word >> 15 == 1, word & 0x7FFF) : (word >> 7 == 1, word & 0x7F)
                guard number <= properties.count else {
                    throw BoxError("item \(id) has property \(number) of \(properties.count)")
                }
                // Number 0 is no property.
                if number > 0 { associations.append(UInt16(number) | (isEssential ? 0x8000 : 0)) }
            }
            guard associations.count <= HEIFLimits.associations else {
                throw BoxError("items have more than \(HEIFLimits.associations) properties")
            }
            guard let index = items.index(id) else { continue }
            guard !seen[index] else { throw BoxError("item \(id) has two lists of properties") }
            seen[index] = true
            items.set(properties: start..<UInt32(associations.count), at: index)
        }
    }

    /// The properties of an item, in the order listed.
    func properties(of item: Item) -> [(property: ItemProperty, isEssential: Bool)] {
        associations[Int(item.properties.lowerBound)..<Int(item.properties.upperBound)].map {
            (properties[Int($0 & 0x7FFF) - 1], $0 >> 15 == 1)
        }
    }

    /// What the SPS of an item's `hvcC` record states; nil where there is none.
    func stream(of item: Item) -> CodedFormat? {
        for association in associations[Int(item.properties.lowerBound)..<Int(item.properties.upperBound)] {
            if let format = streams[association & 0x7FFF] { return format }
        }
        return nil
    }
}

/// The size and the format that an SPS states.
struct CodedFormat: Hashable, Sendable {
    /// Inside the conformance window.
    let width: Int
    let height: Int
    let codedPixels: Int
    let bitDepths: [Int]

    /// Reads the first SPS of a record; nil where it has none, since cameras exist that keep it in the item's data.
    init?(_ record: DecoderConfigurationRecord) throws(BitstreamError) {
        let units = record.arrays.first { $0.nalUnitType == .sps }?.nalUnits
        guard let unit = units?.first else { return nil }
        let sps = try SequenceParameterSet(nal: unit)
        (width, height) = (sps.width, sps.height)
        guard width > 0, height > 0 else { return nil }
        codedPixels = sps.picWidthInLumaSamples * sps.picHeightInLumaSamples
        let chroma = sps.chromaArrayType == 0 ? [] : [sps.bitDepthChroma, sps.bitDepthChroma]
        bitDepths = [sps.bitDepthLuma] + chroma
    }
}
