// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// Decoded sound on its way to an encoder: in the encoder's format, without gaps, in frames of its size.
///
/// Positions are in samples of the encoder's rate from the beginning of the output. Sound before it is dropped: it would
/// not be heard.
final class SoundBuffer {
    private let target: UnsafeMutablePointer<AVCodecContext>
    private let fifo: OpaquePointer
    private let converted: UnsafeMutablePointer<AVFrame>
    private var resampler: OpaquePointer?
    /// What the resampler takes.
    private var source: Form?
    /// The position behind the last sample; nil before the first.
    private var end: Int64?
    /// Frames that begin before the end of the sound before them, and lost their beginning.
    private(set) var overlaps = 0

    /// The form of a decoder's samples.
    private struct Form: Hashable {
        var format: Int32
        var rate: Int32
        var channels: Int32
        /// The positions of the channels, where they have the usual order.
        var mask: UInt64
    }

    /// Differences of times, in seconds, up to which sound is continuous: containers round to milliseconds.
    private static let tolerance = 0.010
    /// The longest gap in seconds that is filled with silence: damaged times can make any gap.
    private static let longestSilence = 21_600.0

    /// - Parameter target: an open encoder, which must live as long as the buffer.
    init(_ target: UnsafeMutablePointer<AVCodecContext>) throws(MediaError) {
        self.target = target
        guard
            let fifo = av_audio_fifo_alloc(
                target.pointee.sample_fmt, target.pointee.ch_layout.nb_channels, target.pointee.sample_rate)
        else { throw MediaError(.io, "out of memory") }
        guard let frame = av_frame_alloc() else {
            av_audio_fifo_free(fifo)
            throw MediaError(.io, "out of memory")
        }
        (self.fifo, converted) = (fifo, frame)
    }

    deinit {
        swr_free(&resampler)
        av_audio_fifo_free(fifo)
        var frame: UnsafeMutablePointer<AVFrame>? = converted
        av_frame_free(&frame)
    }

    /// Samples that wait.
    var count: Int32 { av_audio_fifo_size(fifo) }

    /// Adds a decoder's frame.
    /// - Parameter position: that of its first sample; nil where it follows the last one.
    func add(_ frame: UnsafeMutablePointer<AVFrame>, at position: Int64?) throws(MediaError) {
        try prepare(frame)
        var skipped: Int64 = 0
        if let position, let end {
            let gap = position - end - swr_get_delay(resampler, Int64(target.pointee.sample_rate))
            let isContinuous = gap.magnitude <= UInt64(samples(Self.tolerance))
            if !isContinuous, gap > 0 {
                try fill(gap)
                try prepare(frame)
            }
            if !isContinuous, gap < 0 {
                skipped = -gap
                overlaps += 1
            }
        } else if end == nil {
            end = position ?? 0
        }
        try convert(frame, skipping: skipped)
    }

    /// Adds what the resampler holds; nothing follows.
    func finish() throws(MediaError) { if resampler != nil { try convert(nil, skipping: 0) } }

    /// Moves samples into a frame for the encoder: `size`, or fewer at the end.
    func take(_ size: Int32, into frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) {
        guard let end else { return }
        let first = end - Int64(count)
        try allocate(frame, min(size, count))
        try check(clibav_fifo_take(fifo, frame))
        frame.pointee.pts = first
    }

    private func samples(_ seconds: Double) -> Int64 { Int64(seconds * Double(target.pointee.sample_rate)) }

