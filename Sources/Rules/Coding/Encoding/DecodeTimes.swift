// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy

/// Derives decoding times of a stream's pictures from their presentation times.
///
/// At most D pictures precede a picture in decoding order and follow it in output order (sps_max_num_reorder_pics,
/// H.265 7.4.3.2.1). So the i-th picture in decoding order is not presented before the (i-D)-th presentation time,
/// which is used as its decoding time: it never exceeds the picture's presentation time and increases strictly, also
/// with a variable frame rate.
public struct DecodeTimes: Sendable {
    /// sps_max_num_reorder_pics.
    public let reorderDepth: Int
    private var spacing: Int64
    private var times: [Int64] = []
    private var first = 0
    private var emitted = 0

    /// - Parameters:
    ///   - reorderDepth: sps_max_num_reorder_pics.
    ///   - nominalDuration: duration of a frame in units of the time base; spaces the decoding times before the first
    ///     presentation time while only one frame is known.
    public init(reorderDepth: Int, nominalDuration: Int64) {
        self.reorderDepth = reorderDepth
        spacing = max(1, nominalDuration)
    }

    /// The times of a session's stream.
    /// - Parameter reorderDepth: sps_max_num_reorder_pics.
    public init(reorderDepth: Int, _ configuration: EncoderConfiguration) {
        let rate = configuration.frameRate.value * configuration.request.timeBase.value
        self.init(reorderDepth: reorderDepth, nominalDuration: Int64((1 / rate).rounded()))
    }

    /// The times of a stream that another encoder continues after this one has emitted every picture.
    ///
    /// - Parameter next: the times that the other encoder began with.
    /// - Returns: nil if the other encoder reorders more: its first pictures would need decoding times before those of
    ///   pictures that are emitted already.
    public func continued(by next: DecodeTimes) -> DecodeTimes? {
        // A depth above the encoder's only makes its decoding times earlier.
        next.reorderDepth <= reorderDepth ? self : nil
    }

    /// Records a frame that enters the encoder; presentation times must increase.
    public mutating func frameIn(pts: Int64) { times.append(pts) }

    /// The decoding time of the next coded picture; nil when there are more coded pictures than frames.
    public mutating func next() -> Int64? {
        guard emitted < first + times.count else { return nil }
        defer { emitted += 1 }
        if emitted < reorderDepth {
            // Determined once, since the times must increase.
            if emitted == 0, times.count > 1 { spacing = times[1] - times[0] }
            return times[0] - Int64(reorderDepth - emitted) * spacing
        }
        let time = times[emitted - reorderDepth - first]
        // The first two times space the decoding times before the first picture, so they are kept until then.
        if emitted >= reorderDepth + 64 {
            times.removeFirst(emitted - reorderDepth - first)
            first = emitted - reorderDepth
        }
        return time
    }
}
