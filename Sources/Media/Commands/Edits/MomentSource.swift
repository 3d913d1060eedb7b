// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// The pictures that a video shows at some times, in order.
final class MomentSource: VideoSource {
    var report: SourceReport { source.report }

    private let source: any VideoSource
    private let reader: MediaReader
    /// The times that are left, ascending, in microseconds.
    private var times: [Int64]
    /// The picture that may be shown at the next time.
    private var shown: SourceFrame?
    /// The picture behind it.
    private var following: SourceFrame?

    init(_ source: any VideoSource, _ reader: MediaReader, _ times: [Int64]) {
        (self.source, self.reader, self.times) = (source, reader, times.sorted())
    }

    func next() throws -> MediaReader.Item? {
        guard let time = times.first else {
            try [shown, following].forEach { try $0?.release() }
            (shown, following) = (nil, nil)
            return nil
        }
        while following.map({ isShown($0, at: time) }) ?? true {
            guard let frame = try read() else { break }
            if let last = following {
                try shown?.release()
                shown = last
            }
            following = frame
        }
        times.removeFirst()
        return .frame(try picture(at: time))
    }

    /// The last picture at a time or before it, or the first one where all are later.
    private func picture(at time: Int64) throws -> SourceFrame {
        guard
            var frame = [following, shown].compactMap({ $0 }).first(where: { isShown($0, at: time) })
                ?? following
        else { throw MediaError(.badInput, "\(reader.path) has no frames") }
        let end = Int64((seconds(frame.pts + frame.duration) * 1_000_000).rounded())
        if frame.index == following?.index, time >= end, frame.duration > 0 {
            throw MediaError(
                .badInput,
                "\(reader.path) shows nothing at \(TimeRange.seconds(time)): it ends at "
                    + TimeRange.seconds(end))
        }
        // The same picture may be shown at the next time too.
        frame.release = {}
        return frame
    }

    /// The next frame; packets of other streams are not wanted.
    private func read() throws -> SourceFrame? {
        while let item = try source.next() {
            if case .frame(let frame) = item { return frame }
        }
        return nil
    }

    /// Whether a picture begins at a time or before it; times are given in whole microseconds.
    private func isShown(_ frame: SourceFrame, at time: Int64) -> Bool {
        seconds(frame.pts) <= (Double(time) + 0.5) / 1_000_000
    }

    private func seconds(_ ticks: Int64) -> Double { Double(ticks) * reader.video.timeBase.value }
}
