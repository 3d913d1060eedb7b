// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
package import HWDEdits
internal import HWDLibAV
internal import HWDLibAVWriting
package import HWDMetadata
package import HWMovies
internal import Synchronization

/// The sound of a recording: a source's samples in, the packets of a `MovieRecorder` out, in time with the video.
///
/// The source's thread calls `samples`, which only copies. The recorder's thread
///
/// 1. adds `settings` to the file (`MovieRecorder.addSound`),
/// 2. calls `begin` with the time of the movie's first picture,
/// 3. calls `packets` a few times a second, and appends what it returns; sound is half a second late, because its true time
///    is not known before (`SoundClock`),
/// 4. calls `finish` with the time at which the movie ends, best half a second after that, appends the rest, and ends the track
///    at `duration` (`MovieRecorder.end`).
///
/// Lost sound, sound that begins late and a source that ends become silence in its place, which `receipt` lists. Packets' times
/// are in samples from the start of the movie; the first one of AAC is before 0, so that the file's edit list skips what the
/// encoder puts before the sound.
package final class SoundTrack: @unchecked Sendable {
    /// Times are those of CLOCK_MONOTONIC in nanoseconds.
    private struct Buffer {
        var samples: [Float]
        var end: Int64
        var isExact: Bool
    }

    /// What several threads use.
    private struct Shared {
        var buffers: [Buffer] = []
        /// Samples of each channel in `buffers`.
        var count = 0
        var begin: Int64?
        /// What is left out of the movie.
        var pauses: [(begin: Int64, end: Int64?)] = []
        var hasEnded = false
        var lastArrival: Int64?
        var impossibleTimes = 0
    }

    private let shared = Mutex(Shared())
    private let sourceRate: Int
    private let channels: Int
    private let encoder: SoundEncoder
    private let fitter: SoundFitter
    private let frame: UnsafeMutablePointer<AVFrame>
    private let packet: UnsafeMutablePointer<AVPacket>

    // What follows is used by the recorder's thread alone. Positions are in samples of the encoder's rate since `begin`.
    private var clock: SoundClock
    private var held: [[Float]] = []
    private var pauses: [(begin: Int64, end: Int64)] = []
    /// The position of what the resampler gives next.
    private var cursor: Int64 = 0
    /// The first position that has no sound yet.
    private var reached: Int64 = 0
    private var isStarted = false
    /// Whether silence is being written because the source sends nothing, though it has not ended.
    package private(set) var isStalled = false
    /// The position at which the movie ends.
    private var limit = Int64.max
    /// Samples that were given to the encoder.
    private var coded: Int64 = 0
    /// What came out and went in, for the average drift.
    private var (resampled, taken) = (0.0, 0.0)
    private var notes = SoundReceipt()

    /// For `MovieRecorder.addSound`.
    package let settings: SoundTrackSettings
    /// Samples per second of the packets' times.
    package let rate: Int
    /// How long the movie's sound is, in samples; known after `finish`.
    package private(set) var duration: Int64 = 0

    /// The most sound that waits for the recorder's thread, in seconds; what is more becomes silence.
    private static let maxQueue = 60
    /// How long a source may send nothing before silence is written, in seconds.
    private static let maxLateness = 5.0
    /// How far silence stays behind the present, in seconds.
    private static let silenceDelay = 1.0

    /// - Parameters:
    ///   - sampleRate: the source's, in samples per second; 48,000 is best.
    ///   - channels: of the source's interleaved floats, 1 or 2.
    ///   - bitRate: of AAC, in bits per second; nil for 80,000 a channel.
    ///   - isQuickTime: whether the file is a .mov.
    /// - Throws: `unsupported` where libavcodec cannot code such sound.
    package init(
        sampleRate: Int, channels: Int, codec: SoundCodec = .aac, bitRate: Int? = nil, isQuickTime: Bool
    ) throws(MediaError) {
        guard (8000...192_000).contains(sampleRate), (1...2).contains(channels) else {
            throw MediaError(
                .unsupported, "sound of \(sampleRate) samples per second and \(channels) channels is not recorded")
        }
        LibAVLog.install()
        var layout = AVChannelLayout()
        av_channel_layout_default(&layout, Int32(channels))
        encoder = try SoundEncoder(
            codec, for: layout, rate: Int32(sampleRate), bits: 24, bitRate: bitRate.map(Int64.init),
            reducesChannels: false)
        fitter = try SoundFitter(encoder.context, rate: Int32(sampleRate), channels: channels)
        let context = encoder.context.pointee
        guard let frame = av_frame_alloc() else { throw MediaError(.io, "out of memory") }
        guard let packet = av_packet_alloc() else {
            var frame: UnsafeMutablePointer<AVFrame>? = frame
            av_frame_free(&frame)
            throw MediaError(.io, "out of memory")
        }
        (self.frame, self.packet) = (frame, packet)
        (sourceRate, self.channels) = (sampleRate, channels)
        rate = Int(context.sample_rate)
        clock = SoundClock(rate: sampleRate)
        let configuration = [UInt8](
            UnsafeBufferPointer(start: context.extradata, count: Int(max(0, context.extradata_size))))
        settings =
            SoundEntry(
                codec: codec, configuration: configuration, channels: channels, rate: rate,
                frameSize: Int(encoder.frameSize), bitRate: Int(context.bit_rate), isQuickTime: isQuickTime
            ).settings
    }

    deinit {
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }

    // MARK: - The source's thread

    /// Takes samples; returns at once.
    ///
    /// - Parameters:
    ///   - samples: interleaved, a whole number of frames.
    ///   - time: when the first sample was heard; one that cannot be true is replaced by that of its arrival.
    ///   - isExact: whether the time is of the device's own clock, and not that of the buffer's arrival.
    package func samples(_ samples: UnsafeBufferPointer<Float>, at time: UInt64, isExact: Bool) {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        receive(
            samples, at: time, isExact: isExact, arrival: UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec))
    }

    /// As `samples`, with the time of CLOCK_MONOTONIC.
    package func receive(
        _ samples: UnsafeBufferPointer<Float>, at time: UInt64, isExact: Bool, arrival: UInt64
    ) {
        let count = samples.count / channels
        guard count > 0, count <= sourceRate * Self.maxQueue else { return }
        let length = Int64(Double(count) / Double(sourceRate) * 1e9)
        let arrival = Int64(clamping: arrival)
        var end = Int64(clamping: time).addingReportingOverflow(length).partialValue
        // 5 s late, or 0.1 s before it was heard.
        let isPossible = end <= arrival + 100_000_000 && end >= arrival - 5_000_000_000
        if !isPossible { end = arrival }
        // The encoder refuses what is no number.
        let copy = samples.prefix(count * channels).map { $0.isFinite ? min(1, max(-1, $0)) : 0 }
        shared.withLock { shared in
            if !isPossible { shared.impossibleTimes += 1 }
            shared.lastArrival = arrival
            let greatest = sourceRate * Self.maxQueue
            if shared.begin == nil {
                while shared.count + count > greatest, let first = shared.buffers.first {
                    shared.count -= first.samples.count / channels
                    shared.buffers.removeFirst()
                }
            }
            guard shared.count + count <= greatest else { return }
            shared.buffers.append(Buffer(samples: copy, end: end, isExact: isExact && isPossible))
            shared.count += count
        }
    }

    /// Notes that the source sends nothing more: silence follows.
    package func sourceEnded() { shared.withLock { $0.hasEnded = true } }

    // MARK: - The recorder's thread

    /// Sets when the movie begins; sound before it is left out.
    package func begin(at time: UInt64) {
        shared.withLock { if $0.begin == nil { $0.begin = Int64(clamping: time) } }
    }

    /// Leaves out what is heard from a time on: at most half a second ago, and not before the last pause ended.
    package func pause(at time: UInt64) {
        shared.withLock { shared in
            let last = shared.pauses.last
            guard last == nil || last?.end != nil else { return }
            shared.pauses.append((max(last?.end ?? .min, Int64(clamping: time)), nil))
        }
    }

    /// Ends a pause; not before it began.
    package func resume(at time: UInt64) {
        shared.withLock { shared in
            guard let last = shared.pauses.last, last.end == nil else { return }
            shared.pauses[shared.pauses.count - 1].end = max(last.begin, Int64(clamping: time))
        }
    }

    /// The packets that are complete.
    ///
    /// - Parameter now: CLOCK_MONOTONIC in nanoseconds: where the source has sent nothing for 5 s or has ended, silence follows up
    ///   to a second before, until the source sends something again.
    /// - Throws: `io` where memory runs out or the encoder fails.
    package func packets(now: UInt64) throws(MediaError) -> [WrittenPacket] {
        guard let (begin, hasEnded, lastArrival) = try take(isLast: false) else { return [] }
        let present = position(Int64(clamping: now), begin)
        let isLate =
            Double(present - max(0, position(lastArrival ?? begin, begin))) > Self.maxLateness * Double(rate)
        // A later buffer that would show the held ones' true times does not come.
        while isLate, let step = clock.next(isLast: true) { try perform(step, begin) }
        var packets = try encode(isLast: false)
        if clock.isEmpty, hasEnded || isStalled || isLate {
            isStalled = !hasEnded
            try fill(
                to: present - Int64(Self.silenceDelay * Double(rate)),
                hasEnded ? .ended : isStarted ? .stalled : .start, &packets)
        }
        return packets
    }

    /// The rest of the packets, of a movie that ends at a time.
    ///
    /// What is heard later is left out, and silence fills what is missing. Nothing may be called after this.
    /// - Throws: as `packets`.
    package func finish(at time: UInt64) throws(MediaError) -> [WrittenPacket] {
        guard let begin = shared.withLock({ $0.begin }) else { return [] }
        limit = max(0, position(Int64(clamping: time), begin))
        guard let (_, hasEnded, _) = try take(isLast: true) else { return [] }
        var packets = try encode(isLast: false)
        try fill(to: limit, hasEnded ? .ended : isStarted ? .stalled : .start, &packets)
        duration = limit - pausedBefore(limit)
        return packets + (try encode(isLast: true))
    }

    /// What became of the sound so far.
    package var receipt: SoundReceipt {
        var receipt = notes
        receipt.impossibleTimes = shared.withLock { $0.impossibleTimes }
        if taken > 0 { receipt.drift = (resampled / taken - 1) * 1e6 }
        return receipt
    }

    private func position(_ time: Int64, _ begin: Int64) -> Int64 {
        Int64((Double(time &- begin) / 1e9 * Double(rate)).rounded())
    }

    /// Moves what has arrived through the clock and the resampler; nil before the movie begins.
    private func take(
        isLast: Bool
    ) throws(MediaError) -> (begin: Int64, hasEnded: Bool, lastArrival: Int64?)? {
        let taken = shared.withLock { shared in
            defer { if shared.begin != nil { (shared.buffers, shared.count) = ([], 0) } }
            return shared
        }
        guard let begin = taken.begin else { return nil }
        let (buffers, pauses, hasEnded) = (taken.buffers, taken.pauses, taken.hasEnded)
        self.pauses = pauses.map { (position($0.begin, begin), $0.end.map { position($0, begin) } ?? .max) }
        for buffer in buffers {
            held.append(buffer.samples)
            clock.add(
                SoundClock.Arrival(
                    count: buffer.samples.count / channels, end: buffer.end, isExact: buffer.isExact))
            while let step = clock.next() { try perform(step, begin) }
        }
        while isLast || hasEnded, let step = clock.next(isLast: true) { try perform(step, begin) }
        return (begin, hasEnded, taken.lastArrival)
    }

    private func perform(_ step: SoundClock.Step, _ begin: Int64) throws(MediaError) {
        let samples = held.removeFirst()
        if !isStarted, let start = clock.start {
            let first = position(start, begin)
            try appendSilence(to: first, .start)
            (isStarted, cursor) = (true, first)
        }
        try fitter.correct(step.ratio)
        if step.silence > 0 {
            let last = added
            try fitter.addSilence(step.silence, keep: keep)
            note(isStalled ? .stalled : .lost, from: last, to: added)
        }
        isStalled = false
        try fitter.add(samples.dropFirst(step.skipped * channels), keep: keep)
        clock.wrote(fitter.written)
        let count = Double(samples.count / channels - step.skipped)
        taken += count
        resampled += count * step.ratio
        notes.greatestCorrection = max(notes.greatestCorrection, abs(step.ratio - 1) * 1e6)
    }

    /// The position of what the resampler gets next.
    private var added: Int64 { cursor + Int64((fitter.written * Double(rate)).rounded()) - fitter.made }

    /// Codes silence up to a position, in parts of a second.
    private func fill(
        to position: Int64, _ cause: SoundGap.Cause, _ packets: inout [WrittenPacket]
    ) throws(MediaError) {
        let end = min(position, limit)
        while reached < end {
            let part = min(end, reached + Int64(rate))
            if isStarted { try addSilence(to: part, cause) } else { try appendSilence(to: part, cause) }
            packets += try encode(isLast: false)
        }
    }

    /// Adds silence behind what the resampler holds, up to a position.
    private func addSilence(to end: Int64, _ cause: SoundGap.Cause) throws(MediaError) {
        let last = added
        var rest = end - cursor
        while rest > 0 {
            let before = cursor
            try fitter.addSilence(Int(rest) * sourceRate / rate + 1, keep: keep)
            rest = cursor > before ? end - cursor : rest + 1
        }
        note(cause, from: last, to: added)
        clock.wrote(fitter.written)
    }

    /// Appends silence up to a position to what is kept, before the source's first sample.
    private func appendSilence(to position: Int64, _ cause: SoundGap.Cause) throws(MediaError) {
        let end = min(position, limit)
        guard end > reached else { return }
        note(cause, from: reached, to: end)
        let kept = kept(reached..<end).reduce(0) { $0 + $1.count }
        reached = end
        try fitter.appendSilence(kept)
    }

    private func note(_ cause: SoundGap.Cause, from begin: Int64, to end: Int64) {
        let range = max(0, begin)..<max(0, begin, min(end, limit))
        let kept = kept(range).reduce(0) { $0 + $1.count }
        notes.note(
            cause, at: Double(range.lowerBound - pausedBefore(range.lowerBound)) / Double(rate),
            seconds: Double(kept) / Double(rate))
    }

    /// Which of the next samples of the resampler the movie has.
    private func keep(_ count: Int) -> [Range<Int>] {
        let from = cursor
        let range = max(from, reached)..<max(from + Int64(count), reached)
        cursor += Int64(count)
        reached = max(reached, min(cursor, limit))
        return kept(range).map { Int($0.lowerBound - from)..<Int($0.upperBound - from) }
    }

    /// The parts of a range that are neither in a pause nor behind the end.
    private func kept(_ range: Range<Int64>) -> [Range<Int64>] {
        var parts: [Range<Int64>] = []
        var begin = max(0, range.lowerBound)
        let end = min(range.upperBound, limit)
        for pause in pauses where pause.end > begin && pause.begin < end {
            if pause.begin > begin { parts.append(begin..<pause.begin) }
            begin = max(begin, pause.end)
        }
        if begin < end { parts.append(begin..<end) }
        return parts
    }

    /// Samples that pauses leave out before a position.
    private func pausedBefore(_ position: Int64) -> Int64 {
        pauses.reduce(0) { $0 + max(0, min($1.end, position) - max(0, min($1.begin, position))) }
    }

    private func encode(isLast: Bool) throws(MediaError) -> [WrittenPacket] {
        var packets: [WrittenPacket] = []
        let collect = { () throws(MediaError) in
            let packet = self.packet.pointee
            let size = Int64(self.encoder.frameSize)
            packets.append(
                WrittenPacket(
                    bytes: [UInt8](UnsafeBufferPointer(start: packet.data, count: Int(max(0, packet.size)))),
                    time: packet.pts, duration: packet.duration > 0 ? packet.duration : size))
            av_packet_unref(self.packet)
        }
        let size = Int(encoder.frameSize)
        while fitter.count >= size || isLast && fitter.count > 0 {
            try fitter.take(Int32(size), into: frame)
            frame.pointee.pts = coded
            coded += Int64(frame.pointee.nb_samples)
            try encoder.encode(frame, packet, collect)
        }
        if isLast, coded > 0 { try encoder.encode(nil, packet, collect) }
        return packets
    }
}
