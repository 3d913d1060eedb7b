// SPDX-License-Identifier: MIT
public import HWDBoxes

/// A QuickTime movie or MP4 file that is open for reading.
///
/// Opening reads the movie box and, in a fragmented movie, all fragments' boxes; packets are read when they are asked for. The
/// file is not trusted: every count and position is checked before memory is taken for it.
public struct Movie: Sendable {
    /// The file.
    public let source: any MovieSource
    /// The major brand of `ftyp`; nil without that box, as in old QuickTime movies.
    public let brand: FourCC?
    /// Ticks per second of the movie's own times, those of edits' durations.
    public let timeScale: UInt32
    /// The tracks, in the order of the file.
    public let tracks: [MovieTrack]
    /// `udta` and `meta` of the movie, as they are.
    public let metadata: [Box]
    /// Whether the movie may have fragments.
    public let isFragmented: Bool
    /// Whether the file ends within one of its boxes: packets may be missing.
    public let isCutShort: Bool
    /// What is damaged and was left out, for people.
    public let remarks: [String]
    /// Why a plain movie would lack something of its fragments; nil where it would not.
    let loss: String?
    /// The chapters that a recorder has left in the fragments.
    let fragmentChapters: [MovieChapter]

    /// Reads the boxes of a movie.
    /// - Throws: `truncated` or `malformed` where there is no whole movie box, `limit` for a file with more than
    ///   `MovieLimits`, `unsupported` for a compressed movie box.
    public init(_ source: some MovieSource) throws(MovieError) {
        var layout = try FileLayout(source)
        guard let range = layout.movie else {
            throw layout.isCutShort
                ? MovieError(.truncated, "the file ends before its movie box does")
                : MovieError(.malformed, "the file has no movie box")
        }
        let size = range.upperBound - range.lowerBound
        guard size <= MovieLimits.movieSize else {
            throw MovieError(.limit, "the movie box has \(size) bytes; \(MovieLimits.movieSize) are supported")
        }
        let body = try source.read(range)
        let boxes = try checkingBoxes { () throws(BoxError) in try Box.parse(body[...]) }
        guard !boxes.contains(where: { $0.type == "cmov" }) else {
            throw MovieError(.unsupported, "the movie box is compressed")
        }
        let header = boxes.first { $0.type == "mvhd" }
        guard let scale = header?.fields.bigEndian(at: header?.offsetAfterTimes ?? 0, 4), scale > 0 else {
            throw MovieError(.malformed, "the movie has no time scale")
        }
        let traks = boxes.filter { $0.type == "trak" }
        guard traks.count <= MovieLimits.tracks else {
            throw MovieError(.limit, "the movie has \(traks.count) tracks; \(MovieLimits.tracks) are supported")
        }
        let extends = boxes.first { $0.type == "mvex" }
        var tables: [(box: Box, tables: TrackTables)] = []
        for box in traks {
            do throws(BoxError) {
                let read = try TrackTables(box, movieScale: UInt32(scale), isFragmented: extends != nil)
                guard !tables.contains(where: { $0.tables.id == read.id }) else {
                    throw BoxError("two tracks have the number \(read.id)")
                }
                tables.append((box, read))
            } catch {
                layout.remark(error.reason)
            }
        }
        if let extends { try layout.readFragments(source, extends, &tables) }
        var tracks: [MovieTrack] = []
        for (box, tables) in tables {
            do throws(BoxError) { tracks.append(try MovieTrack(box, tables)) } catch { layout.remark(error.reason) }
        }
        self.source = source
        (brand, timeScale, self.tracks) = (layout.brand, UInt32(scale), tracks)
        metadata = boxes.filter { $0.type == "udta" || $0.type == "meta" }
        (isFragmented, isCutShort, remarks) = (extends != nil, layout.isCutShort, layout.remarks)
        (loss, fragmentChapters) = (layout.loss, layout.chapters.chapters)
    }

    /// The track with a number; nil where there is none.
    public func track(_ id: UInt32) -> MovieTrack? { tracks.first { $0.id == id } }

    /// Reads the packets of a track, from its first on.
    /// - Throws: the track's `fault`.
    public func packets(of track: MovieTrack) throws(MovieError) -> MoviePackets { try MoviePackets(source, track) }
}
