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
        case .mov, .mp4, .matroska, .fmp4, .hevc: true
        }
    }

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
