// SPDX-License-Identifier: MIT

/// The packets of a track one after another, in decoding order, as its edits show them.
///
/// Each edit begins with the key packet before its first time, sound one second before; packets that serve only for
/// decoding have `isShown` false.
public struct MoviePackets: Sendable {
    /// The track.
    public let track: MovieTrack
    private let source: any MovieSource
    private let index: SampleIndex
    private let segments: [EditSegment]
    /// What is subtracted from decode times so that none is after the packet's time.
    private let decodeShift: Int64
    private let isSound: Bool
    private let isGrouped: Bool
    private var cursor = TableSamples.Cursor()
    private var segment = 0
    private var sample = 0
    /// Whether a key packet behind the edit's end was met.
    private var isPastEnd = false
    /// The decode time behind the last packet of this edit.
    private var expected: Int64?

    /// Samples of sound that is not compressed in one packet.
    private static let groupSize = 1024

    init(_ source: any MovieSource, _ track: MovieTrack) throws(MovieError) {
        if let fault = track.fault { throw fault }
        guard let index = track.index, let edited = track.edited else {
            throw MovieError(.malformed, "track \(track.id) has no samples")
        }
        (self.source, self.track, self.index, segments) = (source, track, index, edited.segments)
        decodeShift = -index.leastShift
        isSound = track.kind == .sound
        isGrouped = isSound && index.isUniform
        begin(0, at: nil)
    }

    /// The next packet; nil at the end of the track.
    ///
    /// After an error the packet behind is next.
    /// - Parameter reading: whether its bytes are read.
    /// - Throws: `truncated` for a packet that is outside of the file, `malformed` for one without a sample entry, `limit` for
    ///   one that is too large, `unreadable` where the file cannot be read.
    public mutating func next(reading: Bool = true) throws(MovieError) -> MoviePacket? {
        while segment < segments.count {
            guard sample < index.count else {
                begin(segment + 1, at: nil)
                continue
            }
            return try packet(reading: reading)
        }
        return nil
    }

    /// Goes to the last key packet at or before a time of the movie, in ticks of the track, or to the first.
    /// - Returns: where that is; nil where the track has no packets.
    @discardableResult
    public mutating func seek(to time: Int64) -> SeekPoint? {
        guard let number = segments.lastIndex(where: { $0.start <= time }) ?? segments.indices.first else {
            return nil
        }
        begin(number, at: time)
        return point(number, sample)
    }

    /// The last time at or before `time` at which decoding can begin; nil where there is none.
    public func seekPoint(atOrBefore time: Int64) -> SeekPoint? {
        for number in segments.indices.reversed() where segments[number].start <= time {
            let media = mediaTime(time, segments[number])
            if let found = index.sync(atOrBefore: media), index.count > 0 { return point(number, found) }
        }
        return nil
    }

    /// The first time after `time` at which decoding can begin; nil where there is none.
    public func seekPoint(after time: Int64) -> SeekPoint? {
        for (number, segment) in segments.enumerated() where segment.end > time {
            let media = time < segment.start ? segment.mediaTime - 1 : mediaTime(time, segment)
            let last = index.sync(atOrBefore: media) ?? -1
            if let next = index.sync.next(after: last), index.time(next).composition < segment.mediaEnd {
                return point(number, next)
            }
        }
        return nil
    }

    private func mediaTime(_ time: Int64, _ segment: EditSegment) -> Int64 {
        if segment.isStill { return segment.mediaTime }
        let offset = min(max(time, segment.start) - segment.start, greatestTime)
        return min(segment.mediaTime + offset, segment.mediaEnd)
    }

    private func point(_ number: Int, _ sample: Int) -> SeekPoint? {
        guard segments.indices.contains(number), sample < index.count else { return nil }
        let segment = segments[number]
        return SeekPoint(
            time: index.time(sample).composition - segment.mediaTime + segment.start, sample: sample)
    }

