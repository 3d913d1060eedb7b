// SPDX-License-Identifier: GPL-2.0-or-later

/// Silence in a recording that the source did not send.
package struct SoundGap: Hashable, Sendable {
    package enum Cause: String, Hashable, Sendable {
        /// The source began after the recording.
        case start
        /// Buffers were lost.
        case lost
        /// The source sent nothing.
        case stalled
        /// The source ended before the recording.
        case ended
    }

    /// Where it begins, in seconds of the movie.
    package var time: Double
    /// Its length.
    package var seconds: Double
    package var cause: Cause
}

/// What became of a recording's sound.
package struct SoundReceipt: Hashable, Sendable {
    /// Silence that takes the place of sound, in order; later gaps than the first thousand are only in `silence`.
    package var gaps: [SoundGap] = []
    /// Seconds of silence that takes the place of sound.
    package var silence = 0.0
    /// The source's drift that was resampled away, on average, in millionths: above 0 where the source is slow.
    package var drift = 0.0
    /// The greatest resampling of a buffer, in millionths.
    package var greatestCorrection = 0.0
    /// Sound of a source whose times could not be true, in buffers: their arrival was taken.
    package var impossibleTimes = 0

    static let greatestGaps = 1000

    mutating func note(_ cause: SoundGap.Cause, at time: Double, seconds: Double) {
        guard seconds > 0 else { return }
        silence += seconds
        if let last = gaps.last, last.cause == cause, abs(last.time + last.seconds - time) < 0.001 {
            gaps[gaps.count - 1].seconds += seconds
        } else if gaps.count < Self.greatestGaps {
            gaps.append(SoundGap(time: time, seconds: seconds, cause: cause))
        }
    }
}
