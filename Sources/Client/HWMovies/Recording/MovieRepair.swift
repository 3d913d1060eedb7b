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

/// The tables of a track whose samples are in fragments, as those of a plain movie.
private struct FinishedTables {
    let count: Int
    /// In ticks of the movie.
    let duration: UInt64
    private let mediaDuration: UInt64
    private let boxes: [Box]
    private let edits: Box

    init(
        _ index: SampleIndex, length: UInt64, entries: Int, _ edits: [MovieEdit], scales: (track: UInt32, movie: UInt32)
    ) throws(MovieError) {
        var durations = WrittenTrack.Runs()
        var shifts = WrittenTrack.Runs()
        var sizes: [UInt32] = []
        var dependencies: [UInt8] = []
        var chunks: [ChunkTable.Chunk] = []
        var sync: [UInt32] = []
        var (cursor, end) = (TableSamples.Cursor(), UInt64.max)
        var (first, previous, last): (Int64?, Int64, Int64) = (nil, 0, 0)
        var shown: Int64 = 0
        for sample in 0..<index.count {
            let time = index.time(sample)
            // What is behind the end of the file, and all behind it, is lost.
            guard let place = index.place(sample, &cursor), let range = place.range, range.upperBound <= length,
                place.entry >= 1, place.entry <= entries, let size = UInt32(exactly: place.size)
            else { break }
            if first == nil { first = time.decode } else { durations.append(UInt32(clamping: time.decode - previous)) }
            (previous, last) = (time.decode, time.duration)
            shifts.append(UInt32(truncatingIfNeeded: time.shift))
            sizes.append(size)
            dependencies.append(index.dependency(sample) ?? 0)
            if index.sync.contains(sample) { sync.append(UInt32(sizes.count)) }
            if let chunk = chunks.last, end == place.offset, chunk.entry == place.entry {
                chunks[chunks.count - 1].sampleCount += 1
            } else {
                chunks.append(ChunkTable.Chunk(offset: place.offset, sampleCount: 1, entry: place.entry))
            }
            end = range.upperBound
            shown = max(shown, time.composition + time.duration)
        }
        count = sizes.count
        durations.append(UInt32(clamping: last))
        let start = first ?? 0
        mediaDuration = UInt64(clamping: previous + last - start)
        var table = Box("stbl", children: [Box("stts", durations.body)])
        if !shifts.isZero {
            var body = shifts.body
            if index.leastShift < 0 { body[0] = 1 }
            table.children.append(Box("ctts", body))
        }
        if sync.count < count {
            table.children.append(Box("stss", [UInt8](bigEndian: [0, UInt32(sync.count)] + sync)))
        }
        if Set(dependencies).count > 1 { table.children.append(Box("sdtp", [0, 0, 0, 0] + dependencies)) }
        table.children.append(Box("stsc", []))
        table.children.append(Box("stsz", [UInt8](bigEndian: [0, 0, UInt32(count)] + sizes)))
        let isWide = chunks.contains { $0.offset > UInt64(UInt32.max) }
        table.children.append(Box(isWide ? "co64" : "stco", []))
        ChunkTable(chunks).write(into: &table)
        for type in index.groups.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let map = index.groups[type] else { continue }
            var group = SampleGroup(type, entries: map.descriptions)
            let numbers = Dictionary(
                uniqueKeysWithValues: map.descriptions.enumerated().map { ($1, UInt32($0 + 1)) })
            for sample in 0..<count { group.append(map[sample].flatMap { numbers[$0] } ?? 0) }
            if group.hasMembers { table.children += group.boxes }
        }
        boxes = table.children
        // The media's time line begins with its first sample; what precedes that is an empty edit.
        func movieTicks(_ ticks: Int64) -> UInt64 {
            let (quotient, _) = UInt64(scales.track).dividingFullWidth(
                UInt64(clamping: ticks).multipliedFullWidth(by: UInt64(scales.movie)))
            return quotient
        }
        var rows: [(duration: UInt64, media: Int64)] = []
        let stated = edits.isEmpty ? [MovieEdit(duration: 0, mediaTime: 0, rate: 0x1_0000)] : edits
        var total: UInt64 = 0
        for (number, edit) in stated.enumerated() {
            guard let media = edit.mediaTime else {
                if edit.duration > 0 { rows.append((edit.duration, -1)) }
                total += edit.duration
                continue
            }
            let begin = max(media, start)
            let delay = movieTicks(begin - media)
            let isLast = number + 1 == stated.count
            let length = isLast ? movieTicks(max(0, shown - begin)) : edit.duration - min(delay, edit.duration)
            if delay > 0 { rows.append((delay, -1)) }
            rows.append((length, begin - start))
            total += delay + length
        }
        (duration, self.edits) = (total, WrittenTrack.edits(rows))
    }

    /// A `trak` with these tables.
    func finished(_ track: Box) throws(BoxError) -> Box {
        var track = track
        try track.edit(Box.sampleTablePath) { table throws(BoxError) in
            table.children = table.children.filter { $0.type == "stsd" } + boxes
        }
        try track.edit(["tkhd"]) { header throws(BoxError) in
            try Self.setDuration(duration, in: &header, after: 8)
        }
        try track.edit(["mdia", "mdhd"]) { header throws(BoxError) in
            try Self.setDuration(mediaDuration, in: &header, after: 4)
        }
        track.children.removeAll { $0.type == "edts" }
        let behind = track.children.firstIndex { $0.type == "tkhd" } ?? -1
        track.children.insert(edits, at: behind + 1)
        return track
    }

    /// Sets the duration of a `mvhd`, `tkhd` or `mdhd`, which is `after` bytes behind the times; 32 bits hold at most their greatest.
    static func setDuration(_ duration: UInt64, in header: inout Box, after: Int) throws(BoxError) {
        let place = header.offsetAfterTimes + after
        let width = header.fields.first == 1 ? 8 : 4
        guard header.fields.count >= place + width else { throw BoxError("the box \"\(header.type)\" is cut off") }
        var bytes: [UInt8] = []
        if width == 8 {
            bytes.appendBigEndian(duration)
        } else {
            bytes.appendBigEndian(UInt32(clamping: duration))
        }
        header.fields.replaceSubrange(place..<place + width, with: bytes)
    }
}
