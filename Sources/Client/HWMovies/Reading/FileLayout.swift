// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// Where the boxes of a file are.
struct FileLayout {
    /// The body of the movie box; nil without one that is whole.
    private(set) var movie: Range<UInt64>?
    private(set) var brand: FourCC?
    /// Whether the file ends within a box.
    private(set) var isCutShort = false
    private(set) var remarks: [String] = []
    /// The bytes of the media boxes that are in the file.
    private(set) var media: [Range<UInt64>] = []
    /// The last box, where what is appended to the file would be within it: it is cut off, or states no size.
    private(set) var openBox: (start: UInt64, type: FourCC, headerSize: Int)?
    /// The first byte of what is cut off or is no box.
    private(set) var damage: UInt64?
    /// Boxes other than fragments and media behind the movie box that have contents of their own.
    private(set) var others: [FourCC] = []
    /// What of the fragments the tables of a plain movie would lose; nil where they keep all.
    private(set) var loss: String?
    /// The chapters that the fragments have.
    private(set) var chapters = FragmentChapters()
    private var fragments: [(start: UInt64, body: Range<UInt64>)] = []

    /// Looks at the header of every box at the top level.
    /// - Throws: `limit` for too many boxes; an error of the source.
    init(_ source: some MovieSource) throws(MovieError) {
        var position: UInt64 = 0
        var count = 0
        while source.length - position >= UInt64(Box.headerSize) {
            let left = source.length - position
            let bytes = try source.read(position..<position + min(left, UInt64(Box.largeHeaderSize)))
            guard let header = BoxHeader(bytes, available: left) else {
                remark("the bytes from \(position) on are no boxes")
                damage = position
                break
            }
            count += 1
            guard count <= MovieLimits.topLevelBoxes else {
                throw MovieError(.limit, "the file has more than \(MovieLimits.topLevelBoxes) boxes")
            }
            guard header.isWhole else {
                isCutShort = true
                (openBox, damage) = ((position, header.type, header.headerSize), position)
                if header.type == "mdat", left > UInt64(header.headerSize) {
                    media.append(position + UInt64(header.headerSize)..<source.length)
                }
                remark("the file ends within the box \"\(header.type)\" at byte \(position)")
                break
            }
            let body = position + UInt64(header.headerSize)..<position + header.size
            if bytes.bigEndian(at: 0, 4) == 0 { openBox = (position, header.type, header.headerSize) }
            switch header.type {
            case "ftyp": if brand == nil, body.count >= 4 { brand = bytes.fourCC(at: header.headerSize) }
            // A movie that was finished in place has a second one.
            case "moov": if movie == nil { movie = body }
            case "moof": fragments.append((position, body))
            case "mdat": media.append(body)
            case "uuid", "meta": if movie != nil, !others.contains(header.type) { others.append(header.type) }
            default: break
            }
            position = body.upperBound
        }
    }

    mutating func remark(_ text: String) {
        if remarks.count < MovieLimits.remarks { remarks.append(text) }
    }

    /// Adds the samples of all fragments to those of the tracks.
    ///
    /// - Parameter extends: the movie's `mvex`.
    /// - Throws: `limit` for more fragments than are supported; an error of the source. A damaged fragment is left out with
    ///   those behind it, because nothing shows which times they have.
    mutating func readFragments(
        _ source: some MovieSource, _ extends: Box, _ tables: inout [(box: Box, tables: TrackTables)]
    ) throws(MovieError) {
        let defaults = Self.defaults(extends)
        let places = Dictionary(uniqueKeysWithValues: tables.indices.map { (tables[$0].tables.id, $0) })
        var (size, runs): (UInt64, Int) = (0, 0)
        for (number, fragment) in fragments.enumerated() {
            size += fragment.body.upperBound - fragment.body.lowerBound
            guard size <= MovieLimits.fragmentSize else {
                throw MovieError(.limit, "the fragments' boxes have more than \(MovieLimits.fragmentSize) bytes")
            }
            let body = try source.read(fragment.body)
            do throws(BoxError) {
                var list = BoxList(body[...])
                var previous: UInt64?
                while let (header, body) = try list.next() {
                    if header.type == "udta" { addChapters(body, at: fragment.start) }
                    guard header.type == "traf" else { continue }
                    var track = try TrackFragment(body, start: fragment.start, previous: previous, defaults)
                    runs += track.runCount
                    if track.isEncrypted { loss = "its samples are encrypted" }
                    if runs > MovieLimits.fragmentRuns { break }
                    guard let place = places[track.track] else {
                        remark("a fragment is for track \(track.track), which does not exist")
                        _ = try track.runs(from: 0)
                        previous = track.end
                        continue
                    }
                    tables[place].tables.append(&track)
                    previous = track.end
                }
            } catch {
                remark("the fragment at byte \(fragment.start) is damaged: \(error.reason)")
                if number + 1 < fragments.count {
                    loss = "the fragment at byte \(fragment.start) is damaged, and others follow"
                }
                return
            }
            guard runs <= MovieLimits.fragmentRuns else {
                throw MovieError(.limit, "the fragments have more than \(MovieLimits.fragmentRuns) runs of samples")
            }
        }
    }

    private mutating func addChapters(_ body: ArraySlice<UInt8>, at position: UInt64) {
        do throws(BoxError) { try chapters.add(body) } catch {
            remark("the chapters of the fragment at byte \(position) are damaged: \(error.reason)")
        }
    }

    /// The `trex` boxes of a `mvex` (ISO/IEC 14496-12 8.8.3).
    private static func defaults(_ extends: Box) -> [UInt32: FragmentDefaults] {
        var result: [UInt32: FragmentDefaults] = [:]
        var list = BoxList(extends.fields[...])
        while result.count < MovieLimits.tracks, let (header, body) = try? list.next() {
            guard header.type == "trex" else { continue }
            let words = (0..<6).compactMap { body.bigEndian(at: 4 * $0, 4).map { UInt32($0) } }
            guard words.count == 6 else { continue }
            result[words[1]] = FragmentDefaults(
                entry: Int(words[2]), duration: words[3], size: words[4], flags: words[5])
        }
        return result
    }
}