    /// Sets up the resampler for a frame's form, which may change within a stream.
    private func prepare(_ frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) {
        let channels = frame.pointee.ch_layout.nb_channels
        if frame.pointee.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC {
            av_channel_layout_default(&frame.pointee.ch_layout, channels)
        }
        let form = Form(
            format: frame.pointee.format, rate: frame.pointee.sample_rate, channels: channels,
            mask: frame.pointee.ch_layout.u.mask)
        guard form != source else { return }
        guard SoundEncoder.rates.contains(form.rate), (1...64).contains(channels) else {
            throw MediaError(.unsupported, "the sound changes to \(form.rate) samples per second")
        }
        try finish()
        swr_free(&resampler)
        // Channels at the side become channels at the back, and are not changed.
        let code = swr_alloc_set_opts2(
            &resampler, &target.pointee.ch_layout, target.pointee.sample_fmt, target.pointee.sample_rate,
            &frame.pointee.ch_layout, AVSampleFormat(rawValue: form.format), form.rate, 0, nil)
        let identity = channels == 1 ? [1.0] : [1.0, 0.0, 0.0, 1.0]
        let isRelabelled = isRelabelled(frame.pointee.ch_layout)
        guard code >= 0, !isRelabelled || swr_set_matrix(resampler, identity, channels) >= 0,
            swr_init(resampler) >= 0
        else {
            throw MediaError(.unsupported, LibAVLog.explain("the sound's channels cannot be converted"))
        }
        source = form
    }

    /// Whether one channel, or a pair of loudspeakers, becomes that of other loudspeakers, unmixed.
    private func isRelabelled(_ layout: AVChannelLayout) -> Bool {
        let wanted = target.pointee.ch_layout
        return layout.order == AV_CHANNEL_ORDER_NATIVE && layout.nb_channels == wanted.nb_channels
            && layout.u.mask != wanted.u.mask
            && (layout.nb_channels == 1 || layout.nb_channels == 2 && Self.pairs.contains(layout.u.mask))
    }

    /// The pairs of left and right: front, back, beside the center, at the side, high, downmix, wide.
    private static let pairs: Set<UInt64> = [0x3, 0x30, 0xC0, 0x600, 0x5000, 0x6000_0000, 0x1_8000_0000]

    /// Converts a frame, or what the resampler holds, and appends it without its first `skipped` samples.
    private func convert(_ frame: UnsafeMutablePointer<AVFrame>?, skipping skipped: Int64) throws(MediaError) {
        av_frame_unref(converted)
        try describe(converted)
        try check(swr_convert_frame(resampler, converted, frame))
        try append(skipping: Int32(min(Int64(converted.pointee.nb_samples), skipped)))
    }

    /// Fills a gap with silence.
    private func fill(_ gap: Int64) throws(MediaError) {
        guard gap <= samples(Self.longestSilence) else {
            let seconds = gap / Int64(target.pointee.sample_rate)
            throw MediaError(.unsupported, "the sound has a gap of \(seconds) s")
        }
        try finish()
        // A resampler that was emptied takes no more samples.
        swr_free(&resampler)
        source = nil
        var rest = gap
        while rest > 0 {
            let part = Int32(min(rest, 1 << 16))
            try allocate(converted, part)
            av_samples_set_silence(
                converted.pointee.extended_data, 0, part, target.pointee.ch_layout.nb_channels,
                target.pointee.sample_fmt)
            try append(skipping: 0)
            rest -= Int64(part)
        }
    }

    /// Appends the converted samples from `skipped` on, except for those before the beginning.
    private func append(skipping skipped: Int32) throws(MediaError) {
        try check(clibav_fifo_append(fifo, converted, skipped))
        let next = (end ?? 0) + Int64(converted.pointee.nb_samples - skipped)
        end = next
        let early = min(Int64(count), max(0, Int64(count) - next))
        if early > 0 { try check(av_audio_fifo_drain(fifo, Int32(early))) }
    }

    /// Gives an empty frame the encoder's format.
    private func describe(_ frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) {
        frame.pointee.format = target.pointee.sample_fmt.rawValue
        frame.pointee.sample_rate = target.pointee.sample_rate
        try check(av_channel_layout_copy(&frame.pointee.ch_layout, &target.pointee.ch_layout))
    }

    private func allocate(_ frame: UnsafeMutablePointer<AVFrame>, _ count: Int32) throws(MediaError) {
        av_frame_unref(frame)
        try describe(frame)
        frame.pointee.nb_samples = count
        try check(av_frame_get_buffer(frame, 0))
    }

    private func check(_ code: Int32) throws(MediaError) {
        guard code < 0 else { return }
        throw MediaError(.io, LibAVLog.explain("the sound cannot be converted: \(MediaError.text(ofLibAV: code))"))
    }
}
