// SPDX-License-Identifier: MIT
public import HWDBoxes

/// A track of a movie.
public struct MovieTrack: Sendable {
    /// What a track has, by its handler.
    public enum Kind: Hashable, Sendable {
        case video
        case sound
        case timecode
        /// Text and subtitles.
        case text
        case metadata
        case other
    }

    /// `track_ID`.
    public let id: UInt32
    /// `vide`, `soun`, `tmcd`, `text`, `sbtl`, `subt`, `meta`, ….
    public let handler: FourCC
    /// Ticks per second of the track's times.
    public let timeScale: UInt32
    /// How its samples are coded; a packet says by which of them.
    public let entries: [MovieSampleEntry]
    /// Its edits, as the file states them.
    public let edits: [MovieEdit]
    /// Whether players show it without being asked to.
    public let isEnabled: Bool
    /// The size at which it is shown, in 1/65536 of a pixel.
    public let displaySize: (width: UInt32, height: UInt32)
    /// The matrix of its header: a, b, u, c, d, v, x, y, w.
    public let matrix: [UInt32]
    /// The language: `elng`'s tag, else three letters of ISO 639-2; nil where nothing states it.
    public let language: String?
    /// Tracks that it refers to, by the type of reference: `tmcd`, `chap`, `auxl`, ….
    public let references: [FourCC: [UInt32]]
    /// `udta` and `meta`, as they are.
    public let metadata: [Box]
    /// Why its packets cannot be read; nil where they can.
    public let fault: MovieError?

    let edited: EditList?
    let index: SampleIndex?

    /// What its samples are.
    public var kind: Kind {
        switch handler {
        case "vide", "pict", "auxv": .video
        case "soun": .sound
        case "tmcd": .timecode
        case "text", "sbtl", "subt", "clcp": .text
        case "meta": .metadata
        default: .other
        }
    }

    /// The number of its samples; edits may show some of them never, or several times.
    public var sampleCount: Int { index?.count ?? 0 }

    /// The clockwise turn that its matrix asks for: 0, 90, 180 or 270 degrees; nil for mirrored and other matrices.
    public var rotation: Int? {
        let one: UInt32 = 0x1_0000
        let minusOne = UInt32(bitPattern: -0x1_0000)
        switch (matrix[0], matrix[1], matrix[3], matrix[4]) {
        case (one, 0, 0, one): return 0
        case (0, one, minusOne, 0): return 90
        case (minusOne, 0, 0, minusOne): return 180
        case (0, minusOne, one, 0): return 270
        default: return nil
        }
    }

    /// How long it is shown, in its ticks, from the begin of the movie.
    public var duration: Int64 {
        guard let index, let last = edited?.segments.last else { return 0 }
        return last.end < greatestTime ? last.end : max(0, index.end - last.mediaTime) + last.start
    }

    /// The highest temporal level that a sample group describes, and 0; nil where none does.
    public var highestLevel: Int? {
        index?.groups["tscl"]?.descriptions.compactMap { $0.first.map { Int($0) } }.max()
    }

    /// The types of its sample groups: `tscl`, `sync`, `roll`, `rap `, ….
    public var groupTypes: [FourCC] { (index?.groups.keys).map { $0.sorted { $0.rawValue < $1.rawValue } } ?? [] }

    /// The description of a sample's group, as it is; nil where the sample is in none.
    /// - Parameter sample: from 0, in decoding order.
    public func group(_ type: FourCC, of sample: Int) -> [UInt8]? { index?.groups[type]?[sample] }
}

