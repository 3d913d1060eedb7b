// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDMediaFile
internal import HWDModel
internal import HWDWire

/// What a file that `hwctl encode --segment` wrote is, kept in the file as an annotation.
struct PartRecord: Codable, Hashable {
    static let schema = 1

    var schema = Self.schema
    /// The segment's number from 1, and how many there are.
    var segment: Int
    var count: Int
    /// `SegmentScan.digest` of the source.
    var source: String
    /// Seconds per tick of `start` and `end`, the source's.
    var timeBase: String
    /// The time of the source at which the part's own time line begins.
    var start: Int64
    /// The beginning of the next segment; of the last segment the end of its last frame.
    var end: Int64
    /// The options that determine how pictures are coded.
    var options: [String]
    /// The form of sound that a preset asks for; nil without.
    var sound: String?
    /// The number of frames, the digest of their packets, and the encoder; known when the part is complete.
    var frames = 0
    var digest = ""
    var encoder = ""

    enum CodingKeys: String, CodingKey {
        case schema, segment, count, source, start, end, options, sound, frames, digest, encoder
        case timeBase = "time_base"
    }

    /// The record of a segment that is to be encoded.
    init(
        _ segment: SegmentPlan.Segment, of plan: SegmentPlan, _ scan: SegmentScan, options: [String], sound: String?
    ) {
        (self.segment, count, source) = (segment.number, plan.segments.count, scan.digest)
        (timeBase, start, end) = (scan.timeBase.description, segment.start, segment.end)
        (self.options, self.sound) = (options, sound)
    }

    /// The record in a file; nil where it has none that can be used.
    init?(_ reader: MediaReader) {
        guard let text = reader.annotation(MediaWriter.partKey),
            let record = try? JSON.decode(PartRecord.self, from: Array(text.utf8)), record.schema == Self.schema,
            (1...SegmentNumber.maxCount).contains(record.count), (1...record.count).contains(record.segment),
            Rational(text: record.timeBase) != nil, Ticks.isPossible(record.start), Ticks.isPossible(record.end),
            record.start <= record.end, record.frames > 0
        else { return nil }
        self = record
    }

    /// The annotation.
    func text() throws -> String { String(decoding: try JSON.encode(self, sorted: true), as: UTF8.self) }

    /// Whether both are the same segment of the same source, encoded with the same options.
    func isSameWork(as other: PartRecord) -> Bool {
        (segment, count, source, timeBase, start) == (
            other.segment, other.count, other.source, other.timeBase, other.start
        )
            && options == other.options && (end == other.end || segment == count)
    }

    /// The options in a message.
    var optionsText: String { options.isEmpty ? "without options" : "with \(options.joined(separator: " "))" }
}
