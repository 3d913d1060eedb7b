// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// What makes a plain movie of one with fragments, in place; the file is only read for it.
struct RepairPlan {
    /// What is appended to the file: the titles of chapters, where there are any, and the movie box.
    let boxes: [Box]
    /// Where the first movie box begins: its header becomes that of media data.
    let start: UInt64
    /// The header of the last box, which is cut off or states no size, as one that ends with the file; nil for a whole box.
    ///
    /// Without it, what is appended would be within that box. What remains of a box that is not media says nothing, and
    /// becomes free space.
    let lastHeader: (bytes: [UInt8], position: UInt64)?
    /// Packets in all tracks.
    let packetCount: Int
    /// How long the movie is, in seconds.
    let duration: Double
    /// What is damaged and was left out, for people.
    let remarks: [String]

    /// In all tracks: a day of 240 frames a second, with sound.
    private static let maxSamples = 1 << 25
    /// ISO/IEC 14496-12 8.12.
    private static let encryptedEntries: Set<FourCC> = ["encv", "enca", "enct", "encs", "encm", "encf", "enc3"]

    /// - Parameters:
    ///   - movie: has fragments.
    ///   - name: the file's, for errors.
    /// - Throws: `truncated` where no whole packet is in the file, `malformed`, `unsupported` and `limit` for what cannot be
    ///   finished without loss; an error of the source.
    init(_ movie: Movie, _ source: some MovieSource, _ name: String) throws(MovieError) {
        let layout = try FileLayout(source)
        let body = try Self.movieBody(layout, source, name)
        if let loss = movie.loss { throw Self.refusal(.unsupported, name, loss) }
        if let damage = layout.damage, try Self.hasFragment(source, behind: damage) {
            throw Self.refusal(.malformed, name, "it is damaged at byte \(damage), and fragments follow")
        }
        let samples = movie.tracks.reduce(0) { $0 + $1.sampleCount }
        guard samples <= Self.maxSamples else {
            throw MovieError(.limit, "\(name) has \(samples) samples; \(Self.maxSamples) can be finished")
        }
        var built = try Self.movieBox(movie, layout.media, try source.read(body))
        var remarks =
            movie.remarks
            + layout.others.map {
                "the boxes \"\($0)\" behind the movie box are no longer found in the finished file"
            }
        guard built.count > 0 else {
            throw MovieError(.truncated, "\(name) ends before its first packet does: nothing can be finished")
        }
        let titles = try Self.addChapters(movie, to: &built, at: source.length)
        try Self.setDuration(built.duration, in: &built.box)
        let duration = Double(built.duration) / Double(movie.timeScale)
        if titles == nil, movie.fragmentChapters.contains(where: { $0.seconds < duration }) {
            remarks.append("the chapters of the fragments are left out: no track of pictures can have them")
        }
        (self.duration, self.remarks) = (duration, remarks)
        guard UInt64(built.box.size) <= MovieLimits.movieSize else {
            throw MovieError(
                .limit, "the movie box would have \(built.box.size) bytes: no reader would open the file")
        }
        if let box = layout.openBox {
            lastHeader = (try Self.header(of: box, until: source.length, name), box.start)
        } else {
            lastHeader = nil
        }
        boxes = (titles.map { [$0] } ?? []) + [built.box]
        (start, packetCount) = (body.lowerBound - UInt64(Box.headerSize), built.count)
    }

    /// - Throws: `unsupported` for 4 GiB and more without a size.
    private static func header(
        of box: (start: UInt64, type: FourCC, headerSize: Int), until end: UInt64, _ name: String
    ) throws(MovieError) -> [UInt8] {
        let type: FourCC = box.type == "mdat" ? "mdat" : "free"
        let size = end - box.start
        if box.headerSize == Box.largeHeaderSize {
            var bytes = [UInt8](bigEndian: [1, type.rawValue])
            bytes.appendBigEndian(size)
            return bytes
        }
        guard let short = UInt32(exactly: size) else {
            throw MovieError(.unsupported, "the last box of \(name) states no size: it cannot be finished")
        }
        return [UInt8](bigEndian: [short, type.rawValue])
    }

    /// The body of the first movie box, whose header is made that of media data.
    private static func movieBody(
        _ layout: FileLayout, _ source: some MovieSource, _ path: String
    ) throws(MovieError) -> Range<UInt64> {
        guard let body = layout.movie, body.count >= Box.headerSize else {
            throw MovieError(.malformed, "\(path) has no movie box")
        }
        let header = try source.read(body.lowerBound - UInt64(Box.headerSize)..<body.lowerBound)
        guard header.fourCC(at: 4) == "moov" else {
            throw MovieError(.unsupported, "the movie box of \(path) has a size of 64 bits")
        }
        return body
    }

    private static func refusal(_ code: MovieError.Code, _ path: String, _ reason: String) -> MovieError {
        MovieError(code, "\(path) cannot be finished without loss: \(reason)")
    }

