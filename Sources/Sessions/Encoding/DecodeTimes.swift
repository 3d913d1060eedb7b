// SPDX-License-Identifier: GPL-2.0-or-later

/// Decoding times for the pictures of one stream, from presentation times alone.
///
/// With at most D pictures that precede a picture in decoding order and follow it in output order
/// (sps_max_num_reorder_pics, H.265 7.4.3.2.1), the i-th picture in decoding order is never shown before the
/// (i-D)-th presentation time. That time is its decoding time; it never lies after the picture's own presentation
/// time, and it rises strictly, whatever the frame rate does.
public struct DecodeTimes: Sendable {
    private let reorderDepth: Int
    private var spacing: Int64
    private var times: [Int64] = []
    private var first = 0
    private var given = 0

    /// For a stream that reorders by `reorderDepth` pictures.
    ///
    /// - Parameter nominalDuration: of a frame, in units of the time base; spaces the pictures before the first
    ///   presentation time as long as only one frame is known.
    public init(reorderDepth: Int, nominalDuration: Int64) {
        self.reorderDepth = reorderDepth
        spacing = max(1, nominalDuration)
    }

    /// A frame went in; presentation times must rise.
    public mutating func frameIn(pts: Int64) { times.append(pts) }

    /// The decoding time of the next picture that comes out; nil when more come out than went in.
    public mutating func next() -> Int64? {
        guard given < first + times.count else { return nil }
        defer { given += 1 }
        if given < reorderDepth {
            // Settled once, or the times would not rise.
            if given == 0, times.count > 1 { spacing = times[1] - times[0] }
            return times[0] - Int64(reorderDepth - given) * spacing
        }
        let time = times[given - reorderDepth - first]
        // The times before the first picture are spaced by the first two, so those stay until then.
        if given >= reorderDepth + 64 {
            times.removeFirst(given - reorderDepth - first)
            first = given - reorderDepth
        }
        return time
    }
}
