// SPDX-License-Identifier: GPL-2.0-or-later

/// The division of a video into segments that can be encoded apart: each begins with a key frame of the source.
///
/// A picture belongs to the segment in whose range its presentation time is. So pictures that follow a key frame in decoding
/// order and precede it in presentation order (leading pictures) belong to the segment before.
public struct SegmentPlan: Hashable, Sendable {
    /// One segment.
    public struct Segment: Hashable, Sendable {
        /// From 1.
        public let number: Int
        /// The time of its first picture in ticks.
        public let start: Int64
        /// The time in ticks at which the next segment begins; that of the last is the end of the video.
        public let end: Int64
        /// The number of pictures that the source shows in it.
        public let pictures: Int
    }

    /// In presentation order; never empty.
    public let segments: [Segment]

    /// Divides a video by time, as evenly as its key frames allow.
    ///
    /// The same pictures and count give the same segments.
    /// - Parameters:
    ///   - pictures: the presentation times of all pictures in ticks, in any order; not empty.
    ///   - keys: those of the key frames among them, in any order.
    ///   - end: the end of the last picture.
    ///   - count: the most segments, 1 or more; a video with fewer key frames has as many segments as key frames.
    public init(pictures: [Int64], keys: [Int64], end: Int64, count: Int) {
        let times = pictures.sorted()
        let first = times.first ?? 0
        let candidates = Set(keys.filter { $0 > first }).sorted()
        let starts = [first] + Self.boundaries(candidates, from: first, to: max(end, first), count: count)
        let ends = starts.dropFirst() + [max(end, first)]
        var place = 0
        segments = zip(starts, ends).enumerated().map { index, range in
            let isLast = index == starts.count - 1
            let begin = place
            while place < times.count, isLast || times[place] < range.1 { place += 1 }
            return Segment(number: index + 1, start: range.0, end: range.1, pictures: place - begin)
        }
    }

    /// The nearest key frames to the ends of `count` equal parts, such that enough remain for the parts that follow.
    private static func boundaries(
        _ candidates: [Int64], from first: Int64, to end: Int64, count: Int
    ) -> [Int64] {
        let count = min(max(1, count), candidates.count + 1)
        var chosen: [Int64] = []
        var next = 0
        for number in 1..<max(1, count) {
            let target = Double(first) + Double(end - first) * Double(number) / Double(count)
            let last = candidates.count - (count - number)
            func distance(_ index: Int) -> Double { (Double(candidates[index]) - target).magnitude }
            // Times ascend, so that the distance falls up to the nearest; of two, the earlier one is taken.
            while next < last, distance(next + 1) < distance(next) { next += 1 }
            chosen.append(candidates[next])
            next += 1
        }
        return chosen
    }
}