    /// Whether a fragment begins behind a byte, within what is no whole box: `moof` with `mfhd`.
    private static func hasFragment(
        _ source: some MovieSource, behind start: UInt64
    ) throws(MovieError) -> Bool {
        let (step, overlap): (UInt64, UInt64) = (1 << 20, 16)
        var position = start + 8
        while position < source.length {
            let bytes = try source.read(position..<min(source.length, position + step + overlap))
            var place = 0
            while place + 12 <= bytes.count {
                // Any title may have the names: the size is that of `mfhd`.
                if bytes[place] == 0x6D, bytes.fourCC(at: place) == "moof", bytes.fourCC(at: place + 8) == "mfhd",
                    bytes.bigEndian(at: place + 4, 4) == 16
                {
                    return true
                }
                place += 1
            }
            position += step
        }
        return false
    }

    /// The movie box of the plain movie, its duration in its ticks, and the number of its samples.
    private static func movieBox(
        _ movie: Movie, _ media: [Range<UInt64>], _ body: [UInt8]
    ) throws(MovieError) -> (box: Box, duration: UInt64, count: Int) {
        var (count, longest): (Int, UInt64) = (0, 0)
        var children: [Box] = []
        var ids: Set<Int> = []
        for box in try checkingBoxes({ () throws(BoxError) in try Box.parse(body[...]) }) where box.type != "mvex" {
            guard box.type == "trak" else {
                children.append(box)
                continue
            }
            guard let id = box.trackID, let track = movie.tracks.first(where: { Int($0.id) == id }),
                ids.insert(id).inserted
            else { throw MovieError(.malformed, "a track is damaged: nothing is finished") }
            guard let index = track.index else {
                throw track.fault ?? MovieError(.malformed, "track \(id) is damaged: nothing is finished")
            }
            let entries = box.first(path: Box.sampleTablePath)?.first("stsd")?.children ?? []
            guard !entries.contains(where: { encryptedEntries.contains($0.type) }) else {
                throw MovieError(.unsupported, "track \(id) is encrypted: nothing is finished")
            }
            let tables = try FinishedTables(track, index, media: media, movieScale: movie.timeScale)
            guard tables.count > 0 else { continue }
            count += tables.count
            longest = max(longest, tables.duration)
            let finished = try checkingBoxes { () throws(BoxError) in try tables.finished(box) }
            // Damaged times and edits can fit into fragments and not into tables.
            let read = try checkingBoxes { () throws(BoxError) in
                try TrackTables(finished, movieScale: movie.timeScale, isFragmented: false)
            }
            guard read.fault == nil, read.index?.count == tables.count else {
                throw read.fault ?? MovieError(.malformed, "track \(id) is damaged: nothing is finished")
            }
            children.append(finished)
        }
        return (Box("moov", children: children), longest, count)
    }

    /// Adds a track with the chapters of the fragments to the movie box, as that of the first track of pictures.
    ///
    /// - Parameter position: where the titles are appended.
    /// - Returns: the titles' media; nil without chapters that begin before the end, and where the pictures have others already.
    private static func addChapters(
        _ movie: Movie, to built: inout (box: Box, duration: UInt64, count: Int), at position: UInt64
    ) throws(MovieError) -> Box? {
        let ids = built.box.children.compactMap { $0.trackID }
        let end = Double(built.duration) / Double(movie.timeScale)
        guard let pictures = movie.tracks.first(where: { $0.kind == .video && ids.contains(Int($0.id)) }),
            let place = built.box.children.firstIndex(where: { $0.trackID == Int(pictures.id) }),
            pictures.references["chap"] == nil,
            let id = ids.max().flatMap({ UInt32(exactly: $0 + 1) }),
            let (track, media) = WrittenTrack.chapters(
                movie.fragmentChapters, until: end, isQuickTime: movie.brand == "qt  ", at: position)
        else { return nil }
        let reference = TrackBoxes.chapterReference(id)
        if let others = built.box.children[place].children.firstIndex(where: { $0.type == "tref" }) {
            built.box.children[place].children[others].fields += reference.fields
        } else {
            // Behind the header and the edits.
            let behind =
                built.box.children[place].children.lastIndex { $0.type == "tkhd" || $0.type == "edts" } ?? -1
            built.box.children[place].children.insert(reference, at: behind + 1)
        }
        let last = built.box.children.lastIndex { $0.type == "trak" } ?? place
        built.box.children.insert(try track.box(id, movieScale: movie.timeScale), at: last + 1)
        built.count += track.count
        // Milliseconds may be rounded up.
        built.duration = max(built.duration, track.movieTicks(track.duration, movie.timeScale))
        for index in built.box.children.indices where built.box.children[index].type == "mvhd" {
            // `next_track_ID` is the last field (ISO/IEC 14496-12 8.2.2.2).
            let fields = built.box.children[index].fields
            guard fields.count >= 4, let next = fields.bigEndian(at: fields.count - 4, 4) else { continue }
            built.box.children[index].fields.replaceSubrange(
                (fields.count - 4)..., with: [UInt8](bigEndian: [max(UInt32(next), id &+ 1)]))
        }
        return media
    }

    private static func setDuration(_ duration: UInt64, in box: inout Box) throws(MovieError) {
        for index in box.children.indices where box.children[index].type == "mvhd" {
            try checkingBoxes { () throws(BoxError) in
                try FinishedTables.setDuration(duration, in: &box.children[index], after: 4)
            }
        }
    }
}
