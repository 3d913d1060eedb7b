// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// One edit of a track's time line (ISO/IEC 14496-12 8.6.6).
public struct MovieEdit: Hashable, Sendable {
    /// How long it is shown, in ticks of the movie.
    public var duration: UInt64
    /// The first time of the media that is shown, in ticks of the track; nil where nothing is shown.
    public var mediaTime: Int64?
    /// The speed in 1/65536; 0 shows the sample of `mediaTime` for the whole duration.
    ///
    /// Others than 0 and 1 are not applied: packets have the times of speed 1.
    public var rate: Int32

    /// An edit, as the properties state.
    public init(duration: UInt64, mediaTime: Int64?, rate: Int32) {
        self.duration = duration
        self.mediaTime = mediaTime
        self.rate = rate
    }
}

/// What an edit shows, in ticks of the track.
struct EditSegment: Hashable, Sendable {
    /// On the movie's time line.
    var start: Int64
    /// The first time of the media.
    var mediaTime: Int64
    /// The time of the media behind the last; `greatestTime` for all that there is.
    var mediaEnd: Int64
    /// On the movie's time line.
    var end: Int64
    /// Whether one sample is shown for the whole duration.
    var isStill = false
}

/// The edits of a track.
struct EditList: Sendable {
    /// As the file states them.
    private(set) var edits: [MovieEdit] = []
    /// Those that show something, by their times on the movie's time line.
    private(set) var segments: [EditSegment] = []

    /// What a track shows without an edit list: all of it.
    private static let everything = EditSegment(start: 0, mediaTime: 0, mediaEnd: greatestTime, end: greatestTime)

    /// Reads an `elst`.
    ///
    /// - Parameters:
    ///   - box: nil without one.
    ///   - scale: ticks per second of the track.
    ///   - movieScale: ticks per second of the movie.
    ///   - isFragmented: whether fragments follow, to which the last edit extends.
    /// - Throws: an error where it is cut off, too long, or has times that are too large.
    init(_ box: Box?, scale: UInt32, movieScale: UInt32, isFragmented: Bool) throws(BoxError) {
        if let box { try read(box) }
        guard edits.contains(where: { $0.mediaTime != nil }) else {
            // Empty edits alone show nothing; writers that make them mean a delay.
            let delay = try Self.ticks(edits.reduce(0) { $0 &+ $1.duration }, scale, movieScale)
            var segment = Self.everything
            segment.start = delay
            segments = [segment]
            return
        }
        var time: UInt64 = 0
        for (index, edit) in edits.enumerated() {
            let (end, overflow) = time.addingReportingOverflow(edit.duration)
            guard !overflow else { throw BoxError("the edit list is too long") }
            let (first, behind) = (try Self.ticks(time, scale, movieScale), try Self.ticks(end, scale, movieScale))
            time = end
            guard let media = edit.mediaTime else { continue }
            let isLast = index == edits.count - 1
            // A duration of 0 is that of the media in files with fragments, and means the same in others.
            let isOpen = isLast && (isFragmented || edit.duration == 0)
            let isStill = edit.rate == 0 && !isOpen
            guard isOpen || behind > first else { continue }
            let mediaEnd = isOpen ? greatestTime : isStill ? media + 1 : media + (behind - first)
            segments.append(
                EditSegment(
                    start: first, mediaTime: media, mediaEnd: mediaEnd, end: isOpen ? greatestTime : behind,
                    isStill: isStill))
        }
    }

    private mutating func read(_ box: Box) throws(BoxError) {
        var fields = BoxFields("elst", box.fields[...])
        let (version, _) = try fields.versionAndFlags(upTo: 1)
        let width = version == 1 ? 8 : 4
        let count = try fields.int(4)
        guard count <= MovieLimits.edits else {
            throw BoxError("the edit list has \(count) edits; \(MovieLimits.edits) are supported")
        }
        guard count <= fields.left / (2 * width + 4) else { throw BoxError("the box \"elst\" is cut off") }
        for _ in 0..<count {
            let duration = try fields.number(width)
            let raw = try fields.number(width)
            let time = width == 8 ? Int64(bitPattern: raw) : Int64(Int32(truncatingIfNeeded: raw))
            guard time < greatestTime, duration < greatestTime else {
                throw BoxError("the times of an edit are too large")
            }
            let rate = Int32(truncatingIfNeeded: try fields.number(4))
            edits.append(MovieEdit(duration: duration, mediaTime: time < 0 ? nil : time, rate: rate))
        }
    }

    /// Ticks of the movie as ticks of the track, rounded to the nearest.
    private static func ticks(_ value: UInt64, _ scale: UInt32, _ movieScale: UInt32) throws(BoxError) -> Int64 {
        let product = value.multipliedFullWidth(by: UInt64(scale))
        let (low, carry) = product.low.addingReportingOverflow(UInt64(movieScale) / 2)
        let high = product.high + (carry ? 1 : 0)
        guard high < UInt64(movieScale) else { throw BoxError("the edit list is too long") }
        let (quotient, _) = UInt64(movieScale).dividingFullWidth((high, low))
        guard quotient < UInt64(greatestTime) else { throw BoxError("the edit list is too long") }
        return Int64(quotient)
    }
}
