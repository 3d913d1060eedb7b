// SPDX-License-Identifier: MIT
internal import HWDBoxes
internal import HWDHEVC

/// The tables of a track that is written.
struct WrittenTrack {
    /// What the track has.
    enum Media {
        case video(VideoTrackSettings)
        case coded(CodedVideoTrackSettings)
        case sound(SoundTrackSettings)
        case chapters
    }

    /// Rows of a table that each are for several samples.
    struct Runs {
        private var numbers: [UInt32] = []

        mutating func append(_ value: UInt32) {
            if let last = numbers.last, last == value, numbers[numbers.count - 2] < .max {
                numbers[numbers.count - 2] += 1
            } else {
                numbers += [1, value]
            }
        }

        /// The body of the box.
        var body: [UInt8] { [UInt8](bigEndian: [0, UInt32(numbers.count / 2)] + numbers) }
        var isZero: Bool { numbers.isEmpty || numbers.count == 2 && numbers[1] == 0 }
    }

    private var media: Media
    /// What is known of the pictures; nil for sound.
    private var annotations: PictureAnnotations?
    /// The configuration of the packets that follow, once it has changed.
    private var record: DecoderConfigurationRecord?
    let timeScale: UInt32
    /// When the track ends; nil where its last packet does.
    var end: Int64?
    private let isQuickTime: Bool
    private var entries: [Box]
    private var current = 1
    private var durations = Runs()
    private var shifts = Runs()
    private var sizes: [UInt32] = []
    private var sync: [UInt32] = []
    private var chunks: [ChunkTable.Chunk] = []
    private var chunkSize = 0
    private var position: UInt64 = 0
    /// The decode time of the first packet, and that and the duration of the last.
    private var times: (first: Int64, last: Int64, duration: Int64)?
    private var shown: (first: Int64, end: Int64) = (.max, .min)

    private static let maxChunkSize = 1 << 20
    private static let maxEntries = 1024

    init(video: VideoTrackSettings, isQuickTime: Bool) throws(MovieError) {
        try video.check()
        media = .video(video)
        annotations = PictureAnnotations(video.configuration, isQuickTime: isQuickTime)
        (timeScale, self.isQuickTime) = (video.timeScale, isQuickTime)
        entries = [try video.entry(video.configuration, isQuickTime: isQuickTime)]
    }

    init(coded video: CodedVideoTrackSettings, isQuickTime: Bool) throws(MovieError) {
        guard video.timeScale > 0, video.width > 0, video.height > 0 else {
            throw MovieError(.usage, "a track of pictures needs a time scale and a size above 0")
        }
        media = .coded(video)
        (timeScale, self.isQuickTime) = (video.timeScale, isQuickTime)
        entries = [video.entry(isQuickTime: isQuickTime)]
    }

    init(sound: SoundTrackSettings, isQuickTime: Bool) throws(MovieError) {
        try sound.check()
        media = .sound(sound)
        (timeScale, self.isQuickTime) = (sound.timeScale, isQuickTime)
        entries = [sound.entry]
    }

    /// A track of chapters' titles, in milliseconds.
    init(chaptersOf isQuickTime: Bool) {
        media = .chapters
        (timeScale, self.isQuickTime) = (1000, isQuickTime)
        entries = [ChapterText.entry]
    }

    var isEmpty: Bool { sizes.isEmpty }
    /// The number of packets.
    var count: Int { sizes.count }
    /// The number of the sample entry of the packets that follow.
    var entry: Int { current }
    /// Whether it has pictures.
    var isVideo: Bool {
        switch media {
        case .video, .coded: true
        case .sound, .chapters: false
        }
    }

    /// Annotations without pictures, for those of a fragment; nil for sound.
    var emptyAnnotations: PictureAnnotations? {
        guard case .video(let settings) = media else { return nil }
        return PictureAnnotations(record ?? settings.configuration, isQuickTime: isQuickTime)
    }

    /// Changes the parameter sets of the packets that follow.
    /// - Parameter color: that of their pictures; nil where it does not change.
    mutating func change(to record: DecoderConfigurationRecord, color: MovieColor?? = nil) throws(MovieError) {
        guard case .video(var settings) = media, record.lengthSize == 4 else {
            throw MovieError(.usage, "only tracks of HEVC have these parameter sets, with lengths of 4 bytes")
        }
        if let color { settings.color = color }
        try use(try settings.entry(record, isQuickTime: isQuickTime))
        media = .video(settings)
        annotations?.change(to: record)
        self.record = record
    }

    /// Changes how the packets that follow are coded.
    mutating func change(to video: CodedVideoTrackSettings) throws(MovieError) {
        guard case .coded(let settings) = media, settings.timeScale == video.timeScale else {
            throw MovieError(.usage, "a track keeps its kind of codec and its time scale")
        }
        try use(video.entry(isQuickTime: isQuickTime))
    }

