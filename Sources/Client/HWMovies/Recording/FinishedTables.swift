// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// The tables of a track whose samples are in fragments, as those of a plain movie.
struct FinishedTables {
    let count: Int
    /// In ticks of the movie.
    let duration: UInt64
    private let mediaDuration: UInt64
    private let boxes: [Box]
    private let edits: Box

    /// A day of 240 frames a second.
    private static let maxCount = 1 << 25

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
        guard index.count <= Self.maxCount else {
            throw MovieError(.limit, "a track has \(index.count) samples; \(Self.maxCount) can be finished")
        }
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
        func movieTicks(_ ticks: Int64) -> UInt64 { WrittenTrack.ticks(ticks, scales.track, scales.movie) }
        var rows: [(duration: UInt64, media: Int64)] = []
        let stated = edits.isEmpty ? [MovieEdit(duration: 0, mediaTime: 0, rate: 0x1_0000)] : edits
        var total: UInt64 = 0
        for (number, edit) in stated.enumerated() {
            guard let media = edit.mediaTime else {
                if edit.duration > 0 { rows.append((edit.duration, -1)) }
                total = min(total &+ edit.duration, UInt64(greatestTime))
                continue
            }
            let begin = max(media, start)
            let delay = movieTicks(begin - media)
            let isLast = number + 1 == stated.count
            let length = isLast ? movieTicks(max(0, shown - begin)) : edit.duration - min(delay, edit.duration)
            if delay > 0 { rows.append((delay, -1)) }
            rows.append((length, begin - start))
            total = min(total &+ delay &+ length, UInt64(greatestTime))
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
