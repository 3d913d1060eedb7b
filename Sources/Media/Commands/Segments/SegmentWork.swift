// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel

/// What `hwctl encode --segment` encodes, and what the part says about itself when it is complete.
final class SegmentWork {
    private let segment: SegmentPlan.Segment
    private let timeBase: Rational
    private var record: PartRecord
    private let digest: PacketDigest
    private var frameSource: SegmentSource?

    init(
        _ segment: SegmentPlan.Segment, _ timeBase: Rational, _ record: PartRecord
    ) throws(MediaError) {
        digest = try PacketDigest()
        (self.segment, self.timeBase, self.record) = (segment, timeBase, record)
    }

    /// The same work, of which nothing is done.
    func restarted() throws(MediaError) -> SegmentWork { try SegmentWork(segment, timeBase, record) }

    /// The number of frames, as the source's packets show it.
    var frames: Int { segment.pictures }

    private var isLast: Bool { record.segment == record.count }

    /// Where reading may begin: the time of the segment's key frame, or up to a microsecond later; nil for the first segment.
    var startMicroseconds: Int64? {
        guard segment.number > 1 else { return nil }
        let time = Double(segment.start) * timeBase.value * 1_000_000
        return time > 0 && time < 1e15 ? Int64(time.rounded(.up)) : nil
    }

    /// The segment's frames.
    func source(_ source: any VideoSource) -> SegmentSource {
        let cut = SegmentSource(source, segment, isLast: isLast)
        frameSource = cut
        return cut
    }

    /// Makes x265 code one frame at a time, so that its output does not depend on the number of processors; the user's own
    /// number of threads stays.
    func pinThreads(of session: CompressionSession, _ properties: [PropertyKey: PropertyValue]) throws(ClientError)
    {
        guard !session.created.usingHardware else { return }
        var options = ""
        if case .string(let text)? = properties[.x265Params] { options = text }
        guard !options.contains("frame-threads") else { return }
        let pinned = options.isEmpty ? "frame-threads=1" : "\(options):frame-threads=1"
        try session.setProperties([.x265Params: .string(pinned)])
    }

    /// Adds a packet, in decoding order.
    func add(_ packet: UnsafeRawBufferPointer) { digest.add(packet) }

    /// Annotates the part, once all of its packets are written.
    func annotate(_ writer: MediaWriter, frames: Int, _ encoder: String) throws {
        (record.frames, record.digest, record.encoder) = (frames, PartDigest.blank, encoder)
        if isLast, let end = frameSource?.end { record.end = end }
        try writer.annotate(part: try record.text(), packets: digest)
        if frames != segment.pictures {
            Console.note(
                "warning: the source has \(segment.pictures) pictures in this segment, of which \(frames) were decoded"
            )
        }
    }

    /// The segment in the JSON document.
    var summary: SegmentSummary { SegmentSummary(record) }
}

/// A segment in a JSON document.
struct SegmentSummary: Encodable {
    var number: Int
    var count: Int
    /// Seconds of the source.
    var start: Double
    var end: Double

    init(_ record: PartRecord) {
        let base = Rational(text: record.timeBase) ?? Rational(1)
        (number, count) = (record.segment, record.count)
        (start, end) = (base.seconds(record.start), base.seconds(record.end))
    }
}

extension Rational {
    /// The seconds of a number of ticks, rounded once.
    func seconds(_ ticks: Int64) -> Double { Double(ticks) * Double(numerator) / Double(denominator) }
}