extension MovieTrack {
    /// Reads the headers of a `trak` whose tables are read already.
    /// - Throws: an error where a header is missing or damaged.
    init(_ box: Box, _ tables: TrackTables) throws(BoxError) {
        let id = tables.id
        guard let header = box.first("tkhd"), let media = box.first("mdia", "mdhd"),
            let handler = box.first("mdia", "hdlr")?.fields.fourCC(at: 8)
        else { throw BoxError("track \(id) has no header or no handler") }
        (self.id, self.handler, timeScale) = (id, handler, tables.timeScale)
        isEnabled = (header.fields.bigEndian(at: 3, 1) ?? 1) & 1 == 1
        // The matrix, then the size, end the header (8.3.2).
        let end = header.fields.count
        displaySize = (
            UInt32(header.fields.bigEndian(at: end - 8, 4) ?? 0),
            UInt32(header.fields.bigEndian(at: end - 4, 4) ?? 0)
        )
        let matrix = (0..<9).compactMap { header.fields.bigEndian(at: end - 44 + 4 * $0, 4).map { UInt32($0) } }
        self.matrix = matrix.count == 9 ? matrix : Box.identityMatrix
        language = Self.language(media, box.first("mdia", "elng"))
        references = Self.references(box.first("tref"))
        metadata = box.children.filter { $0.type == "udta" || $0.type == "meta" }
        let table = box.first(path: Box.sampleTablePath)
        let entries = (table?.first("stsd")?.children ?? []).prefix(MovieLimits.entries).map {
            MovieSampleEntry($0, handler: handler)
        }
        self.entries = entries
        fault = tables.fault ?? Self.unsupported(id, box, entries)
        edits = tables.edited?.edits ?? []
        (edited, index) = (tables.edited, fault == nil ? tables.index : nil)
    }

    /// Why a track that is legal cannot be read.
    private static func unsupported(_ id: UInt32, _ box: Box, _ entries: [MovieSampleEntry]) -> MovieError? {
        if let frames = entries.map(\.framesInPacket).first(where: { $0 > 1 }) {
            // Such sound counts frames in its sample table, and has packets of several.
            let table = box.first(path: Box.sampleTablePath)
            if let size = table?.first("stsz")?.fields.bigEndian(at: 4, 4), size != 0 {
                return MovieError(.unsupported, "track \(id) has packets of \(frames) frames of sound each")
            }
        }
        guard let references = box.first("mdia", "minf", "dinf") else { return nil }
        var list = BoxList(references.fields[...])
        var elsewhere: Set<Int> = []
        while let (header, body) = try? list.next() {
            guard header.type == "dref", body.count >= 8 else { continue }
            var files = BoxList(body.dropFirst(8))
            var number = 0
            while number < 1024, let (_, file) = try? files.next() {
                number += 1
                // The flag of data in the same file (8.7.2).
                if file.bigEndian(at: 3, 1).map({ $0 & 1 == 0 }) ?? false { elsewhere.insert(number) }
            }
        }
        guard entries.contains(where: { elsewhere.contains($0.dataReference) }) else { return nil }
        return MovieError(.unsupported, "the samples of track \(id) are in another file")
    }

    /// `elng`'s tag, else the packed letters of `mdhd` (8.4.2, 8.4.6).
    private static func language(_ header: Box, _ extended: Box?) -> String? {
        if let extended {
            var fields = BoxFields("elng", extended.fields.dropFirst(4))
            let tag = fields.text()
            if !tag.isEmpty, tag.utf8.count <= 64, tag.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) { return tag }
        }
        let offset = header.offsetAfterTimes + 4 + (header.fields.first == 1 ? 8 : 4)
        // Smaller numbers are QuickTime's languages of the Macintosh.
        guard let code = header.fields.bigEndian(at: offset, 2), code >= 0x400, code < 0x7FFF else { return nil }
        let letters = [10, 5, 0].map { UInt8(code >> $0 & 31) + 0x60 }
        let text = String(decoding: letters, as: UTF8.self)
        return letters.allSatisfy { (97...122).contains($0) } && text != "und" ? text : nil
    }

    /// The lists of `tref` (8.3.3).
    private static func references(_ box: Box?) -> [FourCC: [UInt32]] {
        var result: [FourCC: [UInt32]] = [:]
        var list = BoxList(box?.fields[...] ?? [])
        while result.count < 64, let (header, body) = try? list.next() {
            result[header.type] = (0..<body.count / 4).compactMap {
                body.bigEndian(at: 4 * $0, 4).map { UInt32($0) }
            }
        }
        return result
    }
}
