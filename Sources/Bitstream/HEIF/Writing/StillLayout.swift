// SPDX-License-Identifier: MIT
internal import HWDBoxes
internal import HWDHEVC
internal import HWDModel

/// The layout of a HEIC file: `ftyp`, `meta`, then the data in `mdat`.
///
/// The size of what precedes the data is known before a picture is coded: a writer leaves room for it, writes the parts
/// one after another as they are coded, and the head last. Equal inputs give equal bytes.
public struct StillLayout: Sendable {
    /// The parts in the order in which they must be written: thumbnail, Exif, XMP, pictures, auxiliary pictures.
    public private(set) var parts: [StillPart] = []
    /// Bytes before the first part.
    public let headSize: Int
    private let fileType: Box
    private let meta: MetaWriter

    /// Lays out a file.
    /// - Throws: `malformed` for a picture that does not fit its tiles or an alpha of another size; `limit` for more tiles
    ///   than a grid can have; what cannot be written in an `hvcC` record.
    public init(_ file: StillFile) throws(HEIFError) {
        var builder = LayoutBuilder()
        try builder.add(file)
        meta = builder.meta
        fileType = try Brands(file).box
        parts = builder.parts
        headSize =
            fileType.size + meta.box(locations: [:]).size
            + (file.usesLargeOffsets ? Box.largeHeaderSize : Box.headerSize)
    }

    /// The bytes before the first part.
    ///
    /// - Parameter sizes: the bytes of each part, in order.
    /// - Throws: `malformed` for another number of parts or an empty one; `limit` where the file needs large offsets.
    public func head(sizes: [UInt64]) throws(HEIFError) -> [UInt8] {
        guard sizes.count == parts.count, !sizes.contains(0) else {
            throw HEIFError(.malformed, "\(parts.count) parts with data are needed for the file")
        }
        var (locations, position) = ([UInt32: (offset: UInt64, length: UInt64)](), UInt64(headSize))
        for (part, size) in zip(parts, sizes) {
            locations[part.item] = (position, size)
            let (next, overflow) = position.addingReportingOverflow(size)
            guard !overflow, meta.usesLargeOffsets || next <= UInt64(UInt32.max) else {
                throw HEIFError(.limit, "the file has more than 4 GiB and was laid out for less")
            }
            position = next
        }
        var bytes = fileType.bytes + meta.box(locations: locations).bytes
        let dataSize = position - UInt64(headSize)
        if meta.usesLargeOffsets {
            bytes.appendBigEndian(UInt32(1))
            bytes.appendBigEndian(("mdat" as FourCC).rawValue)
            bytes.appendBigEndian(dataSize + UInt64(Box.largeHeaderSize))
        } else {
            bytes.appendBigEndian(UInt32(dataSize + UInt64(Box.headerSize)))
            bytes.appendBigEndian(("mdat" as FourCC).rawValue)
        }
        return bytes
    }

    /// A whole file in memory.
    /// - Parameter data: the bytes of each part, in order.
    /// - Throws: what `head` throws.
    public func file(_ data: [[UInt8]]) throws(HEIFError) -> [UInt8] {
        var bytes = try head(sizes: data.map { UInt64($0.count) })
        for part in data { bytes += part }
        return bytes
    }
}

/// Assigns item ids and collects the items of a file.
struct LayoutBuilder {
    var meta = MetaWriter()
    /// Parts in the order of the file, with the rank of each.
    private var ranked: [(rank: Int, part: StillPart)] = []
    private var nextID: UInt32 = 1

    /// The parts by rank; equal ranks stay in the order in which they were added.
    var parts: [StillPart] {
        ranked.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
            .map(\.element.part)
    }

    private enum Rank {
        static let thumbnail = 0
        static let metadata = 1
        static let picture = 2
        static let auxiliary = 3
    }

