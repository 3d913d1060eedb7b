// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel

/// What a file that `hwctl encode --segment` wrote is, kept in the file as an annotation.
struct PartRecord: Codable, Hashable {
    /// 1 had a digest of the packets alone.
    static let schema = 2

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
    /// A digest of a preset's values, which machines may have otherwise under the same name; nil without.
    var preset: String?
    /// The number of frames, `PartDigest` and the encoder; known when the part is complete.
    var frames = 0
    var digest = ""
    var encoder = ""

    enum CodingKeys: String, CodingKey {
        case schema, segment, count, source, start, end, options, sound, preset, frames, digest, encoder
        case timeBase = "time_base"
    }

    /// The record of a segment that is to be encoded.
    init(
        _ segment: SegmentPlan.Segment, of plan: SegmentPlan, _ scan: SegmentScan, options: [String],
        sound: String?, preset: String?
    ) {
        (self.segment, count, source) = (segment.number, plan.segments.count, scan.digest)
        (timeBase, start, end) = (scan.timeBase.description, segment.start, segment.end)
        (self.options, self.sound, self.preset) = (options, sound, preset)
    }

    private struct Version: Decodable { var schema: Int }

    /// The record in a file.
    /// - Throws: `badInput` for a file that has none, and for one of another version of hwctl.
    init(_ reader: MediaReader) throws(MediaError) {
        let text = Array((reader.annotation(MediaWriter.partKey) ?? "").utf8)
        if let version = try? JSON.decode(Version.self, from: text), version.schema != Self.schema {
            let which = version.schema < Self.schema ? "an earlier" : "another"
            throw MediaError(
                .badInput, "\(reader.path) was written by \(which) version of hwctl: encode this segment again")
        }
        guard let record = try? JSON.decode(PartRecord.self, from: text),
            (1...SegmentNumber.maxCount).contains(record.count), (1...record.count).contains(record.segment),
            Rational(text: record.timeBase) != nil, Ticks.isPossible(record.start), Ticks.isPossible(record.end),
            record.start <= record.end, record.frames > 0
        else { throw Self.missing(reader.path) }
        self = record
    }

    /// The error for a file that is no part.
    static func missing(_ path: String) -> MediaError {
        MediaError(.badInput, "\(path) is not a segment that hwctl encode --segment wrote")
    }

    /// The annotation.
    func text() throws -> String { String(decoding: try JSON.encode(self, sorted: true), as: UTF8.self) }

    /// Whether both are the same segment of the same source, encoded with the same options.
    func isSameWork(as other: PartRecord) -> Bool {
        (segment, count, source, timeBase, start) == (
            other.segment, other.count, other.source, other.timeBase, other.start
        )
            && (options, sound, preset) == (other.options, other.sound, other.preset)
            && (end == other.end || segment == count)
    }

    /// The sound in a message.
    var soundText: String { sound.map { "for the sound \($0)" } ?? "for no preset's sound" }

    /// The options in a message.
    var optionsText: String { options.isEmpty ? "without options" : "with \(options.joined(separator: " "))" }
}