    /// Makes an entry that of the packets that follow.
    private mutating func use(_ entry: Box) throws(MovieError) {
        if let known = entries.firstIndex(of: entry) {
            current = known + 1
            return
        }
        guard entries.count < Self.maxEntries else {
            throw MovieError(.limit, "the parameter sets change more than \(Self.maxEntries) times")
        }
        entries.append(entry)
        current = entries.count
    }

    /// Checks a packet before its bytes are written.
    ///
    /// - Parameter pending: the decode time of the packet before, where that is not appended yet.
    /// - Throws: `usage` for times that a movie cannot hold, and for bytes without a picture.
    func check(_ packet: WrittenPacket, after pending: Int64? = nil) throws(MovieError) {
        let limit = 0..<Int64(UInt32.max)
        guard limit.contains(packet.duration), (-greatestTime..<greatestTime).contains(packet.time),
            (-greatestTime..<greatestTime).contains(packet.decodeTime),
            limit.contains(packet.time - packet.decodeTime)
        else {
            throw MovieError(.usage, "a packet has times that a movie cannot hold, or is decoded after it is shown")
        }
        if let last = pending ?? times?.last, !limit.contains(packet.decodeTime - last) {
            throw MovieError(.usage, "a packet is decoded before the one written before it, or much later")
        }
        guard UInt64(packet.bytes.count) <= MovieLimits.packetSize, sizes.count < MovieLimits.samples else {
            throw MovieError(
                .limit, "a packet of \(packet.bytes.count) bytes, or one more packet, cannot be written")
        }
        if case .video = media, Self.kind(packet) == nil {
            throw MovieError(.usage, "a packet has no HEVC picture in NAL units behind lengths of 4 bytes")
        }
    }

    private static func kind(_ packet: WrittenPacket) -> SampleKind? {
        packet.bytes.withUnsafeBytes { SampleKind($0, .lengths(4)) }
    }

    /// Adds a packet whose bytes are at a position of the file.
    mutating func append(_ packet: WrittenPacket, at position: UInt64) {
        if let last = chunks.last, self.position == position, last.entry == current, chunkSize < Self.maxChunkSize {
            chunks[chunks.count - 1].sampleCount += 1
            chunkSize += packet.bytes.count
        } else {
            chunks.append(ChunkTable.Chunk(offset: position, sampleCount: 1, entry: current))
            chunkSize = packet.bytes.count
        }
        self.position = position + UInt64(packet.bytes.count)
        if let times { durations.append(UInt32(packet.decodeTime - times.last)) }
        times = (times?.first ?? packet.decodeTime, packet.decodeTime, packet.duration)
        shifts.append(UInt32(packet.time - packet.decodeTime))
        sizes.append(UInt32(packet.bytes.count))
        shown = (min(shown.first, packet.time), max(shown.end, packet.time + packet.duration))
        if isKeyFrame(packet) { sync.append(UInt32(sizes.count)) }
        guard case .video = media else { return }
        packet.bytes.withUnsafeBytes { annotations?.note($0) }
    }

    /// Whether decoding can begin with a picture; false for sound.
    func isKeyFrame(_ packet: WrittenPacket) -> Bool {
        switch media {
        case .video: Self.kind(packet)?.isIRAP ?? false
        case .coded: packet.isKeyFrame
        case .sound, .chapters: false
        }
    }

    /// How long the track is shown, in its ticks, from the begin of the movie.
    var duration: Int64 { max(0, end ?? shown.end) }

    /// Ticks of the track as ticks of the movie, rounded to the nearest.
    func movieTicks(_ ticks: Int64, _ scale: UInt32) -> UInt64 { Self.ticks(ticks, timeScale, scale) }

    /// Ticks of a track as ticks of its movie, rounded to the nearest.
    static func ticks(_ ticks: Int64, _ timeScale: UInt32, _ scale: UInt32) -> UInt64 {
        let product = UInt64(max(0, ticks)).multipliedFullWidth(by: UInt64(scale))
        let (low, carry) = product.low.addingReportingOverflow(UInt64(timeScale) / 2)
        // The quotient fits: ticks have less than 61 bits, and a scale at most 32.
        let high = product.high + (carry ? 1 : 0)
        return high < UInt64(timeScale) ? UInt64(timeScale).dividingFullWidth((high, low)).quotient : .max
    }

