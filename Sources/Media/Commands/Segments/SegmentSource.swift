// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDModel

/// The frames of one segment, whose times begin with 0; packets of other streams are left out.
final class SegmentSource: VideoSource {
    var report: SourceReport { source.report }

    private let source: any VideoSource
    private let segment: SegmentPlan.Segment
    private let isLast: Bool
    private var isEnded = false
    /// The end of the last frame on the source's time line.
    private(set) var end = Int64.min

    /// - Parameter isLast: whether the segment has all that follows.
    init(_ source: any VideoSource, _ segment: SegmentPlan.Segment, isLast: Bool) {
        (self.source, self.segment, self.isLast) = (source, segment, isLast)
    }

    func next() throws -> MediaReader.Item? {
        while !isEnded, let item = try source.next() {
            guard case .frame(var frame) = item else { continue }
            if frame.pts >= segment.start || segment.number == 1, isLast || frame.pts < segment.end {
                end = max(end, frame.pts + max(0, frame.duration))
                frame.info.pts -= segment.start
                return .frame(frame)
            }
            isEnded = frame.pts >= segment.end
            try frame.release()
        }
        return nil
    }
}
