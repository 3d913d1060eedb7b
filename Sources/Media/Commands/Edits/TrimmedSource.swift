// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// The part of a video in a range of time, and the sound and text that belong to it.
///
/// Times begin with its first picture.
final class TrimmedSource: VideoSource {
    var report: SourceReport { source.report }

    private let source: any VideoSource
    private let reader: MediaReader
    private let range: TimeRange
    private var cut: TimeCut
    /// Packets that came before the first picture, which sets their times; then those that are not returned yet.
    private var held: [MediaPacket] = []
    private let texts: Set<Int>
    /// The tracks of sound that may still have packets before the end.
    private var openSound: Set<Int>
    private var isVideoDone = false
    private var isEnded = false
    /// The end of the last picture before the range, in ticks.
    private var lastEnd: Int64 = 0

    init(_ source: any VideoSource, _ reader: MediaReader, _ range: TimeRange) {
        (self.source, self.reader, self.range) = (source, reader, range)
        cut = TimeCut(range, timeBase: reader.video.timeBase)
        texts = Set(reader.otherStreams.filter(\.isText).map(\.index))
        openSound = Set(reader.otherStreams.filter { $0.content == .audio }.map(\.index))
    }

    func next() throws -> MediaReader.Item? {
        while true {
            if cut.origin != nil, !held.isEmpty { return .packet(held.removeFirst()) }
            guard !isEnded, let item = try source.next() else {
                try checkBegun()
                return nil
            }
            switch item {
            case .frame(let frame): if let kept = try take(frame) { return .frame(kept) }
            case .packet(let packet): take(packet)
            }
            isEnded = isVideoDone && openSound.isEmpty
        }
    }

    /// The frame at its time in the output; nil outside of the range.
    private func take(_ frame: SourceFrame) throws -> SourceFrame? {
        let hadOrigin = cut.origin != nil
        switch cut.place(picture: frame.pts) {
        case .before: lastEnd = frame.pts + frame.duration
        case .after:
            isVideoDone = true
            if cut.isFarBehind(frame.pts) { openSound = [] }
        case .inside:
            if !hadOrigin { held = held.compactMap(placed) }
            var kept = frame
            kept.info.duration = cut.duration(frame.duration, at: frame.pts)
            kept.info.pts -= cut.origin ?? 0
            return kept
        }
        try frame.release()
        return nil
    }

    private func take(_ packet: MediaPacket) {
        if cut.isBehind(packet) { openSound.remove(packet.streamIndex) }
        guard cut.origin != nil else {
            if texts.contains(packet.streamIndex) || cut.mayNeed(packet) { held.append(packet) }
            return
        }
        if let packet = placed(packet) { held.append(packet) }
    }

    private func placed(_ packet: MediaPacket) -> MediaPacket? {
        texts.contains(packet.streamIndex) ? cut.text(packet) : cut.sound(packet)
    }

    /// - Throws: `badInput` where the video has no picture in the range.
    private func checkBegun() throws {
        guard cut.origin == nil, source.report.frames > 0 else { return }
        let end = Int64((Double(lastEnd) * reader.video.timeBase.value * 1_000_000).rounded())
        throw MediaError(.badInput, range.isOutside(reader.path, end: end))
    }
}

extension TimeRange {
    /// What is wrong with a range that has no picture.
    func isOutside(_ path: String, end: Int64) -> String {
        guard start < end else {
            return "\(path) has no picture from \(Self.seconds(start)) on: it ends at \(Self.seconds(end))"
        }
        return "\(path) has no picture between \(Self.seconds(start)) and the end that was given"
    }
}