    /// The `trak` box.
    ///
    /// - Parameter chapters: the number of the track with its chapters.
    func box(_ id: UInt32, movieScale: UInt32, chapters: UInt32? = nil) throws(MovieError) -> Box {
        let writer = TrackBoxes(
            id: id, duration: movieTicks(duration, movieScale), mediaDuration: mediaDuration, timeScale: timeScale,
            isQuickTime: isQuickTime)
        var table = Box(
            "stbl",
            children: [Box("stsd", fields: [UInt8](bigEndian: [0, UInt32(entries.count)]), children: entries)])
        var durations = durations
        durations.append(UInt32(times?.duration ?? 0))
        table.children.append(Box("stts", durations.body))
        if !shifts.isZero { table.children.append(Box("ctts", shifts.body)) }
        if isVideo, sync.count < sizes.count {
            table.children.append(Box("stss", [UInt8](bigEndian: [0, UInt32(sync.count)] + sync)))
        }
        table.children.append(Box("stsc", []))
        table.children.append(Box("stsz", [UInt8](bigEndian: [0, 0, UInt32(sizes.count)] + sizes)))
        let isWide = chunks.contains { $0.offset > UInt64(UInt32.max) }
        table.children.append(Box(isWide ? "co64" : "stco", []))
        ChunkTable(chunks).write(into: &table)
        let edits = self.edits(movieScale)
        switch media {
        case .video(let settings):
            try checkingBoxes { () throws(BoxError) in try annotations?.write(into: &table) }
            return writer.video(
                settings.matrix, settings.language, size: try settings.displaySize(settings.configuration), edits,
                try corrected(table), chapters: chapters)
        case .coded(let settings):
            return writer.video(
                Box.identityMatrix, settings.language, size: settings.displaySize, edits, table, chapters: chapters)
        case .chapters: return writer.chapters(edits, table)
        case .sound(let settings):
            if let distance = settings.rollDistance {
                var group = SampleGroup(roll: distance)
                for _ in sizes { group.append(1) }
                table.children += group.boxes
            }
            return writer.sound(settings, edits, table)
        }
    }

    /// The `trak` box of a movie whose samples are all in fragments, which follow.
    ///
    /// - Parameter begin: the decode time at which its media begins, and the first time that is shown.
    func openBox(
        _ id: UInt32, movieScale: UInt32, _ begin: (decode: Int64, shown: Int64)
    ) throws(MovieError) -> Box {
        let writer = TrackBoxes(
            id: id, duration: 0, mediaDuration: 0, timeScale: timeScale, isQuickTime: isQuickTime)
        let empty = [UInt8](bigEndian: [0, 0])
        let table = Box(
            "stbl",
            children: [
                Box("stsd", fields: [UInt8](bigEndian: [0, UInt32(entries.count)]), children: entries),
                Box("stts", empty), Box("stsc", empty), Box("stsz", empty + [0, 0, 0, 0] as [UInt8]),
                Box("stco", empty),
            ])
        let shown = max(0, begin.shown)
        let delay = movieTicks(shown, movieScale)
        // A duration of 0 is that of the fragments.
        var rows: [(duration: UInt64, media: Int64)] = [(0, shown - begin.decode)]
        if delay > 0 { rows.insert((delay, -1), at: 0) }
        let edits = Self.edits(rows)
        switch media {
        case .video(let settings):
            return writer.video(
                settings.matrix, settings.language, size: try settings.displaySize(settings.configuration), edits,
                table, chapters: nil)
        case .coded(let settings):
            return writer.video(
                Box.identityMatrix, settings.language, size: settings.displaySize, edits, table, chapters: nil)
        case .sound(let settings): return writer.sound(settings, edits, table)
        case .chapters: return writer.chapters(edits, table)
        }
    }

    /// A table whose records state as many levels as were written.
    private func corrected(_ table: Box) throws(MovieError) -> Box {
        var table = table
        try checkingBoxes { () throws(BoxError) in
            try table.forEach { box throws(BoxError) in if box.type == "hvcC" { annotations?.correct(&box) } }
        }
        return table
    }

    private var mediaDuration: UInt64 {
        times.map { UInt64($0.last - $0.first + $0.duration) } ?? 0
    }

    /// The `elst`: what precedes 0 is not shown, and a later begin is an empty edit.
    private func edits(_ movieScale: UInt32) -> Box {
        let begin = max(0, shown.first)
        let media = begin - (times?.first ?? 0)
        var rows: [(duration: UInt64, media: Int64)] = []
        let delay = movieTicks(begin, movieScale)
        if delay > 0 { rows.append((delay, -1)) }
        rows.append((movieTicks(duration, movieScale) - min(delay, movieTicks(duration, movieScale)), media))
        return Self.edits(rows)
    }

    /// An `edts` box; −1 shows nothing.
    static func edits(_ rows: [(duration: UInt64, media: Int64)]) -> Box {
        let isWide = rows.contains { $0.duration > UInt64(UInt32.max) || $0.media > Int64(Int32.max) }
        var body = [UInt8](bigEndian: [isWide ? 0x0100_0000 : 0, UInt32(rows.count)])
        for row in rows {
            if isWide {
                body.appendBigEndian(row.duration)
                body.appendBigEndian(row.media)
            } else {
                body.appendBigEndian(UInt32(row.duration))
                body.appendBigEndian(Int32(row.media))
            }
            body.appendBigEndian(UInt32(0x1_0000))
        }
        return Box("edts", children: [Box("elst", body)])
    }
}
