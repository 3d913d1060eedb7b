// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDEdits
internal import HWDLibAV
public import HWDMetadata
public import HWDModel

/// What the packets of a video say about its segments: the times of its pictures and key frames, and a digest that
/// identifies the video.
public struct SegmentScan: Sendable {
    /// Seconds per tick of the times.
    public let timeBase: Rational
    /// The presentation times of the pictures that are shown, in decoding order.
    public private(set) var times: [Int64] = []
    /// How long each is shown, as a decoder reports it.
    public private(set) var durations: [Int64] = []
    /// The times of the key frames among them.
    public private(set) var keys: [Int64] = []
    /// The end of the last picture.
    public private(set) var end = Int64.min
    /// The digest of the video's packets and times, 32 hexadecimal digits.
    ///
    /// Copies of a file have the same one, whatever their names, and files that differ in sound or metadata alone, too.
    public let digest: String

    /// How a reader for a scan is opened.
    ///
    /// The other streams are read because some formats have one time line for all.
    public static var options: MediaReader.Options {
        var options = MediaReader.Options()
        (options.decoding, options.includesOtherStreams, options.requiresFile) = (.disabled, true, true)
        return options
    }

    /// Reads all packets of a reader whose `decoding` is `disabled`.
    /// - Throws: `unsupported` for a video whose pictures have no times, `badInput` for one without pictures; `io`,
    ///   `interrupted`.
    public init(_ reader: MediaReader) throws(MediaError) {
        guard !reader.isUntimed else { throw Self.untimed(reader.path) }
        guard reader.file.isSeekable else {
            throw MediaError(.unsupported, "\(reader.path) cannot be read more than once, as segments are")
        }
        timeBase = reader.video.timeBase
        let hash = try PacketDigest()
        var clock = reader.presentationClock
        while let item = try reader.next() {
            guard case .packet(let packet) = item, packet.streamIndex == reader.video.streamIndex else { continue }
            hash.add(packet.pts ?? 0)
            packet.withBytes { hash.add($0) }
            guard !packet.isDiscarded else { continue }
            guard let pts = packet.pts, Ticks.isPossible(pts) else { throw Self.untimed(reader.path) }
            let duration = clock.stamp(pts, duration: packet.duration, index: times.count).duration
            times.append(pts)
            durations.append(duration)
            if packet.isSync { keys.append(pts) }
            end = max(end, pts + max(1, duration))
        }
        guard !times.isEmpty else { throw MediaError(.badInput, "\(reader.path) has no frames") }
        digest = hash.text
    }

    /// The division into at most `count` segments.
    public func plan(count: Int) -> SegmentPlan { SegmentPlan(pictures: times, keys: keys, end: end, count: count) }

    private static func untimed(_ path: String) -> MediaError {
        MediaError(
            .unsupported,
            "\(path) stores no times of its pictures, by which segments could be cut: put it into a .mov or .mkv first"
        )
    }
}
