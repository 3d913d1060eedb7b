// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDEdits

extension OutputFormat {
    /// Whether readers can decode what libavformat's muxer writes for a codec.
    ///
    /// The MPEG-TS muxer writes unknown codecs as private data, and NUT stores no block sizes, which decoders such
    /// as WMA's need.
    func isKnown(_ codec: AVCodecID) -> Bool {
        switch self {
        case .mpegts: Self.codecsOfMPEGTS.contains(codec.rawValue)
        case .nut: Self.codecsOfNUT.contains(codec.rawValue) || Self.isPCM(codec)
        // libavformat reads back another header of it than it wrote.
        case .matroska: codec != AV_CODEC_ID_TTA
        case .mov, .mp4, .fmp4, .hevc: true
        }
    }

    /// Whether readers can decode the channels of sound as they are: libavformat's MPEG-TS has numbers for some mappings of
    /// Opus's streams alone (mpegtsenc.c; the channels' order is that of RFC 7845 5.1.1.2).
    func takesChannels(of parameters: AVCodecParameters) -> Bool {
        guard self == .mpegts, parameters.codec_id == AV_CODEC_ID_OPUS, let bytes = parameters.extradata else {
            return true
        }
        let head = Array(UnsafeBufferPointer(start: bytes, count: Int(max(0, parameters.extradata_size))))
        guard head.count >= 19 else { return false }
        let count = Int(head[9])
        if head[18] == 0 { return (1...2).contains(count) }
        guard head[18] == 1, (1...8).contains(count), head.count >= 21 + count else { return false }
        let coupled = [0, 1, 1, 2, 2, 2, 3, 3][count - 1]
        return head[19] == count - coupled && head[20] == coupled
            && head[21..<21 + count].elementsEqual(Self.opusChannels[count - 1])
    }

    /// The streams' channels for 1 to 8 channels in Vorbis's order.
    private static let opusChannels: [[UInt8]] = [
        [0], [0, 1], [0, 2, 1], [0, 1, 2, 3], [0, 4, 1, 2, 3], [0, 4, 1, 2, 3, 5], [0, 4, 1, 2, 3, 5, 6],
        [0, 6, 1, 2, 3, 4, 5, 7],
    ]

    private static func isPCM(_ codec: AVCodecID) -> Bool {
        (AV_CODEC_ID_PCM_S16LE.rawValue..<AV_CODEC_ID_ADPCM_IMA_QT.rawValue).contains(codec.rawValue)
    }

    /// The sound and text that are decoded without a block size.
    private static let codecsOfNUT: Set<UInt32> = Set(
        [
            AV_CODEC_ID_AAC, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3, AV_CODEC_ID_DTS,
            AV_CODEC_ID_TRUEHD, AV_CODEC_ID_FLAC, AV_CODEC_ID_ALAC, AV_CODEC_ID_VORBIS, AV_CODEC_ID_OPUS,
            AV_CODEC_ID_TEXT, AV_CODEC_ID_ASS, AV_CODEC_ID_SSA, AV_CODEC_ID_DVD_SUBTITLE, AV_CODEC_ID_DVB_SUBTITLE,
            AV_CODEC_ID_DVB_TELETEXT,
        ].map(\.rawValue))

    /// Whether the muxer takes a codec.
    func takes(_ codec: AVCodecID) -> Bool {
        guard isKnown(codec), self != .mpegts else { return isKnown(codec) }
        guard let description = av_guess_format(muxer, nil, nil) else { return false }
        return avformat_query_codec(description, codec, FF_COMPLIANCE_NORMAL) == 1
    }

    /// Sound and text with stream types and descriptors in ISO/IEC 13818-1, ETSI TS 101 154 and ETSI EN 300 468.
    private static let codecsOfMPEGTS: Set<UInt32> = Set(
        [
            AV_CODEC_ID_AAC, AV_CODEC_ID_AAC_LATM, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3,
            AV_CODEC_ID_EAC3, AV_CODEC_ID_DTS, AV_CODEC_ID_TRUEHD, AV_CODEC_ID_OPUS, AV_CODEC_ID_DVB_SUBTITLE,
            AV_CODEC_ID_DVB_TELETEXT,
        ].map(\.rawValue))
}
