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
        let movie = try Movie(source)
        remarks = movie.remarks
        guard movie.isFragmented else {
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
        guard let body = layout.movie, body.lowerBound >= UInt64(Box.headerSize),
            body.count + Box.headerSize >= Box.largeHeaderSize
        else { throw MovieError(.malformed, "\(file.path) has no movie box") }
        let header = try source.read(body.lowerBound - UInt64(Box.headerSize)..<body.lowerBound)
        guard header.fourCC(at: 4) == "moov" else {
            throw MovieError(.unsupported, "the movie box of \(file.path) has a size of 64 bits")
        }
        let bytes = try source.read(body)
        let boxes = try checkingBoxes { () throws(BoxError) in try Box.parse(bytes[...]) }
        var count = 0
        var longest: UInt64 = 0
        var children: [Box] = []
        for box in boxes where box.type != "mvex" {
            guard box.type == "trak" else {
                children.append(box)
                continue
            }
            guard let id = box.trackID, let track = movie.tracks.first(where: { Int($0.id) == id }),
                let index = track.index
            else { continue }
            let tables = try FinishedTables(
                index, length: source.length, entries: track.entries.count, track.edits,
                scales: (track.timeScale, movie.timeScale))
            guard tables.count > 0 else { continue }
            count += tables.count
            longest = max(longest, tables.duration)
            children.append(try checkingBoxes { () throws(BoxError) in try tables.finished(box) })
        }
        guard count > 0 else {
            throw MovieError(.truncated, "\(file.path) ends before its first packet does: nothing can be finished")
        }
        for index in children.indices where children[index].type == "mvhd" {
            try checkingBoxes { () throws(BoxError) in
                try FinishedTables.setDuration(longest, in: &children[index], after: 4)
            }
        }
        let finished = Box("moov", children: children)
        try file.finish(finished, over: body.lowerBound - UInt64(Box.headerSize))
        (outcome, packetCount, bytesWritten) = (.finished, count, finished.size + Box.largeHeaderSize)
        duration = Double(longest) / Double(movie.timeScale)
    }
}
