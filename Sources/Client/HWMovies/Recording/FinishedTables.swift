// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// The samples of a track in fragments that are in the file, as the rows of a plain movie's tables.
private struct FinishedSamples {
    private(set) var count = 0
    /// The decode time of the first.
    private(set) var start: Int64 = 0
    /// When the last picture is no longer shown, on the media's time line.
    private(set) var shown: Int64 = 0
    private var last: (decode: Int64, duration: Int64) = (0, 0)
    private var durations = WrittenTrack.Runs()
    private var shifts = WrittenTrack.Runs()
    private var sizes: [UInt32] = []
    private var dependencies: [UInt8] = []
    private var sync: [UInt32] = []
    private var chunks: [ChunkTable.Chunk] = []
    private var end = UInt64.max
    private var isSigned = false

    /// A day of 240 frames a second.
    private static let maxCount = 1 << 25

    /// - Parameters:
    ///   - media: where the media boxes are: what is behind the last, and all behind that, is lost.
    ///   - entries: the number of sample entries.
    /// - Throws: `limit` for too many samples; `malformed` for one that is elsewhere.
    init(_ index: SampleIndex, media: [Range<UInt64>], entries: Int) throws(MovieError) {
        guard index.count <= Self.maxCount else {
            throw MovieError(.limit, "a track has \(index.count) samples; \(Self.maxCount) can be finished")
        }
        isSigned = index.leastShift < 0
        var cursor = TableSamples.Cursor()
        let length = media.last?.upperBound ?? 0
        var box = 0
        for sample in 0..<index.count {
            guard let place = index.place(sample, &cursor), let range = place.range, range.upperBound <= length,
                place.entry >= 1, place.entry <= entries, let size = UInt32(exactly: place.size)
            else { break }
            while box < media.count, media[box].upperBound < range.upperBound { box += 1 }
            while box > 0, media[box - 1].upperBound >= range.upperBound { box -= 1 }
            guard range.isEmpty || media[box].lowerBound <= range.lowerBound else {
                throw MovieError(
                    .malformed,
                    "a sample at byte \(range.lowerBound) is outside the file's media: nothing is finished")
            }
            append(index.time(sample), place, size)
            end = range.upperBound
            dependencies.append(index.dependency(sample) ?? 0)
            if index.sync.contains(sample) { sync.append(UInt32(count)) }
        }
        durations.append(UInt32(clamping: last.duration))
    }

    private mutating func append(_ time: SampleTime, _ place: SamplePlace, _ size: UInt32) {
        if count == 0 {
            start = time.decode
        } else {
            // A gap lengthens the sample before.
            durations.append(UInt32(clamping: time.decode - last.decode))
        }
        count += 1
        last = (time.decode, time.duration)
        shown = max(shown, time.composition + time.duration)
        shifts.append(UInt32(truncatingIfNeeded: time.shift))
        sizes.append(size)
        if let chunk = chunks.last, end == place.offset, chunk.entry == place.entry {
            chunks[chunks.count - 1].sampleCount += 1
        } else {
            chunks.append(ChunkTable.Chunk(offset: place.offset, sampleCount: 1, entry: place.entry))
        }
    }

    /// In ticks of the track.
    var mediaDuration: UInt64 { UInt64(clamping: last.decode + last.duration - start) }

    /// The boxes of the sample table behind `stsd`.
    func boxes(_ groups: [FourCC: GroupMap]) -> [Box] {
        var table = Box("stbl", children: [Box("stts", durations.body)])
        if !shifts.isZero {
            var body = shifts.body
            if isSigned { body[0] = 1 }
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
        for (type, map) in groups.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            var group = SampleGroup(type, entries: map.descriptions)
            let numbers = Dictionary(
                uniqueKeysWithValues: map.descriptions.enumerated().map { ($1, UInt32($0 + 1)) })
            for sample in 0..<count { group.append(map[sample].flatMap { numbers[$0] } ?? 0) }
            if group.hasMembers { table.children += group.boxes }
        }
        return table.children
    }
}

/// The tables of a track whose samples are in fragments, as those of a plain movie.
struct FinishedTables {
    let count: Int
    /// In ticks of the movie.
    private(set) var duration: UInt64 = 0
    private let mediaDuration: UInt64
    private let boxes: [Box]
    private var edits = Box("edts", children: [])

    /// - Parameter movieScale: ticks per second of the movie.
    init(_ track: MovieTrack, _ index: SampleIndex, media: [Range<UInt64>], movieScale: UInt32) throws(MovieError) {
        let samples = try FinishedSamples(index, media: media, entries: track.entries.count)
        (count, mediaDuration, boxes) = (samples.count, samples.mediaDuration, samples.boxes(index.groups))
        // The media's time line begins with its first sample; what precedes that is an empty edit.
        func movieTicks(_ ticks: Int64) -> UInt64 { WrittenTrack.ticks(ticks, track.timeScale, movieScale) }
        var rows: [(duration: UInt64, media: Int64)] = []
        let stated = track.edits.isEmpty ? [MovieEdit(duration: 0, mediaTime: 0, rate: 0x1_0000)] : track.edits
        for (number, edit) in stated.enumerated() {
            guard let media = edit.mediaTime else {
                if edit.duration > 0 { rows.append((edit.duration, -1)) }
                continue
            }
            let begin = max(media, samples.start)
            let delay = movieTicks(begin - media)
            let isLast = number + 1 == stated.count
            if delay > 0 { rows.append((delay, -1)) }
            rows.append(
                (
                    isLast ? movieTicks(samples.shown - begin) : edit.duration - min(delay, edit.duration),
                    begin - samples.start
                ))
        }
        duration = rows.reduce(0) { min($0 &+ min($1.duration, UInt64(greatestTime)), UInt64(greatestTime)) }
        edits = WrittenTrack.edits(rows)
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

    /// Sets the duration of a `mvhd`, `tkhd` or `mdhd`, which is `after` bytes behind the times.
    static func setDuration(_ duration: UInt64, in header: inout Box, after: Int) throws(BoxError) {
        let place = header.offsetAfterTimes + after
        let width = header.fields.first == 1 ? 8 : 4
        guard header.fields.count >= place + width else {
            throw BoxError("the box \"\(header.type)\" is cut off")
        }
        var bytes: [UInt8] = []
        if width == 8 {
            bytes.appendBigEndian(duration)
        } else {
            bytes.appendBigEndian(UInt32(clamping: duration))
        }
        header.fields.replaceSubrange(place..<place + width, with: bytes)
    }
}
