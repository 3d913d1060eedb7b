// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDEdits
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// An encoder of sound: frames of its format in, packets out.
final class SoundEncoder {
    /// The rates of sound that can be converted, in samples per second.
    static let rates: ClosedRange<Int32> = 1000...768_000

    let codec: CodecContext
    var context: UnsafeMutablePointer<AVCodecContext> { codec.pointer }
    /// What the conversion changes besides the codec, as `, 24 of 32 bits`; empty where nothing is.
    let changes: String

    /// Opens an encoder for a decoder's sound: with its channels, and the sample rate next to it that the codec has.
    ///
    /// - Parameters:
    ///   - bits: those of the source's samples.
    ///   - bitRate: bits per second of AAC; nil is the default.
    /// - Throws: `unsupported` where libavcodec cannot code such sound.
    init(
        _ kind: SoundCodec, for decoder: AVCodecContext, bits: Int32, bitRate: Int64?
    ) throws(MediaError) {
        guard let encoder = avcodec_find_encoder(kind.libAV), let codec = CodecContext(encoder) else {
            throw MediaError(.unsupported, "libavcodec has no \(kind.name) encoder")
        }
        guard Self.rates.contains(decoder.sample_rate), decoder.ch_layout.nb_channels > 0 else {
            throw MediaError(.unsupported, "it has \(decoder.sample_rate) samples per second")
        }
        self.codec = codec
        let context = codec.pointer
        let rate = Self.rate(decoder.sample_rate, encoder)
        context.pointee.sample_rate = rate
        context.pointee.time_base = AVRational(num: 1, den: rate)
        context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        guard Self.setLayout(decoder.ch_layout, context) else { throw MediaError(.io, "out of memory") }
        switch kind {
        case .aac:
            context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
            context.pointee.bit_rate =
                bitRate ?? SoundCodec.bitsPerChannel * Int64(context.pointee.ch_layout.nb_channels)
            changes = rate == decoder.sample_rate ? "" : ", \(rate) samples per second"
        case .alac:
            context.pointee.sample_fmt = bits > 16 ? AV_SAMPLE_FMT_S32P : AV_SAMPLE_FMT_S16P
            // libavcodec's encoder has no more.
            context.pointee.bits_per_raw_sample = bits > 16 ? 24 : 16
            changes = bits > 24 ? ", 24 of \(bits) bits" : ""
        }
        let code = codec.open(encoder)
        guard code >= 0 else {
            throw MediaError(
                .unsupported,
                LibAVLog.explain("the \(kind.name) encoder cannot be opened: \(MediaError.text(ofLibAV: code))"))
        }
    }

    /// The rate of the codec that is the source's, or the next higher one, or its highest.
    private static func rate(_ wanted: Int32, _ encoder: UnsafePointer<AVCodec>) -> Int32 {
        guard var next = encoder.pointee.supported_samplerates else { return wanted }
        var rates: [Int32] = []
        while next.pointee != 0, rates.count < 64 {
            rates.append(next.pointee)
            next += 1
        }
        return rates.filter { $0 >= wanted }.min() ?? rates.max() ?? wanted
    }

    /// Sets the channels; those at the side are taken for those at the back, for which alone AAC and ALAC have a code.
    private static func setLayout(
        _ layout: AVChannelLayout, _ context: UnsafeMutablePointer<AVCodecContext>
    ) -> Bool {
        var source = layout
        var text = [CChar](repeating: 0, count: 64)
        av_channel_layout_describe(&source, &text, text.count)
        let name = text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        let target: String? =
            switch name {
            case "5.1(side)": "5.1"
            case "5.0(side)": "5.0"
            default: nil
            }
        if let target { return av_channel_layout_from_string(&context.pointee.ch_layout, target) >= 0 }
        // A file that names no positions has the usual ones for its number of channels.
        guard source.order != AV_CHANNEL_ORDER_UNSPEC else {
            av_channel_layout_default(&context.pointee.ch_layout, source.nb_channels)
            return context.pointee.ch_layout.nb_channels == source.nb_channels
        }
        return av_channel_layout_copy(&context.pointee.ch_layout, &source) >= 0
    }

    /// Samples of a frame.
    var frameSize: Int32 { context.pointee.frame_size > 0 ? context.pointee.frame_size : 1024 }

    /// Sends a frame (nil ends the stream) and calls `body` with each packet that is complete.
    func encode(
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
