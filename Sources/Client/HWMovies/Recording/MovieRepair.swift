// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// Finishes a movie with fragments whose recorder died, in place, as `MovieRecorder.finish` does: no media is moved.
///
/// The file may be cut off at any byte behind its movie box. What of the last fragment is in the file is kept.
public struct MovieRepair: Sendable {
    /// What was found and done.
    public enum Outcome: Hashable, Sendable {
        /// The file is a plain movie already, and was not changed.
        case complete
        /// The file was finished.
        case finished
    }

    public let outcome: Outcome
    /// How long the movie is, in seconds.
    public let duration: Double
    /// Packets in all tracks.
    public let packetCount: Int
    /// Bytes that were written.
    public let bytesWritten: Int
    /// What is damaged and was left out, for people.
    public let remarks: [String]

    /// Finishes a file.
    /// - Throws: what `Movie` throws; `inUse` while it is recorded; `truncated` where no whole packet is in the file;
    ///   `malformed` for one that is cut off and has no fragments; `io`.
    public init(path: String) throws(MovieError) {
        let file = try RecordedFile(opening: path)
        let source = try MovieFile(path: path)
        guard file.isSame(as: source) else {
            throw MovieError(.inUse, "\(file.path) was replaced by another program while it was opened")
        }
        let movie = try Movie(source)
        guard movie.isFragmented else {
            remarks = movie.remarks
            guard !movie.isCutShort else {
                throw MovieError(.malformed, "\(file.path) is cut off and has no fragments: it cannot be finished")
            }
            outcome = .complete
            duration = movie.tracks.map { Double($0.duration) / Double($0.timeScale) }.max() ?? 0
            packetCount = movie.tracks.reduce(0) { $0 + $1.sampleCount }
            bytesWritten = 0
            return
        }
        let layout = try FileLayout(source)
        let body = try Self.movieBody(layout, source, file.path)
        if let loss = movie.loss { throw Self.refusal(.unsupported, file.path, loss) }
        if let damage = layout.damage, try Self.hasFragment(source, behind: damage) {
            throw Self.refusal(.malformed, file.path, "it is damaged at byte \(damage), and fragments follow")
        }
        let samples = movie.tracks.reduce(0) { $0 + $1.sampleCount }
        guard samples <= Self.maxSamples else {
            throw MovieError(.limit, "\(file.path) has \(samples) samples; \(Self.maxSamples) can be finished")
        }
        let built = try Self.movieBox(movie, layout.media, try source.read(body))
        remarks =
            movie.remarks
            + layout.others.map {
                "the boxes \"\($0)\" behind the movie box are no longer found in the finished file"
            }
        guard built.count > 0 else {
            throw MovieError(.truncated, "\(file.path) ends before its first packet does: nothing can be finished")
        }
        guard UInt64(built.box.size) <= MovieLimits.movieSize else {
            throw MovieError(
                .limit, "the movie box would have \(built.box.size) bytes: no reader would open the file")
        }
        if let last = layout.openBox { try file.end(last) }
        try file.finish(built.box, over: body.lowerBound - UInt64(Box.headerSize))
        (outcome, packetCount) = (.finished, built.count)
        bytesWritten = built.box.size + Box.largeHeaderSize
        duration = Double(built.duration) / Double(movie.timeScale)
    }

    /// In all tracks: a day of 240 frames a second, with sound.
    private static let maxSamples = 1 << 25
    /// ISO/IEC 14496-12 8.12.
    private static let encryptedEntries: Set<FourCC> = ["encv", "enca", "enct", "encs", "encm", "encf", "enc3"]

    /// The body of the first movie box, whose header is made that of media data.
    private static func movieBody(
        _ layout: FileLayout, _ source: MovieFile, _ path: String
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
    private static func hasFragment(_ source: MovieFile, behind start: UInt64) throws(MovieError) -> Bool {
        let (step, overlap): (UInt64, UInt64) = (1 << 20, 16)
        var position = start + 8
        while position < source.length {
            let bytes = try source.read(position..<min(source.length, position + step + overlap))
            var place = 0
            while place + 12 <= bytes.count {
                if bytes[place] == 0x6D, bytes.fourCC(at: place) == "moof", bytes.fourCC(at: place + 8) == "mfhd" {
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
            children.append(try checkingBoxes { () throws(BoxError) in try tables.finished(box) })
        }
        for index in children.indices where children[index].type == "mvhd" {
            try checkingBoxes { () throws(BoxError) in
                try FinishedTables.setDuration(longest, in: &children[index], after: 4)
            }
        }
        return (Box("moov", children: children), longest, count)
    }
}
