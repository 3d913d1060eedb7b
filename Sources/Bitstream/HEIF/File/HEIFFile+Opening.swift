// SPDX-License-Identifier: MIT
internal import HWDBoxes

extension HEIFFile {
    /// Reads the structure of a file: `ftyp`, `meta` and `moov`, wherever they are.
    ///
    /// - Throws: `malformed` or `truncated` with the fault; `limit` and `cycle` as `HEIFLimits` has them; `unsupported`
    ///   for a file that has no brand of HEIF.
    public init(_ source: some ByteSource) throws(HEIFError) {
        self.init()
        fileLength = source.length
        let entries = try topLevel(source)
        topLevelTypes = entries.map(\.type)
        guard let types = entries.first(where: { $0.type == "ftyp" }) else {
            throw HEIFError(.malformed, "the file has no ftyp box")
        }
        try readBrands(try Self.body(types, source, limit: 1 << 16))
        let metas = entries.filter { $0.type == "meta" }
        guard metas.count <= 1 else { throw HEIFError(.malformed, "the file has \(metas.count) meta boxes") }
        if let meta = metas.first {
            metaBox = (meta.start, meta.body)
            try readMeta(try Self.body(meta, source, limit: HEIFLimits.metaSize))
        }
        if let movie = entries.first(where: { $0.type == "moov" }) {
            do throws(HEIFError) {
                sequence = try ImageSequence(
                    movie: try Self.body(movie, source, limit: HEIFLimits.movieSize), fileLength: fileLength)
            } catch {
                // The pictures of the meta box do not depend on the movie.
                guard primary != nil else { throw error }
                remark("the movie is ignored: \(error.reason)")
            }
        }
        guard primary != nil || sequence != nil else {
            throw HEIFError(
                isCut ? .truncated : .malformed,
                isCut
                    ? "the file is cut off before its meta box ends"
                    : "the file has neither a picture nor an image sequence")
        }
    }

    /// A box at the top level of a file.
    private struct Entry {
        let type: FourCC
        let start: UInt64
        let body: Range<UInt64>
        /// Whether the file ends inside the box.
        let isCut: Bool
    }

    /// Whether the file ends inside its last box.
    private var isCut: Bool { remarks.contains(Self.cutRemark) }
    private static let cutRemark = "the file ends inside its last box"

    /// The boxes of the file up to the first place that is none.
    private mutating func topLevel(_ source: some ByteSource) throws(HEIFError) -> [Entry] {
        var (entries, position) = ([Entry](), UInt64(0))
        while position < fileLength {
            guard entries.count < HEIFLimits.topLevelBoxes else {
                throw HEIFError(.limit, "the file has more than \(HEIFLimits.topLevelBoxes) boxes")
            }
            let left = fileLength - position
            let head = try source.read(position..<position + min(left, UInt64(Box.largeHeaderSize)))
            guard let header = BoxHeader(head, available: left) else {
                remark("what follows byte \(position) is no box")
                break
            }
            let end = header.isWhole ? position + header.size : fileLength
            entries.append(
                Entry(
                    type: header.type, start: position, body: min(position + UInt64(header.headerSize), end)..<end,
                    isCut: !header.isWhole))
            if !header.isWhole { remark(Self.cutRemark) }
            endsWithBox = end == fileLength && header.isWhole && head.bigEndian(at: 0, 4) != 0
            position = end
        }
        return entries
    }

    private static func body(
        _ entry: Entry, _ source: some ByteSource, limit: UInt64
    ) throws(HEIFError) -> ArraySlice<UInt8> {
        guard !entry.isCut else { throw HEIFError(.truncated, "the file is cut off inside its \(entry.type) box") }
        guard entry.body.upperBound - entry.body.lowerBound <= limit else {
            throw HEIFError(.limit, "the \(entry.type) box has more than \(limit) bytes")
        }
        return try source.read(entry.body)[...]
    }

    /// Brands of HEIF and its codecs, of files that this module reads.
    private static let knownBrands: Set<FourCC> = [
        "mif1", "mif2", "mif3", "msf1", "miaf", "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs",
        "avif", "avis", "avci", "avcs", "jpeg", "jpgs", "j2ki", "j2is", "vvic", "vvis",
    ]