    mutating func add(_ file: StillFile) throws(HEIFError) {
        guard file.pictures.indices.contains(file.primary),
            file.auxiliaries.allSatisfy({ file.pictures.indices.contains($0.master) })
        else {
            throw HEIFError(.malformed, "a file needs a primary picture, and auxiliary ones belong to pictures")
        }
        meta.usesLargeOffsets = file.usesLargeOffsets
        var pictures: [UInt32] = []
        for (index, picture) in file.pictures.enumerated() {
            pictures.append(try add(picture, .picture(index), rank: Rank.picture, auxiliary: nil))
        }
        let primary = pictures[file.primary]
        meta.primary = primary
        if var thumbnail = file.thumbnail {
            thumbnail.orientation = file.pictures[file.primary].orientation
            let id = try add(thumbnail, .thumbnail, rank: Rank.thumbnail, auxiliary: nil, isHidden: false)
            meta.references.append(("thmb", id, [primary]))
        }
        for (index, auxiliary) in file.auxiliaries.enumerated() {
            try add(auxiliary, index, of: file.pictures[auxiliary.master], pictures[auxiliary.master])
        }
        if file.hasExif { addMetadata("Exif", .exif, of: primary) }
        if file.hasXMP { addMetadata("mime", .xmp(.picture(file.primary)), of: primary) }
        if pictures.count > 1 {
            meta.groups.append(EntityGroup(type: "brst", id: nextID, entities: pictures))
        }
    }

    private mutating func add(
        _ auxiliary: StillAuxiliary, _ index: Int, of master: StillPicture, _ masterID: UInt32
    ) throws(HEIFError) {
        var picture = auxiliary.picture
        // Readers drop an alpha that is not turned as its picture is.
        picture.orientation = master.orientation
        let isAlpha = AuxiliaryKind(urn: auxiliary.urn) == .alpha
        guard !isAlpha || (picture.width, picture.height) == (master.width, master.height) else {
            throw HEIFError(
                .malformed,
                "an alpha of \(picture.width)x\(picture.height) does not fit a picture of \(master.width)x\(master.height)"
            )
        }
        let id = try add(picture, .auxiliary(index), rank: Rank.auxiliary, auxiliary: auxiliary)
        meta.references.append(("auxl", id, [masterID]))
        if auxiliary.isPremultiplied { meta.references.append(("prem", masterID, [id])) }
        if auxiliary.hasXMP { addMetadata("mime", .xmp(.auxiliary(index)), of: id) }
    }

    private mutating func addMetadata(_ type: FourCC, _ content: StillPart.Content, of id: UInt32) {
        let item = NewItem(
            id: takeID(), type: type, isHidden: true, contentType: type == "mime" ? "application/rdf+xml" : "")
        meta.append(item)
        meta.references.append(("cdsc", item.id, [id]))
        ranked.append((Rank.metadata, StillPart(content: content, item: item.id)))
    }

    private mutating func takeID() -> UInt32 {
        defer { nextID += 1 }
        return nextID
    }

    /// Adds the items of a picture, and returns the id of the one that is shown.
    private mutating func add(
        _ picture: StillPicture, _ role: StillPart.Role, rank: Int, auxiliary: StillAuxiliary?,
        isHidden: Bool? = nil
    ) throws(HEIFError) -> UInt32 {
        let tiling = try Tiling(picture)
        let isHidden = isHidden ?? (auxiliary != nil)
        let shared = try properties(picture, tiling, isTile: tiling.isGrid, auxiliary)
        var tiles: [UInt32] = []
        for row in 0..<tiling.rows {
            for column in 0..<tiling.columns {
                var item = NewItem(id: takeID(), type: "hvc1", isHidden: isHidden || tiling.isGrid)
                item.properties = shared
                meta.append(item)
                tiles.append(item.id)
                let content = StillPart.Content.tile(role, row: row, column: column)
                ranked.append((rank, StillPart(content: content, item: item.id)))
            }
        }
        guard tiling.isGrid else { return tiles[0] }
        let grid = ImageGrid(
            rows: tiling.rows, columns: tiling.columns, width: picture.width, height: picture.height)
        var item = NewItem(id: takeID(), type: "grid", isHidden: isHidden, body: grid.bytes)
        item.properties = try properties(picture, nil, isTile: false, auxiliary)
        meta.append(item)
        meta.references.append(("dimg", item.id, tiles))
        return item.id
    }

