// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
package import HWDEdits
package import HWDLibAV
internal import HWDLibAVReading
package import HWDMetadata
internal import HWDModel

/// An encoder of sound: frames of its format in, packets out.
package final class SoundEncoder {
    /// The rates of sound that can be converted, in samples per second.
    static let rates: ClosedRange<Int32> = 1000...768_000

    package let codec: CodecContext
    package var context: UnsafeMutablePointer<AVCodecContext> { codec.pointer }
    /// What the conversion changes besides the codec, as `, 24 of 32 bits`; empty where nothing is.
    let changes: String

    /// Opens an encoder: with the sound's channels, or as many as the codec has a code for, and the sample rate next to its own
    /// that the codec has.
    ///
    /// - Parameters:
    ///   - layout: the sound's channels.
    ///   - rate: the sound's samples per second.
    ///   - bits: those of the source's samples.
    ///   - bitRate: bits per second of AAC; nil is the default.
    ///   - reducesChannels: whether channels are mixed where the codec has no code for so many.
    /// - Throws: `unsupported` where libavcodec cannot code such sound.
    package init(
        _ kind: SoundCodec, for layout: AVChannelLayout, rate: Int32, bits: Int32, bitRate: Int64?,
        reducesChannels: Bool
    ) throws(MediaError) {
        guard let encoder = avcodec_find_encoder(kind.libAV) else {
            throw MediaError(.unsupported, "libavcodec has no \(kind.name) encoder")
        }
        guard Self.rates.contains(rate), layout.nb_channels > 0 else {
            throw MediaError(.unsupported, "it has \(rate) samples per second")
        }
        var failure: Int32 = 0
        var opened: (codec: CodecContext, layout: AVChannelLayout)?
        let codecRate = Self.rate(rate, encoder)
        let layouts = Self.layouts(layout).filter { reducesChannels || $0.nb_channels == layout.nb_channels }
        for layout in layouts where opened == nil {
            guard let codec = CodecContext(encoder) else { throw MediaError(.io, "out of memory") }
            guard Self.configure(codec.pointer, kind, layout, rate: codecRate, bits: bits, bitRate: bitRate) else {
                throw MediaError(.io, "out of memory")
            }
            let code = codec.open(encoder)
            if code >= 0 { opened = (codec, layout) } else if failure == 0 { failure = code }
        }
        guard let opened else {
            throw MediaError(
                .unsupported,
                LibAVLog.explain("the \(kind.name) encoder cannot be opened: \(MediaError.text(ofLibAV: failure))"))
        }
        codec = opened.codec
        changes = Self.changes(kind, layout, rate, opened.layout, codecRate, bits: bits)
    }

    /// Sets what an encoder must know before it is opened; false when memory runs out.
    private static func configure(
        _ context: UnsafeMutablePointer<AVCodecContext>, _ kind: SoundCodec, _ layout: AVChannelLayout, rate: Int32,
        bits: Int32, bitRate: Int64?
    ) -> Bool {
        var layout = layout
        context.pointee.sample_rate = rate
        context.pointee.time_base = AVRational(num: 1, den: rate)
        context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        switch kind {
        case .aac:
            context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
            context.pointee.bit_rate = bitRate ?? SoundCodec.bitsPerChannel * Int64(layout.nb_channels)
        case .alac:
            context.pointee.sample_fmt = bits > 16 ? AV_SAMPLE_FMT_S32P : AV_SAMPLE_FMT_S16P
            // libavcodec's encoder has no more.
            context.pointee.bits_per_raw_sample = bits > 16 ? 24 : 16
        }
        return av_channel_layout_copy(&context.pointee.ch_layout, &layout) >= 0
    }

    /// What the conversion changes besides the codec.
    private static func changes(
        _ kind: SoundCodec, _ source: AVChannelLayout, _ sourceRate: Int32, _ layout: AVChannelLayout,
        _ rate: Int32, bits: Int32
    ) -> String {
        var changes: [String] = []
        if layout.nb_channels != source.nb_channels {
            changes.append("\(name(layout)) of \(source.nb_channels) channels")
        }
        switch kind {
        case .aac: if rate != sourceRate { changes.append("\(rate) samples per second") }
        case .alac: if bits > 24 { changes.append("24 of \(bits) bits") }
        }
        return changes.map { ", \($0)" }.joined()
    }

    /// The rate of the codec that is the source's, or the next higher one, or its highest.
    private static func rate(_ wanted: Int32, _ encoder: UnsafePointer<AVCodec>) -> Int32 {
        guard var next = clibav_sample_rates(encoder) else { return wanted }
        var rates: [Int32] = []
        while next.pointee != 0, rates.count < 64 {
            rates.append(next.pointee)
            next += 1
        }
        return rates.filter { $0 >= wanted }.min() ?? rates.max() ?? wanted
    }

    /// The layouts that an encoder is tried with: the source's, the usual one of its number of channels, and smaller ones.
    ///
    /// Channels at the side are taken for those at the back, for which alone AAC and ALAC have a code. One channel is mono
    /// and a pair is stereo wherever its loudspeakers are.
    private static func layouts(_ source: AVChannelLayout) -> [AVChannelLayout] {
        var layouts: [AVChannelLayout] = []
        switch name(source) {
        case "5.1(side)": layouts += [layout("5.1")]
        case "5.0(side)": layouts += [layout("5.0")]
        // A file that names no positions has the usual ones for its number of channels.
        default: if source.order != AV_CHANNEL_ORDER_UNSPEC { layouts += [source] }
        }
        var usual = AVChannelLayout()
        av_channel_layout_default(&usual, source.nb_channels)
        if usual.order != AV_CHANNEL_ORDER_UNSPEC { layouts.append(usual) }
        return layouts
            + ["7.1", "5.1", "stereo", "mono"].map(layout).filter { $0.nb_channels < source.nb_channels }
    }

    private static func layout(_ name: String) -> AVChannelLayout {
        var layout = AVChannelLayout()
        av_channel_layout_from_string(&layout, name)
        return layout
    }

    private static func name(_ layout: AVChannelLayout) -> String {
        var layout = layout
        var text = [CChar](repeating: 0, count: 64)
        av_channel_layout_describe(&layout, &text, text.count)
        return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }

    /// Samples of a frame.
    package var frameSize: Int32 { context.pointee.frame_size > 0 ? context.pointee.frame_size : 1024 }

    /// Sends a frame (nil ends the stream) and calls `body` with each packet that is complete.
    package func encode(
        _ frame: UnsafeMutablePointer<AVFrame>?, _ packet: UnsafeMutablePointer<AVPacket>,
        _ body: () throws(MediaError) -> Void
    ) throws(MediaError) {
        try check(avcodec_send_frame(context, frame))
        while true {
            let code = avcodec_receive_packet(context, packet)
            if code == clibav_again() || code == clibav_eof() { return }
            try check(code)
            try body()
        }
    }

    private func check(_ code: Int32) throws(MediaError) {
        guard code < 0, code != clibav_eof() else { return }
        throw MediaError(.io, LibAVLog.explain("the sound cannot be encoded: \(MediaError.text(ofLibAV: code))"))
    }
}

extension SoundCodec {
    /// libavcodec's number of the codec.
    var libAV: AVCodecID { self == .aac ? AV_CODEC_ID_AAC : AV_CODEC_ID_ALAC }
}