    /// Goes to the packet with which an edit begins, or from which `time` can be decoded.
    private mutating func begin(_ number: Int, at time: Int64?) {
        (segment, sample, isPastEnd, expected) = (number, 0, false, nil)
        guard number < segments.count else { return }
        var media = time.map { mediaTime($0, segments[number]) } ?? segments[number].mediaTime
        // Decoders of sound need some packets before the first that is heard.
        if isSound, time == nil { media -= Int64(track.timeScale) }
        sample = index.sync(atOrBefore: media) ?? 0
        // Packets of several samples begin where those of their chunk do.
        if isGrouped, sample < index.count {
            sample -= (sample - index.chunk(of: sample).lowerBound) % Self.groupSize
        }
    }

    /// The packet of the current sample.
    private mutating func packet(reading: Bool) throws(MovieError) -> MoviePacket {
        let (number, edit, time) = (sample, segments[segment], index.time(sample))
        let isKey = index.sync.contains(number)
        let count = isGrouped ? min(Self.groupSize, index.chunk(of: number).upperBound - number) : 1
        let duration = time.duration * Int64(count)
        let shown = span(time.composition, duration, edit)
        let shift = edit.start - edit.mediaTime
        let gap = expected.map { time.decode - $0 } ?? 0
        advance(by: count, time.composition + duration >= edit.mediaEnd && (isKey || isSound))
        expected = time.decode + duration
        let (place, entry) = try place(number, count)
        let isStill = edit.isStill && shown != nil
        let start = isStill ? edit.start : time.composition + shift
        let trimmed: (start: Int64, end: Int64)? =
            isStill
            ? nil
            : shown.map {
                ($0.lowerBound - time.composition, time.composition + duration - $0.upperBound)
            }
        return MoviePacket(
            bytes: reading ? try source.read(place) : [], track: track.id, sample: number, time: start,
            decodeTime: min(start, time.decode - decodeShift + shift),
            duration: isStill ? edit.end - edit.start : duration, isKey: isKey, isShown: shown != nil,
            trimmedStart: trimmed?.start ?? 0, trimmedEnd: trimmed?.end ?? 0,
            level: index.groups["tscl"]?[number]?.first.map { Int($0) },
            dependencies: SampleDependencies(byte: index.dependency(number) ?? 0), entry: entry - 1,
            position: place.lowerBound, size: place.count, gap: gap)
    }

    /// The part of a packet that an edit shows; nil for none.
    ///
    /// A packet of no duration is shown if its time is.
    private func span(_ start: Int64, _ duration: Int64, _ edit: EditSegment) -> Range<Int64>? {
        let end = start + duration
        guard start < edit.mediaEnd, end > edit.mediaTime || duration == 0 && start >= edit.mediaTime else {
            return nil
        }
        return max(start, edit.mediaTime)..<max(start, min(end, edit.mediaEnd))
    }

    /// Goes to the next packet, or to the next edit behind a key packet at this one's end.
    ///
    /// Pictures behind that key packet in decoding order may precede it in output order, up to the next key packet.
    private mutating func advance(by count: Int, _ isEnd: Bool) {
        sample += count
        guard isEnd else { return }
        if index.isReordered, !isSound, !isPastEnd {
            isPastEnd = true
        } else {
            begin(segment + 1, at: nil)
        }
    }

    /// Where a packet is, and the number of its sample entry.
    private mutating func place(
        _ number: Int, _ count: Int
    ) throws(MovieError) -> (range: Range<UInt64>, entry: Int) {
        guard var place = index.place(number, &cursor) else {
            throw MovieError(.truncated, "sample \(number + 1) of track \(track.id) leads outside of the file")
        }
        place.size *= UInt64(count)
        guard let range = place.range, range.upperBound <= source.length else {
            throw MovieError(.truncated, "sample \(number + 1) of track \(track.id) leads outside of the file")
        }
        guard place.size <= MovieLimits.packetSize else {
            throw MovieError(.limit, "sample \(number + 1) of track \(track.id) has \(place.size) bytes")
        }
        guard place.entry >= 1, place.entry <= track.entries.count else {
            throw MovieError(.malformed, "sample \(number + 1) of track \(track.id) has no sample entry")
        }
        return (range, place.entry)
    }
}