    /// The properties of a coded picture, or of a grid where `tiling` is nil, in the order that readers expect.
    private mutating func properties(
        _ picture: StillPicture, _ tiling: Tiling?, isTile: Bool, _ auxiliary: StillAuxiliary?
    ) throws(HEIFError) -> [(index: Int, isEssential: Bool)] {
        var list: [(ItemProperty, Bool)] = []
        if tiling != nil { list.append((.hevc(picture.configuration), true)) }
        list.append(
            (.size(width: tiling?.tileWidth ?? picture.width, height: tiling?.tileHeight ?? picture.height), false))
        for color in picture.colors { list.append((.color(color), false)) }
        if !isTile {
            list.append((.bitDepths(Tiling.bitDepths(picture.configuration)), false))
            for box in picture.light { list.append((.light(box.type, box.fields), false)) }
            if let auxiliary { list.append((.auxiliary(urn: auxiliary.urn, subtype: auxiliary.subtype), true)) }
            list += picture.orientation.properties.map { ($0, true) }
        }
        var result: [(index: Int, isEssential: Bool)] = []
        for (property, isEssential) in list { result.append((try meta.index(property), isEssential)) }
        return result
    }
}

/// The tiles of a picture.
struct Tiling {
    let tileWidth: Int
    let tileHeight: Int
    let rows: Int
    let columns: Int
    /// Whether the picture is a grid: several tiles, or one of which a part is shown.
    let isGrid: Bool

    init(_ picture: StillPicture) throws(HEIFError) {
        let sps = try Self.sequence(picture.configuration)
        (tileWidth, tileHeight) = (sps.width, sps.height)
        guard picture.width > 0, picture.height > 0, tileWidth > 0, tileHeight > 0 else {
            throw HEIFError(.malformed, "a picture has no size")
        }
        columns = (picture.width + tileWidth - 1) / tileWidth
        rows = (picture.height + tileHeight - 1) / tileHeight
        isGrid = picture.width != tileWidth || picture.height != tileHeight
        guard StillTiling.isPossible(columns: columns, rows: rows) else {
            throw HEIFError(
                .limit,
                "\(picture.width)x\(picture.height) samples need \(columns)x\(rows) tiles; a grid has \(StillTiling.gridLimits)"
            )
        }
        guard !isGrid || min(tileWidth, tileHeight) >= StillTiling.minSide else {
            throw HEIFError(.malformed, "tiles of \(tileWidth)x\(tileHeight) are smaller than 64x64")
        }
    }

    static func sequence(_ record: DecoderConfigurationRecord) throws(HEIFError) -> SequenceParameterSet {
        let units = record.arrays.filter { $0.nalUnitType == .sps }.flatMap(\.nalUnits)
        guard let unit = units.first else { throw HEIFError(.malformed, "an hvcC record has no SPS") }
        do throws(BitstreamError) { return try SequenceParameterSet(nal: unit) } catch {
            throw HEIFError(.malformed, "an SPS cannot be read: \(error.reason)")
        }
    }

    static func bitDepths(_ record: DecoderConfigurationRecord) -> [Int] {
        let luma = 8 + record.bitDepthLumaMinus8
        return record.chromaFormatIdc == 0
            ? [luma] : [luma, 8 + record.bitDepthChromaMinus8, 8 + record.bitDepthChromaMinus8]
    }
}

extension Orientation {
    /// `irot` and `imir`, which are applied in this order.
    var properties: [ItemProperty] {
        // Mirroring first and turning by a then equals turning by −a first and mirroring then.
        let turns = isMirrored ? (4 - turns) & 3 : turns
        // Half a turn and an exchange of left and right are an exchange of top and bottom.
        if isMirrored, turns >= 2 {
            return (turns == 3 ? [.rotation(1)] : []) + [.mirror(isLeftRight: false)]
        }
        return (turns == 0 ? [] : [.rotation(turns)]) + (isMirrored ? [.mirror(isLeftRight: true)] : [])
    }

    /// The orientation that Exif's tag 0x0112 states, 1…8; upright for other values.
    public init(exif: Int) {
        let table: [(turns: Int, isMirrored: Bool)] = [
            (0, false), (0, true), (2, false), (2, true), (1, true), (3, false), (3, true), (1, false),
        ]
        let entry = table.indices.contains(exif - 1) ? table[exif - 1] : table[0]
        self.init(turns: entry.turns, isMirrored: entry.isMirrored)
    }
}