    private mutating func readBrands(_ body: ArraySlice<UInt8>) throws(HEIFError) {
        var fields = BoxFields("ftyp", body)
        try checkingBoxes { () throws(BoxError) in
            majorBrand = try fields.fourCC()
            _ = try fields.number(4)
            while fields.left >= 4 {
                let brand = try fields.fourCC()
                if !brands.contains(brand), brands.count < 256 { brands.append(brand) }
            }
        }
        guard Self.knownBrands.contains(majorBrand) || brands.contains(where: Self.knownBrands.contains) else {
            throw HEIFError(.unsupported, "a file of brand \"\(majorBrand)\" is no HEIF file")
        }
    }

    /// Reads the `meta` box: its children come in any order, and those that depend on others are read after them.
    mutating func readMeta(_ body: ArraySlice<UInt8>) throws(HEIFError) {
        var children: [FourCC: ArraySlice<UInt8>] = [:]
        try checkingBoxes { () throws(BoxError) in
            var fields = BoxFields("meta", body)
            _ = try fields.versionAndFlags(upTo: 0)
            var list = BoxList(fields.rest)
            while let (header, body) = try list.next() {
                guard children[header.type] == nil || ["free", "skip", "uuid"].contains(header.type) else {
                    throw BoxError("the meta box has two boxes \"\(header.type)\"")
                }
                children[header.type] = body
            }
        }
        try checkHandler(children["hdlr"])
        for type in ["pitm", "iinf"] as [FourCC] where children[type] == nil {
            throw HEIFError(.malformed, "the meta box has no box \"\(type)\"")
        }
        itemData = Array(children["idat"] ?? [])
        try checkingBoxes { () throws(BoxError) in
            itemTable = try ItemTable(children["iinf"] ?? [])
            if let body = children["iprp"] { propertyTable = try ItemPropertyTable(body, &itemTable) }
            if let body = children["iloc"] { locations = try ItemLocations(body, &itemTable) }
            if let body = children["iref"] { references = try ItemReferences(body, itemTable) }
            if let body = children["grpl"] { groups = try EntityGroup.read(body) }
            if let body = children["dinf"] { ownDataReferences = try Self.ownReferences(body) }
            var fields = BoxFields("pitm", children["pitm"] ?? [])
            let version = try fields.versionAndFlags(upTo: 1).version
            primary = UInt32(try fields.number(version == 0 ? 2 : 4))
        }
        try checkItems()
    }

    private func checkHandler(_ body: ArraySlice<UInt8>?) throws(HEIFError) {
        let handler = body?.fourCC(at: 8)
        guard handler == "pict" else {
            throw HEIFError(
                .malformed,
                handler.map { "the meta box is for \"\($0)\", not for pictures" } ?? "the meta box has no handler")
        }
    }

    private mutating func checkItems() throws(HEIFError) {
        guard let id = primary, let item = item(id) else {
            throw HEIFError(.malformed, "the primary item \(primary ?? 0) does not exist")
        }
        guard item.picture != nil else {
            throw HEIFError(.unsupported, "the primary item is of type \"\(item.type)\", which is no known picture")
        }
        try references.checkChains("dimg", depth: HEIFLimits.depth)
        try references.checkChains("thmb", depth: HEIFLimits.depth)
        try references.checkChains("auxl", depth: HEIFLimits.depth)
        try references.checkChains("iloc", depth: HEIFLimits.depth)
        for (type, from, to) in references.missing {
            remark("the reference \"\(type)\" of item \(from) names item \(to), which does not exist")
        }
    }

    /// The entries of a data information box that are this file: a `url ` with flag 1 (ISO/IEC 14496-12 8.7.2).
    private static func ownReferences(_ body: ArraySlice<UInt8>) throws(BoxError) -> Set<UInt16> {
        var (list, own) = (BoxList(body), Set<UInt16>())
        while let (header, body) = try list.next() {
            guard header.type == "dref" else { continue }
            var fields = BoxFields("dref", body)
            _ = try fields.number(8)
            var (entries, number) = (BoxList(fields.rest), UInt16(0))
            while let (header, body) = try entries.next(), number < UInt16.max {
                number += 1
                if header.type == "url ", body.bigEndian(at: 0, 4).map({ $0 & 1 == 1 }) == true {
                    own.insert(number)
                }
            }
        }
        return own
    }
}
