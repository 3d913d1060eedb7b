// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDMetadata

/// Samples on their way to an encoder: resampled by a ratio that may change, in the encoder's format, in frames of its size.
final class SoundFitter {
    private let target: UnsafeMutablePointer<AVCodecContext>
    private let channels: Int
    private let rate: Int32
    private var resampler: OpaquePointer?
    private let fifo: OpaquePointer
    private let source: UnsafeMutablePointer<AVFrame>
    private let converted: UnsafeMutablePointer<AVFrame>
    /// Samples of each channel that came out of the resampler so far.
    private(set) var made: Int64 = 0

    /// Samples of output for which a correction is set; a new one takes its place long before.
    private static let distance: Int32 = 1 << 24
    /// The most samples that are resampled at once.
    private static let part = 1 << 14

    /// - Parameters:
    ///   - target: an open encoder, which must live as long as this object.
    ///   - rate: samples per second of the source, interleaved floats of `channels` channels.
    init(_ target: UnsafeMutablePointer<AVCodecContext>, rate: Int32, channels: Int) throws(MediaError) {
        guard let source = av_frame_alloc() else { throw MediaError(.io, "out of memory") }
        guard let converted = av_frame_alloc() else {
            Self.free(source)
            throw MediaError(.io, "out of memory")
        }
        guard
            let fifo = av_audio_fifo_alloc(
                target.pointee.sample_fmt, target.pointee.ch_layout.nb_channels, target.pointee.sample_rate)
        else {
            Self.free(source)
            Self.free(converted)
            throw MediaError(.io, "out of memory")
        }
        (self.target, self.rate, self.channels) = (target, rate, channels)
        (self.source, self.converted, self.fifo) = (source, converted, fifo)
        var layout = AVChannelLayout()
        av_channel_layout_default(&layout, Int32(channels))
        var code = swr_alloc_set_opts2(
            &resampler, &target.pointee.ch_layout, target.pointee.sample_fmt, target.pointee.sample_rate, &layout,
            AV_SAMPLE_FMT_FLT, rate, 0, nil)
        // Without the flag nothing is resampled between equal rates, and no correction can be set.
        if code >= 0 { code = av_opt_set(UnsafeMutableRawPointer(resampler), "flags", "res", 0) }
        if code >= 0 { code = swr_init(resampler) }
        guard code >= 0 else {
            throw MediaError(
                .unsupported,
                LibAVLog.explain(LibAVError("the sound cannot be resampled", code).description))
        }
    }

    deinit {
        swr_free(&resampler)
        av_audio_fifo_free(fifo)
        Self.free(source)
        Self.free(converted)
    }

    private static func free(_ frame: UnsafeMutablePointer<AVFrame>) {
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
    }

    /// Samples of each channel that wait for the encoder.
    var count: Int { Int(av_audio_fifo_size(fifo)) }

    /// Seconds of sound that came out, with what the resampler holds.
    var written: Double {
        let base = Int64(target.pointee.sample_rate)
        return Double(made + swr_get_delay(resampler, base)) / Double(base)
    }

    /// Sets how many samples come out for each that goes in.
    func correct(_ ratio: Double) throws(MediaError) {
        let delta = Int32(((ratio - 1) * Double(Self.distance)).rounded())
        try check(swr_set_compensation(resampler, delta, Self.distance))
    }

    /// Resamples interleaved samples, or silence of as many samples of each channel.
    ///
    /// - Parameter keep: gets how many samples of each channel came out, and returns which of them are kept.
    func add(_ samples: ArraySlice<Float>, keep: (Int) -> [Range<Int>]) throws(MediaError) {
        var rest = samples
        while !rest.isEmpty {
            let part = rest.prefix(Self.part * channels)
            rest = rest.dropFirst(part.count)
            try prepare(part.count / channels)
            part.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(start: source.pointee.data.0, count: $0.count).copyMemory(from: $0)
            }
            try convert(keep)
        }
    }

    func addSilence(_ count: Int, keep: (Int) -> [Range<Int>]) throws(MediaError) {
        var rest = count
        while rest > 0 {
            let part = min(rest, Self.part)
            rest -= part
            try prepare(part)
            UnsafeMutableRawBufferPointer(start: source.pointee.data.0, count: part * channels * 4)
                .initializeMemory(
                    as: UInt8.self, repeating: 0)
            try convert(keep)
        }
    }

    /// Adds silence behind the resampler, to the samples that are kept.
    func appendSilence(_ count: Int) throws(MediaError) {
        var rest = count
        while rest > 0 {
            let part = min(rest, Self.part)
            rest -= part
            try describe(converted, Int32(part))
            av_samples_set_silence(
                converted.pointee.extended_data, 0, Int32(part), target.pointee.ch_layout.nb_channels,
                target.pointee.sample_fmt)
            try check(clibav_fifo_append(fifo, converted, 0))
        }
    }

    /// Moves samples into a frame for the encoder: `size`, or fewer at the end.
    func take(_ size: Int32, into frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) {
        try describe(frame, min(size, av_audio_fifo_size(fifo)))
        try check(clibav_fifo_take(fifo, frame))
    }

    /// Gives the source's frame space for samples.
    private func prepare(_ count: Int) throws(MediaError) {
        av_frame_unref(source)
        source.pointee.format = AV_SAMPLE_FMT_FLT.rawValue
        source.pointee.sample_rate = rate
        source.pointee.nb_samples = Int32(count)
        av_channel_layout_default(&source.pointee.ch_layout, Int32(channels))
        try check(av_frame_get_buffer(source, 0))
    }

    private func convert(_ keep: (Int) -> [Range<Int>]) throws(MediaError) {
        av_frame_unref(converted)
        try describe(converted, 0)
        try check(swr_convert_frame(resampler, converted, source))
        let count = Int(converted.pointee.nb_samples)
        made += Int64(count)
        for range in keep(count).map({ $0.clamped(to: 0..<count) }) where !range.isEmpty {
            converted.pointee.nb_samples = Int32(range.upperBound)
            try check(clibav_fifo_append(fifo, converted, Int32(range.lowerBound)))
        }
    }

    /// Gives an empty frame the encoder's format, and space for samples where there are any.
    private func describe(_ frame: UnsafeMutablePointer<AVFrame>, _ count: Int32) throws(MediaError) {
        av_frame_unref(frame)
        frame.pointee.format = target.pointee.sample_fmt.rawValue
        frame.pointee.sample_rate = target.pointee.sample_rate
        try check(av_channel_layout_copy(&frame.pointee.ch_layout, &target.pointee.ch_layout))
        guard count > 0 else { return }
        frame.pointee.nb_samples = count
        try check(av_frame_get_buffer(frame, 0))
    }

    private func check(_ code: Int32) throws(MediaError) {
        guard code < 0 else { return }
        throw MediaError(.io, LibAVLog.explain(LibAVError("the sound cannot be converted", code).description))
    }
}
