// SPDX-License-Identifier: GPL-2.0-or-later

/// Fits a sound source's samples to CLOCK_MONOTONIC, the clock of the video.
///
/// A source has a crystal of its own, and loses buffers under load. Its buffers are held for half a second, because a buffer's
/// time is only ever late: its true time is the least that it and the buffers after it allow. Where that time is one buffer or
/// more ahead of the samples so far, buffers were lost, and silence takes their place. Where it is far behind them, because silence
/// was written before the buffer came, samples are left out. The rest is the crystal's drift, which is resampled away.
///
/// The caller adds buffers as they arrive, takes steps, and reports after each step how much sound it has written.
package struct SoundClock: Sendable {
    /// What is known of a buffer that arrives.
    package struct Arrival: Hashable, Sendable {
        /// Samples of each channel.
        package var count: Int
        /// CLOCK_MONOTONIC in nanoseconds, when the buffer's last sample was heard; where the source does not say it, when the
        /// buffer arrived.
        package var end: Int64
        /// Whether the time is of the device's own clock, and never late.
        package var isExact: Bool

        package init(count: Int, end: Int64, isExact: Bool = false) {
            (self.count, self.end, self.isExact) = (count, end, isExact)
        }
    }

    /// What is done with the oldest buffer that is held.
    package struct Step: Hashable, Sendable {
        /// Samples of silence before the buffer.
        package var silence: Int
        /// Samples of the buffer's start that are left out, because their time has passed.
        package var skipped: Int
        /// Samples that come out for each that goes in: 0.999…1.001.
        package var ratio: Double
    }

    /// The greatest resampling, as a part of the rate.
    package static let greatestCorrection = 1000e-6
    /// How long buffers are held, in seconds.
    package static let hold = 0.5
    /// In how many seconds resampling removes most of an offset.
    static let timeConstant = 5.0

    private struct Held {
        var arrival: Arrival
        /// Seconds from the first sample to the buffer's first one, of those that came.
        var begin: Double
        /// When the buffer ended, in seconds from the first buffer's end.
        var end: Double
        /// When the first sample was heard, if nothing was lost and the source's rate is exact.
        var offset: Double
    }

    private let rate: Double
    private var held: [Held] = []
    private var origin: Int64?
    /// Seconds of all buffers so far.
    private var added = 0.0
    /// When the first sample was heard, in seconds from `origin`; nil before the first step.
    private var first: Double?
    /// Seconds of sound that were written.
    private var written = 0.0
    /// Whether samples are left out until their time is that of what is written next.
    private var isSkipping = false

    /// - Parameter rate: samples per second that the source means to have.
    package init(rate: Int) { self.rate = Double(rate) }

    /// Adds a buffer; one without samples is left out.
    package mutating func add(_ arrival: Arrival) {
        guard arrival.count > 0 else { return }
        let origin = self.origin ?? arrival.end
        self.origin = origin
        let end = Double(arrival.end &- origin) / 1e9
        let begin = added
        added += Double(arrival.count) / rate
        held.append(Held(arrival: arrival, begin: begin, end: end, offset: end - added))
    }

    /// The step for the oldest buffer that is held; nil where later buffers must come first.
    /// - Parameter isLast: whether none comes.
    package mutating func next(isLast: Bool = false) -> Step? {
        guard let buffer = held.first, let newest = held.last, isLast || newest.end > buffer.end + Self.hold
        else { return nil }
        held.removeFirst()
        var later = Double.infinity
        for other in held where other.end <= buffer.end + Self.hold { later = min(later, other.offset) }
        let offset = min(buffer.offset, later)
        let first = self.first ?? offset
        self.first = first
        let length = Double(buffer.arrival.count) / rate
        let behind = offset - first + buffer.begin - written
        // A buffer that is less late than all that follow is not where the loss is, unless nearly all of it is.
        let least = later - buffer.offset > 0.1 * length ? 0.9 : 0.7
        var silence = 0
        if behind >= least * length, buffer.arrival.isExact || newest.end >= buffer.end + Self.hold / 2 {
            let missing = min(behind, 1e9)
            silence =
                buffer.arrival.isExact || missing > Self.hold
                ? Int((missing * rate).rounded()) : Int(missing / length + 1 - least) * buffer.arrival.count
        }
        var skipped = 0
        isSkipping = isSkipping || behind < -Self.hold / 2
        if isSkipping {
            skipped = Int((min(length, max(0, -behind)) * rate).rounded())
            isSkipping = skipped == buffer.arrival.count
        }
        let drift = (behind + Double(skipped - silence) / rate) / Self.timeConstant
        return Step(
            silence: silence, skipped: skipped,
            ratio: 1 + min(Self.greatestCorrection, max(-Self.greatestCorrection, drift)))
    }

    /// CLOCK_MONOTONIC in nanoseconds, when the first sample was heard: the start of what is written; nil before the first step.
    package var start: Int64? {
        guard let origin, let first else { return nil }
        return origin &+ Int64((first * 1e9).rounded())
    }

    /// Whether no buffer is held.
    package var isEmpty: Bool { held.isEmpty }

    /// Reports how much sound was written so far, in seconds: all steps' silence and samples, resampled.
    package mutating func wrote(_ seconds: Double) { written = seconds }
}
